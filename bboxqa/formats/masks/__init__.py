"""Masks in image files."""
