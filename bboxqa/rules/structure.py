"""S and E: lists and keys that a file needs, and values of a wrong type."""

import json
import math
from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.columns import FARTHEST, MAX_COORDINATE, Form, Kind, form_of
from bboxqa.formats.document import apart_note
from bboxqa.formats.heads import HEAD, WHAT, kind_in
from bboxqa.formats.records import ID_KEYS, LISTS
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import shapes
from bboxqa.rules.base import ABSENT, Checked, Defect, Rows, record_edit, rule, summary, value_at
from bboxqa.rules.document import Document, kind_of

_KEYS = {
    "annotations": (*ID_KEYS, "bbox"),
    "images": ("id", "file_name", "width", "height"),
    "categories": ("id", "name"),
}
_TOP: tuple[tuple[str, Any, str], ...] = (("info", {}, "an object"), ("licenses", [], "a list"))
_YEARS = range(1900, 2101)
_NUMERIC = (int, float, str)
_FOUR = "four finite numbers: x, y, width, height"
_OUTLINE = "a list of polygons or a run-length mask"
_PLACE = f"at most {MAX_COORDINATE:g} px from 0"
_BEYOND_FLOATS = "more than a float can hold"
_ANGLE = f"degrees, less than {FARTHEST:,.0f}"
_OF_BOX = f"degrees or radians, at most {FARTHEST:,.0f}"
# Angles of a million degrees are too large, those of boxes only above.
_LAST_ANGLE = math.nextafter(FARTHEST, 0)


def _top_level(document: Document, _settings: ValidateSettings) -> Checked:
    """S001, S004 and S013: lists, info and licenses that are missing, and the year."""
    reading, top, lists = document.reading, document.top, kind_of(document).lists
    lacks = [name for name in lists if name not in reading.spans and not reading.stopped]
    if not isinstance(reading.top, dict):
        return
    if lacks:
        names = ", ".join(f'"{name}"' for name in lacks)
        what = f"{names} {'is' if len(lacks) == 1 else 'are'} missing; expected lists of records"
        kind = kind_in("json", bytes(reading.text[:HEAD])) if len(lacks) > 1 else None
        if kind is not None:
            tool, advice = WHAT[kind]
            what = f"file is {tool}; {advice[0].lower()}{advice[1:].removesuffix('.')}"
        for key, value in reading.top.items() if len(lacks) == len(lists) else ():
            if isinstance(value, dict) and {"images", "annotations"} <= value.keys():
                path = quote(f".[{json.dumps(key)}]")
                what = f"{names} are inside {shortened(key)}; take them out: jq {path} FILE > OUT"
        yield Defect(what, expected="a list", code="S001")
    for name in lists:
        if name in top and not isinstance(top[name], list) and name not in lacks:
            what, at = f"{name} is {shortened(top[name])}; expected a list", pointer_to(name)
            yield Defect(what, at, found=top[name], expected="a list", code="S001")
    # A file without any of COCO's lists is of another kind, so nothing is added to it.
    is_coco = bool(reading.spans.keys() & set(LISTS))
    for name, empty, expected in _TOP if is_coco else ():
        is_missing = name not in reading.spans and not reading.stopped
        if is_missing or (name in top and top[name] is None):
            edit = Edit(pointer_to(name), "add" if is_missing else "replace", empty)
            what = f"{name} is {'missing' if is_missing else 'null'}; expected {expected}"
            yield Defect(what, pointer_to(name), expected=expected, edits=(edit,), code="S004")
    info, at = top.get("info"), pointer_to("info", "year")
    year = info.get("year") if isinstance(info, dict) else None
    if year == "" and is_coco:
        what, edits = 'year is ""; expected a number, or no year', (Edit(at, "remove"),)
        yield Defect(what, at, found="", expected="a number", edits=edits, code="S004")
    if year not in (None, "", 0) and not (type(year) is int and year in _YEARS):
        is_text = isinstance(year, str) and year.strip().isdecimal() and int(year) in _YEARS
        fix = (Edit(at, "replace", int(year)),) if is_text else ()
        what = f"year is {shortened(year)}; expected a number such as 2026"
        yield Defect(what, at, found=year, edits=fix, code="S013")


