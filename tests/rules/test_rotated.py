"""Defects of rotated boxes, each put into clean files of every way to write them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.datasets import annotation, document, image
from support.validation import codes, exact, findings, loud

from bboxqa.model.rotated_boxes import corners

FIRST = 3
KINDS = ("five", "eight", "five and corners")
N_IMAGES, N_BOXES = 6, 12


@dataclass(frozen=True)
class Box:
    """A box, perhaps with corners that are not its own."""

    image: int
    who: str
    centre: tuple
    sides: tuple
    degrees: float
    corners: tuple | None = None

    def points(self):
        if self.corners is not None:
            return np.array(self.corners)
        return corners(np.array([[*self.centre, *self.sides, self.degrees]]))[0]


def boxes(seed=0):
    """Return sound boxes: long ones that lie in all directions, nearly alike in each image."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(N_IMAGES):
        main = random.uniform(0, 180)
        for who in ("ann", "bob"):
            for place in range(N_BOXES):
                centre = (140 + 240 * (place % 4), 140 + 240 * (place // 4))
                sides = (random.uniform(70, 100), random.uniform(20, 40))
                degrees = float((main + 180 * (place % 2) + random.uniform(-8, 8)) % 360)
                jitter = random.uniform(-20, 20, 2)
                found.append(Box(number, who, (centre[0] + jitter[0], centre[1] + jitter[1]),
                                 sides, degrees))  # fmt: skip
    return found


def changed(found, place, **values):
    """Return boxes with other values of one of them."""
    return [*found[:place], replace(found[place], **values), *found[place + 1 :]]


def coco(found, kind):
    """Return a COCO file: five numbers, eight, or four corners as the outline."""
    annotations = []
    for number, box in enumerate(found, start=1):
        ring = box.points().round(2).ravel().tolist()
        x, y = ring[::2], ring[1::2]
        record = {
            "id": number, "image_id": box.image + 1, "category_id": 1, "iscrowd": 0,
            "annotator": box.who, "area": round(box.sides[0] * box.sides[1], 2),
            "bbox": [min(x), min(y), max(x) - min(x), max(y) - min(y)],
        }  # fmt: skip
        if kind.startswith("five"):
            record["bbox"] = [*box.centre, *box.sides, box.degrees]
        elif kind == "eight":
            record["bbox"] = ring
        if kind.endswith("corners"):
            record["segmentation"] = [ring]
        annotations.append(record)
    images = [image(n + 1, width=1000, height=800) for n in range(N_IMAGES)]
    return exact(document(annotations, images, info={"year": 2026}, licenses=[]))


def of_rotated(content):
    return {code for code in codes(content) if code[0] == "O"} - {"O009"}


@pytest.mark.parametrize("name", KINDS)
def test_files_of_sound_rotated_boxes_are_clean(name):
    assert loud(coco(boxes(), name)) == set()
    assert of_rotated(coco(boxes(), name)) == set()


@pytest.mark.parametrize("crossed", [[FIRST], range(2 * N_IMAGES * N_BOXES)])
def test_corners_that_cross_are_one_finding_and_nothing_else(crossed):
    found = boxes()
    for place in crossed:
        zigzag = found[place].points()[[0, 1, 3, 2]]
        found = changed(found, place, corners=tuple(map(tuple, zigzag)))
    content = coco(found, "eight")
    (defect,) = findings(content, code="O004")
    assert defect.count == len(crossed)
    assert of_rotated(content) == {"O004"}
    assert loud(content) <= {"O004"}


@pytest.mark.parametrize(
    ("bbox", "degrees", "expected"),
    [
        # Turned by a quarter, the box is 5 to 15, 25 to 65; as it stands it begins at -10.
        ((-10, 40, 40, 10), 90, set()),
        # The box as it stands is inside; turned by a quarter it is -10 to 20, 40 to 50.
        ((0, 30, 10, 30), 90, {"O006"}),
        ((-10, 40, 40, 10), 0, {"B003"}),
        ((-0.5, 40, 40, 10), 180, set()),
    ],
)
def test_a_box_beside_an_angle_lies_where_it_is_turned(bbox, degrees, expected):
    turned = annotation(1, bbox=bbox, attributes={"rotation": degrees})
    others = [annotation(number, bbox=(10 * number, 40, 8, 8)) for number in range(2, 9)]
    edges = {"B002", "B003", "B004", "O006"}
    assert codes(document([turned, *others])) & edges == expected
