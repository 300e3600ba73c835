"""The similarities of annotations, with one module per kind of shape."""