def _records(document: Document, _settings: ValidateSettings) -> Checked:
    """S002, S009 and S012: records that lack a key, are no objects, or lack all keys."""
    columns, objects, of_kind = document.annotations, document.is_object, kind_of(document).required
    sound = {"annotations": objects} | {name: each.is_object for name, each in document.lists}
    lacks = {("annotations", key): objects & (columns.kind[key] == Kind.MISSING)
             for key in _KEYS["annotations"]}  # fmt: skip
    lacks |= {
        (name, key): np.array([isinstance(v, dict) and key not in v for v in each.values], np.bool_)
        for name, each in document.lists
        for key in _KEYS[name]
    }
    for name, is_object in sound.items():
        value = partial(document.locator.value, name)
        yield Rows(
            ~is_object, "record is {value}", name, "an object", value,
            summary="{share} are not objects", few=1, code="S009",
        )  # fmt: skip
        empty = np.logical_and.reduce([lacks[name, key] for key in _KEYS[name]])
        if name == "annotations":
            empty &= columns.form == Form.ABSENT
        says = "record is {value}, with none of the keys that it needs; expected "
        yield Rows(
            empty, says + ", ".join(_KEYS[name]), name, found=value, few=1, code="S012",
            edits=partial(_removed, document, name),
            summary="{share} have none of the keys that they need",
        )  # fmt: skip
    for name, empty, wanted in _TOP:
        if (given := document.top.get(name)) is not None and not isinstance(given, type(empty)):
            what, mild = f"{name} is {shortened(given)}; expected {wanted}", Severity.WARNING
            yield Defect(what, pointer_to(name), expected=wanted, severity=mild, code="S009")
    required = [("annotations", key) for key in _KEYS["annotations"] if key in of_kind]
    for name, key in (*required, *((name, "id") for name, _ in document.lists)):
        absent, summed = lacks[name, key], f"{key} is missing in {{share}}"
        expected = "x, y, width, height" if key == "bbox" else "a whole number"
        mild = np.zeros_like(absent)
        if key == "bbox":
            if document.reading.is_results:
                # Results need only a box, a mask or keypoints.
                absent = absent & ~document.outlined
                absent[columns.keypoints.row] = False
            # A warning, since masks can still be evaluated, but only if others have a box.
            mild = absent & document.outlined & (objects & ~absent).any()
        for where, severity in ((mild, Severity.WARNING), (absent & ~mild, None)):
            yield Rows(
                where, at=f"{name}/{key}", expected=expected, summary=summed, severity=severity,
                few=1, code="S002",
            )  # fmt: skip


def _removed(document: Document, name: str, row: int) -> tuple[Edit, ...]:
    """Return the edit that removes a record that is {}."""
    return () if document.locator.value(name, row) else record_edit(name, row)


def _image_values(document: Document, _settings: ValidateSettings) -> Checked:
    """S007 and S008: sizes and names of images."""
    images = document.images
    for key in ("width", "height"):

        def new(row: int, key: str = key) -> int | None:
            number = _numbers(value_at(document, "images", row, key))
            return number if type(number) is int and number >= 1 else None

        sides = (value.get(key) if isinstance(value, dict) else 1 for value in images.values)
        odd, at = [type(side) is not int or side <= 0 for side in sides], f"images/{key}"
        where, expected = np.array(odd, np.bool_), "a whole number above 0"
        yield Rows(where, at=at, expected=expected, new=new, code="S007")
    names, urls = images.texts("file_name"), images.texts("coco_url")
    for is_mild, expected in ((False, "non-empty text"), (True, "it besides coco_url")):
        rows = [
            row
            for row, value in enumerate(images.values)
            if isinstance(value, dict) and not names[row]
            and is_mild == bool(urls[row] and "file_name" not in value and document.lists)
        ]  # fmt: skip
        severity = Severity.INFO if is_mild else None
        yield Rows(rows, at="images/file_name", expected=expected, severity=severity, code="S008")


