"""A street that three simulated annotators drew: tests/data/simulated.json.

`PYTHONPATH=tests python -m support.simulated > tests/data/simulated.json` writes it again.
"""

import json
from random import Random

__all__ = ["as_text", "simulated"]

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
    print(as_text(simulated()), end="")  # noqa: T201
