"""Reading COCO json into columns, finding out who annotated what, and writing results."""
