"""R: masks as run lengths, and crowds."""

import numpy as np
import pytest
from support.validation import codes, findings

from bboxqa.model.masks import compress_counts, decode_counts, run_bounds

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
    assert "expected" in found.message or "pycocotools" in found.message


def test_masks_that_are_all_crowds_become_objects():
    (found,) = findings(masks(MASK, MASK, MASK, iscrowd=1), code="R003")
    assert found.count == 3
    assert [(e.pointer, e.value) for e in found.edits] == [
        (f"/annotations/{row}/iscrowd", 0) for row in range(3)
    ]


def test_masks_of_cvat_are_no_crowds():
    box = {"segmentation": [], "iscrowd": 0, "attributes": {"occluded": False}}
    mask = {"segmentation": MASK, "iscrowd": 1, "attributes": {"occluded": True}}
    (found,) = findings({"annotations": [box, mask]}, code="R003")
    assert found.message.startswith("iscrowd is 1 in 1 mask, all of them, since CVAT")
    assert [edit.pointer for edit in found.edits] == ["/annotations/1/iscrowd"]
    of_voc = {"occluded": True, "truncated": False, "difficult": False}
    for attributes in (None, {}, {"occluded": "no"}, of_voc):
        other = {**mask, "attributes": attributes}
        assert "R003" not in codes({"annotations": [box, mask, other]})
    assert "R003" not in codes({"annotations": [box, mask, {**mask, "iscrowd": 0}]})


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


def row_major(pixels, *, compressed=False):
    """Return pixels as run lengths along the rows, as a mistaken exporter writes them."""
    height, width = pixels.shape
    changes = np.flatnonzero(np.diff(np.concatenate([[0], pixels.ravel(), [1 - pixels[-1, -1]]])))
    runs = np.diff(np.append(changes, height * width), prepend=0)
    runs = runs[: -1 if runs[-1] == 0 else None]
    counts = compress_counts(runs, height, width).decode() if compressed else runs.tolist()
    return {"size": [height, width], "counts": counts}


def ellipse(height=80, width=100):
    y, x = np.mgrid[:height, :width]
    return ((x - 40.5) ** 2 / 300 + (y - 30.5) ** 2 / 100 < 1).astype(int)


@pytest.mark.parametrize("compressed", [False, True])
def test_masks_along_the_rows_are_one_finding_and_a_fix_that_their_boxes_prove(compressed):
    pixels = ellipse()
    drawn = {"segmentation": row_major(pixels, compressed=compressed), "area": int(pixels.sum())}
    columns, rows = (np.flatnonzero(pixels.any(axis=axis)) for axis in (0, 1))
    box = [columns[0], rows[0], len(columns), len(rows)]
    drawn["bbox"] = [int(number) for number in box]
    (found,) = findings({"annotations": [drawn, drawn]}, select=("B", "P", "R"))
    assert found.code == "R007"
    assert found.message == (
        "2 of 2 masks fit their boxes if their run lengths go row by row, and do not as they are; "
        "expected run lengths column by column"
    )
    counts = found.edits[0].value
    runs = decode_counts(counts.encode()) if compressed else counts
    assert np.array_equal(np.repeat(np.arange(len(runs)) % 2, runs), pixels.T.ravel())


def test_masks_of_square_images_may_have_transposed_boxes_and_are_not_changed():
    pixels = ellipse(90, 90)
    drawn = {"segmentation": row_major(pixels), "area": int(pixels.sum()), "bbox": [24, 21, 34, 20]}
    content = {"images": [{"width": 90, "height": 90}], "annotations": [drawn]}
    (found,) = findings(content, code="R007")
    assert not found.edits


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "mask has no pixels, but its bbox is 20 x 30 px"),
        ({"bbox": [10, 10, 0, 0], "area": 0}, "mask has no pixels"),
        ({"bbox": None, "area": 7}, "mask has no pixels"),
    ],
)
def test_an_empty_mask_is_found(fields, message):
    content = {"annotations": [{"segmentation": {"size": [80, 100], "counts": [8000]}, **fields}]}
    (found,) = findings(content, code="R008")
    assert found.message == f"{message}; expected the pixels of the object"
    assert codes(content, select=("B001", "B011", "P", "R")) == {"R008"}
