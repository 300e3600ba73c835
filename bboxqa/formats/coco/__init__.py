"""COCO annotation files."""
