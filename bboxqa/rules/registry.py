"""All rules, by code, and the choice among them."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from bboxqa.core.errors import ConfigError
from bboxqa.rules import annotators, categories, images
from bboxqa.rules.base.rule import Rule
from bboxqa.rules.boxes import areas, extents, layouts
from bboxqa.rules.collection import duplicates, statistics
from bboxqa.rules.ids import id_types, identifiers, references
from bboxqa.rules.outlines import keypoints, ring_forms, ring_geometry, run_length_masks
from bboxqa.rules.structure import annotation_fields, image_fields, json_text, top_level

__all__ = ["RULES", "rule", "select"]

_FAMILIES = (
    json_text, top_level, annotation_fields, image_fields,
    id_types, identifiers, references,
    images,
    extents, layouts, areas,
    ring_forms, ring_geometry, run_length_masks, keypoints,
    categories,
    annotators,
    duplicates, statistics,
)  # fmt: skip
_LETTERS = "FSIMBPRKCADQ"


def _place(rule: Rule) -> tuple[int, str]:
    return _LETTERS.index(rule.code[0]), rule.code


RULES: Mapping[str, Rule] = {
    each.code: each
    for each in sorted((each for family in _FAMILIES for each in family.RULES), key=_place)
}
"""Every rule, by its code, in the order of the letters, then of the numbers."""


def rule(code: str) -> Rule:
    """Return the rule of a code.

    Raises
    ------
    ConfigError
        If there is none.

    Examples
    --------
    >>> rule("B001").title
    'box without area'
    """
    if code.upper() in RULES:
        return RULES[code.upper()]
    close = get_close_matches(code.upper(), RULES, 1)
    hint = f"; did you mean {close[0]}?" if close else "; `bboxqa explain` lists them"
    raise ConfigError(f"there is no rule {code!r}{hint}")


def select(select: Iterable[str], ignore: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules whose codes begin as selected, but for those that are ignored.

    Parameters
    ----------
    select, ignore : iterable of str
        Codes or their beginnings, such as "P" or "B00". Nothing selected is all. Of two that fit
        one code, the longer decides; of two equal ones, `ignore`.

    Returns
    -------
    tuple of Rule

    Raises
    ------
    ConfigError
        If a beginning fits no rule.

    Examples
    --------
    >>> [each.code for each in select(["B001"], [])]
    ['B001']
    """
    chosen = [prefix.strip().upper() for prefix in select] or [""]
    dropped = [prefix.strip().upper() for prefix in ignore]
    for prefix in (*chosen, *dropped):
        if prefix and not any(code.startswith(prefix) for code in RULES):
            raise ConfigError(f"no rule begins with {prefix!r}; `bboxqa explain` lists them")

    def longest(prefixes: list[str], code: str) -> int:
        return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)

    return tuple(
        each for code, each in RULES.items() if longest(chosen, code) > longest(dropped, code)
    )
