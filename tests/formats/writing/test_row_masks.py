"""Masks row by row, from runs column by column, without the pixels of their image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from pycocotools import mask as coco
from support.converted import ENDINGS, written

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.label_studio.regions import brush_mask, brush_numbers
from bboxqa.formats.translation.masks import RowMasks

MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=7))


def annotation(pixels):
    """Return an annotation with a mask of (H, W) pixels."""
    counts = coco.encode(np.asfortranarray(pixels, np.uint8))["counts"].decode()
    return {"id": 7, "segmentation": {"size": [*pixels.shape], "counts": counts}}


def of_one_run(height, width, start, n):
    """Return an annotation whose mask is `n` pixels, column by column."""
    counts = [start, n, height * width - start - n]
    return {"id": 7, "segmentation": {"size": [height, width], "counts": counts}}


def pixels_of(spans, height, width):
    found = np.zeros(height * width, np.bool_)
    for start, stop in spans.tolist():
        found[start:stop] = True
    return found.reshape(height, width)


@given(MASKS)
def test_a_cropped_mask_has_the_pixels_inside_its_bounds(pixels):
    mask = RowMasks().cropped(annotation(pixels))
    found = np.zeros_like(pixels)
    rows = slice(mask.top, mask.top + mask.height)
    columns = slice(mask.left, mask.left + mask.width)
    found[rows, columns] = pixels_of(mask.spans, mask.height, mask.width)
    assert (found == pixels).all()
    if pixels.any():
        inside = pixels[rows, columns]
        assert inside[[0, -1]].any(1).all()
        assert inside[:, [0, -1]].any(0).all()
    else:
        assert (mask.width, mask.height) == (1, 1)
    crop, left, top = RowMasks().picture(annotation(pixels))
    assert (left, top, *crop.shape) == (mask.left, mask.top, mask.height, mask.width)
    assert (crop == pixels_of(mask.spans, mask.height, mask.width)).all()


@given(MASKS)
def test_a_brush_has_the_pixels_of_the_image(pixels):
    height, width = pixels.shape
    numbers = brush_numbers(RowMasks().runs_in_image(annotation(pixels)))
    assert (pixels_of(brush_mask(numbers, width, height).spans, height, width) == pixels).all()


@pytest.mark.parametrize("to", ["cvat", "label-studio", "labelme"])
def test_masks_of_too_many_runs_or_pixels_are_refused(to, tmp_path):
    source = tmp_path / "a.json"
    side = 40_000
    segmentation = of_one_run(side, side, 0, side * side)["segmentation"]
    more = {"image_id": 1, "category_id": 1, "iscrowd": 0, "bbox": [0, 0, side, side]}
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": side, "height": side}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": number, "area": side * side, "segmentation": segmentation, **more}
            for number in range(1, 150)
        ],
    }
    out = tmp_path / f"out{ENDINGS.get(to, '')}"
    with pytest.raises(DatasetError, match=r"annotation \d+: the mask would bring the masks to"):
        bboxqa.convert(written(source, content), out, to=to, lossy=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json"]
