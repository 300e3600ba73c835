"""Rules about rotated boxes."""
