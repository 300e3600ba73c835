"""Reading the files of V7 Darwin JSON 2.0, one for each image."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.document import Where
from bboxqa.formats.heads import begins
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    BY_NOBODY,
    SIDES,
    UNLABELLED,
    UNNAMED,
    Add,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.json_files import NoObject, decoded_parts, json_objects
from bboxqa.formats.translation.masks import Masks, RowMask, Size, checked_size
from bboxqa.formats.translation.untrusted import (
    MaskProblemError,
    ValueProblemError,
    items,
    line_of,
    mapping,
    number_of,
    numbers_of,
    plain_text,
    points_of,
)
from bboxqa.model.shapes.masks import MAX_MASK_PIXELS, joined

_LAYER = "raster_layer"
_NOTES = (
    ("other", "file", "of videos or documents left out"),
    ("elsewhere", "annotation", "left out: not in an image of the item"),
    ("unnamed", "annotation", f"without annotators, {BY_NOBODY}"),
    ("several", "annotation", "by several people, here by the first"),
    ("holes", "polygon", "with holes: the outer outlines are compared"),
)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate Darwin files; see `bboxqa.formats.translation.collector.Translate`.

    Raises DatasetError if none is about an image, nor has defects.
    """
    named = [*members_with(members_of(path), ".json")]
    files = [each for each in named if not each.name or begins("Darwin", each.head())]
    records = _Records(add, wanted, is_named=_is_named(files))
    for number, (member, content) in enumerate(json_objects(files, records.into), start=1):
        records.add_file(member, content)
        if wanted.progress is not None and number % 100 == 0:
            wanted.progress(number, len(files))
    read = {each.name for each in files}
    found = records.done([each.name for each in named if each.name not in read])
    if not found.images and not found.defects:
        raise DatasetError(
            [f"{path}: has {count(len(files), 'file')} of V7 Darwin, none of an image"],
            "Shapes in images are compared, not those in videos. Export images as Darwin JSON 2.0.",
        )
    return found


class _Annotation(msgspec.Struct):
    annotators: object = None


class _Annotations(msgspec.Struct):
    annotations: list[_Annotation | NoObject] = []


def _is_named(files: Sequence[Member]) -> bool:
    """Return whether any annotation has an annotator, as releases can be made without them."""
    parts = decoded_parts(files, _Annotations)
    found = (each for part in parts for each in part.annotations if isinstance(each, _Annotation))
    return any(_person(each.annotators) for each in found)


