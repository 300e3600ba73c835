"""The annotations of objects to review, as a COCO document."""

from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.diagnostics.review import ReviewQueue
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, ASKED_KEYS, annotator_name
from bboxqa.model.annotations import Dataset
from bboxqa.pipelines.diagnosis.source_records import Record, SourceRecord, source_records


def review_document(data: Dataset, queue: ReviewQueue) -> dict[str, Any]:
    """Return a COCO document of the annotations to review and their images.

    Records keep all keys of the files. Added are "reason", "gain" (how much agreement would gain if
    the object were settled), and "annotator", "area" and "iscrowd" where they are missing. Images
    have the total "gain" of their objects. Records of a single file keep their ids. With several
    files, images and categories get new ids, and so do annotations if their ids repeat. Where the
    files cannot be read again, or annotators have pseudonyms, there are only boxes.
    """
    annotations = queue.annotations
    of = data.annotations.take(annotations)
    found = None if data.is_pseudonymous else source_records(data, annotations)
    records, categories = found or (_of_boxes(data, annotations), [])
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
    why = zip(queue.reasons, queue.gains.tolist(), strict=True)
    rows = zip(records, ids, places, of.category.tolist(), authors, why, strict=True)
    return {
        "images": [
            record | {"gain": float(queue.gain_of_image[place])} for place, record in images.items()
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


def _of_boxes(data: Dataset, annotations: IndexArray) -> list[SourceRecord]:
    """Return records with the boxes and categories that were read."""
    of = data.annotations.take(annotations)
    rows = zip(of.id.tolist(), of.bbox.tolist(), strict=True)
    return [SourceRecord({"id": id_, "bbox": box}, {}) for id_, box in rows]


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
