"""Steps on arrays that recur, beside what they are in plain words."""

from collections import Counter

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from bboxqa.core.arrays import compact, distinct_rows, find, radix_order

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