class _Records:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(self, add: Add, wanted: Wanted, *, is_named: bool) -> None:
        self.into = Collector("Darwin JSON", add)
        self._wanted = wanted
        self._masks = Masks(outlines=wanted.outlines)
        self._is_named = is_named
        self._images: list[Record] = []
        self._people: set[str] = set()
        self._tally: Counter[str] = Counter()

    def add_file(self, member: Member, content: dict[str, Any]) -> None:
        """Add the annotations of an item, which has one image per slot."""
        item = mapping(content.get("item"))
        listed = items(item.get("slots"))
        slots = {
            plain_text(mapping(each).get("slot_name")): mapping(each)
            for each in listed
            if plain_text(mapping(each).get("type")) in {"", "image"}
        }
        self._tally["other"] += not slots
        if not slots:
            return
        images = {
            name: self._image(member, item, slot, name if len(listed) > 1 else "")
            for name, slot in slots.items()
        }
        annotations = [mapping(each) for each in items(content.get("annotations"))]
        layers = _Layers(annotations, images)
        for place, annotation in enumerate(annotations):
            if _LAYER in annotation:
                continue
            where = Where(member.name, f"/annotations/{place}")
            slot = plain_text(next(iter(items(annotation.get("slot_names"))), ""))
            image = images.get(slot) or (images[next(iter(images))] if not slot else None)
            # The other slots hold videos and the like, or are not listed.
            self._tally["elsewhere"] += image is None
            if image is not None:
                label = f"{one_line(plain_text(item.get('name')))}, annotation {place + 1}"
                self._add(annotation, image, layers, label, where)

    def _image(
        self, member: Member, item: dict[str, Any], slot: dict[str, Any], slot_name: str
    ) -> Record:
        image = self.into.image((member.name, slot_name), Where(member.name, ""))
        sides = [slot.get(side) for side in SIDES]
        self.into.size(image, plain_text(item.get("name")), sides, Where(member.name, ""))
        # Darwin does not say who was asked about an image.
        del image["annotators"]
        folder, name = plain_text(item.get("path")).strip("/"), plain_text(item.get("name"))
        parts = [folder, name or member.name or "(no name)", slot_name]
        # Without its folder, an image would be joined with images of the same name.
        image["file_name"] = "/".join(part for part in parts if part)
        self._images.append(image)
        return image

    def _add(
        self, given: dict[str, Any], image: Record, layers: "_Layers", label: str, where: Where
    ) -> None:
        own_id = plain_text(given.get("id"))
        try:
            if "mask" in given:
                shape, n_holes = layers.shape_of(own_id, self._masks), 0
            else:
                shape, n_holes = _shape_of(given)
            shape = self._wanted.boxed(shape)
        except ValueProblemError as error:
            self.into.refuse(label, error, where)
            return
        record: Record = {**shape, "image_id": image["id"], "own_id": own_id or where.at}
        name = plain_text(given.get("name")) or UNLABELLED
        people = items(given.get("annotators"))
        person = _person(people)
        if self._is_named:
            record["annotator"] = person or UNNAMED
        if "bbox" not in shape:
            self.into.annotation({**record, "label": name}, where)
            return
        self._tally["holes"] += n_holes > 0
        if self._is_named:
            self._tally["several"] += len(people) > 1
            self._people.add(record["annotator"])
            if not person:
                self._tally["unnamed"] += 1
                problem = f"{label}: has no annotators, as others have"
                self.into.defect("T005", problem, where)
        record["category_id"] = self.into.category(name, where)
        row = self.into.annotation(record, where)
        if name == UNLABELLED:
            self.into.defect("T004", f"{label}: has no name", where, row)

    def done(self, left_out: Sequence[str]) -> Translated:
        """Return the translation; `left_out` names the JSON files of other kinds."""
        for image in self._images:
            if len(self._people) == 1:
                image["annotators"] = sorted(self._people)
        notes = [*tally_notes(self._tally, _NOTES)]
        if left_out:
            some = f"{count(len(left_out), 'JSON file')} left out"
            notes.append(f"{some}: not of Darwin{such_as(len(left_out), one_line(left_out[0]))}")
        return self.into.done(notes, "annotators of Darwin")


def _person(people: object) -> str:
    """Return the annotator: the first of the people who worked on an annotation."""
    first = mapping(next(iter(items(people)), None))
    return plain_text(first.get("email")) or plain_text(first.get("full_name"))


class _Layers:
    """The masks of an item, which raster layers hold for all masks of a slot."""

    def __init__(self, annotations: list[dict[str, Any]], images: dict[str, Record]) -> None:
        self._annotations = [each for each in annotations if _LAYER in each]
        self._images = images
        self._rasters: dict[str, Raster] | None = None

    def shape_of(self, own_id: str, masks: Masks) -> Record:
        """Return the geometry keys of a mask; raises MaskProblemError if no layer has it."""
        if self._rasters is None:
            self._rasters = {}
            for raster in map(self._raster, self._annotations):
                for each in raster.ids():
                    self._rasters.setdefault(each, raster)
        if own_id not in self._rasters:
            raise MaskProblemError("is in no raster_layer of the file")
        return self._rasters[own_id].shape_of(own_id, masks)

    def _raster(self, annotation: dict[str, Any]) -> "Raster":
        slot = plain_text(next(iter(items(annotation.get("slot_names"))), ""))
        image = self._images.get(slot) or next(iter(self._images.values()))
        size = (image["width"], image["height"]) if "width" in image else None
        return Raster(mapping(annotation[_LAYER]), size)


# Names of shapes that are kept but not compared; the first that an annotation has counts.
_APART = {
    "keypoint": "key point", "line": "polyline", "skeleton": "skeleton", "tag": "image tag",
    "cuboid": "cuboid", "eye": "eye", "string": "string", "table": "table", "graph": "graph",
    "link": "link", "simple_table": "table",
}  # fmt: skip


def _shape_of(annotation: dict[str, Any]) -> tuple[Record, int]:
    """Return the COCO geometry keys of a shape, and its number of holes.

    A polygon also gets its bounding box. Raises ValueProblemError if the values are not as Darwin
    writes them.
    """
    if "polygon" in annotation or "complex_polygon" in annotation:
        return _polygon(mapping(annotation.get("polygon") or annotation.get("complex_polygon")))
    if "bounding_box" in annotation:
        box = {"bbox": numbers_of(annotation["bounding_box"], ("x", "y", "w", "h"))}
        return {**box, **_key_points(annotation)}, 0
    if "ellipse" in annotation:
        return _ellipse(mapping(annotation["ellipse"])), 0
    for key, name in _APART.items():
        if key in annotation:
            line = line_of(mapping(annotation["line"]).get("path")) if key == "line" else {}
            return {"shape": name, **line, **_key_points(annotation)}, 0
    raise ValueProblemError(f"has no shape among {', '.join(sorted(annotation))[:80]}")


