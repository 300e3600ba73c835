"""Rules about boxes."""
