"""Translation of what annotation tools write into COCO records, with the place of each record."""
