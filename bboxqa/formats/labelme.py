"""LabelMe JSON, with one file per image: shapes, masks, and points in groups."""

import base64
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.text import count, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.images import FileImages
from bboxqa.formats.label_folders import path_below, place_of
from bboxqa.formats.source import members_of
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED, Collector
from bboxqa.formats.translation.masks import picture_mask, png_of
from bboxqa.formats.translation.reading import json_of
from bboxqa.formats.translation.shapes import ValueProblemError, plain_text, points_of, size_of
from bboxqa.formats.writing.content import Content, Writer, Written, image_name, is_point
from bboxqa.formats.writing.outlines import four_corners, rings_of

_LINES = {"line": "line", "linestrip": "polyline", "polyline": "polyline", "points": "point"}
_RECTANGLES = ("rectangle", "rotation", "oriented_rectangle")
_OUTLINES = (*_RECTANGLES, "quadrilateral", "polygon", "circle")
_NOTES = (
    ("loose", "point", "in groups without one box: each is an object of its own"),
    ("empty", "mask", "left out: no pixels"),
    ("unsized", "image", "without a size"),
    ("unnamed", "image", "without imagePath: named as the JSON file"),
)


def translate(path: Path, into: Collector) -> None:
    """Translate the files of a folder or archive, or one file."""
    into.title = "LabelMe JSON"
    images = FileImages.of_tool(path, into, members_of(path), "LabelMe", ".json")
    for n_read, (place, member) in enumerate(images.files.items()):
        into.step(n_read, len(images.files))
        if (found := json_of(member, into)) is None:
            continue
        content, where = shapes.mapping(found), Where(member.name, "")
        name = _name_in_folder(plain_text(content.get("imagePath")), place)
        sides = content.get("imageWidth"), content.get("imageHeight")
        image, _ = images.add_named(place, member, name, where, (sides, where))
        if not isinstance(listed := content.get("shapes"), list):
            into.defect("T001", f"{member.name}: has no list of shapes", where)
            continue
        owners = _owners(listed) if into.settings.keypoints else {}
        inside = {number for numbers in owners.values() for number in numbers}
        for number, value in enumerate(listed):
            if number in inside:
                continue
            at = Where(member.name, f"/shapes/{number}")
            with into.refusing(f"shape {number + 1}", at):
                if not isinstance(value, dict):
                    raise ValueProblemError("is not an object")
                points = [listed[each] for each in owners.get(number, ())]
                _add_shape(into, value, image, at, points)
    images.done("JSON of LabelMe", _NOTES)


def _name_in_folder(path: str, place: str) -> str:
    """Return the name of an image from its path, which is relative to its file; "" without one."""
    inner, (folder, slash, _) = path_below(path), place.rpartition("/")
    name = place_of(inner) + PurePosixPath(inner).suffix if PurePosixPath(inner).name else ""
    return f"{folder}{slash}{name}" if name else ""


def _add_shape(
    into: Collector, value: Record, image: Record, where: Where, points: Sequence[Record]
) -> None:
    shape, label = _shape_of(into, value, image), plain_text(value.get("label"))
    record = into.boxed(shape)
    if points:
        triples = [[*points_of(each.get("points"))[0].tolist(), 2] for each in points]
        record["keypoints"] = [*chain.from_iterable(triples)]
        record["joints"] = [plain_text(each.get("label")) or UNLABELLED for each in points]
    record |= {"image_id": image["id"], "category_id": into.category(label or UNLABELLED, where)}
    flags = shapes.mapping(value.get("flags")).items()
    attributes = record.get("attributes", {}) | {name: True for name, is_set in flags if is_set}
    if value.get("difficult") is True:
        attributes["difficult"] = True
    # The group only links points to the shape, if they are in its record.
    if (group := _group_of(value)) is not None and not points:
        attributes["group_id"] = group
        into.tally["loose"] += "keypoints" in shape
    if attributes:
        record["attributes"] = attributes
    score = value.get("score")
    if isinstance(score, int | float) and score is not True and 0 <= score <= 1:
        record["score"] = score
    row = into.annotation(record, where)
    if not label:
        into.defect("T004", "a shape has no label", where, row)


