"""S: keys and types at the top level, and the keys that every record needs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import first_few
from bboxqa.formats.columns import Form, Kind
from bboxqa.formats.records import ID_KEYS, LISTS
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import look_alikes, record_defect
from bboxqa.rules.base.rule import ABSENT, Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.file_kinds import kind_of

_KEYS = {
    "images": ("id", "file_name", "width", "height"),
    "annotations": (*ID_KEYS, "bbox"),
    "categories": ("id", "name"),
}
_ANNOTATION = (*_KEYS["annotations"], "area", "iscrowd")
_SHOWN = 3
_NAMES = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


def _typed(value: Any) -> str:
    """Return a phrase for the type of a value."""
    return "null" if value is None else _NAMES.get(type(value), "a number")


def _list_missing(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    reading = document.reading
    if not isinstance(reading.top, dict):
        return
    founds = []
    lists = kind_of(document).lists
    missing = [name for name in lists if name not in reading.spans and not reading.stopped]
    if missing:
        quoted = [f'"{name}"' for name in missing]
        names = " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
        what = f"keys {names} are missing; expected lists of records"
        if len(missing) == 1:
            what = f"key {names} is missing; expected a list of {missing[0]}"
        elif len(missing) == len(lists):
            what = f"keys {names} are missing{_keys_there(reading.top)}; expected lists of records"
        founds.append(Defect(what, expected="a list"))
    for name in lists:
        value = reading.top.get(name)
        if name in reading.top and not isinstance(value, list) and name not in missing:
            message = f"{name} is {_typed(value)} ({shortened(value)}); expected a list"
            founds.append(Defect(message, pointer_to(name), found=value, expected="a list"))
    yield from described_hits(founds)


def _keys_there(top: dict[str, Any]) -> str:
    """Return the first keys of a document without COCO's lists, for the end of a message."""
    if not top:
        return ""
    return f"; found {first_few([*top], _SHOWN, shortened)}"


def _wrong_container(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    top = document.top
    containers = [
        Defect(
            f"{name} is {_typed(value)}; expected {expected}", pointer_to(name), expected=expected
        )
        for name, wanted, expected in (("info", dict, "an object"), ("licenses", list, "a list"))
        if (value := top.get(name)) is not None and not isinstance(value, wanted)
    ]
    yield from described_hits(containers, Severity.WARNING)
    kinds = document.annotations.record
    yield from _not_objects(document, "annotations", np.flatnonzero(kinds != Kind.DICT))
    for name, records in document.lists:
        odd = [row for row, value in enumerate(records.values) if not isinstance(value, dict)]
        yield from _not_objects(document, name, np.array(odd, np.int64))


def _not_objects(document: Document, name: str, rows: IndexArray) -> Iterator[Hits]:
    def describe(row: int) -> Defect:
        value = document.locator.value(name, row)
        message = f"record is {_typed(value)} ({shortened(value)}); expected an object"
        return Defect(message, pointer_to(name, row), found=value, expected="an object")

    summary = "{share} are not objects; expected objects"
    yield from hits(rows, describe, name=name, summary=summary, few=1)


def _required(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    objects = columns.record == Kind.DICT
    needed = kind_of(document).required
    wanted = [key for key in (*ID_KEYS, "bbox") if key in needed]
    lacks = np.zeros((len(wanted), len(columns)), np.bool_)
    for place, key in enumerate(wanted):
        lacks[place] = objects & (columns.kind[key] == Kind.MISSING)
    mild = np.zeros(len(columns), np.bool_)
    if "bbox" in wanted:
        outlined = ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY))
        if document.reading.is_results:
            # Results need only a box, a mask or keypoints.
            lacks[-1] &= ~outlined
            lacks[-1, columns.keypoints.row] = False
        # A warning, since masks can still be evaluated, but only if other annotations have a box.
        mild = lacks[-1] & ~lacks[:-1].any(axis=0) & outlined & bool((objects & ~lacks[-1]).any())
    yield from _missing(document, "annotations", ["bbox"], mild, Severity.WARNING)
    rows = np.flatnonzero(lacks.any(axis=0) & ~mild)
    number = (1 << np.arange(len(wanted))) @ lacks[:, rows]
    for each in np.unique(number).tolist():
        keys = [key for place, key in enumerate(wanted) if each >> place & 1]
        yield from _missing(document, "annotations", keys, rows[number == each])
    for name, records in document.lists:
        without = [isinstance(value, dict) and "id" not in value for value in records.values]
        yield from _missing(document, name, ["id"], np.array(without, np.bool_))


def _missing(
    document: Document,
    name: str,
    keys: list[str],
    where: BoolArray | IndexArray,
    severity: Severity | None = None,
) -> Iterator[Hits]:
    """Yield the records of a list that lack keys."""
    what, expected = f"{keys[0]} is missing", "a whole number"
    if len(keys) > 1:
        what = f"{', '.join(keys[:-1])} and {keys[-1]} are missing"
        expected = "them in each record"
    elif keys == ["bbox"]:
        expected = "x, y, width, height"
    place = keys if len(keys) == 1 else []

    def describe(row: int) -> Defect:
        message = f"{what}{look_alikes(document, name, row, keys)}; expected {expected}"
        return record_defect(document, (name, row, *place), message, expected=expected)

    def summary(rows: IndexArray, share: str) -> str:
        alike = look_alikes(document, name, int(rows[0]), keys)
        return f"{what} in {share}{alike}; expected {expected}"

    yield from hits(where, describe, severity, name=name, summary=summary, few=1)


