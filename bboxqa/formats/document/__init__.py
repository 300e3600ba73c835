"""COCO documents as they stand in the file, sound or not, with positions."""
