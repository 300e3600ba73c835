"""The records of some annotations as their files have them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.formats.annotations.records import annotator_name, id_number
from bboxqa.model.annotations import Dataset, Source

Record = dict[str, Any]
# An id, and a box.
_Key = tuple[int, tuple[float, ...]]


class SourceRecord(NamedTuple):
    """An annotation and its image."""

    annotation: Record
    image: Record


class _Place(msgspec.Struct, gc=False):
    """What finds an annotation."""

    id: int | str | float
    bbox: tuple[float, float, float, float]


class _File(msgspec.Struct):
    annotations: list[msgspec.Raw]
    images: list[Record]
    categories: list[Record]


def source_records(
    data: Dataset, annotations: IndexArray
) -> tuple[list[SourceRecord], list[Record]] | None:
    """Return the records of some annotations, and the categories of all files.

    None if the files do not have all of them any more. Annotations are found by id and box; of
    several such ones, that of the right annotator counts.
    """
    of = data.annotations.take(annotations)
    keys: list[_Key] = [*zip(of.id.tolist(), map(tuple, of.bbox.tolist()), strict=True)]
    found: dict[_Key, list[tuple[str, SourceRecord]]] = {}
    categories = []
    for source in data.sources:
        content = _content(source)
        if content is None:
            return None
        categories += content.categories
        images = {id_number(image.get("id")): image for image in content.images}
        for key, record in _matching(content, {*keys}):
            image = images.get(id_number(record.get("image_id")))
            if image is not None:
                own = (Path(source.name).stem, SourceRecord(record, image))
                found.setdefault(key, []).append(own)
    if not all(key in found for key in keys):
        return None
    names = np.array(data.annotator_names, object)[of.annotator].tolist()
    records = [_of_annotator(found[key], name) for key, name in zip(keys, names, strict=True)]
    return records, categories


def _content(source: Source) -> _File | None:
    """Return what a file has; None if it was changed since, or is not plain COCO json."""
    path = Path(source.name)
    try:
        if path.stat().st_size != source.size:
            return None
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _matching(content: _File, wanted: set[_Key]) -> Iterator[tuple[_Key, Record]]:
    """Yield the annotations with one of these ids and boxes."""
    decoder = msgspec.json.Decoder(_Place)
    for raw in content.annotations:
        try:
            place = decoder.decode(raw)
        except msgspec.DecodeError:
            continue
        key = id_number(place.id), place.bbox
        if key in wanted:
            yield key, msgspec.json.decode(raw)


def _of_annotator(found: Sequence[tuple[str, SourceRecord]], name: str) -> SourceRecord:
    """Return the record of an annotator among those with one id and box."""

    def is_own(file: str, record: SourceRecord) -> bool:
        values = (*record.annotation.values(), *record.image.values())
        named = (value for value in values if isinstance(value, str | int | float))
        return name == file or name in map(annotator_name, named)

    return next((record for file, record in found if is_own(file, record)), found[0][1])
