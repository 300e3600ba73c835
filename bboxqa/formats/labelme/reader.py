"""Reading LabelMe JSON: shapes, masks, and points in groups."""

import base64
import binascii
import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.document import Where
from bboxqa.formats.heads import begins
from bboxqa.formats.images import FileImages, pictures_of, size_in, size_of_picture
from bboxqa.formats.label_folders import by_place, path_below, place_of, without_suffix
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    UNLABELLED,
    Add,
    BrokenTextError,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.json_files import json_damage
from bboxqa.formats.translation.masks import Masks, checked_size, picture_mask
from bboxqa.formats.translation.other_files import add_others, json_or_xml_of_tools
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
    line_of,
    mapping,
    plain_text,
    points_of,
)

_AGAIN = "Save it again in LabelMe; the file may be cut off."
_PICTURE_HEAD = 1 << 20
"""Characters of an embedded image to decode; its size is in the first bytes."""
_LINES = {
    "line": "line", "linestrip": "polyline", "polyline": "polyline", "point": "key point",
    "points": "point",
}  # fmt: skip
"""Names of shapes without an area, for messages."""
_QUADRANGLES = ("rotation", "oriented_rectangle", "quadrilateral")
_RECTANGLES = ("rectangle", "rotation", "oriented_rectangle")
_AREAS = (*_RECTANGLES, "polygon", "quadrilateral", "circle", "mask")
_WORDS = (
    ("group", "shape", "in groups of several: each compared on its own"),
    ("loose", "point", "in groups without one box: each is an object of its own"),
    ("empty", "mask", "left out: no pixels"),
    ("unsized", "image", "without a size"),
    ("unnamed", "image", "without imagePath: named as the JSON file"),
)


