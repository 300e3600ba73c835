"""Ways to say how similar two annotations are: one module per kind of shape."""
