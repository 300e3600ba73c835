"""Rules about the file and its structure."""
