"""Converting boxes, rotated boxes and outlines of a translation to COCO's notation."""
