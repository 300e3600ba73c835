"""R: masks as run lengths, and crowds."""

import numpy as np
import pytest
from support.validation import codes, findings

from bboxqa.model.run_lengths import run_bounds

MASK = {"size": [80, 100], "counts": [810, 100, 7090]}
RING = [[10, 10, 30, 10, 30, 40, 10, 40]]


def masks(*many, **more):
    return {"annotations": [{"segmentation": mask, "area": 100, **more} for mask in many]}


def test_a_size_in_the_wrong_order_is_named():
    (found,) = findings(masks({**MASK, "size": [100, 80]}), code="R001")
    assert found.message == (
        "mask has size [100, 80] (height and width are swapped); expected [80, 100], height and "
        "width of its image"
    )
    (other,) = findings(masks({**MASK, "size": [40, 50]}), code="R001")
    assert "swapped" not in other.message
    assert "R001" not in codes(masks(MASK))


def test_a_size_is_not_judged_without_one_of_the_image():
    content = {"images": [{"width": None}], **masks({**MASK, "size": [7, 9]})}
    assert "R001" not in codes(content)


def test_run_lengths_have_to_fill_the_mask():
    (found,) = findings(masks({**MASK, "counts": [810, 100]}), code="R002")
    assert found.message == "run lengths add up to 910; expected 8,000 (80 x 100)"
    assert "R002" not in codes(masks(MASK, {"size": [2, 2], "counts": "04"}))


@pytest.mark.parametrize(
    "mask",
    [
        {}, {"size": [80, 100]}, {"counts": [8000]}, {**MASK, "counts": None},
        {**MASK, "counts": [8001, -1]}, {**MASK, "counts": "~~"}, {**MASK, "counts": "P"},
        {**MASK, "counts": []}, {**MASK, "counts": ""}, {**MASK, "size": [1 << 40, 1 << 40]},
        {**MASK, "size": "80x100"}, {**MASK, "counts": [10**400]},
    ],
)  # fmt: skip
def test_masks_that_cannot_be_read_are_found(mask):
    (found,) = findings(masks(mask), code="R002")
    assert "expected" in found.message or "cannot be read" in found.message


def test_masks_that_are_all_crowds_become_objects():
    (found,) = findings(masks(MASK, MASK, MASK, iscrowd=1), code="R003")
    assert found.count == 3
    assert [(e.pointer, e.value) for e in found.edits] == [
        (f"/annotations/{row}/iscrowd", 0) for row in range(3)
    ]


def test_crowds_among_others_are_left_alone():
    assert "R003" not in codes(masks(MASK, iscrowd=1))
    mixed = masks(MASK, MASK, iscrowd=1)["annotations"] + [{"segmentation": RING}]
    assert {"R003", "R004"}.isdisjoint(codes({"annotations": mixed}))


def test_a_polygon_is_no_crowd():
    (found,) = findings({"annotations": [{"segmentation": RING, "iscrowd": 1}]}, code="R004")
    assert found.message == "iscrowd is 1 for a polygon; expected 0, or run lengths of a crowd"
    assert [edit.value for edit in found.edits] == [0]
    assert "R004" not in codes({"annotations": [{"segmentation": [], "iscrowd": 1}]})


def test_two_ways_of_writing_masks():
    packed = {"size": [2, 2], "counts": "04"}
    (found,) = findings(masks(MASK, MASK, packed), code="R005")
    assert found.message.startswith("1 masks are compressed text and 2 are lists")
    assert found.examples == ("/annotations/2/segmentation",)
    assert "R005" not in codes(masks(packed, packed))
    assert "R005" not in codes(masks(MASK, {**packed, "counts": "~"}))


SLASHED = {"size": [80, 100], "counts": "/i01l10jl6"}


def test_backslashes_that_became_slashes_are_one_finding():
    content = masks(SLASHED, SLASHED, MASK)
    content["annotations"][0]["area"] = 2
    (found,) = findings(content, code="R006")
    assert found.message == (
        "/ stands for \\ in the compressed counts of 2 of 3 masks: with \\ they fill their size, "
        "and 1 have the area that is written; expected \\"
    )
    # Only the area that is written proves that the mask is right.
    assert [(edit.pointer, edit.value) for edit in found.edits] == [
        ("/annotations/0/segmentation/counts", "\\i01l10jl6")
    ]
    assert "R002" not in codes(content)


def test_slashes_that_no_backslashes_explain_are_unreadable():
    content = masks({**SLASHED, "size": [80, 101]})
    assert "R006" not in codes(content)
    assert "R002" in codes(content)


def test_a_box_that_is_not_the_bounds_of_its_mask_is_found():
    # Rows 10 to 39 of the columns 10 to 29 of an image of 80 rows.
    runs = [810, *[30, 50] * 19, 30]
    mask = {"size": [80, 100], "counts": [*runs, 8000 - sum(runs)]}
    content = {"annotations": [{"segmentation": mask, "bbox": [10, 10, 20, 30], "area": 600}]}
    assert "P007" not in codes(content)
    content["annotations"][0]["bbox"] = [10, 10, 60, 30]
    (found,) = findings(content, code="P007")
    assert (
        found.message == "right edge of bbox is at 70; expected 30, the right edge of its outline"
    )
    assert [edit.value for edit in found.edits] == [[10, 10, 20, 30]]


def test_the_bounds_of_a_mask_of_another_size_say_nothing():
    """Its box is right once height and width are: a fix would have spoilt it."""
    runs = [810, *[30, 50] * 19, 30]
    mask = {"size": [100, 80], "counts": [*runs, 8000 - sum(runs)]}
    content = {"annotations": [{"segmentation": mask, "bbox": [10, 10, 20, 30], "area": 600}]}
    assert codes(content, select=("B", "P", "R")) == {"R001"}


@pytest.mark.parametrize("seed", range(20))
def test_the_bounds_of_a_mask_are_those_of_its_pixels(seed):
    rng = np.random.default_rng(seed)
    runs = rng.integers(0, rng.integers(2, 30), rng.integers(1, 9))
    height = int(rng.integers(1, 12))
    width = -(-int(runs.sum()) // height) + 1
    runs = np.append(runs, [0] * (len(runs) % 2) + [height * width - int(runs.sum())])
    pixels = np.repeat(np.arange(len(runs)) % 2, runs).reshape(width, height)
    columns, rows = np.nonzero(pixels)
    expected = (np.nan,) * 4
    if len(rows):
        expected = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    assert np.array_equal(run_bounds(runs, height), expected, equal_nan=True)
