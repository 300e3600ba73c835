"""Polygons as pixels, by Pillow's rule and by rasterio's."""

import numpy as np
import pytest
from support.reference import WORKED

from bboxqa.geometry.rasters import burn, draw_inclusive, raster_areas


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
