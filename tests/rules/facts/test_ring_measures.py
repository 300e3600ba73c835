"""Rings that are looked at some at a time, or lie in a file: the same as all at once."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mutants import MUTATIONS, mutant

import bboxqa
from bboxqa.core import arrays as blocks
from bboxqa.formats import scanner as windows
from bboxqa.formats.columns import Rings
from bboxqa.rules.facts import rings
from bboxqa.rules.facts.document import ring_areas, ring_bounds, ring_lengths

# `make fuzz` looks at a second corruption of what is about outlines, boxes and key points.
FUZZ = "BBOXQA_FUZZ" in os.environ
OUTLINES = [code for code in MUTATIONS if code[0] in "PBK"]
points = st.tuples(st.integers(-50, 50), st.integers(-50, 50))
many = st.lists(st.lists(points, max_size=6), max_size=8)


def told(report):
    """Return a report with all edits, also those that are made when they are asked for."""
    return replace(
        report, findings=[replace(each, edits=tuple(each.edits)) for each in report.findings]
    )


def rings_of(parts):
    sizes = np.array([len(part) for part in parts], np.int64)
    xy = np.array([point for part in parts for point in part], np.float64).reshape(-1, 2)
    return Rings(
        row=np.arange(len(parts)),
        place=np.zeros(len(parts), np.int64),
        n_numbers=2 * sizes,
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        xy=xy,
    )


@given(many)
def test_area_length_and_bounds_are_those_of_each_ring(parts):
    rings = rings_of(parts)
    areas, bounds = ring_areas(rings), ring_bounds(rings)
    lengths = ring_lengths(rings, np.arange(len(parts))[::-1])[::-1]
    for place, part in enumerate(parts):
        sides = list(zip(part, part[1:] + part[:1], strict=True))
        assert 2 * areas[place] == sum(x * v - u * y for (x, y), (u, v) in sides)
        assert lengths[place] == pytest.approx(sum(math.dist(*side) for side in sides))
        expected = [*map(min, zip(*part, strict=True)), *map(max, zip(*part, strict=True))]
        assert bounds[place].tolist() == pytest.approx(expected or [math.nan] * 4, nan_ok=True)


def test_numbers_without_end_have_no_area():
    far = rings_of([[(1e308, 0), (-1e308, 1e308), (0, -1e308)], [(0, 0), (4, 0), (4, 4)]])
    areas = ring_areas(far)
    assert math.isnan(areas[0])
    assert areas[1] == 8


@pytest.mark.parametrize("code", sorted(MUTATIONS))
def test_columns_are_looked_at_in_blocks(code, tmp_path, monkeypatch):
    file = tmp_path / "export.json"
    for seed in range(2 if FUZZ and code in OUTLINES else 1):
        file.write_bytes(mutant(code, seed))
        held = bboxqa.validate(file)
        with monkeypatch.context() as patch:
            patch.setattr(rings, "_CHUNK", 2)
            patch.setattr(windows, "WINDOW", 300)
            patch.setattr(blocks, "_ROWS", 9)
            assert told(bboxqa.validate(file)) == told(held)
        assert code in held.counts or code not in OUTLINES


def test_a_ring_far_away_is_no_shape():
    """Only what is looked at decides: the others stay shapes."""
    crossed = [(0, 0), (4, 4), (4, 0), (0, 4)]
    far = rings_of([crossed, [(0, 0), (1e10, 0), (0, 1)], [(0, 0), (1, 1)]])
    assert rings.usable(far, np.array([0, 1, 2])).tolist() == [0]
