"""The registry of rules, including rules of other packages, and selecting rules by code."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain

from bboxqa.core.errors import ConfigError
from bboxqa.core.plugins import plugins
from bboxqa.core.text import nearest
from bboxqa.rules.base import Rule
from bboxqa.rules.document import is_selected

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

_MODULES = (
    "json_text", "structure", "ids", "images", "boxes", "outlines", "poses", "categories",
    "annotators", "collection", "panoptic", "tools",
)  # fmt: skip
"""The modules of this folder that have rules."""

RESERVED = frozenset({
    "A005", "B013", "I005", "I008", "I009", "I010", "I011", "I012", "K005", "K007", "K008",
    "M011", "M012", "M013", "O001", "O002", "O003", "O005", "O007", "O008", "P008",
    "P009", "R005", "R006", "S014", "T006", "T009",
})  # fmt: skip
"""Codes of rules that are gone; they are never used for others."""

_GROUP = "bboxqa.rules"
_CODE = re.compile(r"[A-Z]+[0-9]+")


def _rules_of(module: str) -> Iterator[Rule]:
    values = vars(import_module(f"bboxqa.rules.{module}"))
    yield from (value for value in values.values() if isinstance(value, Rule))
    yield from values.get("RULES", ())


def _order(rule: Rule) -> tuple[int, str]:
    return [*FAMILIES].index(rule.code[0]), rule.code


RULES = {
    rule.code: rule for rule in sorted(chain.from_iterable(map(_rules_of, _MODULES)), key=_order)
}
"""The rules of bboxqa by code, ordered by `FAMILIES`, then by number."""


@cache
def known_rules() -> dict[str, Rule]:
    """Return `RULES`, and after them those of entry points "bboxqa.rules", by code."""
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


def selected_codes(select: Iterable[str], ignore: Iterable[str]) -> tuple[str, ...]:
    """Return the codes that begin with a selected prefix, or with any, and are not ignored.

    If several prefixes match a code, the longest decides; if equal, `ignore` does.
    """
    rules = known_rules()
    selected, ignored = ([code.strip().upper() for code in each] for each in (select, ignore))
    if gone := RESERVED.intersection(selected):
        raise ConfigError(
            f"rule {min(gone)} is gone, as no file and no loader needed it; "
            "`bboxqa explain` lists all rules"
        )
    for prefix in (*selected, *ignored):
        if prefix not in RESERVED and not any(code.startswith(prefix) for code in rules):
            near = nearest(prefix, rules) or ";"
            raise ConfigError(
                f"no rule begins with {prefix!r}{near} `bboxqa explain` lists all rules"
            )
    return tuple(code for code in rules if is_selected(code, selected, ignored))
