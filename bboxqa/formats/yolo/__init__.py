"""YOLO's label files: a line per object, in shares of the image."""
