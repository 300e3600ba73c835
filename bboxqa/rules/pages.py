"""The page of each rule and the list of all rules."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from textwrap import wrap
from typing import Any

from bboxqa.core.json_values import cut, shortened
from bboxqa.core.text import clean
from bboxqa.rules.base import ABSENT, Example, Files, Rule
from bboxqa.rules.registry import FAMILIES, known_rules

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
