"""CVAT XML: parsing it, and translating it into COCO records."""
