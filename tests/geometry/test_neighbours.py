"""Which annotations are compared at all."""

import numpy as np
import pytest
from support import brute
from support.datasets import annotations, random_rows

from bboxqa.geometry import candidates as neighbours_module
from bboxqa.geometry.candidates import neighbours
from bboxqa.geometry.kernels.boxes import corners


def found(columns, bounds):
    chunks = list(neighbours(columns, bounds))
    return [
        pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True)
    ]


def sorted_rows(seed, **more):
    return sorted(random_rows(np.random.default_rng(seed), **more))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("crowded", [40_000, 10, 0])
@pytest.mark.parametrize("dense", [0.0, 1.0])
@pytest.mark.parametrize("chunk", [1 << 14, 3])
def test_equal_to_looking_at_all(seed, crowded, dense, chunk, monkeypatch):
    monkeypatch.setattr(neighbours_module, "_CROWDED", crowded)
    monkeypatch.setattr(neighbours_module, "_DENSE", dense)
    monkeypatch.setattr(neighbours_module, "_CHUNK", chunk)
    rows = sorted_rows(seed)
    columns = annotations(rows)
    bounds = corners(columns.bbox)
    assert found(columns, bounds) == brute.neighbours(rows, bounds)
    assert found(columns, None) == brute.neighbours(rows)


@pytest.mark.parametrize("size", [7.0, 150.0])
def test_one_crowded_image_between_others(size):
    rng = np.random.default_rng(1)
    rows = sorted_rows(2)
    for annotator in range(2):
        rows += [
            (4, annotator, 0, (*rng.integers(0, 300, 2).astype(float), size, size))
            for _ in range(250)
        ]
    rows += [(5 + image, *rest) for image, *rest in sorted_rows(3)]
    columns = annotations(rows)
    bounds = corners(columns.bbox)
    per_image = np.bincount(columns.image)
    assert per_image.max() ** 2 / 4 > neighbours_module._CROWDED
    assert found(columns, bounds) == brute.neighbours(rows, bounds)


@pytest.mark.parametrize("rows", [[], [(0, 0, 0, (0.0, 0.0, 9.0, 9.0))]])
def test_nothing_to_compare(rows):
    columns = annotations(rows)
    assert found(columns, corners(columns.bbox)) == []
    assert found(columns, None) == []


def test_boxes_that_only_touch_are_not_neighbours(monkeypatch):
    rows = [(0, 0, 0, (0.0, 0.0, 5.0, 5.0)), (0, 1, 0, (5.0, 0.0, 5.0, 5.0))]
    columns = annotations(rows)
    for crowded in (40_000, 0):
        monkeypatch.setattr(neighbours_module, "_CROWDED", crowded)
        assert found(columns, corners(columns.bbox)) == []
    assert found(columns, None) == [(0, 1)]
