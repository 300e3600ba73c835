"""Boxes and outlines of a translation, turned ones too, as COCO has them."""
