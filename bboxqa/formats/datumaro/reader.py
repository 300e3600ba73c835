"""Reading the items of Datumaro JSON."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.document import Where
from bboxqa.formats.heads import begins
from bboxqa.formats.label_folders import path_below, without_suffix
from bboxqa.formats.records import WRITTEN_ANGLE
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    UNLABELLED,
    Add,
    Collector,
    Record,
    Translated,
    Wanted,
)
from bboxqa.formats.translation.json_files import json_objects
from bboxqa.formats.translation.masks import checked_size
from bboxqa.formats.translation.shapes import turned_box
from bboxqa.formats.translation.untrusted import (
    EmptyMaskProblemError,
    MaskProblemError,
    ValueProblemError,
    items,
    line_of,
    mapping,
    number_of,
    plain_text,
    size_of,
)
from bboxqa.model.shapes.masks import decode_counts, run_bounds


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate the subsets of a data set; see `bboxqa.formats.translation.collector.Translate`.

    Raises DatasetError if they have no images.
    """
    named = [*members_with(members_of(path), ".json")]
    files = [each for each in named if not each.name or begins("Datumaro", each.head())]
    records = _Records(add, wanted)
    for number, (member, content) in enumerate(json_objects(files, records.into), start=1):
        records.add_subset(member.name, content)
        if wanted.progress is not None:
            wanted.progress(number, len(files))
    found = records.done()
    if not found.images:
        raise DatasetError(
            [f"{path}: has {count(len(files), 'file')} of Datumaro without items"],
            "Export the data set again, with its annotations.",
        )
    return found


class _Records:
    """Converts items to COCO records."""

    def __init__(self, add: Add, wanted: Wanted) -> None:
        self.into = Collector("Datumaro JSON", add)
        self._tally: Counter[str] = Counter()
        self._wanted = wanted
        self._points: dict[int, list[str]] = {}
        self._subset_of: dict[int, str] = {}

    def add_subset(self, member: str, content: dict[str, Any]) -> None:
        """Add the items of a file."""
        listed = mapping(mapping(content.get("categories")).get("label")).get("labels")
        names = [plain_text(mapping(each).get("name")) for each in items(listed)]
        self._add_skeletons(member, content, names)
        for place, given in enumerate(items(content.get("items"))):
            item, where = mapping(given), Where(member, f"/items/{place}")
            own = plain_text(item.get("id")) or f"item {place + 1}"
            image = self.into.image((member, own), where)
            self._tally["again"] += "file_name" in image
            self._subset_of[image["id"]] = PurePosixPath(member).stem
            # Datumaro records neither who drew a shape nor who was asked.
            image.pop("annotators", None)
            picture = {**mapping(item.get("media")), **mapping(item.get("image"))}
            image["file_name"] = _name(own, plain_text(picture.get("path")))
            sides = items(picture.get("size"))
            if len(sides) == 2:
                self.into.size(image, own, sides[::-1], where)
            for number, annotation in enumerate(items(item.get("annotations"))):
                label = f"item {one_line(own)}, annotation {number + 1}"
                at = Where(member, f"{where.at}/annotations/{number}")
                self._add(mapping(annotation), image, names, label, at)

    def _add_skeletons(self, member: str, content: dict[str, Any], names: Sequence[str]) -> None:
        """Set the points of each label, and the pairs that its skeleton connects."""
        self._points = {}
        listed = mapping(mapping(content.get("categories")).get("points")).get("items")
        for place, given in enumerate(map(mapping, items(listed))):
            joints = [plain_text(name) for name in items(given.get("labels"))]
            pairs = [
                [end for end in items(pair) if type(end) is int]
                for pair in items(given.get("joints"))
            ]
            ends = [end for pair in pairs for end in pair]
            wrong = [end for end in ends if not 0 <= end <= len(joints)]
            if joints and wrong:
                problem = f"skeleton joins keypoint {wrong[0]}; expected numbers up to "
                problem += f"{len(joints)}, the number of its points"
                where = Where(member, f"/categories/points/items/{place}")
                self.into.defect("K006", problem, where)
            number = given.get("label_id")
            if type(number) is not int or not joints:
                continue
            self._points[number] = joints
            # Points are counted from 0 where one has the number 0, else from 1.
            first = 0 if 0 in ends else 1
            limbs = [
                (joints[pair[0] - first], joints[pair[1] - first])
                for pair in pairs
                if len(pair) == 2 and all(0 <= end - first < len(joints) for end in pair)
            ]
            if 0 <= number < len(names):
                self.into.skeleton(names[number] or UNLABELLED, joints, limbs)

    def _add(
        self,
        given: dict[str, Any],
        image: Record,
        names: Sequence[str],
        label: str,
        where: Where,
    ) -> None:
        try:
            points = self._points_of(given.get("label_id"))
            shape = self._wanted.boxed(_shape_of(given, names, points))
        except ValueProblemError as error:
            self.into.refuse(label, error, where)
            return
        number = given.get("label_id")
        is_known = type(number) is int and 0 <= number < len(names)
        name = (names[number] if is_known else "") or UNLABELLED  # type: ignore[index]
        said = {
            name: value
            for name, value in mapping(given.get("attributes")).items()
            if isinstance(value, str | int | float) and name != "rotation"
        }
        record: Record = {**shape, "image_id": image["id"]}
        record["attributes"] = said | shape.get("attributes", {})
        if "bbox" not in shape:
            self.into.annotation({**record, "label": name}, where)
            return
        record["iscrowd"] = int(said.get("is_crowd") is True)
        if isinstance(said.get("score"), int | float):
            record["score"] = said["score"]
        record["category_id"] = self.into.category(name, where)
        row = self.into.annotation(record, where)
        n_points = len(shape.get("keypoints", ())) // 3
        expected = len(self._points_of(number))
        if n_points and expected and n_points != expected:
            problem = f"{label}: has {count(n_points, 'point')}; its label {one_line(name)!r} has "
            self.into.defect("K001", f"{problem}{expected}", where, row)
        if number is None:
            self.into.defect("T004", f"{label}: has no label_id", where, row)
        elif not is_known:
            some = count(len(names), "label")
            problem = f"{label}: label_id is {str(number)[:40]}; the file lists {some}, from 0 on"
            self.into.defect("T050", problem, where, row)

    def _points_of(self, label: object) -> list[str]:
        """Return the point names of the label with this number."""
        return self._points.get(label, []) if type(label) is int else []

    def done(self) -> Translated:
        """Return the translation, with all images, categories and notes."""
        again = self._tally["again"]
        merged = f"{count(again, 'item')} with the id of another in its subset, which are merged"
        found = self.into.done([merged] if again else [])
        times = Counter(image["file_name"] for image in found.images)
        for image in found.images:
            # Several images of one name would be taken for the work of several people.
            if times[image["file_name"]] > 1:
                image["file_name"] = f"{self._subset_of[image['id']]}/{image['file_name']}"
        return found


