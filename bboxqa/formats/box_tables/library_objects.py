"""Data sets of other libraries in memory: FiftyOne samples and supervision's Detections.

Neither library is imported: objects are recognised by the module of their class.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.translation.given_sizes import given_size
from bboxqa.formats.translation.translated import UNLABELLED

Record = dict[str, Any]

_ANNOTATOR = "annotator"
_SIZES = "Compute them: dataset.compute_metadata()"
_SLICES = 'Select slices: dataset.select_group_slices(["left", "right"])'
_FRAMES = "Make images of the frames: dataset.to_frames(sample_frames=True)"
_PATCHES = "A view of patches has none: give the data set that it was made of."
_FORM = "Expected is {image: {annotator: Detections}}"


def objects_in(source: object, annotator_key: str | None) -> Record | None:
    """Convert a data set of another library to a COCO document; None for any other value.

    `annotator_key` is the attribute of FiftyOne's detections that names the annotator. Raises
    DatasetError if image sizes or annotators are missing.
    """
    if _is_of("fiftyone", source) and hasattr(source, "iter_samples"):
        _refuse_other_media(getattr(source, "media_type", None))
        return _of_fiftyone(source.iter_samples(), annotator_key)
    if isinstance(source, Mapping) and any(map(_has_detections, source.values())):
        return _of_supervision(source)
    return None


def _refuse_other_media(media_type: object) -> None:
    """Refuse a data set of FiftyOne of which samples would be left out, or all frames."""
    if media_type == "group":
        raise DatasetError(["has groups of samples, of which one slice would be read"], _SLICES)
    if media_type == "video":
        raise DatasetError(["has videos, whose frames are not read"], _FRAMES)


def _is_of(library: str, value: object) -> bool:
    """Return whether the class of a value, or one of its base classes, belongs to a library."""
    return any(each.__module__.partition(".")[0] == library for each in type(value).__mro__)


def _has_detections(value: object) -> bool:
    inside = value.values() if isinstance(value, Mapping) else (value,)
    return any(_is_detections(each) for each in inside)


def _is_detections(value: object) -> bool:
    return _is_of("supervision", value) and hasattr(value, "xyxy")


class _Document:
    """A COCO document to which images and boxes are added."""

    def __init__(self) -> None:
        self._images: list[Record] = []
        self._annotations: list[Record] = []
        self._categories: dict[str, int] = {}
        self._asked: set[tuple[int, str]] = set()

    def image(self, name: str, size: tuple[int, int] | None) -> Record:
        """Add an image."""
        record: Record = {"id": len(self._images) + 1, "file_name": name, "annotators": []}
        if size is not None:
            record["width"], record["height"] = size
        self._images.append(record)
        return record

    def ask(self, image: Record, annotator: str) -> None:
        """Add an annotator to the annotators who were asked about an image."""
        asked = image["id"], annotator
        if asked not in self._asked:
            self._asked.add(asked)
            image["annotators"].append(annotator)

    def box(self, image: Record, annotator: str, label: str, bbox: list[float]) -> None:
        """Add a box by an annotator."""
        self.ask(image, annotator)
        category = self._categories.setdefault(label, len(self._categories) + 1)
        number = len(self._annotations) + 1
        whose: Record = {"id": number, "image_id": image["id"], _ANNOTATOR: annotator}
        self._annotations.append({**whose, "category_id": category, "bbox": bbox})

    def whole(self) -> Record:
        """Return the finished document."""
        names = [{"id": number, "name": name} for name, number in self._categories.items()]
        return {"images": self._images, "annotations": self._annotations, "categories": names}


def _of_fiftyone(samples: Iterator[Any], annotator_key: str | None) -> Record:
    """Convert samples; annotators are named by an attribute of detections, else by the field."""
    kept = [(sample, dict(_detections_of(sample))) for sample in samples]
    if not any(fields for _, fields in kept):
        raise DatasetError(["no sample has a field with Detections"], _PATCHES)
    attribute = annotator_key or _ANNOTATOR
    # If a field has detections by several annotators, those who drew nothing are not known.
    shared = {
        field
        for _, fields in kept
        for field, found in fields.items()
        if any(_named(each, attribute) for each in found)
    }
    if annotator_key is not None and not shared:
        raise DatasetError([f"no detection has the attribute {one_line(annotator_key)!r}"])
    sizes = [_size_of(sample) for sample, _ in kept]
    pairs = zip(kept, sizes, strict=True)
    if missing := sum(size is None and any(fields.values()) for (_, fields), size in pairs):
        raise DatasetError(
            [f"{count(missing, 'sample')} without metadata.width and height"], _SIZES
        )
    document = _Document()
    names = _short([str(sample.filepath) for sample, _ in kept])
    for (_, fields), name, size in zip(kept, names, sizes, strict=True):
        image = document.image(name, size)
        for field, found in fields.items():
            if field not in shared:
                document.ask(image, field)
            for each in found:
                bbox = np.multiply(each.bounding_box, (size or (1, 1)) * 2).tolist()
                label = str(each.label or UNLABELLED)
                document.box(image, _named(each, attribute) or field, label, bbox)
    return document.whole()


def _detections_of(sample: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the fields of a sample that hold detections; a missing field was not asked for."""
    for name in sample.field_names:
        value = sample[name]
        if type(value).__name__ == "Detections" and hasattr(value, "detections"):
            yield name, value.detections


def _named(detection: Any, attribute: str) -> str:
    value = getattr(detection, attribute, None)
    return "" if value is None else str(value)


def _size_of(sample: Any) -> tuple[int, int] | None:
    width = getattr(sample.metadata, "width", None)
    height = getattr(sample.metadata, "height", None)
    return (int(width), int(height)) if width and height else given_size(str(sample.filepath))


def _short(paths: Sequence[str]) -> list[str]:
    """Return paths without their common folder."""
    whole = [PurePath(path) for path in paths]
    try:
        above = os.path.commonpath([path.parent for path in whole])
    except ValueError:
        return [path.as_posix() for path in whole]
    return [path.relative_to(above).as_posix() for path in whole]


def _of_supervision(source: Mapping[Any, Any]) -> Record:
    """Convert Detections given by image and annotator."""
    document = _Document()
    for name, by in source.items():
        if not isinstance(by, Mapping) or not all(map(_is_detections, by.values())):
            raise DatasetError([f"{one_line(str(name))}: has no Detections by annotator"], _FORM)
        plain = PurePath(name).as_posix()
        image = document.image(plain, given_size(plain))
        for annotator, found in by.items():
            document.ask(image, str(annotator))
            corners = np.asarray(found.xyxy, np.float64).reshape(-1, 4)
            boxes = np.hstack([corners[:, :2], corners[:, 2:] - corners[:, :2]]).tolist()
            for bbox, label in zip(boxes, _labels_of(found, len(boxes)), strict=True):
                document.box(image, str(annotator), label, bbox)
    return document.whole()


def _labels_of(found: Any, number: int) -> list[str]:
    """Return the categories of Detections: names, or else class numbers."""
    names = found.data.get("class_name")
    if names is not None:
        return [str(each) for each in names]
    if found.class_id is not None:
        return [f"class {each}" for each in found.class_id]
    return [UNLABELLED] * number
