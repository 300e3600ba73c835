"""Shapes other than boxes and outlines, as columns."""
