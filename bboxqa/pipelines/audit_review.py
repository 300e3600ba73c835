"""The suspicious labels of an audit, and what a model suggests, as a queue of a review."""

from typing import Any

import numpy as np

from bboxqa.core.arrays import sum_by
from bboxqa.formats.records import whole_number
from bboxqa.model.audit import WORTH, AuditResult
from bboxqa.model.review import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.pipelines.diagnosis.review_document import Queued, review_document

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
    document = review_document(labels, Queued(
        rows[order], tuple(table["reason"][order]), score[order], sum_by(image, score, len(number)),
    ))  # fmt: skip
    images, annotations = document["images"], document["annotations"]
    known = {place: n for n, place in enumerate(np.unique(own.image[rows[order]]).tolist())}
    at = {row: n for n, row in enumerate(order.tolist())}
    category_id = {each["name"]: each["id"] for each in document["categories"]}
    items = []
    for n, (row, place, said) in enumerate(
        zip(rows.tolist(), image.tolist(), table.records(), strict=True)
    ):
        if place not in known:
            known[place] = len(images)
            size = zip(("width", "height"), labels.image_size[place].tolist(), strict=True)
            images.append({"id": _next_id(images), "file_name": labels.image_names[place]}
                          | {side: length for side, length in size if length})  # fmt: skip
        box = [said[side] for side in ("x", "y", "width", "height")]
        drawn = at.get(n, -1)
        if row >= 0:
            annotations[at[n]]["score"] = said["score"]
            box = own.bbox[row].tolist()
        elif said["suggested"]:
            drawn = len(annotations)
            annotations.append({
                "id": _next_id(annotations), "image_id": images[known[place]]["id"],
                "category_id": category_id[said["suggested"]], "bbox": box,
                "area": box[2] * box[3], "iscrowd": 0, "score": said["score"],
                "reason": said["reason"],
            })  # fmt: skip
        asked = np.flatnonzero(labels.assigned[place]).tolist()
        found = ReviewObject(
            annotator=labels.annotator_names[own.annotator[row] if row >= 0 else asked[0]],
            image=said["image"],
            id=None if row < 0 else int(own.id[row]) if own.own_id is None else said["label"],
            category=said["category"] or said["suggested"],
            bbox=tuple(box),
            reason=f"{said['kind']}: {said['reason']}",
            gain=said["score"],
            proposed=row < 0 <= drawn,
        )
        items.append(ReviewItem(found, drawn, known[place]))
    return document, items


def _next_id(records: list[Record]) -> int:
    return 1 + max(filter(None, (whole_number(each["id"]) for each in records)), default=0)