def _values(document: Document, _settings: ValidateSettings) -> Checked:
    """S005, S011 and S017: iscrowd, area and ignore."""
    columns, objects = document.annotations, document.is_object
    crowd, area = columns.kind["iscrowd"], columns.kind["area"]
    absent = {
        key: objects & np.isin(columns.kind[key], (Kind.MISSING, Kind.NULL))
        for key in ("iscrowd", "area")
    }

    def new_flag(row: int) -> int | None:
        if crowd.item(row) == Kind.TEXT:
            return {"0": 0, "1": 1}.get(document.record(row).get("iscrowd", ""))
        flag = 0 if absent["iscrowd"][row] else int(columns.iscrowd[row])
        return flag if flag >= 0 else None

    def new_area(row: int) -> int | float | None:
        written = _number(document.record(row)["area"]) if area.item(row) == Kind.TEXT else math.nan
        number = written if written > 0 else float(document.once(_areas)[row])
        return _plain(number) if math.isfinite(number) else None

    wrong = objects & ~absent["iscrowd"] & ~((crowd == Kind.INT) & (columns.iscrowd >= 0))
    for where in (absent["iscrowd"], wrong):
        yield Rows(where, at="annotations/iscrowd", expected="0 or 1", new=new_flag, code="S005")
    expected = "a number of square pixels"
    wrong = np.isin(area, (Kind.BOOL, Kind.TEXT, Kind.LIST, Kind.DICT))
    for where in (absent["area"], wrong):
        yield Rows(where, at="annotations/area", expected=expected, new=new_area, code="S011")
    says = "ignore is 1, which pycocotools overwrites with iscrowd: the object counts"
    rows, expected = columns.is_ignored, "iscrowd 1, or no ignore"
    yield Rows(rows, says, "annotations/ignore", expected, code="S017")


def _areas(document: Document) -> FloatArray:
    """Return the area of each outline, or of the box without one; NaN where it is in doubt."""
    of_box = np.where(document.has_box, document.box_area, np.nan)
    areas = np.where(np.isnan(document.outline_area), of_box, document.outline_area)
    areas[document.once(shapes.box_facts).doubtful | ~(areas > 0) | ~np.isfinite(areas)] = np.nan
    return areas


def _number(value: Any) -> float:
    """Return a number, even if written as text; NaN for any other value."""
    try:
        # Underscores are replaced, as Python would read "1_0" as 10.
        return float(str(value).replace("_", "x")) if type(value) in _NUMERIC else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _plain(number: float) -> int | float:
    return int(number) if number == int(number) else number


def _numbers(value: Any) -> Any:
    """Return text that is a number as one, in lists as well; None if anything is no number."""
    if isinstance(value, list):
        found = [*map(_numbers, value)]
        return None if None in found else found
    number = _number(value)
    return _plain(number) if abs(number) <= MAX_COORDINATE else None


def _sound_box(box: Sequence[float]) -> list[int | float] | None:
    is_sound = len(box) == 4 and all(abs(n) <= MAX_COORDINATE for n in box) and min(box[2:]) > 0
    return list(map(_plain, box)) if is_sound else None


_RING = [[10, 10, 30, 10, 30, 40, 10, 40]]
_ALL_KEYS = (*_KEYS["annotations"], "area", "iscrowd")
_RESULT = '[{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 30], "score": 0.9}]'


