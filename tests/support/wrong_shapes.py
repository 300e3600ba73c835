"""Errors of rotated boxes, key points and work that `bboxqa simulate` does not make."""

import math
from random import Random

from bboxqa.geometry.box_similarities import COCO_SIGMAS
from bboxqa.model.keypoints import COCO_JOINTS, sides_of


def turned_boxes(document, errors, seed=0):
    """Turn boxes of annotators in place: `errors` are (degrees, spread, share across) by name."""
    values = Random(seed)
    for record in document["annotations"]:
        if record["annotator"] in errors:
            degrees, spread, across = errors[record["annotator"]]
            degrees += spread * values.gauss()
            _turn(record, degrees, 90 if values.random() < across else 0)
    return document


def _turn(record, degrees, more):
    """Turn a box about its middle; `more` exchanges its sides while the angle is kept."""
    (ring,) = record["segmentation"]
    points = list(zip(ring[::2], ring[1::2], strict=True))
    x, y = (sum(each) / 4 for each in zip(*points, strict=True))
    cos, sin = (f(math.radians(degrees + more)) for f in (math.cos, math.sin))
    new = [
        (x + (a - x) * cos - (b - y) * sin, y + (a - x) * sin + (b - y) * cos) for a, b in points
    ]
    record["segmentation"] = [[value for point in new for value in point]]
    low, high = map(min, zip(*new, strict=True)), map(max, zip(*new, strict=True))
    (left, top), (right, bottom) = low, high
    record["bbox"] = [left, top, right - left, bottom - top]
    record["attributes"] = {"rotation": (record["attributes"]["rotation"] + degrees) % 360}


def mirrored(document, name, share, seed=0):
    """Exchange left and right in a share of the objects of an annotator, in place."""
    values, joints = Random(seed), document["categories"][0]["keypoints"]
    for record in document["annotations"]:
        if record["annotator"] == name and values.random() < share:
            flat = record["keypoints"]
            points = [flat[at : at + 3] for at in range(0, len(flat), 3)]
            for left, right in sides_of(joints):
                points[left], points[right] = points[right], points[left]
            record["keypoints"] = [value for point in points for value in point]
    return document


def tiring(document, name, first, last, seed=0):
    """Leave out boxes of an annotator at a rate that rises evenly over the images."""
    values, n = Random(seed), len(document["images"])
    document["annotations"] = [
        record
        for record in document["annotations"]
        if record["annotator"] != name
        or values.random() >= first + (last - first) * (record["image_id"] - 1) / (n - 1)
    ]
    return document


def rotated(document):
    """Turn each box about its middle by an angle of its true object, in place."""
    for record in document["annotations"]:
        x, y, w, h = record["bbox"]
        ring = [x, y, x + w, y, x + w, y + h, x, y + h]
        record |= {"segmentation": [ring], "attributes": {"rotation": 0}}
        degrees = Random(record.get("true_id", record["id"])).uniform(0, 360)
        _turn(record, round(degrees, 2), 0)
    return document


# COCO's joints of a standing person who faces the camera, as shares of width and height.
_PEOPLE = (
    (0.5, 0.1), (0.55, 0.08), (0.45, 0.08), (0.6, 0.1), (0.4, 0.1), (0.75, 0.22), (0.25, 0.22),
    (0.88, 0.38), (0.12, 0.38), (0.95, 0.52), (0.05, 0.52), (0.66, 0.53), (0.34, 0.53),
    (0.66, 0.74), (0.34, 0.74), (0.66, 0.95), (0.34, 0.95),
)  # fmt: skip


def people(document, scatter=0.0, omit=0.0, seed=0):
    """Put COCO's joints into all boxes, in place, scattered by a multiple of COCO's sigmas."""
    values = Random(seed)
    for category in document["categories"]:
        category["keypoints"] = [*COCO_JOINTS]
    for record in document["annotations"]:
        x, y, w, h = record["bbox"]
        size = scatter * math.sqrt(w * h / 2)
        flat = []
        for (right, down), sigma in zip(_PEOPLE, COCO_SIGMAS, strict=True):
            off = [size * sigma * values.gauss() for _ in range(2)]
            point = [x + right * w + off[0], y + down * h + off[1], 2]
            flat += [0, 0, 0] if values.random() < omit else point
        record |= {"keypoints": flat, "num_keypoints": sum(n > 0 for n in flat[2::3])}
    return document
