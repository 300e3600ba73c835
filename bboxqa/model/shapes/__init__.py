"""Key points, rotated boxes and masks as columns."""