def _name(own: str, path: str) -> str:
    """Return the file name of an image with its folder, from its id and its path."""
    plain, stem = path.replace("\\", "/"), own.replace("\\", "/")
    bare = without_suffix(plain)
    if f"/{bare}".endswith(f"/{stem}"):
        return stem + plain[len(bare) :]
    if bare and stem.endswith(f"/{bare}"):
        # The id has folders that the path omits.
        return stem + plain[len(bare) :]
    is_same = plain and (f"/{plain}".endswith(f"/{stem}") or stem.endswith(f"/{plain}"))
    return stem if is_same else path_below(path) or own


# Names of shapes that are kept but not compared.
_APART = {
    "label": "image label", "points": "key point", "polyline": "polyline", "caption": "caption",
    "skeleton": "skeleton", "cuboid_3d": "cuboid", "cuboid_2d": "cuboid",
}  # fmt: skip


def _shape_of(
    annotation: dict[str, Any], names: Sequence[str], points_of_label: Sequence[str] = ()
) -> Record:
    """Return the COCO geometry keys of a shape.

    `names` are the names of labels, and `points_of_label` the point names of the shape's label.
    Raises ValueProblemError if the values are not as Datumaro writes them.
    """
    kind = plain_text(annotation.get("type"))
    if kind == "bbox":
        return _box(_flat(annotation.get("bbox"), "bbox", 4), mapping(annotation.get("attributes")))
    if kind == "rotated_bbox":
        x, y, width, height, degrees = _flat(annotation.get("points"), "points", 5)
        return _box([x - width / 2, y - height / 2, width, height], {"rotation": degrees})
    if kind == "polygon":
        points = _pairs(annotation.get("points"))
        return shapes.outlined(points)
    if kind == "ellipse":
        left, top, right, bottom = _flat(annotation.get("points"), "points", 4)
        centre, radii = ((left + right) / 2, (top + bottom) / 2), (right - left, bottom - top)
        points = shapes.ellipse(centre, (radii[0] / 2, radii[1] / 2))
        return shapes.outlined(points)
    if kind == "mask":
        return _mask(mapping(annotation.get("rle")))
    if not kind:
        raise ValueProblemError("has no type")
    of_points: Record = {}
    if kind == "polyline":
        flat = items(annotation.get("points"))
        of_points = line_of([[*pair] for pair in zip(flat[::2], flat[1::2], strict=False)])
    elif kind == "skeleton" and not items(annotation.get("elements")):
        of_points = _joints(items(annotation.get("points")), points_of_label)
    elif kind in ("points", "skeleton"):
        of_points = _key_points(annotation, names)
    return {"shape": _APART.get(kind, kind.replace("_", " ")), **of_points}


