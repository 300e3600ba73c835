"""Masks of Label Studio, against an encoder of the format and real ones."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.masks import drawn_spans
from support.studio import result, task, work, written

from bboxqa import read_coco, validate
from bboxqa.formats.label_studio.regions import brush_mask
from bboxqa.formats.translation.shapes import MaskProblemError
from bboxqa.model.masks import decode_counts

SHARED = Path(__file__).parents[4] / "shared/data/formats/label_studio"


def encoded(values, rng):
    """Return bytes as Label Studio's run lengths; where runs begin and end is left to chance."""
    widths = (3, 4, 9, 16)
    bits = f"{len(values):032b}{7:05b}" + "".join(f"{width - 1:04b}" for width in widths)
    place = 0
    while place < len(values):
        choice = int(rng.integers(4))
        rest = np.flatnonzero(np.diff(values[place:], append=-1))[0] + 1
        repeats = rest > 1 and rng.random() < 0.8
        n = int(
            min(rest if repeats else rng.integers(1, 40), len(values) - place, 2 ** widths[choice])
        )
        bits += f"{int(repeats)}{choice:02b}{n - 1:0{widths[choice]}b}"
        bits += "".join(f"{each:08b}" for each in values[place : place + (1 if repeats else n)])
        place += n
    bits += "0" * (-len(bits) % 8)
    return [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]


def encoded_run(n):
    """Return a picture of 8 bytes that says to be of one run of n."""
    bits = f"{8:032b}{7:05b}" + 4 * f"{3:04b}" + f"100{n - 1:04b}{255:08b}"
    bits += "0" * (-len(bits) % 8)
    return [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]


@pytest.mark.parametrize("seed", range(20))
def test_any_runs_give_the_mask(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 12, 2).tolist()
    mask = rng.random((height, width)) < 0.5
    rgba = np.zeros((height, width, 4), np.int64)
    rgba[..., 3] = np.where(mask, rng.integers(1, 256, mask.shape), 0)
    numbers = encoded(rgba.ravel(), rng)
    found = brush_mask(numbers, width, height)
    assert (drawn_spans(found.spans, height, width) == mask).all()


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ("text", "is not a list of bytes"),
        ([256], "is not a list of bytes"),
        ([-1], "is not a list of bytes"),
        ([0, 0], "is cut off"),
        ([0, 0, 0, 8, 57, 17, 20], "is cut off"),
        ([255, 255, 255, 255, 57], "has 1,073,741,823 pixels; expected 2 × 1"),
        ([0, 0, 0, 8, 8, 0, 0], "values of 2 bits"),
        (encoded_run(9), "has more pixels than it says"),
    ],
)
def test_what_is_no_mask_is_refused(numbers, words):
    with pytest.raises(MaskProblemError, match=words):
        brush_mask(numbers, 2, 1)


def test_no_memory_is_taken_for_the_size_that_a_file_claims():
    # The number of bytes is 32 bits, of which an image of 2^30 pixels has none left.
    with pytest.raises(MaskProblemError, match="is cut off"):
        brush_mask([255, 254, 0, 0, 57, 17, 20], 1 << 15, (1 << 15) - 1)


def test_masks_are_run_lengths_of_coco(tmp_path):
    mask = np.zeros((100, 200), np.bool_)
    mask[20:25, 10:40] = True
    mask[30, 12] = True
    rgba = np.zeros((*mask.shape, 4), np.int64)
    rgba[mask] = 255
    numbers = encoded(rgba.ravel(), np.random.default_rng(1))
    value = {"format": "rle", "rle": numbers, "brushlabels": ["cat"]}
    data = read_coco(
        written(tmp_path / "a.json", task(1, work(1, result("brushlabels", value)), work(2)))
    )
    assert data.annotations.bbox.tolist() == [[10, 20, 30, 11]]
    outlines = data.annotations.segmentation
    counts = outlines.counts[outlines.counts_start[0] : outlines.counts_stop[0]].tobytes()
    runs = decode_counts(counts)
    decoded = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(200, 100).T
    assert (decoded == mask).all()


@pytest.mark.skipif(not SHARED.exists(), reason="no files of Label Studio here")
def test_masks_of_a_real_model(tmp_path):
    content = (SHARED / "brush_prediction/test_brush_labels.json").read_text()
    path = tmp_path / "a.json"
    path.write_text(content)
    assert {each.code for each in validate(path).findings} == {"Q001"}
    result = json.loads(content)[0]["result"][0]
    mask = drawn_spans(brush_mask(result["value"]["rle"], 768, 576).spans, 576, 768)
    rows, columns = np.nonzero(mask)
    assert (columns.min(), rows.min()) == (689, 41)
    assert (np.ptp(columns) + 1, np.ptp(rows) + 1) == (79, 230)
