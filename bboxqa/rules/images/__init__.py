"""Rules about images on disk."""
