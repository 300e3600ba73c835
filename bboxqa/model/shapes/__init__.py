"""Key points, rotated boxes and tracks as columns."""
