"""Boxes that overlap, found along one side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.core import arrays as overlaps
from bboxqa.core.arrays import overlapping_boxes

NUMBERS = st.integers(0, 12).map(float) | st.sampled_from([0.1, 1e-9, 1e9, np.nan])
BOXES = st.lists(st.tuples(st.integers(0, 2), st.tuples(*[NUMBERS] * 4)), max_size=12)


def sides(boxes):
    """Return groups, and edges of boxes of which some have no area."""
    group = np.array([group for group, _ in boxes], np.int64)
    edges = np.array([edges for _, edges in boxes], np.float64).reshape(-1, 4)
    return group, np.concatenate([edges[:, :2], edges[:, :2] + edges[:, 2:]], axis=1)


def each_with_each(group, edges, other_group, other_edges):
    return {
        (a, b)
        for a in range(len(group))
        for b in range(len(other_group))
        if group[a] == other_group[b]
        and all(edges[a, i] < other_edges[b, i + 2] for i in (0, 1))
        and all(other_edges[b, i] < edges[a, i + 2] for i in (0, 1))
    }


@pytest.mark.parametrize("at_once", [1, 1 << 19])
@given(BOXES, BOXES)
def test_against_each_with_each(at_once, boxes, others):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlaps, "_AT_ONCE", at_once)
        found = [
            pair
            for one, other in overlapping_boxes(*sides(boxes), *sides(others))
            for pair in zip(one.tolist(), other.tolist(), strict=True)
        ]
    assert len(found) == len(set(found))
    assert set(found) == each_with_each(*sides(boxes), *sides(others))


def test_few_boxes_are_compared_where_few_overlap(monkeypatch):
    compared = []
    whole = overlaps._share_an_area
    monkeypatch.setattr(
        overlaps, "_share_an_area", lambda *given: compared.append(len(given[2])) or whole(*given)
    )
    low = np.random.default_rng(0).uniform(0, 4000, (4000, 2))
    edges = np.concatenate([low, low + 10], axis=1)
    # One box around all of them does not make the others long.
    edges[0] = [0, 0, 4010, 4010]
    group = np.zeros(4000, np.int64)
    n_pairs = sum(len(one) for one, _ in overlapping_boxes(group, edges, group, edges))
    assert n_pairs > 4000
    assert sum(compared) < 40 * 4000
