"""Outlines of shapes that tools draw."""

import numpy as np
import pytest

from bboxqa.formats.translation.boxes.shapes import bounds, ellipse


@pytest.mark.parametrize("degrees", [0, 1e-15, 1e-12, 45, 90, 180.0000000000001, -270, -360, 720])
def test_an_ellipse_has_no_point_twice_and_its_exact_bounds(degrees):
    points = ellipse((10, 10), (4, 3), degrees)
    gaps = np.hypot(*(points - np.roll(points, 1, axis=0)).T)
    assert gaps.min() > 1e-3
    # The half sides of the bounds of a rotated ellipse are the lengths of its rotated axes.
    turn = np.deg2rad(degrees)
    half = np.hypot([4 * np.cos(turn), 4 * np.sin(turn)], [3 * np.sin(turn), 3 * np.cos(turn)])
    assert np.allclose(bounds(points), [*(10 - half), *(2 * half)])