def _shape_of(into: Collector, value: Record, image: Record) -> Record:
    # Old versions have polygons only, without a type.
    kind = plain_text(value.get("shape_type")) or "polygon"
    points = points_of(value.get("points"), least=2 if kind == "mask" else 1)
    if kind == "mask":
        # A picture between two corners.
        left, top = map(int, points.min(0).tolist())
        mask = replace(picture_mask(value.get("mask"), into.masks), left=left, top=top)
        return into.masks.record(mask, size_of(image.get("width"), image.get("height")))
    if kind == "point":
        joint = {"keypoints": [*points[0].tolist(), 2], "num_keypoints": 1}
        return {"shape": "key point"} | (joint if into.settings.keypoints else {})
    if kind in _LINES:
        return {"shape": _LINES[kind], "points": shapes.ring(points)}
    if kind not in _OUTLINES:
        return {"shape": one_line(kind[:40])}
    least = 2 if kind in ("rectangle", "circle") else 3
    if len(points) < least or (kind == "circle" and len(points) != 2):
        more = " or more" * (kind != "circle")
        raise ValueProblemError(
            f"a {kind} has {count(len(points), 'point')}; expected {least}{more}"
        )
    if kind == "rectangle" and len(points) == 2:
        return {"bbox": shapes.bounds(points)}
    if kind == "circle":
        (x, y), radius = points[0].tolist(), float(np.hypot(*(points[1] - points[0])))
        points = shapes.ellipse((x, y), (radius, radius))
    record = shapes.outlined(points)
    if kind not in ("polygon", "circle") and len(points) == 4:
        # The angle of the first side in degrees, from 0 up to 90.
        right, down = points[1] - points[0]
        degrees = round(float(np.degrees(np.arctan2(down, right))) % 90, 3) % 90
        record["attributes"] = {"rotation": degrees}
    return record


def _group_of(shape: Any) -> int | str | None:
    group = shape.get("group_id") if isinstance(shape, dict) else None
    return group if isinstance(group, int | str) else None


def _owners(given: Sequence[Any]) -> dict[int, list[int]]:
    """Return the points of each group by its only shape, or its only rectangle."""
    groups: dict[int | str, dict[int, str]] = defaultdict(dict)
    for number, shape in enumerate(given):
        if (group := _group_of(shape)) is not None:
            groups[group][number] = plain_text(shape.get("shape_type")) or "polygon"
    owners = dict[int, list[int]]()
    for kinds in groups.values():
        points = [number for number, kind in kinds.items() if kind == "point"]
        areas = [number for number, kind in kinds.items() if kind in (*_OUTLINES, "mask")]
        rectangles = [number for number in areas if kinds[number] in _RECTANGLES]
        for owner in next((some for some in (areas, rectangles) if len(some) == 1), ()):
            owners |= {owner: points} if points else {}
    return owners


_LINE_TYPES = {"polyline": "linestrip", "line": "line"}
_VERSION = "5.4.1"


def _files(content: Content) -> Iterator[Written]:
    # A folder with subfolders would be read as several annotators.
    is_nested = any("/" in image_name(each) for each in content.images)
    encode = msgspec.json.Encoder().encode
    for place, name, drawn, path in content.files(LABELME.folder * is_nested, ".json"):
        image = content.images[place]
        shapes_of = [*_shapes(content, drawn)]
        for each in content.lines(place, name, _LINE_TYPES):
            points = np.reshape(each["points"], (-1, 2)).tolist()
            shapes_of.append(_shape(each["label"], _LINE_TYPES[each["shape"]], points))
        document: Record = {
            "version": _VERSION,
            "flags": {},
            "shapes": shapes_of,
            "imagePath": image_name(image).rpartition("/")[2],
            "imageData": None,
            "imageHeight": int(image["height"]),
            "imageWidth": int(image["width"]),
        }
        yield Written(path, msgspec.json.format(encode(document), indent=2))


def _shapes(content: Content, drawn: Sequence[Record]) -> Iterator[Record]:
    """Yield the shapes of annotations, each followed by its joints as points of its group."""
    group = 0
    for each in drawn:
        label = content.category_names[each["category_id"]]
        joints = [joint for joint in content.joints_of(each) if joint.visibility]
        if is_point(each):
            yield _shape(label, "point", [[joints[0].x, joints[0].y]])
            continue
        group += bool(joints)
        own = group if joints else None
        outline = content.outlines[each["id"]].kind
        if outline == "mask":
            pixels, left, top = content.masks.picture(each)
            height, width = pixels.shape
            points = [[left, top], [left + width - 1, top + height - 1]]
            text = base64.b64encode(png_of(pixels)).decode()
            yield {**_shape(label, "mask", points, own), "mask": text}
        elif outline == "rotation":
            yield _shape(label, "oriented_rectangle", four_corners(each).tolist(), own)
        elif outline == "polygon":
            yield _shape(label, "polygon", rings_of(each)[0].tolist(), own)
        else:
            x, y, width, height = each["bbox"]
            yield _shape(label, "rectangle", [[x, y], [x + width, y + height]], own)
        for joint in joints:
            yield _shape(joint.name, "point", [[joint.x, joint.y]], own)


def _shape(label: str, kind: str, points: list[list[float]], group: int | None = None) -> Record:
    own = {"label": label, "points": points, "group_id": group}
    return {**own, "description": "", "shape_type": kind, "flags": {}}


LABELME = Writer(
    "LabelMe",
    "folder",
    (".json",),
    _files,
    frozenset({
        "polygon", "mask", "rotation", "corners", "keypoints", "keypoint box", "image sizes",
        *_LINE_TYPES,
    }),
    reads={"category": str.strip},
    folder="annotations",
    # Files have the last part of the name.
    read_name=lambda name, place: _name_in_folder(name.rpartition("/")[2].strip(), place),
    needs_sizes="all images",
)  # fmt: skip
