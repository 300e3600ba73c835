"""From pairs of annotations to units: which annotations show one object."""

from bboxqa.matching.matchers import MATCHERS, check_matcher, match

__all__ = ["MATCHERS", "check_matcher", "match"]
