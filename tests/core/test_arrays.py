"""Steps on arrays that recur, beside what they are in plain words."""

import gc
import weakref
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bboxqa.core import arrays as overlaps
from bboxqa.core.arrays import (
    compact,
    distinct_rows,
    find,
    overlapping_boxes,
    radix_order,
    remembered,
)

FEW = st.lists(st.integers(-3, 12), max_size=12)
DOWN = FEW.map(lambda values: sorted(values, reverse=True))
IDS = FEW | FEW.map(sorted) | DOWN | st.integers(0, 12).map(lambda n: list(range(n)))
# Some far apart, so that a table of all of them is too large.
SMALL = st.integers(0, 3) | st.integers(1000, 1003)


def whole(values):
    return np.array(values, np.int64)


@given(IDS, FEW)
@example([5, 3, 1], [5, 3, 1, 2])
@example([1, 1, 3], [3, 1, 2])
def test_a_number_is_found_where_it_stands_first(known, wanted):
    expected = [known.index(number) if number in known else -1 for number in wanted]
    assert find(whole(known), whole(wanted)).tolist() == expected


@given(st.lists(SMALL, max_size=20))
def test_keys_are_numbered_in_their_order(keys):
    occurring, place = compact(whole(keys), 1004)
    assert occurring.tolist() == sorted(set(keys))
    assert occurring[place].tolist() == keys


@given(st.lists(SMALL | st.integers(65_530, 65_545) | st.integers(1 << 40, (1 << 40) + 9)))
def test_radix_order_is_stable_and_takes_keys_of_any_size(keys):
    order = radix_order(whole(keys), max(keys, default=0) + 1)
    assert order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


@given(st.lists(st.tuples(SMALL, SMALL), max_size=20))
@example([(number % 3, number % 5) for number in range(60)])
def test_rows_are_sorted_and_counted(rows):
    pairs, of_row, number = distinct_rows(*whole(rows).reshape(-1, 2).T)
    pairs = pairs.T
    counts = Counter(rows)
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(counts)
    assert pairs[of_row].tolist() == [list(row) for row in rows]
    assert number.tolist() == [counts[pair] for pair in sorted(counts)]


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


class Source:
    def __init__(self, number):
        self.number = number


def test_a_result_is_freed_with_its_object():
    class Result:
        pass

    @remembered
    def result_of(source):
        return Result()

    source = Source(1)
    result = weakref.ref(result_of(source))
    assert result() is not None
    del source
    gc.collect()
    assert result() is None