def _empty(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    lacks = (columns.record == Kind.DICT) & (columns.form == Form.ABSENT)
    for key in _KEYS["annotations"]:
        lacks &= columns.kind[key] == Kind.MISSING
    yield from _without_keys(document, "annotations", np.flatnonzero(lacks))
    for name, records in document.lists:
        without = [
            row for row, value in enumerate(records.values)
            if isinstance(value, dict) and value.keys().isdisjoint(_KEYS[name])
        ]  # fmt: skip
        yield from _without_keys(document, name, np.array(without, np.int64))


def _without_keys(document: Document, name: str, rows: IndexArray) -> Iterator[Hits]:
    expected = ", ".join(_KEYS[name])

    def describe(row: int) -> Defect:
        value = document.locator.value(name, row)
        return Defect(
            f"record is {shortened(value)}, with none of the keys that it needs; expected "
            f"{expected}",
            pointer_to(name, row),
            found=value,
            expected=expected,
            edits=() if value else (Edit(pointer_to(name, row), "remove"),),
        )

    summary = f"{{share}} have none of the keys that they need; expected {expected}"
    yield from hits(rows, describe, name=name, summary=summary, few=1)


def _info(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    reading = document.reading
    # A file without any of COCO's lists is of another kind, so nothing is added to it.
    if not isinstance(reading.top, dict) or not reading.spans.keys() & set(LISTS):
        return
    founds = []
    for name, empty in (("info", {}), ("licenses", [])):
        add: Edit | None = None
        if name not in reading.spans and not reading.stopped:
            what, add = "missing", Edit(pointer_to(name), "add", empty)
        elif name in reading.top and reading.top[name] is None:
            what, add = "null", Edit(pointer_to(name), "replace", empty)
        if add:
            expected = "an object" if name == "info" else "a list"
            message = f"{name} is {what}; expected {expected}"
            founds.append(Defect(message, pointer_to(name), expected=expected, edits=(add,)))
    info = reading.top.get("info")
    if isinstance(info, dict) and info.get("year") == "":
        pointer = pointer_to("info", "year")
        message = 'year is ""; expected a number, or no year'
        edits = (Edit(pointer, "remove"),)
        founds.append(Defect(message, pointer, found="", expected="a number", edits=edits))
    yield from described_hits(founds)


RULES: tuple[Rule, ...] = (
    Rule(
        code="S001",
        title="list of records is missing or not a list",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools silently loads a file without images and finds none; without
            annotations or categories it stops with a KeyError at the first query.""",
        explanation="""A COCO file needs the lists images, annotations and categories. One of them
            is missing or is not a list, for example if categories are an object ("1": "cat"). An
            empty list is allowed. A file with images but no annotations key, such as COCO's own
            image_info_test2017.json, is of another kind, with images only.""",
        bad={"categories": ABSENT},
        good={"annotations": []},
        check=_list_missing,
        consequences=("S004",),
    ),
    Rule(
        code="S002",
        title="required key is missing",
        severity=Severity.ERROR,
        breaks="pycocotools stops with a KeyError at the first record without the key.",
        explanation="""Each record needs its id, and each annotation an image_id, a category_id and
            a bbox. For an annotation with an outline but no bbox, this is a warning if other
            annotations have a bbox: masks can still be evaluated, boxes cannot. Other keys are
            checked by other rules.""",
        bad={"annotations": [{"category_id": ABSENT}]},
        good={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]]}]},
        check=_required,
    ),
    Rule(
        code="S004",
        title="info or licenses missing, or year empty",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Readers with a strict schema expect the year as a number and refuse the file;
            COCO.info() of pycocotools stops with a KeyError if there is no info.""",
        explanation="""CVAT writes "year": "", and files from scripts often have neither info nor
            licenses. The annotations are not affected. The fix adds an empty info and empty
            licenses, and removes the empty year.""",
        bad={"info": {"year": ""}},
        good={"info": {"year": 2026}},
        check=_info,
        fix="safe",
    ),
    Rule(
        code="S009",
        title="record or info is not an object, or licenses is not a list",
        severity=Severity.ERROR,
        breaks="""pycocotools stops with a TypeError while it builds its index if an image, an
            annotation or a category is not an object, and with an AttributeError in COCO.info() if
            info is not. It does not read licenses; readers with a strict schema refuse it.""",
        explanation="""An image, an annotation or a category is a list, text, a number or null. Each
            has to be an object with keys, such as {"id": 1, "name": "cat"}. It is a warning if info
            is not an object, or licenses is not a list.""",
        bad={"annotations": [{}, [1, 1, 1]]},
        good={"annotations": [{}, {"bbox": [40, 10, 20, 30]}]},
        check=_wrong_container,
    ),
    Rule(
        code="S012",
        title="record is empty, or has none of the keys that it needs",
        severity=Severity.ERROR,
        breaks="pycocotools stops with a KeyError while it builds its index.",
        explanation="""An image, an annotation or a category is {}, or an object with other keys
            than those of COCO, for example because a program wrote a record before it had anything
            to write. The fix removes records that are {}.""",
        bad={"annotations": [{}, dict.fromkeys(_ANNOTATION, ABSENT)]},
        good={"annotations": [{}, {"bbox": [40, 10, 20, 30]}]},
        check=_empty,
        fix="safe",
        consequences=("S002", "S005", "S007", "S008", "S010", "S011", "C008", "B011"),
    ),
)
