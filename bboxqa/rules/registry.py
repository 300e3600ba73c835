"""The registry of rules, selecting rules by code, and the page of each rule."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain, groupby
from textwrap import wrap
from typing import Any

from bboxqa.core.errors import ConfigError
from bboxqa.core.json_values import cut, shortened
from bboxqa.core.plugins import plugins
from bboxqa.core.text import clean, nearest
from bboxqa.rules.base import ABSENT, Example, Files, Rule
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


RULES = {
    rule.code: rule
    for rule in sorted(
        chain.from_iterable(map(_rules_of, _MODULES)),
        key=lambda rule: ([*FAMILIES].index(rule.code[0]), rule.code),
    )
}
"""The rules of bboxqa by code, ordered by `FAMILIES`, then by number."""


@cache
def known_rules() -> dict[str, Rule]:
    """Return `RULES`, and after them those of entry points "bboxqa.rules", by code."""
    rules = dict(RULES)
    for name, plugin in plugins(_GROUP).items():
        found = plugin.load(object)
        for rule in found if isinstance(found, list | tuple) else (found,):
            own = rule.code if isinstance(rule, Rule) else ""
            if not _CODE.fullmatch(own) or own in rules or own in RESERVED:
                raise ConfigError(
                    f"package {plugin.package}: entry point {name} of {_GROUP}: found "
                    f"{own or type(rule).__name__}; expected rules with codes that are not in use, "
                    "of capital letters and digits; update or uninstall the package"
                )
            rules[own] = rule
    return rules


def selected_codes(select: Iterable[str], ignore: Iterable[str]) -> tuple[str, ...]:
    """Return the codes that begin with a selected prefix, or with any, and are not ignored.

    If several prefixes match a code, the longest decides; if equal, `ignore` does.
    """
    rules = known_rules()
    selected, ignored = ([code.strip().upper() for code in each] for each in (select, ignore))
    if gone := RESERVED.intersection(selected):
        raise ConfigError(f"rule {min(gone)} is gone; `bboxqa explain` lists all")
    for prefix in (*selected, *(each for each in ignored if each not in RESERVED)):
        if not any(code.startswith(prefix) for code in rules):
            near = nearest(prefix, rules) or ";"
            raise ConfigError(f"no rule begins with {prefix!r}{near} `bboxqa explain` lists all")
    return tuple(code for code in rules if is_selected(code, selected, ignored))


_WIDTH = 80
_EXAMPLE = 400
_SCOPES = {
    "record": "each file",
    "files": "several files together",
    "images": "the images on disk (--images)",
}
_FIXES = {None: "none", "safe": "with --fix", "unsafe": "only with --fix --unsafe-fixes"}
_MARKS = {None: "", "safe": "[*]", "unsafe": "[?]"}
_DEFAULT: dict[str, dict[str, Any]] = {
    "images": {"id": 1, "file_name": "a.jpg", "width": 100, "height": 80},
    "categories": {"id": 1, "name": "cat", "supercategory": "animal"},
    "annotations": {
        "id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 30], "area": 600,
        "iscrowd": 0,
    },
}  # fmt: skip
_NAMES = {
    "images": ("file_name", [f"{letter}.jpg" for letter in "abcdefgh"]),
    "categories": ("name", ["cat", "dog", "bird", "cow", "fox", "hen"]),
}


def page_lines(rule: Rule) -> Iterator[str]:
    """Yield the lines of the page of one rule."""
    others = re.findall(r"\b[Ii]t is an? (error|warning|info)\b", rule.explanation)
    yield from (f"{rule.code} {rule.title}", "")
    yield f"Severity  {' or '.join(dict.fromkeys([rule.severity.value, *others]))}"
    yield f"Looks at  {_SCOPES[rule.scope]}"
    yield f"Fix       {_FIXES[rule.fix]}"
    # The address never changes.
    yield f"Page      rules/{rule.code}.html of the site"
    yield from ("", *wrap(rule.explanation, _WIDTH), "", "What it breaks")
    yield from wrap(rule.breaks, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    for label, example in (("Found", rule.bad), ("Left alone", rule.good)):
        yield from ("", label)
        yield from (f"  {line}".rstrip() for line in example_lines(example))


def example_lines(example: Example) -> Iterator[str]:
    """Yield the lines of an example, with one record per line and defaults for missing keys."""
    if isinstance(example, str):
        yield from _raw(example)
        return
    if isinstance(example, Files):
        for name, text in example.items():
            yield f"{name}:" if text else f"{name}: empty"
            yield from (f"  {line}" for line in _raw(text.rstrip()) if text)
        return
    if not example:
        yield "a file without any defect"
    elif "images" not in example and "annotations" in example:
        yield "in an image of 100 x 80 pixels"
    for key, value in records(example).items():
        if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            yield f"{_json(key)}: ["
            yield from (f"  {_json(each)}{',' * (each is not value[-1])}" for each in value)
            yield "]"
        else:
            yield f"{_json(key)}: {_json(value)}"
    for key, value in example.items():
        if value is ABSENT:
            yield f"no {_json(key)}"


def _raw(text: str) -> Iterator[str]:
    """Yield the lines of a whole file with invisible characters escaped."""
    if not text:
        yield "an empty file"
        return
    for line in text.split("\n"):
        yield clean(cut(line, _EXAMPLE)).replace("\ufeff", "\\ufeff")


def _json(value: Any) -> str:
    return shortened(value, _EXAMPLE)


def list_lines() -> Iterator[str]:
    """Yield lines that list all rules by family, with severity and title."""
    families = groupby(known_rules().values(), key=lambda rule: rule.code.rstrip("0123456789"))
    for letters, rules in families:
        yield f"{letters}: {FAMILIES.get(letters, 'rules of other packages')}"
        for rule in rules:
            yield f"  {rule.code}  {rule.severity:<7}  {_MARKS[rule.fix]:<3}  {rule.title}"
        yield ""
    yield "[*] fixed by --fix, [?] only by --fix --unsafe-fixes"


def records(example: Example) -> dict[str, Any]:
    """Return the lists of an example, with default values for omitted keys."""
    if isinstance(example, str | Files):
        return {}
    return {
        key: [_record(key, *each) for each in enumerate(value)]
        if key in _DEFAULT and isinstance(value, list) else value
        for key, value in example.items() if value is not ABSENT
    }  # fmt: skip


def _record(key: str, place: int, given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    record = {**_DEFAULT[key], "id": place + 1}
    if key in _NAMES:
        name, values = _NAMES[key]
        record[name] = values[place % len(values)]
    # The default area is the area of the box.
    box = given.get("bbox")
    if isinstance(box, list) and len(box) == 4 and all(type(n) in (int, float) for n in box):
        record["area"] = box[2] * box[3]
    return {name: inner for name, inner in {**record, **given}.items() if inner is not ABSENT}
