"""Views of a result: text, json, tables. A view computes nothing that the result does not hold."""
