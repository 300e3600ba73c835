"""The registry of rules, including rules of other packages, and selecting rules by code."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from bboxqa.core.errors import ConfigError
from bboxqa.core.plugins import plugins
from bboxqa.core.text import nearest
from bboxqa.rules import (
    annotators,
    box_layouts,
    boxes,
    categories,
    collection,
    ids,
    images,
    json_text,
    keypoints,
    masks,
    oriented,
    outlines,
    panoptic,
    splits,
    structure,
    tools,
)
from bboxqa.rules.base.rule import Rule
from bboxqa.rules.selection import is_selected, prefixes

_MODULES = (
    json_text, structure, ids, images, splits, boxes, box_layouts, outlines, masks, oriented,
    keypoints, categories, annotators, collection, panoptic, tools,
)  # fmt: skip
FAMILIES = {
    "F": "File and JSON",
    "S": "Schema",
    "I": "Ids and references",
    "M": "Images on disk",
    "B": "Boxes",
    "P": "Polygons",
    "R": "Masks",
    "O": "Rotated boxes",
    "K": "Keypoints",
    "C": "Categories",
    "A": "Annotators",
    "D": "Duplicates",
    "Q": "Statistics",
    "G": "Panoptic segments",
    "E": "Results of detectors",
    "T": "Formats of annotation tools",
}
"""The titles of families by letter, in the order in which rules are listed."""

RESERVED = frozenset(
    {
        "A005", "B013", "I008", "I009", "I010", "I011", "I012", "K005", "K007", "K008", "M013",
        "O002", "O003", "O005", "O007", "O008", "R005", "R006",
    }
)  # fmt: skip
"""Codes of rules that are gone; they are never used for others."""

_GROUP = "bboxqa.rules"
_CODE = re.compile(r"[A-Z]+[0-9]+")

RULES: Mapping[str, Rule] = {
    rule.code: rule
    for rule in sorted(
        (rule for module in _MODULES for rule in module.RULES),
        key=lambda rule: ([*FAMILIES].index(rule.code[0]), rule.code),
    )
}
"""The rules of bboxqa by code, ordered by `FAMILIES`, then by number."""


@cache
def known_rules() -> Mapping[str, Rule]:
    """Return `RULES`, and after them the rules of other packages, by code.

    An entry point of the group "bboxqa.rules" names a `Rule`, or a list or tuple of them. Raises
    ConfigError if an entry point cannot be loaded, names something else, or its code is malformed
    or already in use.
    """
    rules = dict(RULES)
    for name, plugin in plugins(_GROUP).items():
        found = plugin.load(object)
        for rule in found if isinstance(found, list | tuple) else (found,):
            if not isinstance(rule, Rule):
                problem = f"expected a Rule or a tuple of rules, found {type(rule).__name__}"
            elif not _CODE.fullmatch(rule.code):
                problem = f"rule code {rule.code!r}; expected capital letters, then digits"
            elif rule.code in rules or rule.code in RESERVED:
                problem = f"rule code {rule.code} is already in use"
            else:
                rules[rule.code] = rule
                continue
            raise ConfigError(
                f"package {plugin.package}: entry point {name} of {_GROUP}: {problem}; "
                "update or uninstall the package"
            )
    return rules


def select(select: Iterable[str], ignore: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules whose codes begin with a selected prefix and are not ignored.

    Prefixes are codes or their beginnings, such as "P" or "B00"; selecting nothing selects all
    rules. If several prefixes match a code, the longest decides; if equal, `ignore` does. Raises
    ConfigError if no rule begins with a prefix.

    Examples
    --------
    >>> [rule.code for rule in select(["B001"], [])]
    ['B001']
    """
    rules = known_rules()
    selected, ignored = tuple(select), tuple(ignore)
    if gone := RESERVED.intersection(prefixes(selected)):
        raise ConfigError(
            f"rule {min(gone)} is gone, as no file and no loader needed it; "
            "`bboxqa explain` lists all rules"
        )
    for prefix in prefixes((*selected, *(each for each in ignored if each not in RESERVED))):
        if prefix and not any(code.startswith(prefix) for code in rules):
            near = nearest(prefix, rules) or ";"
            raise ConfigError(
                f"no rule begins with {prefix!r}{near} `bboxqa explain` lists all rules"
            )
    return tuple(rule for code, rule in rules.items() if is_selected(code, selected, ignored))
