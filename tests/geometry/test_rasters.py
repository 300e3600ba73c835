"""Polygons as pixels, by Pillow's rule and by rasterio's."""

from functools import partial

import numpy as np
import pytest
from support.brute import even_odd
from support.reference import WORKED

from bboxqa.geometry.kernels.rasters import burn, draw_inclusive, raster_areas


def ring(flat):
    return np.array(flat, float).reshape(-1, 2)


TRIANGLE = ring([1.2, 0.7, 9.6, 3.3, 3.4, 8.8])


@pytest.mark.parametrize("example", WORKED["polygons"])
@pytest.mark.parametrize("size", [(0, 0), (2000, 2000)])
def test_worked_examples(example, size):
    left, right = [ring(example["left"])], [ring(example["right"])]
    shared, covered = raster_areas(left, right, size, draw_inclusive)
    assert shared / covered == pytest.approx(example["iou"], abs=5e-5)
    assert example["shared"] in (None, shared)
    assert example["covered"] in (None, covered)


@pytest.mark.parametrize("draw", [draw_inclusive, burn, partial(burn, all_touched=True)])
def test_symmetric_and_whole_for_itself(draw):
    other = [np.add(TRIANGLE, [2, 1])]
    shared, covered = raster_areas([TRIANGLE], other, (0, 0), draw)
    assert 0 < shared < covered
    assert raster_areas(other, [TRIANGLE], (0, 0), draw) == (shared, covered)
    same, whole = raster_areas([TRIANGLE], [TRIANGLE], (0, 0), draw)
    assert same == whole > 0


def test_burn_takes_pixels_whose_centre_is_inside():
    y, x = np.mgrid[:10, :12]
    centres = np.transpose([x.ravel() + 0.5, y.ravel() + 0.5])
    expected = even_odd(TRIANGLE, centres).reshape(10, 12)
    assert np.array_equal(burn([TRIANGLE], 12, 10), expected)


def test_burn_takes_all_that_is_touched():
    touched = burn([TRIANGLE], 12, 10, all_touched=True)
    y, x = np.mgrid[:1000, :1200]
    fine = even_odd(TRIANGLE, np.transpose([x.ravel() + 0.5, y.ravel() + 0.5]) / 100)
    expected = fine.reshape(10, 100, 12, 100).any((1, 3))
    assert np.array_equal(touched, expected)
    assert (touched & ~burn([TRIANGLE], 12, 10)).any()


def test_rings_unite():
    left, right = ring([0, 0, 4, 0, 4, 4, 0, 4]), ring([2, 2, 6, 2, 6, 6, 2, 6])
    assert burn([left, right], 8, 8).sum() == 16 + 16 - 4
    assert draw_inclusive([left, right], 8, 8).sum() == 25 + 25 - 9


def test_cut_off_at_the_edge_of_the_image():
    left, right = [ring([-5, -5, 5, -5, 5, 5, -5, 5])], [ring([0, 0, 10, 0, 10, 10, 0, 10])]
    assert raster_areas(left, right, (8, 8), burn) == (25, 64)
    assert raster_areas(left, right, (0, 0), burn) == (25, 175)


def test_outside_of_the_image():
    left = [ring([50, 50, 60, 50, 60, 60])]
    assert raster_areas(left, left, (20, 20), burn) == (0, 0)
