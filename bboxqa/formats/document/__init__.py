"""Reading COCO documents, valid or broken, with the positions of their values."""
