"""C: categories."""

from bboxqa.rules.categories import category_maps, category_names, category_use

__all__ = ["RULES"]

RULES = (*category_maps.RULES, *category_names.RULES, *category_use.RULES)
