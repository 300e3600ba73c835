"""The VGG Image Annotator (VIA)."""