@rule(
    "S006 error, unsafe fix: bbox is not a list of the expected numbers",
    breaks="COCOeval stops at null, at an object and at a list of another length.",
    explanation="""A bbox is a list of x, y, width and height in pixels, or of the five or eight
        numbers that most boxes have (O009). The fix writes text such as "996.0" as number; the
        unsafe fix writes the bounds of a valid outline. Files of rotated boxes have none.""",
    bad={"annotations": [{"bbox": ["10", "10", "20", "30"], "area": 600}]},
    good={"annotations": [{"bbox": [10.0, 10, 2e1, 30]}]},
    requires=("F004",),
)
def _box(document: Document, _settings: ValidateSettings) -> Checked:
    columns, at = document.annotations, "annotations/bbox"
    kind, rotations = columns.kind["bbox"], columns.rotations
    wrong = (kind != Kind.MISSING) & np.isnan(columns.bbox[:, 0])
    if document.once(shapes.rotations).is_most:
        wrong[rotations.row[rotations.n_numbers > 0]] = False
        # There is no fix, as four numbers would differ from the other boxes.
        yield Rows(wrong, at=at, expected="five or eight numbers, as others have")
        return

    texts: dict[int, list[int | float]] = {}
    for row in np.flatnonzero(wrong & (kind == Kind.LIST)).tolist():
        written = value_at(document, "annotations", row, "bbox")
        if box := _sound_box([*map(_number, written)]):
            texts[row] = box
    wrong[[*texts]] = False

    def new(row: int) -> list[int | float] | None:
        left, top, right, bottom = document.outline_bounds[row].tolist()
        return _sound_box([left, top, right - left, bottom - top])

    yield Rows([*texts], at=at, expected=_FOUR, new=texts.get, fix="safe")
    yield Rows(wrong, at=at, expected=_FOUR, new=new)


@rule(
    "S010 warning, safe fix: segmentation has a wrong type, or is missing while others have one",
    breaks="pycocotools stops at it when masks are evaluated.",
    explanation="""A segmentation is a list of polygons or a mask as run lengths. This one is
        neither, or is missing while others have one; it is an info finding if at most half of them
        do. The fix writes numbers that are text as numbers. Draw missing outlines.""",
    bad={"annotations": [{"segmentation": [[*map(str, _RING[0])]]}]},
    good={"annotations": [{"segmentation": _RING}]},
    requires=("S012",),
)
def _outline(document: Document, _settings: ValidateSettings) -> Checked:
    form, at = document.annotations.form, "annotations/segmentation"
    none, other = document.is_object & ~document.outlined, form == Form.OTHER
    outlined = document.is_object & ~none & ~other

    def new(row: int) -> Any:
        rings = _numbers(value_at(document, "annotations", row, "segmentation"))
        return rings if isinstance(rings, list) and form_of(rings) == Form.RINGS else None

    yield Rows(other, at=at, expected=_OUTLINE, new=new)
    if 2 * np.count_nonzero(outlined) > len(form):
        yield Rows(none, at=at, expected=f"{_OUTLINE}, as most annotations here have")
    # Empty rings, which P004 reports, are no outlines.
    elif document.has_rings.any() or (outlined & (form != Form.RINGS)).any():
        says = f"{none.sum():,} of {count(len(form), 'annotation')} have no outline; expected one "
        # Without examples, since drawing some of them on a picture would show nothing.
        yield summary(f"{says}on all, or on none", at, np.flatnonzero(none), examples=(),
                      severity=Severity.INFO)  # fmt: skip


@rule(
    "S015 error: number too large for a place or an angle",
    breaks="Areas and IoU are infinite or inexact, and masks for such boxes exhaust the memory.",
    explanation="""A coordinate is more than a thousand million pixels from 0, or an angle is a
        million degrees or more. Redraw the annotation, or remove it.""",
    bad={"annotations": [{"bbox": [1e300, 10, 20, 30], "segmentation": _RING}]},
    good={"annotations": [{"bbox": [10, 10, 20, 30], "segmentation": _RING}]},
    requires=("F004",),
)
def _too_large(document: Document, _settings: ValidateSettings) -> Checked:
    columns = document.annotations
    rings, turns, rows = columns.rings, columns.rotations, np.arange(len(columns))
    owner = np.repeat(rings.row, np.diff(rings.offsets))
    angles, turned = turns.angle[:, None], turns.values[:, 4:5] * (turns.n_numbers == 5)[:, None]
    for key, of, values, most, what, expected in (
        ("bbox", rows, columns.bbox, MAX_COORDINATE, "a number of bbox", _PLACE),
        ("segmentation", owner, rings.xy, MAX_COORDINATE, "a number of segmentation", _PLACE),
        ("attributes", turns.row, angles, _LAST_ANGLE, "attributes.rotation", _ANGLE),
        ("bbox", turns.row, turned, FARTHEST, "the angle of bbox", _OF_BOX),
    ):
        at, column = np.nonzero(np.abs(values) > most)
        # Of several numbers of an annotation, the first is reported.
        large = dict(zip(of[at][::-1].tolist(), values[at, column][::-1].tolist(), strict=True))
        finite = {row: number for row, number in large.items() if math.isfinite(number)}
        says = {row: f"{what} is {finite.get(row, _BEYOND_FLOATS)}" for row in large}.__getitem__
        summed, at_key = f"{key} is too large in {{share}}", f"annotations/{key}"
        yield Rows(sorted(large), says, at_key, expected, finite.get, summary=summed)


