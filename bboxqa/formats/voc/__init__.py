"""Pascal VOC XML, with one file per image."""
