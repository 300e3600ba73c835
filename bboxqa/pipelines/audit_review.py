"""The suspicious labels of an audit, and what a model suggests, as a queue of a review."""

from collections.abc import Iterator
from itertools import count as counter
from typing import Any

import numpy as np

from bboxqa.core.arrays import sum_by
from bboxqa.formats.records import whole_number
from bboxqa.model.audit import WORTH, AuditResult
from bboxqa.model.review import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.pipelines.diagnosis.review_document import review_document

Record = dict[str, Any]


def review_of(result: AuditResult) -> tuple[Record, list[ReviewItem]]:
    """Return a COCO document of the places worth a look, at most 1,000, and a queue of them.

    The gain is the score. What is missing is an annotation that the model proposes.
    """
    labels, own = result.labels, result.labels.annotations
    kept = np.flatnonzero(np.asarray(result.suspects["score"]) >= WORTH)[:MOST_REVIEWED]
    table, rows = result.suspects.take(kept), result.rows[kept]
    # In the order of the data.
    order = np.argsort(rows)[int((rows < 0).sum()) :]
    number = {name: place for place, name in enumerate(labels.image_names)}
    image = np.array([number[name] for name in table["image"]], np.int64)
    score = np.asarray(table["score"])
    document = review_document(
        labels, rows[order], table["reason"][order], score[order], sum_by(image, score, len(number))
    )
    images, annotations = document["images"], document["annotations"]
    image_ids, new_ids = _new_ids(images), _new_ids(annotations)
    known = {place: n for n, place in enumerate(np.unique(own.image[rows[order]]).tolist())}
    at = {row: n for n, row in enumerate(order.tolist())}
    category_id = {each["name"]: each["id"] for each in document["categories"]}
    sides, items = ("x", "y", "width", "height"), []
    every = zip(rows.tolist(), image.tolist(), table.records(), strict=True)
    for n, (row, place, said) in enumerate(every):
        if place not in known:
            known[place] = len(images)
            size = zip(sides[2:], labels.image_size[place].tolist(), strict=True)
            images.append({"id": next(image_ids), "file_name": said["image"]}
                          | {side: length for side, length in size if length})  # fmt: skip
        drawn, box = at.get(n, -1), [said[side] for side in sides]
        person, id_ = np.flatnonzero(labels.assigned[place])[0], None
        if row >= 0:
            annotations[drawn]["score"] = said["score"]
            person, box = own.annotator[row], own.bbox[row].tolist()
            id_ = int(own.id[row]) if own.own_id is None else said["label"]
        elif said["suggested"]:
            drawn = len(annotations)
            annotations.append({
                "id": next(new_ids), "image_id": images[known[place]]["id"],
                "category_id": category_id[said["suggested"]], "bbox": box,
                "area": box[2] * box[3], "iscrowd": 0, "score": said["score"],
                "reason": said["reason"],
            })  # fmt: skip
        found = ReviewObject(
            annotator=labels.annotator_names[person], image=said["image"], id=id_,
            category=said["category"] or said["suggested"], bbox=tuple(box),
            reason=f"{said['kind']}: {said['reason']}", gain=said["score"],
            proposed=row < 0 <= drawn,
        )  # fmt: skip
        items.append(ReviewItem(found, drawn, known[place]))
    return document, items


def _new_ids(records: list[Record]) -> Iterator[int]:
    return counter(1 + max(filter(None, (whole_number(each["id"]) for each in records)), default=0))