@rule(
    "S016 warning: part of the data was not examined",
    breaks="A file without findings may have any defect in the part that is missing.",
    explanation="""The file has images and no annotations, or results and no images and categories.
        Name the file of the annotations, or the ground truth of the results with
        `--ground-truth`.""",
    bad='{"images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}]}',
    good={"annotations": [{"bbox": [10, 10, 20, 30]}]},
    requires=("F001", "T001", "T002"),
)
def _not_examined(document: Document, _settings: ValidateSettings) -> Checked:
    reading = document.reading
    apart = reading.origin.apart if reading.origin is not None else {}
    if len(document.annotations):
        if kind_of(document).is_of_truth and document.truth is None:
            yield Defect(
                "the images and categories of results are in another file, so references and "
                "places were not examined; expected --ground-truth FILE"
            )
    elif apart:
        note = apart_note(apart, "examined")
        yield Defect(f"{note}, and there is nothing else; expected boxes, outlines or masks")
    # I007 reports an empty list.
    elif len(document.images) and (reading.origin or "annotations" not in reading.spans):
        yield Defect("there are no annotations, so none was examined; expected annotations")


def _scores(document: Document, _settings: ValidateSettings) -> Checked:
    """E001 and E002: results whose score is no finite number, or outside of 0 to 1."""
    score, at = document.annotations.score, "annotations/score"
    none = document.is_object & np.isnan(score)
    for where, code in ((none, "E001"), ((score < 0) | (score > 1), "E002")):
        yield Rows(where, at=at, expected="a number from 0 to 1", code=code)


