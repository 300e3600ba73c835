"""Masks of tools as runs, there and back, and what is refused before memory is taken."""

import base64
import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image
from support.converted import ENDINGS, document, written
from support.masks import decode, drawn_spans, encode

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.label_studio.tasks import brush_mask, brush_numbers
from bboxqa.formats.translation.masks import (
    MOST_PIXELS,
    MOST_RUNS,
    Masks,
    RowMask,
    RowMasks,
    picture_mask,
)
from bboxqa.formats.translation.shapes import EmptyMaskProblemError, MaskProblemError
from bboxqa.model.masks import spans_of_pixels, turned

SHARES = (0, 0.1, 0.5, 0.9, 1)


@pytest.mark.parametrize("seed", range(20))
def test_a_mask_of_a_part_is_that_of_the_whole_image(seed):
    rng = np.random.default_rng(seed)
    for share in SHARES:
        height, width, left, top, right, bottom = rng.integers(1, 9, 6).tolist()
        part = rng.random((height, width)) < share
        whole = np.pad(part, ((top, bottom), (left, right)))
        mask = RowMask(spans_of_pixels(part), width, height, left, top)
        if not part.any():
            with pytest.raises(EmptyMaskProblemError, match="has no pixels"):
                mask.bounds()
            continue
        record = Masks(outlines=True).record(mask, whole.shape[::-1])
        assert np.array_equal(decode(record["segmentation"]), whole)
        rows, columns = np.nonzero(whole)
        box = [columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1]
        assert record["bbox"] == box
        assert Masks(outlines=False).record(mask, None) == {"bbox": box}


def test_columns_are_counted_before_they_take_memory():
    # Every other row of 2,000,000,000 pixels.
    row = np.arange(0, 1000, 2)[:, None] * 2_000_000
    spans = np.concatenate([row, row + 2_000_000], 1)
    counted = []

    def refuse(n_spans):
        counted.append(n_spans)
        raise MaskProblemError

    with pytest.raises(MaskProblemError):
        turned(spans, 1000, 2_000_000, refuse)
    assert counted == [500 * 2_000_000]


def test_a_mask_of_too_many_runs_is_refused():
    n = MOST_RUNS + 1
    mask = RowMask(np.array([[0, n]]), n, 2)
    assert Masks(outlines=False).record(mask, (n, 2)) == {"bbox": [0, 0, n, 1]}
    with pytest.raises(MaskProblemError, match="2,097,153 runs of pixels column by column"):
        Masks(outlines=True).record(mask, (n, 2))


def test_masks_of_few_characters_add_up_to_a_bounded_number_of_runs():
    masks = Masks(outlines=True)
    # To make so many runs takes seconds.
    masks._runs.take(4 * MOST_RUNS, 80)
    long = RowMask(np.array([[0, 201]]), 201, 2, n_characters=20)
    with pytest.raises(MaskProblemError, match=r"8,388,809 runs of pixels in 100 char.*split"):
        masks.record(long, (201, 2))
    # Those before and after it are read.
    short = RowMask(np.array([[0, 2]]), 2, 2, n_characters=20)
    assert masks.record(short, (2, 2))["bbox"] == [0, 0, 2, 1]


def picture(image, **more):
    data = io.BytesIO()
    image.save(data, "PNG", **more)
    return base64.b64encode(data.getvalue()).decode()