def _key_points(annotation: dict[str, Any], names: Sequence[str]) -> Record:
    """Return the key points, with names, of a points shape or of a skeleton's elements."""
    elements = items(annotation.get("elements"))
    keypoints: list[float] = []
    joints = []
    for part in map(mapping, elements or [annotation]):
        points = _pairs(part.get("points"))
        given = items(part.get("visibility"))
        for place, (x, y) in enumerate(points.tolist()):
            seen = given[place] if place < len(given) else 2
            keypoints += [x, y, number_of(seen, "visibility")]
        number = part.get("label_id")
        is_known = type(number) is int and 0 <= number < len(names)
        name = names[number] if is_known else ""  # type: ignore[index]
        joints += [name] * len(points)
    return {"keypoints": keypoints, **({"joints": joints} if elements else {})}


def _joints(values: list[Any], names: Sequence[str]) -> Record:
    """Return the key points of a skeleton without elements, from x, y, visibility triples."""
    if not values or len(values) % 3:
        found = repr(values)[:40] if values else "missing"
        raise ValueProblemError(f"points are {found}; expected x, y and visibility of each point")
    keypoints = [number_of(each, "a coordinate") for each in values]
    joints = {"joints": [*names]} if len(names) == len(values) // 3 else {}
    return {"keypoints": keypoints, **joints}


def _box(box: list[float], attributes: dict[str, Any]) -> Record:
    """Return a box, rotated about its centre if CVAT has written a rotation."""
    given = attributes.get("rotation")
    degrees = number_of(given, "rotation") % 360 if given else 0.0
    if not degrees:
        return {"bbox": box}
    return {**turned_box(box, degrees), WRITTEN_ANGLE: given}


def _flat(values: object, name: str, length: int) -> list[float]:
    if not isinstance(values, list) or len(values) != length:
        found = "missing" if values is None else repr(values)[:40]
        raise ValueProblemError(f"{name} is {found}; expected {length} numbers")
    return [number_of(each, name) for each in values]


def _pairs(values: object) -> FloatArray:
    flat = items(values)
    if not flat or len(flat) % 2:
        found = "missing" if values is None else repr(values)[:40]
        raise ValueProblemError(f"points are {found}; expected x and y of each point")
    return np.array([number_of(each, "a coordinate") for each in flat], np.float64).reshape(-1, 2)


def _mask(rle: dict[str, Any]) -> Record:
    sides = items(rle.get("size"))
    size = size_of(sides[1], sides[0]) if len(sides) == 2 else None
    if size is None:
        raise MaskProblemError("does not say its height and width")
    width, height = checked_size(size)
    try:
        runs = decode_counts(plain_text(rle.get("counts")).encode())
    except ValueError as error:
        raise MaskProblemError(f"has counts with {error}") from None
    if runs.sum() != width * height:
        found = f"has {runs.sum():,} pixels"
        raise MaskProblemError(f"{found}; its size is {width} × {height}")
    left, top, right, bottom = run_bounds(runs, height)
    if np.isnan(left):
        raise EmptyMaskProblemError("has no pixels")
    bbox = [float(left), float(top), float(right - left), float(bottom - top)]
    counts = plain_text(rle.get("counts"))
    return {"bbox": bbox, "segmentation": {"size": [height, width], "counts": counts}}
