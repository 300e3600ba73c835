"""Annotations to review as a COCO document, with all that their files say of them."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.memory import gc_paused
from bboxqa.formats.document import RawDocument
from bboxqa.formats.positions import Locator
from bboxqa.formats.records import ANNOTATOR_KEYS, ASKED_KEYS, annotator_name, id_number
from bboxqa.formats.registry import document_of
from bboxqa.formats.source import size_and_digest
from bboxqa.geometry.kernels.rasters import outline_rings
from bboxqa.model.annotations import Dataset, Source
from bboxqa.model.choices import Choices

Record = dict[str, Any]
# An id, and a box.
_Key = tuple[int, tuple[float, ...]]


class SourceRecord(NamedTuple):
    """An annotation and its image."""

    annotation: Record
    image: Record


@gc_paused()
def source_records(
    data: Dataset, annotations: IndexArray
) -> tuple[list[SourceRecord], list[Record]] | None:
    """Return the records of some annotations, and the categories of all files.

    None if the files no longer have all of them. Annotations are found by id and box, and by
    annotator if several records have the same id and box.
    """
    of = data.annotations.take(annotations)
    keys: list[_Key] = [*zip(of.id.tolist(), map(tuple, of.bbox.tolist()), strict=True)]
    found: dict[_Key, list[tuple[str, SourceRecord]]] = {key: [] for key in keys}
    categories: list[Record] = []
    for source in data.sources:
        document = _document(source, data.reading)
        if document is None:
            return None
        categories += document.categories
        images = {id_number(image.get("id")): image for image in document.images}
        columns, name = document.annotations, own_name(Path(source.name))
        locator = Locator(document)
        for row in np.flatnonzero(np.isin(columns.id, of.id)).tolist():
            of_key = found.get((int(columns.id[row]), tuple(columns.bbox[row].tolist())))
            image = images.get(int(columns.image_id[row]))
            if of_key is not None and image is not None:
                of_key.append((name, SourceRecord(locator.value("annotations", row), image)))
    if not all(found.values()):
        return None
    names = np.array(data.annotator_names, object)[of.annotator].tolist()
    records = [_of_annotator(found[key], name) for key, name in zip(keys, names, strict=True)]
    return records, categories


def _document(source: Source, choices: Choices) -> RawDocument | None:
    """Return the document of a file; None if it has changed, or is not as COCO has it."""
    path = Path(source.name)
    try:
        if size_and_digest(path, digest=False)[0] != source.size:
            return None
        document = document_of(path, choices)
    except (DatasetError, OSError):
        return None
    if document is None:
        return None
    are_objects = all(isinstance(each, dict) for each in (*document.images, *document.categories))
    is_sound = isinstance(document.top, dict) and not document.stopped and are_objects
    return document if is_sound else None


def _of_annotator(found: Sequence[tuple[str, SourceRecord]], name: str) -> SourceRecord:
    """Return the record of an annotator among records with the same id and box."""

    def is_own(file: str, record: SourceRecord) -> bool:
        values = (*record.annotation.values(), *record.image.values())
        named = (value for value in values if isinstance(value, str | int | float))
        return name == file or name in map(annotator_name, named)

    return next((record for file, record in found if is_own(file, record)), found[0][1])


def review_document(
    data: Dataset,
    annotations: IndexArray,
    reasons: Iterable[str],
    gains: FloatArray,
    gain_of_image: FloatArray,
) -> dict[str, Any]:
    """Return a COCO document of the annotations to review, in their order, and their images.

    Records keep all keys of the files. Added are "reason", "gain" (how much agreement would gain if
    the object were settled), and "annotator", "area" and "iscrowd" where they are missing. Images
    have the total "gain" of their objects. Records of a single file keep their ids. With several
    files, images and categories get new ids, and so do annotations if their ids repeat. Where the
    files cannot be read again, or annotators have pseudonyms, there are only boxes.
    """
    of = data.annotations.take(annotations)
    found = None if data.is_pseudonymous else source_records(data, annotations)
    boxes = zip(of.id.tolist(), of.bbox.tolist(), strict=True)
    plain = [SourceRecord({"id": id_, "bbox": box}, {}) for id_, box in boxes]
    records, categories = found or (plain, [])
    keeps_ids = len(data.sources) == 1 and bool(categories)
    if not keeps_ids:
        names = enumerate(data.category_names, 1)
        categories = [{"id": number, "name": name} for number, name in names]
    places = of.image.tolist()
    # Reversed, so that the first record of each image wins.
    own = dict(zip(reversed(places), reversed(records), strict=True))
    images = {
        place: _image(
            data, place, own[place].image, own[place].image["id"] if keeps_ids else number
        )
        for number, place in enumerate(sorted(own), 1)
    }
    ids = [record.annotation["id"] for record in records]
    if len({*map(str, ids)}) < len(ids):
        ids = [*range(1, len(ids) + 1)]
    authors = np.array(data.annotator_names, object)[of.annotator].tolist()
    why = zip(reasons, gains.tolist(), strict=True)
    rows = zip(records, ids, places, of.category.tolist(), authors, why, strict=True)
    return {
        "images": [
            record | {"gain": float(gain_of_image[place])} for place, record in images.items()
        ],
        "categories": categories,
        "annotations": [
            {
                **_complete(record.annotation, author),
                "id": id_,
                "image_id": images[place]["id"],
                "category_id": record.annotation["category_id"] if keeps_ids else category + 1,
                "reason": reason,
                "gain": gain,
            }
            for record, id_, place, category, author, (reason, gain) in rows
        ],
    }


def _complete(record: Record, author: str) -> Record:
    """Return the record of an annotation with the keys that other tools need."""
    result = {"iscrowd": 0, **record}
    named = [annotator_name(record[key]) for key in ANNOTATOR_KEYS if key in record]
    if author not in named:
        result["annotator"] = author
    if "segmentation" not in record:
        result.setdefault("area", record["bbox"][2] * record["bbox"][3])
    return result


def _image(data: Dataset, place: int, record: Record, id_: object) -> Record:
    """Return the record of an image, with its size where it is known, and who was asked."""
    width, height = data.image_size[place].tolist()
    size = {"width": width, "height": height} if width > 0 and height > 0 else {}
    # Where each annotator has a record of the image, one stands for all.
    known = {key: value for key, value in record.items() if key != "annotator"}
    result = {"file_name": data.image_names[place], **size, **known, "id": id_}
    asked = [data.annotator_names[each] for each in np.flatnonzero(data.assigned[place]).tolist()]
    named = [result[key] for key in ASKED_KEYS if isinstance(result.get(key), list)]
    # A file may name its owner, where each file is taken as one annotator.
    if {*map(annotator_name, chain(*named))} != {*asked}:
        for key in ASKED_KEYS:
            result.pop(key, None)
        result["annotators"] = asked
    return result


def shown_image(data: Dataset, image: int) -> dict[str, Any]:
    """Return what pages say of an image: its name, its size if known, and who was asked."""
    width, height = data.image_size[image].tolist()
    asked = np.flatnonzero(data.assigned[image]).tolist()
    return {
        "file_name": data.image_names[image],
        "width": width or None,
        "height": height or None,
        "asked": [data.annotator_names[each] for each in asked],
    }


def drawn_shape(data: Dataset, number: int, row: int) -> dict[str, Any]:
    """Return what pages draw of an annotation, with the number of its object."""
    of, rings = data.annotations, outline_rings(data.annotations, row)
    return {
        "annotation": int(of.id[row]) if of.own_id is None else of.shown_ids([row])[0],
        "annotator": data.annotator_names[of.annotator[row]],
        "category": data.category_names[of.category[row]],
        "object": number,
        "bbox": of.bbox[row].tolist(),
        **({"rings": [ring.round(2).ravel().tolist() for ring in rings]} if rings else {}),
        **_points(data, row),
    }


def _points(data: Dataset, row: int) -> dict[str, Any]:
    """Return the labelled key points of an annotation, and the lines between them."""
    keypoints = data.annotations.keypoints
    if keypoints is None:
        return {}
    part = slice(int(keypoints.start[row]), int(keypoints.stop[row]))
    xy, seen = keypoints.xy[part].round(2), keypoints.visibility[part]
    limbs = data.limbs[data.annotations.category[row]] if data.limbs else ()
    lines = [xy[[*ends]] for ends in limbs if max(ends) < len(seen) and seen[[*ends]].all()]
    return {
        "visible_points": xy[seen > 1].tolist(),
        "hidden_points": xy[seen == 1].tolist(),
        "lines": [line.ravel().tolist() for line in lines],
    }
