"""Views of findings, one module per format."""