def claimed(width, height, colour=0):
    """Return a PNG that only claims to have a size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    return base64.b64encode(data + b"\0\0\0\0IDAT").decode()


def of_palette(pixels):
    image = Image.fromarray(pixels.astype(np.uint8))
    image.putpalette([0, 0, 0, 9, 9, 9])
    return image


KINDS = {
    "bits": lambda pixels: (Image.fromarray(pixels), {}),
    "grey": lambda pixels: (Image.fromarray(pixels.astype(np.uint8)), {}),
    "opacity": lambda pixels: (Image.fromarray(np.stack([pixels * np.uint8(9)] * 4, 2)), {}),
    "palette": lambda pixels: (of_palette(pixels), {}),
    "transparent palette": lambda pixels: (of_palette(pixels), {"transparency": 0}),
    "transparent colours": lambda pixels: (of_palette(pixels), {"transparency": b"\x00\x05"}),
    "transparent grey": lambda pixels: (Image.fromarray(pixels * np.uint8(1)), {"transparency": 0}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_of_each_kind_give_their_mask(kind):
    pixels = np.random.default_rng(1).random((30, 20)) < 0.5
    image, more = KINDS[kind](pixels)
    mask = picture_mask(picture(image, **more), Masks(outlines=True))
    assert np.array_equal(mask.spans, spans_of_pixels(pixels))
    assert (mask.width, mask.height) == (20, 30)


@pytest.mark.parametrize(
    ("text", "within", "words"),
    [
        (claimed(40_000, 40_000), None, "has 40,000 × 40,000 pixels; expected at most 134,217,728"),
        (claimed(1, 2**31), None, "has 1 × 2,147,483,648 pixels; expected"),
        (claimed(5000, 20), (100, 80), "has 5000 × 20 pixels; its image has 100 × 80"),
        (claimed(50, 20), (100, 80), "is not a PNG in base64"),
        (claimed(0, 0), None, "is not a PNG in base64"),
        ("iVBORw0KGgo=", None, "is not a PNG in base64"),
    ],
)
def test_pictures_are_checked_before_they_are_decoded(text, within, words):
    with pytest.raises(MaskProblemError) as found:
        picture_mask(text, Masks(outlines=True), within=within)
    assert str(found.value).startswith(words)


def test_pictures_add_up_to_a_bounded_number_of_pixels():
    masks = Masks(outlines=True)
    text = claimed(1 << 13, MOST_PIXELS >> 13)
    for _ in range(3):
        with pytest.raises(MaskProblemError, match="is not a PNG"):
            picture_mask(text, masks)
    with pytest.raises(MaskProblemError, match=r"to 536,870,912 values of pixels in 224 c"):
        picture_mask(text, masks)


def test_each_value_of_a_pixel_counts():
    # 11,000 × 11,000 pixels with colours and opacity took 2 s, and those of a file 8 s.
    text = claimed(11_000, 11_000, colour=6)
    with pytest.raises(MaskProblemError, match="to 484,000,000 values of pixels"):
        picture_mask(text, Masks(outlines=True))


# Masks row by row, from runs column by column, without the pixels of their image.
MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=7))


def annotation(pixels):
    """Return an annotation with a mask of (H, W) pixels."""
    counts = encode(pixels)["counts"].decode()
    return {"id": 7, "segmentation": {"size": [*pixels.shape], "counts": counts}}


@given(MASKS)
def test_a_cropped_mask_has_the_pixels_inside_its_bounds(pixels):
    mask = RowMasks().cropped(annotation(pixels))
    found = np.zeros_like(pixels)
    rows = slice(mask.top, mask.top + mask.height)
    columns = slice(mask.left, mask.left + mask.width)
    found[rows, columns] = drawn_spans(mask.spans, mask.height, mask.width)
    assert (found == pixels).all()
    if pixels.any():
        inside = pixels[rows, columns]
        assert inside[[0, -1]].any(1).all()
        assert inside[:, [0, -1]].any(0).all()
    else:
        assert (mask.width, mask.height) == (1, 1)
    crop, left, top = RowMasks().picture(annotation(pixels))
    assert (left, top, *crop.shape) == (mask.left, mask.top, mask.height, mask.width)
    assert (crop == drawn_spans(mask.spans, mask.height, mask.width)).all()


@given(MASKS)
def test_a_brush_has_the_pixels_of_the_image(pixels):
    height, width = pixels.shape
    numbers = brush_numbers(RowMasks().runs_in_image(annotation(pixels)))
    assert (drawn_spans(brush_mask(numbers, width, height).spans, height, width) == pixels).all()


@pytest.mark.parametrize("to", ["cvat", "label-studio", "labelme"])
def test_masks_of_too_many_runs_or_pixels_are_refused(to, tmp_path):
    side = 40_000
    outline = {"size": [side, side], "counts": [0, side * side, 0]}
    record = {"bbox": [0, 0, side, side], "area": side * side, "segmentation": outline}
    content = document([("a.jpg", side, side, None)], [(0, "a", 0, record)] * 149)
    source, out = written(tmp_path / "a.json", content), tmp_path / f"out{ENDINGS.get(to, '')}"
    with pytest.raises(DatasetError, match=r"annotation \d+: the mask would bring the masks to"):
        bboxqa.convert(source, out, to=to, lossy=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json"]
