"""The suspicious labels of an audit, and what a model suggests, as a queue of a review."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import sum_by
from bboxqa.formats.records import whole_number
from bboxqa.model.audit import WORTH, AuditResult
from bboxqa.model.review import ReviewItem, ReviewObject
from bboxqa.pipelines.diagnosis.review_document import Queued, review_document

# The most places that are sent.
_MOST = 1000


def review_of(result: AuditResult) -> tuple[dict[str, Any], list[ReviewItem]]:
    """Return a COCO document of the places worth a look, at most 1,000, and a queue of them.

    The gain is the score. What is missing is an annotation that the model suggests: whoever keeps
    it accepts it.
    """
    table = result.suspects
    kept = np.flatnonzero(np.asarray(table["score"]) >= WORTH)[:_MOST]
    places, rows = table.take(kept), result.rows[kept]
    order = np.argsort(rows[rows >= 0])
    has_label = np.flatnonzero(rows >= 0)[order]
    number = {name: place for place, name in enumerate(result.labels.image_names)}
    images = np.array([number[name] for name in places["image"]], np.int64)
    document = review_document(result.labels, Queued(
        annotations=rows[has_label],
        reasons=tuple(places["reason"][has_label]),
        gains=np.asarray(places["score"])[has_label],
        gain_of_image=sum_by(images, places["score"], len(number)),
    ))  # fmt: skip
    at = np.full(len(kept), -1)
    at[has_label] = np.arange(len(has_label))
    records = document["images"]
    drawn = np.unique(result.labels.annotations.image[rows[has_label]])
    place_of = dict(zip(drawn.tolist(), range(len(records)), strict=True))
    items = []
    for row, image, position, record in zip(
        rows.tolist(), images.tolist(), at.tolist(), places.records(), strict=True
    ):
        if image not in place_of:
            place_of[image] = len(records)
            records.append(_image(result, image, _next_id(records)))
        suggested = -1
        if row < 0 and record["suggested"]:
            suggested = len(document["annotations"])
            document["annotations"].append(
                _annotation(document, record, records[place_of[image]]["id"])
            )
        items.append(ReviewItem(_object(result, row, image, record), position, place_of[image],
                                suggested))  # fmt: skip
    for row, record in enumerate(places.records()):
        if at[row] >= 0:
            document["annotations"][at[row]]["score"] = record["score"]
    return document, items


def _object(result: AuditResult, row: int, image: int, record: dict[str, Any]) -> ReviewObject:
    labels, own = result.labels, result.labels.annotations
    asked = np.flatnonzero(labels.assigned[image]).tolist()
    author = int(own.annotator[row]) if row >= 0 else asked[0]
    box = own.bbox[row].tolist() if row >= 0 else _box(record)
    return ReviewObject(
        annotator=labels.annotator_names[author],
        image=record["image"],
        id=None if row < 0 else int(own.id[row]) if own.own_id is None else record["label"],
        category=record["category"] or record["suggested"],
        bbox=tuple(box),
        reason=f"{record['kind']}: {record['reason']}",
        gain=record["score"],
    )


def _box(record: dict[str, Any]) -> list[float]:
    return [record[side] for side in ("x", "y", "width", "height")]


def _next_id(records: list[dict[str, Any]]) -> int:
    return 1 + max(filter(None, (whole_number(each["id"]) for each in records)), default=0)


def _image(result: AuditResult, image: int, number: int) -> dict[str, Any]:
    """Return the record of an image without labels to review."""
    width, height = result.labels.image_size[image].tolist()
    size = {"width": width, "height": height} if width and height else {}
    return {"id": number, "file_name": result.labels.image_names[image], **size}


def _annotation(document: dict[str, Any], record: dict[str, Any], image: Any) -> dict[str, Any]:
    """Return the annotation that a model suggests for what is missing."""
    ids = {each["name"]: each["id"] for each in document["categories"]}
    box = _box(record)
    return {
        "id": _next_id(document["annotations"]),
        "image_id": image,
        "category_id": ids[record["suggested"]],
        "bbox": box,
        "area": box[2] * box[3],
        "iscrowd": 0,
        "score": record["score"],
        "reason": record["reason"],
    }
