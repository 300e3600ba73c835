"""The original records of some annotations, read again from their files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.memory import gc_paused
from bboxqa.formats.annotations.records import annotator_name, id_number
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.registry import format_of
from bboxqa.formats.translation.source_files import size_and_digest
from bboxqa.model.annotations import Dataset, Source

Record = dict[str, Any]
# An id, and a box.
_Key = tuple[int, tuple[float, ...]]


class SourceRecord(NamedTuple):
    """An annotation and its image."""

    annotation: Record
    image: Record


class _Place(msgspec.Struct, gc=False):
    """The keys of a record by which an annotation is found."""

    id: int | str | float
    bbox: tuple[float, float, float, float]


class _Places(msgspec.Struct):
    annotations: list[_Place]


class _File(msgspec.Struct):
    annotations: list[msgspec.Raw]
    images: list[Record]
    categories: list[Record]


def source_records(
    data: Dataset, annotations: IndexArray
) -> tuple[list[SourceRecord], list[Record]] | None:
    """Return the records of some annotations, and the categories of all files.

    None if the files no longer have all of them, or are not plain COCO JSON. Annotations are found
    by id and box, and by annotator if several records have the same id and box.
    """
    try:
        return _found(data, annotations)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _found(
    data: Dataset, annotations: IndexArray
) -> tuple[list[SourceRecord], list[Record]] | None:
    of = data.annotations.take(annotations)
    keys: list[_Key] = [*zip(of.id.tolist(), map(tuple, of.bbox.tolist()), strict=True)]
    found: dict[_Key, list[tuple[str, SourceRecord]]] = {}
    categories = []
    for source in data.sources:
        content = _content(source)
        if content is None:
            return None
        file = msgspec.json.decode(content, type=_File)
        categories += file.categories
        images = {id_number(image.get("id")): image for image in file.images}
        for key, place in _matching(content, {*keys}):
            record = msgspec.json.decode(file.annotations[place])
            image = images.get(id_number(record.get("image_id")))
            if image is not None:
                own = (own_name(Path(source.name)), SourceRecord(record, image))
                found.setdefault(key, []).append(own)
    if not all(key in found for key in keys):
        return None
    names = np.array(data.annotator_names, object)[of.annotator].tolist()
    records = [_of_annotator(found[key], name) for key, name in zip(keys, names, strict=True)]
    return records, categories


def _content(source: Source) -> bytes | None:
    """Return the content of a file; None if the file has changed."""
    path = Path(source.name)
    try:
        if size_and_digest(path, digest=False)[0] != source.size:
            return None
        found = format_of(path)
        if found is COCO or found.document is None:
            return path.read_bytes()
        # Files of other formats keep their translation to COCO JSON.
        return bytes(found.document(path).text[:])
    except (DatasetError, OSError):
        return None


@gc_paused()
def _matching(content: bytes, wanted: set[_Key]) -> list[tuple[_Key, int]]:
    """Return the annotations with one of these ids and boxes, with their indices in the list."""
    places = msgspec.json.decode(content, type=_Places).annotations
    ids = {id_ for id_, _ in wanted}
    near = [
        number
        for number, place in enumerate(places)
        if (place.id if type(place.id) is int else id_number(place.id)) in ids
    ]
    keys = [(id_number(places[number].id), places[number].bbox) for number in near]
    return [found for found in zip(keys, near, strict=True) if found[0] in wanted]


def _of_annotator(found: Sequence[tuple[str, SourceRecord]], name: str) -> SourceRecord:
    """Return the record of an annotator among records with the same id and box."""

    def is_own(file: str, record: SourceRecord) -> bool:
        values = (*record.annotation.values(), *record.image.values())
        named = (value for value in values if isinstance(value, str | int | float))
        return name == file or name in map(annotator_name, named)

    return next((record for file, record in found if is_own(file, record)), found[0][1])