RULES = (
    rule(
        "S001 error: list of records is missing or not a list",
        breaks="pycocotools finds no images, or stops with a KeyError at the first query.",
        explanation="""A COCO file needs the lists images, annotations and categories, which may be
            empty. One is missing or is not a list. A file of images alone is of another kind.""",
        bad={"categories": ABSENT},
        good={"annotations": []},
    )(_top_level),
    rule(
        "S009 error: record or info is not an object, or licenses is not a list",
        breaks="pycocotools stops with a TypeError while it builds its index.",
        explanation="""An image, an annotation or a category has to be an object with keys. It is a
            warning if info is not an object, or licenses is not a list.""",
        bad={"annotations": [{}, [1, 1, 1]]},
        good={"annotations": [{}, {"bbox": [40, 10, 20, 30]}]},
    )(_records),
    rule(
        "S012 error, safe fix: record is empty, or has none of the keys that it needs",
        breaks="pycocotools stops with a KeyError while it builds its index.",
        explanation="""An image, an annotation or a category is {}, or has other keys than those of
            COCO. The fix removes records that are {}.""",
        bad={"annotations": [{}, dict.fromkeys(_ALL_KEYS, ABSENT)]},
        good={"annotations": [{}, {"bbox": [40, 10, 20, 30]}]},
    )(_records),
    rule(
        "S002 error: required key is missing",
        breaks="pycocotools stops with a KeyError at the first record without the key.",
        explanation="""Each record needs its id, and each annotation an image_id, a category_id and
            a bbox. An outline without a bbox is a warning if other annotations have one.""",
        bad={"annotations": [{"category_id": ABSENT}]},
        good={"annotations": [{"segmentation": _RING}]},
        requires=("S012",),
    )(_records),
    rule(
        "S004 info, safe fix: info or licenses missing, or year empty",
        breaks="""COCO.info() of pycocotools stops without info, and strict readers at an empty
            year.""",
        explanation="""The info or the licenses are missing, or the year is "", as CVAT writes it.
            The fix adds an empty info and empty licenses, and removes the empty year.""",
        bad={"info": {"year": ""}},
        good={"info": {"year": 2026}},
        requires=("F001", "S001"),
    )(_top_level),
    rule(
        "S013 info, safe fix: year is not a number",
        breaks="Readers with a strict schema expect the year as a number and refuse the file.",
        explanation="""The year of info is text, as Roboflow writes it, or not a year. The fix
            writes "2026" as 2026.""",
        bad={"info": {"year": "2026"}},
        good={"info": {"year": 2026}},
    )(_top_level),
    rule(
        "S005 warning, safe fix: iscrowd is not 0 or 1",
        breaks="COCOeval stops with KeyError 'iscrowd', or ignores the object if it is 2 or more.",
        explanation="""iscrowd is 0 for one object and 1 for a group drawn as one. The fix writes 0
            if it is missing or null, and 0 or 1 for values such as true, 1.0 or "1".""",
        bad={"annotations": [{"iscrowd": ABSENT}]},
        good={"annotations": [{"iscrowd": 0}]},
        requires=("S012",),
    )(_values),
    rule(
        "S011 warning, safe fix: area is missing or not a number",
        breaks="""COCOeval, which sorts objects by size, stops: with KeyError if the area is
            missing, and with TypeError if it is null, text, a list or an object.""",
        explanation="""The area in square pixels is missing or not a number. The fix computes it
            from the outline, or from the box if there is none; text such as "996.0" becomes that
            number.""",
        bad={"annotations": [{"area": ABSENT}]},
        good={"annotations": [{"area": 600.0}]},
        requires=("S012",),
    )(_values),
    rule(
        "S017 warning: ignore is 1 where iscrowd is not",
        breaks="COCOeval overwrites ignore: a perfect detector misses the object and loses AP.",
        explanation="""COCOeval of pycocotools sets ignore to iscrowd before it evaluates, so that
            the object counts; `bboxqa agree` treats it as a crowd. Write iscrowd 1, or remove
            ignore.""",
        bad={"annotations": [{"ignore": 1}]},
        good={"annotations": [{"ignore": 0}]},
    )(_values),
    rule(
        "S007 error, safe fix: width or height of an image is not a size",
        breaks="pycocotools cannot make masks, and loaders that scale boxes divide by the size.",
        explanation="""The width or height is not a whole number above 0. The fix writes "640",
            "640.0" and 640.0 as 640. For others, M003 reads the files given by `--images`.""",
        bad={"images": [{"width": "100"}]},
        good={"images": [{"width": 100}]},
        requires=("S012",),
    )(_image_values),
    rule(
        "S008 error: image has no file_name",
        breaks="""Loaders such as torchvision's CocoDetection open the image by its file_name, and
            stop.""",
        explanation="""The file_name of an image is missing, empty, or not text. It is an info
            finding if there is a coco_url instead, as in LVIS.""",
        bad={"images": [{"file_name": ""}]},
        good={"images": [{"file_name": "0"}]},
        requires=("S012",),
    )(_image_values),
    rule(
        "E001 error: result without a score",
        breaks="COCOeval sorts results by score: it stops with a KeyError or a TypeError.",
        explanation="""The score of a result is missing, text or infinite. Write the confidence of
            the detector.""",
        bad=_RESULT.replace("0.9", '"0.9"'),
        good=_RESULT,
    )(_scores),
    rule(
        "E002 warning: score outside 0 to 1",
        breaks="Confidence thresholds, calibration and ensembles are wrong.",
        explanation="""Scores are probabilities from 0 to 1. Larger scores may be percentages, and
            negative scores logits. Convert them.""",
        bad=_RESULT.replace("0.9", "90"),
        good=_RESULT,
    )(_scores),
)
