"""LabelMe's json: a file for each image."""
