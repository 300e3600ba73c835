"""From pairs of annotations to units: which annotations show one object."""

from bboxqa.matching.matchers import MATCHERS, match

__all__ = ["MATCHERS", "match"]
