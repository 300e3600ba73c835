"""Krippendorff's alpha."""
