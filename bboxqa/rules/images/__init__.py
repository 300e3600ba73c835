"""M: images on disk."""

from bboxqa.rules.images import image_files, image_names, image_splits

__all__ = ["RULES"]

RULES = (*image_files.RULES, *image_names.RULES, *image_splits.RULES)
