"""When annotators worked: how fast, and how agreement changes with time."""
