"""Reading the items of Datumaro JSON."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.json_values import cut
from bboxqa.core.text import count, one_line
from bboxqa.formats.columns import mask_of
from bboxqa.formats.document import Record, Where
from bboxqa.formats.label_folders import path_below, without_suffix
from bboxqa.formats.source import members_like
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import UNLABELLED, Collector
from bboxqa.formats.translation.reading import json_objects
from bboxqa.formats.translation.shapes import MaskProblemError, items, mapping, plain_text

# Names of shapes that are kept but not compared.
_APART = {
    "label": "image label", "points": "key point", "polyline": "polyline", "caption": "caption",
    "skeleton": "skeleton", "cuboid_3d": "cuboid", "cuboid_2d": "cuboid",
}  # fmt: skip


def translate(path: Path, into: Collector) -> None:
    """Translate the subsets of a data set."""
    into.title = "Datumaro JSON"
    into.advice = "Export the data set again, with its annotations."
    subset_of: dict[int, str] = {}
    for member, content in json_objects(members_like(path, "Datumaro", ".json"), into):
        subset = _Subset(into, member.name, content)
        before = len(into.images)
        for place, given in enumerate(items(content.get("items"))):
            subset.add_item(mapping(given), place)
        stem = PurePosixPath(member.name).stem
        subset_of |= {image["id"]: stem for image in into.images[before:]}
    # Images of one name in several subsets would be taken for several people's.
    times = Counter(image["file_name"] for image in into.images)
    for image in into.images:
        if times[image["file_name"]] > 1:
            image["file_name"] = f"{subset_of[image['id']]}/{image['file_name']}"
    into.count([("again", "item", "with the id of another in its subset, merged")])


class _Subset:
    def __init__(self, into: Collector, member: str, content: dict[str, Any]) -> None:
        self._into, self._member = into, member
        categories = mapping(content.get("categories"))
        listed = items(mapping(categories.get("label")).get("labels"))
        self._names = [plain_text(mapping(each).get("name")) for each in listed]
        # The points of each label, and the pairs that its skeleton connects.
        self._points: dict[int, list[str]] = {}
        listed = items(mapping(categories.get("points")).get("items"))
        for place, given in enumerate(map(mapping, listed)):
            joints = [plain_text(name) for name in items(given.get("labels"))]
            name = self._name_of(given.get("label_id"))
            pairs = [*map(items, items(given.get("joints")))]
            # Points are counted from 0 where one has the number 0, else from 1.
            first = 0 if any(0 in pair for pair in pairs) else 1
            named = dict(enumerate(joints, first))
            ends = [[named[n] for n in pair if type(n) is int and n in named] for pair in pairs]
            both = [*zip(ends, pairs, strict=True)]
            limbs = [(each[0], each[1]) for each, pair in both if len(each) == len(pair) == 2]
            wrong = [pair for each, pair in both if not len(each) == len(pair) == 2]
            if joints and wrong:
                found = f"skeleton joins {cut(str(wrong[0]))}"
                problem = f"{found}; expected two of {len(joints)} points"
                into.defect("K006", problem, Where(member, f"/categories/points/items/{place}"))
            if joints and name is not None:
                self._points[given["label_id"]] = joints
                into.skeleton(name or UNLABELLED, joints, limbs)

    def add_item(self, item: dict[str, Any], place: int) -> None:
        where = Where(self._member, f"/items/{place}")
        own = plain_text(item.get("id")) or f"item {place + 1}"
        image = self._into.image((self._member, own), where)
        self._into.tally["again"] += "file_name" in image
        picture = {**mapping(item.get("media")), **mapping(item.get("image"))}
        path = plain_text(picture.get("path"))
        plain, stem = path.replace("\\", "/"), own.replace("\\", "/")
        image["file_name"] = path_below(path) or own
        # The id may have folders that the path omits, or the path folders that the id omits.
        for known in filter(None, (plain, without_suffix(plain))):
            if f"/{known}".endswith(f"/{stem}") or stem.endswith(f"/{known}"):
                image["file_name"] = stem + plain[len(known) :]
        sides = items(picture.get("size"))
        if len(sides) == 2:
            self._into.size(image, own, sides[::-1], where)
        for number, given in enumerate(map(mapping, items(item.get("annotations")))):
            label = f"item {one_line(own)}, annotation {number + 1}"
            at = Where(self._member, f"{where.at}/annotations/{number}")
            with self._into.refusing(label, at):
                key, attributes = given.get("label_id"), mapping(given.get("attributes"))
                name = self._name_of(key)
                points = self._points.get(key, []) if type(key) is int else []
                shape = self._into.boxed(self._shape_of(given, points))
                said = {k: e for k, e in attributes.items() if isinstance(e, str | int | float)}
                said.pop("rotation", None)
                record: Record = {**shape, "image_id": image["id"]}
                record["attributes"] = said | shape.get("attributes", {})
                if "bbox" in shape:
                    record["iscrowd"] = int(said.get("is_crowd") is True)
                    if isinstance(said.get("score"), int | float):
                        record["score"] = said["score"]
                shown = name or ("" if key is None else UNLABELLED)
                row = self._into.labelled(record, shown, at, f"{label}: has no label_id")
                if row >= 0 and name is None and key is not None:
                    some = f"the file lists {count(len(self._names), 'label')}, from 0 on"
                    problem = f"{label}: label_id is {str(key)[:40]}; {some}"
                    self._into.defect("T050", problem, at, row)
                n_points = len(shape.get("keypoints", ())) // 3
                self._into.check_joints(f"{label}:", n_points, shown, at, row)

    def _name_of(self, number: object) -> str | None:
        """Return the name of the label with a number; None if the file has no such label."""
        is_known = type(number) is int and 0 <= number < len(self._names)
        return self._names[number] if is_known else None  # type: ignore[call-overload]

    def _shape_of(self, annotation: dict[str, Any], points_of_label: Sequence[str]) -> Record:
        kind = plain_text(annotation.get("type"))
        given = annotation.get("points")
        if kind in ("bbox", "rotated_bbox"):
            if kind == "bbox":
                box = _flat(annotation.get("bbox"), 4, "bbox")
                # CVAT writes the rotation about the centre as an attribute.
                turned = mapping(annotation.get("attributes")).get("rotation")
            else:
                x, y, width, height, turned = _flat(given, 5)
                box = [x - width / 2, y - height / 2, width, height]
            return shapes.turned_box(box, shapes.degrees_of(turned, "rotation"))
        if kind == "polygon":
            return shapes.outlined(_pairs(given))
        if kind == "ellipse":
            left, top, right, bottom = _flat(given, 4)
            centre, radii = ((left + right) / 2, (top + bottom) / 2), (right - left, bottom - top)
            return shapes.outlined(shapes.ellipse(centre, (radii[0] / 2, radii[1] / 2)))
        if kind == "mask":
            return _mask(mapping(annotation.get("rle")))
        if not kind:
            raise shapes.ValueProblemError("has no type")
        record: Record = {"shape": _APART.get(kind, kind.replace("_", " "))}
        elements, joints = items(annotation.get("elements")), [*points_of_label]
        if kind == "polyline":
            record["points"] = shapes.ring(_pairs(given))
        elif kind == "skeleton" and not elements:
            # x, y and visibility of each point of the label.
            flat = record["keypoints"] = _flat(given, max(1, len(items(given)) // 3) * 3)
            record |= {"joints": joints} if 3 * len(joints) == len(flat) else {}
        elif kind in ("points", "skeleton"):
            # Elements of a skeleton have a label each.
            keypoints, joints = list[float](), list[str]()
            for part in map(mapping, elements or [annotation]):
                points, visibility = _pairs(part.get("points")), items(part.get("visibility"))
                for place, (x, y) in enumerate(points.tolist()):
                    seen = visibility[place] if place < len(visibility) else 2
                    keypoints += [x, y, shapes.number_of(seen, "visibility")]
                joints += [self._name_of(part.get("label_id")) or ""] * len(points)
            record |= {"keypoints": keypoints} | ({"joints": joints} if elements else {})
        return record


def _flat(values: object, length: int, name: str = "points") -> list[float]:
    if not isinstance(values, list) or len(values) != length:
        found = "missing" if values is None else repr(values)[:40]
        raise shapes.ValueProblemError(f"{name} is {found}; expected {length} numbers")
    return [shapes.number_of(each, name) for each in values]


def _pairs(values: object) -> FloatArray:
    return np.reshape(_flat(values, 2 * max(1, len(items(values)) // 2)), (-1, 2))


def _mask(rle: dict[str, Any]) -> Record:
    found = mask_of({"size": rle.get("size"), "counts": plain_text(rle.get("counts"))})
    height, width = found["size"]
    if found["problem"]:
        raise MaskProblemError(f"cannot be read: {found['problem']}")
    if found["total"] != width * height:
        raise MaskProblemError(f"has {found['total']:,} pixels; its size is {width} × {height}")
    left, top, right, bottom = found["bounds"]
    if np.isnan(left):
        raise shapes.EmptyMaskProblemError("has no pixels")
    counts = found["counts"].decode()
    box = [left, top, right - left, bottom - top]
    return {"bbox": box, "segmentation": {"size": [height, width], "counts": counts}}
