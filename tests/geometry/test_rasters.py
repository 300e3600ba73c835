"""Masks as run lengths, and polygons as pixels by the rules of Pillow and of rasterio."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.masks import encode
from support.reference import WORKED

from bboxqa.geometry.rasters import burn, draw_inclusive, mask_bounds, mask_iou, raster_areas
from bboxqa.model.masks import compress_counts, decode_counts


def ring(flat):
    return np.array(flat, float).reshape(-1, 2)


@pytest.mark.parametrize("example", WORKED["polygons"])
@pytest.mark.parametrize("size", [(0, 0), (2000, 2000)])
def test_worked_examples(example, size):
    left, right = [ring(example["left"])], [ring(example["right"])]
    shared, covered = raster_areas(left, right, size, draw_inclusive)
    assert shared / covered == pytest.approx(example["iou"], abs=5e-5)
    assert example["shared"] in (None, shared)
    assert example["covered"] in (None, covered)


def test_outside_of_the_image():
    left = [ring([50, 50, 60, 50, 60, 60])]
    assert raster_areas(left, left, (20, 20), burn) == (0, 0)


runs = st.lists(st.integers(0, 200_000), min_size=1, max_size=40)
pictures = st.integers(0, 2**32).map(
    lambda seed: np.random.default_rng(seed).random((2, 7, 9)) < [[[0.3]], [[0.6]]]
)


def runs_of(picture):
    """Return the lengths of runs down the columns, beginning outside of the mask."""
    lengths, inside = [0], False
    for pixel in picture.T.ravel():
        if bool(pixel) != inside:
            lengths.append(0)
            inside = not inside
        lengths[-1] += 1
    return lengths


@given(pictures)
def test_decoding_what_pycocotools_encoded(pair):
    for picture in pair:
        assert decode_counts(encode(picture)["counts"]).tolist() == runs_of(picture)


@given(runs)
def test_there_and_back(lengths):
    height = sum(lengths)
    assert decode_counts(compress_counts(np.array(lengths), height, 1)).tolist() == lengths


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b" ", "a character outside"),
        (b"0\xff", "a character outside"),
        (b"p", "a character outside"),
        (b"0P", "the last number is cut off"),
        (b"PPPPPPPPPP1", "a number of more than 50 bits"),
        (b"O", "a run of negative length"),
    ],
)
def test_malformed_counts(text, message):
    assert decode_counts(b"0455").tolist() == [0, 4, 5, 9]
    with pytest.raises(ValueError, match=message):
        decode_counts(text)


# Any bytes, and those of the alphabet alone.
@given(st.binary(max_size=40) | st.lists(st.integers(48, 111), max_size=40).map(bytes))
def test_any_bytes_are_decoded_or_refused(text):
    with suppress(ValueError):
        assert (decode_counts(text) >= 0).all()


@given(pictures)
def test_iou_by_counting_pixels(pair):
    rles = [encode(picture) for picture in pair]
    left, right = np.array([0, 0, 1]), np.array([0, 1, 0])
    shared, covered = (pair[0] & pair[1]).sum(), (pair[0] | pair[1]).sum()
    expected = [1.0 if pair[0].any() else 0.0, *[shared / max(covered, 1)] * 2]
    assert mask_iou(rles, left, right) == pytest.approx(expected)


def test_bounds():
    picture = np.zeros((8, 10), bool)
    picture[2:5, 3:9] = True
    assert mask_bounds([encode(picture)]).tolist() == [[3, 2, 9, 5]]
    assert mask_bounds([]).shape == (0, 4)
