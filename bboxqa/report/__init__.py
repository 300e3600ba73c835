"""Views of a result: text, JSON, tables. A view only shows what the result holds."""
