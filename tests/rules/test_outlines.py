"""Outlines and masks: their geometry, and what fixes leave."""

from random import Random

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from support.validation import document_of, findings, mended, only

from bboxqa.model.masks import compress_counts, span_bounds, spans_of_runs
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.fixes import fix

BOW = [10, 10, 30, 40, 30, 10, 10, 40]


def outline(segmentation, **more):
    return {"annotations": [{"segmentation": segmentation, **more}]}


def points_of(ring):
    return list(zip(ring[::2], ring[1::2], strict=True))


def test_rings_that_cross_themselves_are_divided_and_sound_ones_kept():
    (edit,) = only(outline([BOW]), code="P005").edits
    assert sum(shapely.Polygon(points_of(ring)).area for ring in edit.value) == 300
    content = outline([BOW, [50, 50.0, 60, 50, 60, 60], [12, *BOW[1:]]])
    assert len(findings(content, code="P005")) == 2
    (annotation,) = mended(content, "P005")["annotations"]
    assert len(annotation["segmentation"]) == 5
    assert annotation["segmentation"][2] == [50, 50.0, 60, 50, 60, 60]


def test_a_ring_that_crosses_itself_very_often_is_found_and_left():
    values = Random(1)
    ring = [values.random() * side for _ in range(400) for side in (640, 480)]
    found = only(outline([ring]), code="P005")
    assert found.message.startswith("polygon crosses itself at (")
    assert not found.edits


NUMBER = st.one_of(st.integers(-20, 130), st.floats(-20, 130), st.sampled_from([1e100, -1e100]))
RING = st.one_of(
    st.lists(NUMBER, max_size=12), st.sampled_from([None, "1 2", {}, 7, [[1, 2]], [True] * 6])
)
OUTLINE = st.one_of(st.lists(RING, max_size=3), RING, st.sampled_from(["", "[]", "1,2,3,4,5,6"]))


@given(st.lists(OUTLINE, max_size=4))
def test_any_outlines_can_be_looked_at_and_what_can_be_mended_stays_mended(many):
    content = {"annotations": [{"segmentation": segmentation} for segmentation in many]}
    text = fix(document_of(content), ValidateSettings(select=("B", "P")), unsafe=True).text
    left = findings(bytes(text).decode(), select=("B", "P"))
    assert [finding.message for finding in left if finding.fix] == []


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 2), min_size=2, max_size=6))
def test_the_area_that_rings_share_is_that_of_their_pixels(places):
    rings = [[x, y, x + 8, y, x + 8, y + 8, x, y + 8] for x, y in places]
    pixels = np.zeros((40, 40), int)
    for x, y in places:
        pixels[y : y + 8, x : x + 8] += 1
    shared = findings(outline(rings), code="P010")
    filled = int((pixels > 0).sum())
    twice = 64 * len(places) - filled
    assert bool(shared) == (twice > 0.05 * filled + 1)
    assert not shared or f" by {twice:,} px²;" in shared[0].message
    assert not shared or shared[0].message.endswith(f" {filled:,} px²; expected rings apart")


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
    assert np.array_equal(span_bounds(spans_of_runs(runs), height), expected, equal_nan=True)


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
def test_masks_along_the_rows_are_one_finding_that_their_boxes_prove(compressed):
    pixels = ellipse()
    columns, rows = (np.flatnonzero(pixels.any(axis=axis)).tolist() for axis in (0, 1))
    mask = row_major(pixels, compressed=compressed)
    box = [columns[0], rows[0], len(columns), len(rows)]
    drawn = {"segmentation": mask, "area": int(pixels.sum()), "bbox": box}
    (found,) = findings({"annotations": [drawn, drawn]}, select=("B", "P", "R"))
    assert found.code == "R007"
    assert found.message.startswith("2 of 2 masks fit their boxes if their run lengths go row by")


def test_outlines_of_equal_boxes_may_have_numbers_that_are_not_finite():
    rings = [10, 10, 30, 10, 30, 30, 10, 30], [float("inf"), 10, 30, 10, 30, 30, 10, 30]
    records = [
        {"id": n, "bbox": [10, 10, 20, 20], "segmentation": [ring]} for n, ring in enumerate(rings)
    ]
    assert len(findings({"annotations": records}, code="F004")) == 1
