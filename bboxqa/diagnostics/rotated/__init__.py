"""Diagnostics of rotated boxes: offsets of centre, sides and angle, and exchanged sides."""
