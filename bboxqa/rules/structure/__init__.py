"""Rules about the text and the structure of a file."""
