"""V7 Darwin JSON 2.0."""
