"""Reading the images and regions of a VIA file in any of its layouts."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import pointer_to
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import is_via_head
from bboxqa.formats.member import Member
from bboxqa.formats.opening import decoded
from bboxqa.formats.records import ANNOTATOR_KEYS
from bboxqa.formats.source import members_of, only_file
from bboxqa.formats.tables import Delimited
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED, Collector
from bboxqa.formats.translation.files import NOT_JSON, broken_json
from bboxqa.formats.translation.shapes import ValueProblemError, items, mapping, numbers_of

_NOTES = (
    ("again", "image", "with several entries, which are merged"),
    ("several", "region", "with several labels: one annotation for each label"),
)
_HASH = re.compile(r"\A(\s*)#")
# Usual names of the attribute that holds the label, the most specific first.
_LABELS = ("label", "labels", "class", "category", "class_name", "object", "type", "name")
_APART = {"point": "key point", "polyline": "polyline", "line": "polyline"}


class _Region(msgspec.Struct, frozen=True):
    """A shape and its attributes, at a JSON pointer or a line."""

    at: str | int
    shape: object
    said: dict[str, Any]


class _Entry(msgspec.Struct):
    """An image."""

    name: str
    at: str | int
    said: dict[str, Any]
    regions: list[_Region] = msgspec.field(default_factory=list)


def translate(path: Path, into: Collector) -> None:
    """Translate a VIA file.

    Raises BrokenTextError if it cannot be read, and DatasetError if it does not say which attribute
    holds the labels.
    """
    found = [each for each in members_of(path) if not each.name or is_via_head(each.head())]
    member = only_file(path, found, "VIA")
    text = member.text()
    is_json = text[:4096].lstrip().startswith(b"{")
    into.title = "VIA JSON" if is_json else "VIA csv"
    into.advice = "In VIA: Annotation, Export Annotations (as JSON); give that file."
    entries = [*(_json_entries(member, text) if is_json else _csv_entries(member))]
    said = [region.said for entry in entries for region in entry.regions]
    attribute, note = _labels_of(member, said, into) if entries else ("", "")
    records = _Records(member.name, attribute, into)
    for entry in entries:
        records.add_entry(entry)
    into.notes += filter(None, [note])
    into.count(_NOTES)


def _json_entries(member: Member, text: bytes) -> Iterator[_Entry]:
    try:
        content = mapping(msgspec.json.decode(text))
    except NOT_JSON as error:
        raise broken_json(member, error, "VIA JSON") from None
    key = "_via_img_metadata"
    start = pointer_to(key) if key in content else ""
    for name, entry in (content[key] if start else content).items():
        given, at = mapping(entry), f"{start}{pointer_to(name)}"
        if not given or name.startswith("_via_"):
            continue
        regions = given.get("regions")
        # VIA 2 has a list; VIA 1 has an object with numbers as keys.
        listed = regions.items() if isinstance(regions, dict) else enumerate(items(regions))
        found = [(f"{at}/regions{pointer_to(number)}", mapping(each)) for number, each in listed]
        yield _Entry(
            shapes.plain_text(given.get("filename")) or name,
            at,
            mapping(given.get("file_attributes")),
            [
                _Region(here, each.get("shape_attributes"), mapping(each.get("region_attributes")))
                for here, each in found
            ],
        )


def _csv_entries(member: Member) -> Iterator[_Entry]:
    text = _HASH.sub(r"\1", decoded(member.shown, member.read()))
    found: dict[str, _Entry] = {}
    for line, cells in Delimited(member.shown, text).records():
        # Spreadsheets add empty rows at the end.
        if any(cells.values()):
            _add_row(found, cells, line)
    yield from found.values()


def _add_row(found: dict[str, _Entry], cells: dict[str, str], line: int) -> None:
    name = cells.get("filename", "")
    if name not in found:
        found[name] = _Entry(name, line, mapping(_cell(cells.get("file_attributes", ""))))
    shape = _cell(cells.get("region_shape_attributes", ""))
    # An image without regions has a row with an empty shape.
    if shape != {}:
        said = mapping(_cell(cells.get("region_attributes", "")))
        found[name].regions.append(_Region(line, shape, said))


def _cell(text: str) -> object:
    """Return the JSON value in a cell; its text if it is not JSON."""
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _labels_of(member: Member, said: Sequence[dict[str, Any]], into: Collector) -> tuple[str, str]:
    """Return the attribute that holds the labels of regions, and a note on others.

    VIA leaves it to its users. It is "" if there is none. Raises DatasetError if it is unclear.
    """
    used = dict.fromkeys(name for each in said for name in each if name not in ANNOTATOR_KEYS)
    if not used:
        return "", "no region has an attribute: all are of one category"
    known = {name.lower().strip(): name for name in reversed([*used])}
    chosen = [name for name in [into.wanted.choices.columns.get("category", "")] if name in used]
    chosen += [known[name] for name in _LABELS if name in known]
    if len(used) == 1:
        chosen = [*used]
    others = [name for name in used if name not in chosen[:1]]
    listed = first_few(others, 3, lambda name: repr(one_line(name)))
    if not chosen:
        raise DatasetError(
            [f"{member.shown}: regions have the attributes {listed}; expected one called label"],
            "Say which of them is the label: --columns category=NAME",
        )
    note = f"categories are the values of {one_line(chosen[0])!r}, not of {listed}"
    return chosen[0], note if listed else ""


class _Records:
    """Converts regions to COCO records."""

    def __init__(self, member: str, attribute: str, into: Collector) -> None:
        self._member = member
        self._attribute = attribute
        self._into = into

    def add_entry(self, entry: _Entry) -> None:
        """Add the regions of an image."""
        image = self._into.image(entry.name, Where(self._member, entry.at))
        self._into.tally["again"] += "file_name" in image
        image["file_name"] = entry.name
        # VIA does not record who was asked.
        image.pop("annotators", None)
        for number, region in enumerate(entry.regions, start=1):
            where = Where(self._member, region.at)
            label = f"{one_line(entry.name)}, region {number}"
            try:
                shape = _shape_of(region.shape)
            except ValueProblemError as error:
                self._into.refuse(label, error, where)
                continue
            said = {**entry.said, **region.said}
            # The rotation is computed from the points; the tool's attribute would duplicate it.
            said.pop("rotation", None)
            record: Record = {**shape, "image_id": image["id"], "attributes": said}
            names = self._names(region.said) or ["" if self._attribute != "" else UNLABELLED]
            self._into.tally["several"] += len(names) > 1 and "bbox" in record
            wanted = f"has no label {self._attribute!r}" if self._attribute else "has no label"
            for name in names if "bbox" in record else names[:1]:
                self._into.labelled({**record}, name, where, f"{label}: {wanted}")

    def _names(self, said: dict[str, Any]) -> list[str]:
        """Return the labels of a region, several if a checkbox has several marks."""
        value = said.get(self._attribute)
        if isinstance(value, dict):
            return [name.strip() for name, is_marked in value.items() if is_marked is True]
        text = shapes.plain_text(value)
        return [text] if text else []


def _shape_of(given: object) -> Record:
    """Return the COCO geometry keys of a region.

    Raises ValueProblemError if the values are not as VIA writes them.
    """
    shape = mapping(given)
    kind = shapes.plain_text(shape.get("name"))
    if not kind:
        found = str(given)[:40] if given else "missing"
        raise ValueProblemError(f"shape_attributes are {found}; expected the name of a shape")
    if kind == "rect":
        return {"bbox": numbers_of(shape, ("x", "y", "width", "height"))}
    if kind in {"polygon", "polyline"}:
        xs, ys = shape.get("all_points_x"), shape.get("all_points_y")
        if not isinstance(xs, list) or not isinstance(ys, list) or len(xs) != len(ys):
            problem = "all_points_x and all_points_y are not two lists of equal length"
            raise ValueProblemError(problem)
        points = shapes.points_of([list(pair) for pair in zip(xs, ys, strict=True)])
        if kind == "polyline":
            return {"shape": "polyline", "points": shapes.ring(points)}
        return shapes.outlined(points)
    if kind in {"circle", "ellipse"}:
        x, y = numbers_of(shape, ("cx", "cy"))
        names = ("r", "r") if kind == "circle" else ("rx", "ry")
        wide, high = numbers_of(shape, names)
        turned = shape.get("theta")
        degrees = float(np.rad2deg(shapes.number_of(turned, "theta"))) if turned else 0.0
        return shapes.outlined(shapes.ellipse((x, y), (wide, high), degrees))
    return {"shape": _APART.get(kind, kind)}
