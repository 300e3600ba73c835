"""A: annotators."""

from bboxqa.rules.annotators import attendance, habits, naming

__all__ = ["RULES"]

RULES = (*attendance.RULES, *habits.RULES, *naming.RULES)
