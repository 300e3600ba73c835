"""Errors of rotated boxes, key points and work that `bboxqa simulate` does not make."""

import math
from random import Random

from bboxqa.model.shapes.keypoints import sides_of


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
