"""How annotators place, size and turn rotated boxes of the same object."""