def _key_points(annotation: dict[str, Any]) -> Record:
    """Return the key points of an annotation with their names; empty if it has none."""
    if "keypoint" in annotation:
        return {"keypoints": [*numbers_of(annotation["keypoint"], ("x", "y")), 2]}
    keypoints: list[float] = []
    joints = []
    for node in map(mapping, items(mapping(annotation.get("skeleton")).get("nodes"))):
        visibility = 1 if node.get("occluded") is True else 2
        keypoints += [*numbers_of(node, ("x", "y")), visibility]
        joints.append(plain_text(node.get("name")))
    return {"keypoints": keypoints, "joints": joints} if joints else {}


def _polygon(polygon: dict[str, Any]) -> tuple[Record, int]:
    paths = items(polygon.get("paths") or polygon.get("path"))
    if paths and isinstance(paths[0], dict):
        paths = [paths, *items(polygon.get("additional_paths"))]
    if not paths:
        raise ValueProblemError("polygon.paths are missing; expected lists of points")
    rings = [points_of(path, "polygon.paths") for path in paths]
    outer = shapes.outer_rings(rings)
    record: Record = {"bbox": shapes.bounds(np.concatenate(rings))}
    record["segmentation"] = [shapes.ring(each) for each in outer]
    return record, len(rings) - len(outer)


def _ellipse(ellipse: dict[str, Any]) -> Record:
    x, y = numbers_of(ellipse.get("center"), ("x", "y"))
    wide, high = numbers_of(ellipse.get("radius"), ("x", "y"))
    angle = ellipse.get("angle")
    degrees = float(np.rad2deg(number_of(angle, "angle"))) if angle else 0.0
    points = shapes.ellipse((x, y), (wide, high), degrees)
    return shapes.outlined(points)


class Raster:
    """A raster layer, whose pixels hold the numbers of masks.

    Raises MaskProblemError if the values are not as Darwin writes them.
    """

    def __init__(self, layer: dict[str, Any], size: Size | None) -> None:
        if size is None:
            raise MaskProblemError("is in an image whose size the file does not say")
        self._size = checked_size(size)
        self._numbers = mapping(layer.get("mask_annotation_ids_mapping"))
        self._spans: dict[float, IndexArray] = _spans(layer.get("dense_rle"), *size)
        self._is_taken: set[float] = set()

    def ids(self) -> list[str]:
        """Return the ids of the masks in this layer."""
        return [own_id for own_id, number in self._numbers.items() if number is not None]

    def shape_of(self, own_id: str, masks: Masks) -> Record:
        """Return the geometry keys of a mask of this layer."""
        number = self._numbers[own_id]
        number = number if isinstance(number, int | float) else -1
        spans = self._spans.get(number, _NOTHING)
        # The text of a mask is counted once, even if several annotations have it.
        n_characters = 0 if number in self._is_taken else _LEAST_OF_SPAN * len(spans)
        self._is_taken.add(number)
        return masks.record(RowMask(spans, *self._size, n_characters=n_characters), self._size)


_NOTHING: IndexArray = np.zeros((0, 2), np.int64)
_LEAST_OF_SPAN = 4
"""Characters that a number and a run length take at least, with their commas."""


def _spans(rle: object, width: int, height: int) -> dict[float, IndexArray]:
    """Return the spans of each mask number, from alternating numbers and run lengths by row."""
    flat = items(rle)
    if len(flat) % 2 or not all(type(each) is int and 0 <= each < MAX_MASK_PIXELS for each in flat):
        raise MaskProblemError("has a dense_rle that is not a list of values and run lengths")
    values, runs = np.array(flat[::2], np.int64), np.array(flat[1::2], np.int64)
    if runs.sum() != width * height:
        found = f"has run lengths of {runs.sum():,} pixels"
        raise MaskProblemError(f"{found}; its image has {width} × {height}")
    stops = np.cumsum(runs)
    order = np.flatnonzero(runs > 0)
    order = order[np.argsort(values[order], kind="stable")]
    spans, numbers = np.stack([stops - runs, stops], 1)[order], values[order]
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    parts = np.split(spans, begins[1:])
    by_number = zip(numbers[begins].tolist(), parts, strict=True)
    return {number: joined(part) for number, part in by_number}
