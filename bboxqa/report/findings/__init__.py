"""Views of what the rules found, one module per format."""
