"""Rules: what can be wrong with a COCO file, and how to fix it."""
