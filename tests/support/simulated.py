"""A street that three simulated annotators drew, and their review: tests/data/simulated*.json.

`PYTHONPATH=tests python -m support.simulated` writes both files again.
"""

import json
from random import Random

from support.brute import box_iou
from support.reference import data_file

__all__ = ["as_text", "reviewed", "simulated"]

ANNOTATORS = ("ann", "bob", "cid")
CATEGORIES = ("car", "bicycle", "person")
WIDTH, HEIGHT, N_IMAGES, EMPTY = 320, 240, 60, 7


def simulated(seed=18):
    """Return a COCO document: objects that are missed, moved, misnamed and invented.

    Every seventh image is empty. Outlines are hexagons, boxes of which two corners are cut off.
    """
    values = Random(seed)
    images, annotations = [], []
    for number in range(1, N_IMAGES + 1):
        unasked = ANNOTATORS[number // 2 % 3] if number % 2 else None
        asked = [who for who in ANNOTATORS if who != unasked]
        images.append(
            {"id": number, "file_name": f"street_{number:02}.jpg", "width": WIDTH,
             "height": HEIGHT, "annotators": asked}
        )  # fmt: skip
        objects = _objects(values) if number % EMPTY else []
        for who in asked:
            drawn = [_seen(values, *one) for one in objects if values.random() < 0.94]
            if objects and values.random() < 0.06:
                drawn.append(_object(values))
            for category, outline in drawn:
                annotations.append(
                    {"id": len(annotations) + 1, "image_id": number, "category_id": category,
                     "annotator": who, **_shape(*outline), "iscrowd": 0}
                )  # fmt: skip
    categories = [{"id": n, "name": name} for n, name in enumerate(CATEGORIES, 1)]
    return {
        "info": {"description": "simulated annotators", "year": 2026},
        "licenses": [],
        "images": images,
        "categories": categories,
        "annotations": annotations,
    }


def reviewed(seed=3):
    """Return the document after its annotators saw what the others had drawn.

    They remove what nobody else drew, add what they missed, and move boxes and change categories
    towards those of another annotator. One image is replaced, and one category has another name.
    """
    values, document = Random(seed), simulated()
    images = [image for image in document["images"] if image["id"] < N_IMAGES]
    annotations = []
    for image in images:
        drawn = [each for each in document["annotations"] if each["image_id"] == image["id"]]
        annotations += [found for each in drawn for found in _reviewed(values, each, drawn)]
        for each in drawn:
            for who in image["annotators"]:
                if not _by(who, each, drawn) and values.random() < 0.6:
                    annotations.append({**each, "annotator": who, "id": 1000 + len(annotations)})
    last = {**images[-1], "id": N_IMAGES + 1, "file_name": f"street_{N_IMAGES + 1}.jpg"}
    for number, who in enumerate(last["annotators"]):
        annotations.append(
            {"id": 2000 + number, "image_id": last["id"], "category_id": 1, "annotator": who,
             **_shape(40, 50 + number, 80, 60), "iscrowd": 0}
        )  # fmt: skip
    categories = [{"id": n, "name": name} for n, name in enumerate(CATEGORIES[:2], 1)]
    return {
        **document,
        "info": {"description": "simulated annotators, after a review", "year": 2026},
        "images": [*images, last],
        "categories": [*categories, {"id": 3, "name": "pedestrian"}],
        "annotations": annotations,
    }


def _by(who, annotation, drawn):
    """Return the annotations by one annotator that overlap with another one by half."""
    return [
        each
        for each in drawn
        if each["annotator"] == who and 2 * box_iou(annotation["bbox"], each["bbox"]) >= 1
    ]


def _reviewed(values, annotation, drawn):
    """Return what became of an annotation in the review: one annotation, or none."""
    others = [
        each for who in ANNOTATORS if who != annotation["annotator"]
        for each in _by(who, annotation, drawn)
    ]  # fmt: skip
    if not others:
        return [annotation] if values.random() < 0.6 else []
    chance = values.random()
    if chance < 0.5 and others[0]["category_id"] != annotation["category_id"]:
        return [{**annotation, "category_id": min(each["category_id"] for each in drawn)}]
    if chance < 0.2:
        sides = zip(annotation["bbox"], others[0]["bbox"], strict=True)
        return [{**annotation, **_shape(*((one + other) // 2 for one, other in sides))}]
    return [annotation]


def as_text(document):
    """Return a document as text with one line for each record."""
    parts = {name: json.dumps(value) for name, value in document.items()}
    for name in ("images", "categories", "annotations"):
        parts[name] = "[\n" + ",\n".join(map(json.dumps, document[name])) + "\n]"
    return "{\n" + ",\n".join(f'"{name}": {value}' for name, value in parts.items()) + "\n}\n"


def _below(values, n):
    # random() gives the same numbers in every version of Python; other methods need not.
    return int(values.random() * n)


def _object(values):
    width, height = 30 + _below(values, 50), 30 + _below(values, 50)
    x, y = 10 + _below(values, WIDTH - 100), 10 + _below(values, HEIGHT - 100)
    return 1 + _below(values, 3), (x, y, width, height)


def _objects(values):
    objects = [_object(values) for _ in range(1 + _below(values, 2))]
    if values.random() < 0.3:
        # Half hidden by another one, so that it matters which of them a drawn one is matched with.
        category, (x, y, width, height) = objects[-1]
        objects.append((1 + category % 3, (x + width // 6, y + 4, width, height)))
    return objects


def _seen(values, category, box):
    if values.random() < 0.08:
        category = 1 + _below(values, 3)
    error = 2 if values.random() < 0.7 else 7
    return category, tuple(side + _below(values, 2 * error + 1) - error for side in box)


def _shape(x, y, width, height):
    right, bottom, cut = x + width, y + height, min(width, height) // 3
    outline = [
        x + cut,
        y,
        right,
        y,
        right,
        bottom - cut,
        right - cut,
        bottom,
        x,
        bottom,
        x,
        y + cut,
    ]
    area = width * height - cut**2
    return {"bbox": [x, y, width, height], "area": area, "segmentation": [outline]}


if __name__ == "__main__":
    data_file("simulated.json").write_text(as_text(simulated()), "utf-8")
    data_file("simulated_reviewed.json").write_text(as_text(reviewed()), "utf-8")
