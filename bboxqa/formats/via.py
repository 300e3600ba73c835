"""Reading the images and regions of a VIA file in any of its layouts."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import pointer_to
from bboxqa.core.text import first_few, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import begins, plain_head
from bboxqa.formats.member import Member
from bboxqa.formats.opening import decoded
from bboxqa.formats.records import ANNOTATOR_KEYS
from bboxqa.formats.source import members_of, only_file
from bboxqa.formats.tables import delimited
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED, Collector
from bboxqa.formats.translation.reading import json_of
from bboxqa.formats.translation.shapes import ValueProblemError, mapping, numbers_of, plain_text

_NOTES = (
    ("again", "image", "with several entries, which are merged"),
    ("several", "region", "with several labels: one annotation for each label"),
)
_HASH = re.compile(r"\A(\s*)#")
# Usual names of the attribute that holds the label, the most specific first.
_LABELS = ("label", "labels", "class", "category", "class_name", "object", "type", "name")
_Region = tuple[str | int, object, Record]
_Entry = tuple[str, str | int, Record, list[_Region]]
"""An image: its name, its JSON pointer or line, its attributes, and its regions."""


def translate(path: Path, into: Collector) -> None:
    """Translate a VIA file; raises BrokenTextError or DatasetError if it cannot be read."""
    found = [each for each in members_of(path) if not each.name or begins("VIA", each.head())]
    member = only_file(path, found, "VIA")
    is_json = plain_head(member.head()).startswith(b"{")
    into.title = "VIA JSON" if is_json else "VIA csv"
    into.advice = "In VIA: Annotation, Export Annotations (as JSON); give that file."
    entries = [*(_json_entries(member, into) if is_json else _csv_entries(member))]
    said = [attributes for *_, regions in entries for _, _, attributes in regions]
    # The attribute that holds the labels of regions; "" for none.
    attribute = ""
    used = dict.fromkeys(name for each in said for name in each if name not in ANNOTATOR_KEYS)
    if entries and not used:
        into.notes.append("no region has an attribute: all are of one category")
    elif entries:
        known = {name.lower().strip(): name for name in reversed([*used])}
        wanted = into.settings.choices.columns.get("category", "")
        chosen = [wanted] if wanted in used else []
        chosen += [*used] if len(used) == 1 else [known[name] for name in _LABELS if name in known]
        listed = first_few([e for e in used if e not in chosen[:1]], 3, lambda e: repr(one_line(e)))
        if not chosen:
            problem = f"regions have the attributes {listed}; expected one called label"
            todo = "Say which of them is the label: --columns category=NAME"
            raise DatasetError([f"{member.shown}: {problem}"], todo)
        attribute = chosen[0]
        if listed:
            note = f"categories are the values of {one_line(attribute)!r}, not of {listed}"
            into.notes.append(note)
    for name, place, of_file, regions in entries:
        image = into.image(name, Where(member.name, place))
        into.tally["again"] += "file_name" in image
        image["file_name"] = name
        for number, (at, shape, own) in enumerate(regions, start=1):
            where, label = Where(member.name, at), f"{one_line(name)}, region {number}"
            with into.refusing(label, where):
                # The rotation is computed from the points.
                both = {key: each for key, each in (of_file | own).items() if key != "rotation"}
                record = _shape_of(shape) | {"image_id": image["id"], "attributes": both}
                value = own.get(attribute)
                # A checkbox has several marks.
                marked = [e.strip() for e, is_set in mapping(value).items() if is_set is True]
                names = marked or [plain_text(value) or ("" if attribute else UNLABELLED)]
                into.tally["several"] += len(names) > 1 and "bbox" in record
                problem = f"{label}: has no label {attribute!r}"
                for each in names if "bbox" in record else names[:1]:
                    into.labelled({**record}, each, where, problem)
    into.count(_NOTES)


def _json_entries(member: Member, into: Collector) -> Iterator[_Entry]:
    content = mapping(json_of(member, into))
    key = "_via_img_metadata"
    start = pointer_to(key) if key in content else ""
    for name, entry in mapping(content[key] if start else content).items():
        given, at = mapping(entry), f"{start}{pointer_to(name)}"
        if not given or name.startswith("_via_"):
            continue
        regions = given.get("regions")
        # VIA 2 has a list; VIA 1 has an object with numbers as keys.
        listed = regions.items() if isinstance(regions, dict) else enumerate(shapes.items(regions))
        found = [(f"{at}/regions{pointer_to(number)}", mapping(each)) for number, each in listed]
        parts: list[_Region] = [
            (here, each.get("shape_attributes"), mapping(each.get("region_attributes")))
            for here, each in found
        ]
        said = mapping(given.get("file_attributes"))
        yield plain_text(given.get("filename")) or name, at, said, parts


def _csv_entries(member: Member) -> Iterator[_Entry]:
    text = _HASH.sub(r"\1", decoded(member.shown, member.read()))
    found: dict[str, _Entry] = {}
    for line, cells in delimited(member.shown, text).records():
        # Spreadsheets add empty rows at the end.
        if not any(cells.values()):
            continue
        name = cells.get("filename", "")
        if name not in found:
            found[name] = name, line, mapping(_cell(cells, "file_attributes")), []
        shape = _cell(cells, "region_shape_attributes")
        # An image without regions has a row with an empty shape.
        if shape != {}:
            said = mapping(_cell(cells, "region_attributes"))
            found[name][-1].append((line, shape, said))
    yield from found.values()


def _cell(cells: dict[str, str], name: str) -> object:
    """Return the JSON value in a cell; its text if it is not JSON."""
    text = cells.get(name, "")
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _shape_of(given: object) -> Record:
    shape = mapping(given)
    kind = plain_text(shape.get("name"))
    if not kind:
        found = str(given)[:40] if given else "missing"
        raise ValueProblemError(f"shape_attributes are {found}; expected the name of a shape")
    if kind == "rect":
        return {"bbox": numbers_of(shape, ("x", "y", "width", "height"))}
    if kind in {"polygon", "polyline"}:
        xs, ys = shape.get("all_points_x"), shape.get("all_points_y")
        if not isinstance(xs, list) or not isinstance(ys, list) or len(xs) != len(ys):
            raise ValueProblemError("all_points_x and all_points_y are not lists of equal length")
        points = shapes.points_of([list(pair) for pair in zip(xs, ys, strict=True)])
        if kind == "polyline":
            return {"shape": "polyline", "points": shapes.ring(points)}
        return shapes.outlined(points)
    if kind in {"circle", "ellipse"}:
        radii = ("r", "r") if kind == "circle" else ("rx", "ry")
        x, y, wide, high = numbers_of(shape, ("cx", "cy", *radii))
        degrees = shapes.degrees_of(shape.get("theta"), "theta", in_radians=True)
        return shapes.outlined(shapes.ellipse((x, y), (wide, high), degrees))
    return {"shape": "polyline" if kind == "line" else kind}
