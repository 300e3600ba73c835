"""Pascal VOC's XML: a file for each image."""
