"""Translating the files of annotation tools to COCO records that know their origin."""
