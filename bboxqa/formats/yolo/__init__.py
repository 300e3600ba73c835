"""YOLO label files, with one line per object in coordinates relative to the image."""
