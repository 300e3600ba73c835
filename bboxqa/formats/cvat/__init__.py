"""CVAT's XML: what it says, and its translation into COCO records."""
