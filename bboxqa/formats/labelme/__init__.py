"""LabelMe JSON, with one file per image."""
