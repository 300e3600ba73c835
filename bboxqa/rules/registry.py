"""The registry of rules, including rules of other packages, and selecting rules by code."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module

from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.plugins import plugins
from bboxqa.core.text import nearest
from bboxqa.rules.base import Rule, Scope
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

# The rules of each module, and what they look at: records of one file, unless it is said.
_TABLE: tuple[tuple[str, str, Scope], ...] = (
    ("json_text", "F001 F002 F003 F004 F005 F006 F007", "record"),
    ("structure", "S001 S002 S004 S005 S006 S007 S008 S009 S010 S011", "record"),
    ("structure", "S012 S013 S015 S016 S017 E001 E002", "record"),
    ("ids", "I001 I002 I003 I004 I006 I007 S003", "record"),
    ("images", "M001 M002 M003 M004 M007 M009", "images"),
    ("images", "M005 M006", "record"),
    ("images", "M008 M010", "files"),
    ("boxes", "B001 B002 B003 B004 B005 B006 B007 B008 B009 B010 B011 B012 B014", "record"),
    ("outlines", "P001 P002 P003 P004 P005 P006 P007 P010", "record"),
    ("outlines", "R001 R002 R003 R004 R007 R008", "record"),
    ("poses", "O004 O006 O009 K001 K002 K003 K004 K006", "record"),
    ("categories", "C001 C002 C003 C004 C005 C006 C008 C009", "record"),
    ("categories", "C007", "files"),
    ("annotators", "A001 A002 A003 A004", "record"),
    ("collection", "C010 D001 D002 D003 D004 Q001 Q002 Q003", "record"),
    ("panoptic", "G001 G002 G003 G004", "record"),
    ("panoptic", "G005 G006", "images"),
    ("tools", "T001 T002 T003 T004 T005 T007 T008 T010 T011 T012", "record"),
    ("tools", "T020 T021 T022 T023 T024 T025 T030 T031 T040 T041 T050", "record"),
    ("tools", "T060 T061 T062 T063", "record"),
)

RESERVED = frozenset({
    "A005", "B013", "I005", "I008", "I009", "I010", "I011", "I012", "K005", "K007", "K008",
    "M011", "M012", "M013", "O001", "O002", "O003", "O005", "O007", "O008", "P008",
    "P009", "R005", "R006", "S014", "T006", "T009",
})  # fmt: skip
"""Codes of rules that are gone; they are never used for others."""

_GROUP = "bboxqa.rules"
_CODE = re.compile(r"[A-Z]+[0-9]+")
_SCOPES: dict[str, Scope] = {code: scope for _, codes, scope in _TABLE for code in codes.split()}
_MODULES = {code: module for module, codes, _ in _TABLE for code in codes.split()}
_ORDER = sorted(_MODULES, key=lambda code: ([*FAMILIES].index(code[0]), code))


class Rules(Mapping[str, Rule]):
    """Rules by code; `more` are those of other packages.

    The module of a rule is imported when the rule is looked up.
    """

    def __init__(self, codes: Iterable[str], more: Mapping[str, Rule] | None = None) -> None:
        self._codes = dict.fromkeys(codes)
        self.more = dict(more or {})
        self.scopes = {**_SCOPES, **{code: rule.scope for code, rule in self.more.items()}}
        """What each rule looks at; "record" also for a whole file."""

    def __getitem__(self, code: str) -> Rule:
        if code not in self._codes:
            raise KeyError(code)
        if code in _MODULES:
            return _rules_of(_MODULES[code])[code]
        # Those of a report are looked up again, as functions of other packages may not be pickled.
        return (self.more or known_rules().more)[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


@cache
def _rules_of(module: str) -> dict[str, Rule]:
    values = vars(import_module(f"bboxqa.rules.{module}"))
    rules = [value for value in values.values() if isinstance(value, Rule)]
    rules += values.get("RULES", ())
    return {rule.code: replace(rule, scope=_SCOPES[rule.code]) for rule in rules}


RULES = Rules(_ORDER)
"""The rules of bboxqa, ordered by `FAMILIES`, then by number."""


@cache
def known_rules() -> Rules:
    """Return `RULES`, and after them the rules of other packages, by code.

    An entry point of the group "bboxqa.rules" names a `Rule`, or a list or tuple of them. Raises
    ConfigError if it names something else, or a code that is malformed or already in use.
    """
    rules = dict(RULES.more)
    for name, plugin in plugins(_GROUP).items():
        found = plugin.load(object)
        for rule in found if isinstance(found, list | tuple) else (found,):
            if not isinstance(rule, Rule):
                problem = f"expected a Rule or a tuple of rules, found {type(rule).__name__}"
            elif not _CODE.fullmatch(rule.code):
                problem = f"rule code {rule.code!r}; expected capital letters, then digits"
            elif rule.code in rules or rule.code in _MODULES or rule.code in RESERVED:
                problem = f"rule code {rule.code} is already in use"
            else:
                rules[rule.code] = rule
                continue
            raise ConfigError(
                f"package {plugin.package}: entry point {name} of {_GROUP}: {problem}; "
                "update or uninstall the package"
            )
    return Rules((*_ORDER, *rules), rules)


def selected_codes(select: Iterable[str], ignore: Iterable[str]) -> tuple[str, ...]:
    """Return the codes that begin with a selected prefix and are not ignored.

    Selecting nothing selects all rules. If several prefixes match a code, the longest decides; if
    equal, `ignore` does. Raises ConfigError if no rule begins with a prefix.
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
