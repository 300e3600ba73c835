"""One object that one annotator annotated twice, and what is rare or far from usual."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco_masks
from support.validation import findings

from bboxqa.geometry.boxes import bbox_iou, corners
from bboxqa.model import rotated_boxes
from bboxqa.model.masks import decode_counts
from bboxqa.rules.collection import overlapping

NEAR = [10, 10, 20, 31]


def found(code, *annotations, **more):
    return findings({"annotations": list(annotations), **more}, code=code)


UPPER, LOWER = [10, 10, 30, 10, 10, 40], [30, 10, 30, 40, 10, 40]


def as_ring(ring):
    return {"segmentation": [ring]}


def as_mask(ring):
    runs = decode_counts(coco_masks.frPyObjects([ring], 80, 100)[0]["counts"])
    return {"segmentation": {"size": [80, 100], "counts": runs.tolist()}}


@pytest.mark.parametrize("form", [as_ring, as_mask])
@pytest.mark.parametrize(("code", "category"), [("D002", 1), ("D003", 2)])
def test_outlines_that_share_little_of_one_box_are_no_duplicates(code, category, form):
    other, kinds = {"category_id": category}, {"categories": [{}, {"name": "dog"}]}
    assert not found(code, form(UPPER), {**form(LOWER), **other}, **kinds)
    (finding,) = found(code, form(UPPER), {**form(UPPER), **other, "bbox": NEAR}, **kinds)
    assert "an IoU of 0.968 with annotation 1" in finding.message
    # Without an outline on both, boxes decide.
    assert found(code, form(UPPER), {**other, "bbox": NEAR}, **kinds)


def as_five(cx, cy, w, h, degrees):
    return {"bbox": [cx, cy, w, h, degrees], "area": w * h}


def as_eight(*box):
    ring = rotated_boxes.corners(np.array([box], float)).reshape(-1)
    return {"bbox": ring.round(2).tolist(), "area": box[2] * box[3]}


def beside_box(cx, cy, w, h, degrees):
    box = [cx - w / 2, cy - h / 2, w, h]
    return {"bbox": box, "area": w * h, "attributes": {"rotation": degrees}}


@pytest.mark.parametrize("form", [as_five, as_eight, beside_box])
@pytest.mark.parametrize(
    ("pair", "code"),
    [
        (((300, 300, 200, 20, 30), (300, 300, 200, 20, 30)), "D001"),
        # One rectangle, of which the other side is the width.
        (((300, 300, 200, 20, 1), (300, 300, 20, 200, 91)), "D002"),
        (((300, 300, 200, 30, 30), (301, 300, 200, 30, 30)), "D002"),
        # Of thin boxes, the bounds are less alike than the boxes.
        (((300, 300, 300, 12, 0.1), (300, 300, 300, 12, 0.4)), "D002"),
        (((300, 300, 200, 20, 30), (300, 300, 200, 20, 150)), None),
    ],
)
def test_all_forms_of_rotated_boxes_are_compared(form, pair, code):
    others = [(60, 60 + 20 * n, 40, 8, 10 * n + 5) for n in range(5)]
    boxes = [form(*box) for box in (*pair, *others)]
    sizes = [{"width": 600, "height": 600}]
    codes = {code for code in ("D001", "D002") if found(code, *boxes, images=sizes)}
    assert codes == ({code} if code else set())


# Boxes that overlap strongly, against a search of all pairs.
NUMBER = st.sampled_from([0.0, 1.0, 1.5, 2.0, 9.0, 9.5, 10.0, 10.5, 11.0])
SIDE = st.sampled_from([-1.0, 0.0, 8.5, 9.0, 9.5, 10.0, 10.5, float("nan")])
BOXES = st.lists(
    st.tuples(NUMBER, NUMBER, SIDE, SIDE, st.integers(-1, 1), st.integers(0, 1)), max_size=12
)


def pairs(bbox, group, kind, threshold):
    bbox = np.array(bbox, float).reshape(-1, 4)
    parts = overlapping(bbox, np.array(group), np.array(kind), threshold)
    return sorted(tuple(pair) for part in parts for pair in part.T.tolist())


def all_pairs(bbox, group, kind, threshold):
    """Compare every box with every other; equal boxes of a kind count with their first only."""
    same = list(zip(map(tuple, bbox), group, kind, strict=True))
    result = []
    for left, right in combinations(range(len(bbox)), 2):
        first_of = [same.index(same[row]) for row in (left, right)]
        # Of equal boxes the first stands for all, and is paired with each of the others.
        wanted = first_of in ([left, left], [left, right])
        box = corners(np.array([bbox[left], bbox[right]], float))
        sound = all(side > 0 for row in (left, right) for side in bbox[row][2:])
        iou = bbox_iou(box[:1], box[1:])[0] if sound else 0
        if wanted and group[left] == group[right] >= 0 and iou >= threshold:
            result.append((left, right))
    return result


@given(BOXES, st.sampled_from([0.3, 0.5, 0.8, 0.9, 1.0]))
def test_the_sweep_finds_the_pairs_that_a_search_of_all_pairs_finds(boxes, threshold):
    columns = [list(column) for column in zip(*boxes, strict=True)] or [[]] * 6
    bbox = [list(box[:4]) for box in boxes]
    expected = all_pairs(bbox, columns[4], columns[5], threshold)
    assert pairs(bbox, columns[4], columns[5], threshold) == expected
