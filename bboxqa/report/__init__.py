"""Views of a result: text, json, tables. A view only shows what the result holds."""