class _File(msgspec.Struct, gc=False, rename="camel"):
    """The keys of a file that are read; an embedded image is not decoded."""

    shapes: Any = None
    image_path: Any = None
    image_height: Any = None
    image_width: Any = None
    image_data: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_File).decode


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate the files of a folder or archive, or one file.

    Raises DatasetError if there are no files, and BrokenTextError if the only file is not JSON.
    """
    members = members_of(path)
    named = [*members_with(members, ".json")]
    files = [each for each in named if begins("LabelMe", each.head())]
    if not files:
        raise DatasetError([f"{path}: has no JSON of LabelMe"])
    # A full disk or a crash leaves empty files; reading them reports each one.
    files += [each for each in named if not each.head().strip()]
    known = {member.name for member in files}
    others = [member for member in named if member.name not in known]
    labels = by_place(files)
    pictures = by_place(pictures_of(path, members, labels))
    others += json_or_xml_of_tools(members, labels, pictures, (".xml",))
    records = _LabelmeRecords(pictures, add, wanted)
    for number, (place, member) in enumerate(labels.items()):
        records.add_file(place, member)
        if wanted.progress is not None and number % 100 == 0:
            wanted.progress(number, len(files))
    return records.done(others)


class _LabelmeRecords:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(self, pictures: dict[str, Member], add: Add, wanted: Wanted) -> None:
        self._wanted = wanted
        is_said = wanted.choices.missing_txt == "not-asked"
        self._into = Collector("LabelMe JSON", add, lists_images=is_said)
        self._images = FileImages(self._into, pictures, choices=wanted.choices)
        self._masks = Masks(outlines=wanted.outlines)
        self._tally = self._images.tally

    def add_file(self, place: str, member: Member) -> None:
        """Add the shapes of an image."""
        text = member.text()
        try:
            content = _decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not member.name:
                problem = f"{member.shown}: {json_damage(text, error, 'JSON of LabelMe')}"
                raise BrokenTextError([problem], _AGAIN, files=[Path(member.shown)]) from None
            problem = f"{member.name}: {json_damage(text, error)}"
            self._into.defect("T001", problem, Where(member.name, ""))
            return
        image = self._image(place, member, content)
        if not isinstance(content.shapes, list):
            problem = f"{member.name}: has no list of shapes"
            self._into.defect("T001", problem, Where(member.name, ""))
            return
        size = (image["width"], image["height"]) if "width" in image else None
        owners, n_grouped = _groups(content.shapes)
        self._tally["group"] += n_grouped
        points_of_shape = owners if self._wanted.keypoints else {}
        inside = {number for numbers in points_of_shape.values() for number in numbers}
        for number, shape in enumerate(content.shapes):
            if number in inside:
                continue
            joints = self._joints(content.shapes, points_of_shape.get(number, ()), member)
            where = Where(member.name, f"/shapes/{number}")
            try:
                self._add_shape(shape, image, size, where, joints)
            except ValueProblemError as error:
                self._refuse(number, error, where)

    def _joints(self, given: list[Any], numbers: Sequence[int], member: Member) -> Record:
        """Return the key points of a shape and their names; empty if it has none."""
        keypoints: list[float] = []
        joints: list[str] = []
        for number in numbers:
            try:
                keypoints += [*points_of(given[number].get("points"))[0].tolist(), 2]
            except ValueProblemError as error:
                self._refuse(number, error, Where(member.name, f"/shapes/{number}"))
                continue
            joints.append(plain_text(given[number].get("label")) or UNLABELLED)
        return {"keypoints": keypoints, "joints": joints} if joints else {}

    def _refuse(self, number: int, error: ValueProblemError, where: Where) -> None:
        self._tally["empty"] += isinstance(error, EmptyMaskProblemError)
        self._into.refuse(f"shape {number + 1}", error, where)

    def _image(self, place: str, member: Member, content: _File) -> Record:
        image = self._into.image(place, Where(member.name, ""))
        name = self._name(place, member, content)
        image["file_name"] = name
        picture = self._images.picture_of(place, name)
        sides = content.image_width, content.image_height
        size = self._into.size(image, name, sides, Where(member.name, ""))
        if size is None and picture is not None:
            size = size_of_picture(picture)
        self._images.give_size(image, size or _embedded_size(content.image_data))
        return image

    def _name(self, place: str, member: Member, content: _File) -> str:
        """Return the name of an image: the name in the file, unless another file has the same."""
        inner = path_below(plain_text(content.image_path))
        if not PurePosixPath(inner).name:
            self._tally["unnamed"] += 1
            return place or without_suffix(PurePosixPath(member.shown).name)
        # The path is relative to the file, which may be in a folder.
        folder = place.rpartition("/")[0]
        name = place_of(inner) + PurePosixPath(inner).suffix
        name = f"{folder}/{name}" if folder else name
        return self._images.name(name, place, member.name, Where(member.name, "/imagePath"))

    def _add_shape(
        self, value: Any, image: Record, size: tuple[int, int] | None, where: Where, joints: Record
    ) -> None:
        if not isinstance(value, dict):
            raise ValueProblemError("is not an object")
        wanted = self._wanted
        shape = _shape_of(value, size, self._masks, keypoints=wanted.keypoints)
        label = plain_text(value.get("label"))
        record = {**wanted.boxed(shape), **joints, "image_id": image["id"]}
        record["category_id"] = self._into.category(label or UNLABELLED, where)
        attributes = {**record.get("attributes", {})}
        attributes |= {name: True for name, is_set in mapping(value.get("flags")).items() if is_set}
        if value.get("difficult") is True:
            attributes["difficult"] = True
        # The group only links points to the shape, if they are in its record.
        if (group := _group_of(value)) is not None and not joints:
            attributes["group_id"] = group
            self._tally["loose"] += "keypoints" in shape
        if attributes:
            record["attributes"] = attributes
        score = value.get("score")
        if isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1:
            record["score"] = score
        row = self._into.annotation(record, where)
        if not label:
            self._into.defect("T004", "a shape has no label", where, row)

    def done(self, others: list[Member]) -> Translated:
        """Return the translation; `others` are files that are left out."""
        notes = [*add_others(self._into, others, "JSON of LabelMe")]
        notes += self._images.add_unlabelled(others=others)
        return self._into.done([*tally_notes(self._tally, _WORDS), *notes])


def _shape_of(
    value: dict[str, Any], size: tuple[int, int] | None, masks: Masks, *, keypoints: bool
) -> Record:
    """Return the COCO geometry keys of a shape."""
    # Old versions have polygons only, without a `shape_type`.
    kind = plain_text(value.get("shape_type")) or "polygon"
    if kind == "mask":
        return _mask(value, size, masks)
    if kind == "point" and keypoints:
        x, y = points_of(value.get("points"))[0].tolist()
        return {"shape": _LINES[kind], "keypoints": [x, y, 2], "num_keypoints": 1}
    if kind in _LINES:
        line = {} if kind == "point" else line_of(value.get("points"))
        return {"shape": _LINES[kind], **line}
    points = points_of(value.get("points"))
    if kind == "rectangle" and len(points) == 2:
        return {"bbox": shapes.bounds(points)}
    if len(points) != 2 and (kind == "circle" or (kind == "rectangle" and len(points) < 2)):
        raise ValueProblemError(f"a {kind} has {count(len(points), 'point')}; expected 2")
    if kind == "circle":
        centre, radius = points[0], float(np.hypot(*(points[1] - points[0])))
        points = shapes.ellipse((float(centre[0]), float(centre[1])), (radius, radius))
    elif kind not in ("polygon", "rectangle", *_QUADRANGLES):
        return {"shape": one_line(kind[:40])}
    if len(points) < 3:
        raise ValueProblemError(f"a {kind} has {count(len(points), 'point')}; expected 3 or more")
    record: Record = {"bbox": shapes.bounds(points)}
    if kind in ("rectangle", *_QUADRANGLES) and len(points) == 4:
        # The angle of the first side in degrees, from 0 up to 90.
        right, down = points[1] - points[0]
        degrees = round(float(np.degrees(np.arctan2(down, right))) % 90, 3) % 90
        record["attributes"] = {"rotation": degrees}
    if masks.outlines:
        record["segmentation"] = [shapes.ring(points)]
    return record


def _mask(value: dict[str, Any], size: tuple[int, int] | None, masks: Masks) -> Record:
    """Return the box and run lengths of a mask, which is stored as an image between two corners."""
    points = points_of(value.get("points"), least=2)
    left, top = (int(each) for each in points.min(0))
    mask = replace(picture_mask(value.get("mask"), masks), left=left, top=top)
    if masks.outlines and size is not None:
        width, height = checked_size(size)
        if left < 0 or top < 0 or left + mask.width > width or top + mask.height > height:
            raise MaskProblemError(f"lies outside the image of {width} × {height} pixels")
    return masks.record(mask, size)


def _group_of(shape: dict[str, Any]) -> int | str | None:
    """Return the id of the group of a shape; None if it is not in a group."""
    group = shape.get("group_id")
    return group if isinstance(group, int | str) else None


def _groups(given: Sequence[Any]) -> tuple[dict[int, list[int]], int]:
    """Return the points of each shape that has points, and the number of other grouped shapes."""
    groups: dict[int | str, list[int]] = defaultdict(list)
    kinds: dict[int, str] = {}
    for number, shape in enumerate(given):
        if isinstance(shape, dict) and (group := _group_of(shape)) is not None:
            kinds[number] = plain_text(shape.get("shape_type")) or "polygon"
            groups[group].append(number)
    owners, n_grouped = {}, 0
    for numbers in groups.values():
        points = [number for number in numbers if kinds[number] == "point"]
        areas = [number for number in numbers if kinds[number] in _AREAS]
        rectangles = [number for number in areas if kinds[number] in _RECTANGLES]
        owner = next((some[0] for some in (areas, rectangles) if len(some) == 1), None)
        if points and owner is not None:
            owners[owner] = points
        if len(numbers) - len(points) > 1:
            n_grouped += len(areas)
    return owners, n_grouped


def _embedded_size(data: msgspec.Raw) -> tuple[int, int] | None:
    """Return the size of an embedded image, decoding only its beginning."""
    text = bytes(memoryview(data)[: _PICTURE_HEAD + 1])
    if not text.startswith(b'"') or len(text) < 4:
        return None
    text = text[1:].rstrip(b'"').replace(b"\\/", b"/")
    try:
        head = base64.b64decode(text[: len(text) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    return size_in(io.BytesIO(head))
