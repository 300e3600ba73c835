"""Which projects get several cores, against all ways to share them out."""

from hypothesis import given
from hypothesis import strategies as st

from bboxqa.batch.order import count_alone

FASTER = 1.6


def end_of(sizes, jobs):
    """Return when the last of some tasks is done, each given to who is free first."""
    free = [0.0] * jobs
    for size in sizes:
        place = free.index(min(free))
        free[place] += size
    return max(free)


def end(sizes, jobs, n_alone):
    return end_of(sizes[:n_alone], max(1, jobs // 2)) / FASTER + end_of(sizes[n_alone:], jobs)


@given(st.lists(st.integers(1, 100), max_size=12), st.integers(1, 6))
def test_no_other_number_ends_sooner(sizes, jobs):
    sizes = sorted(sizes, reverse=True)
    found = count_alone(sizes, jobs, 1)
    considered = range(min(len(sizes), 2 * jobs) + 1)
    assert end(sizes, jobs, found) <= min(end(sizes, jobs, n) for n in considered) + 1e-9


@given(st.lists(st.integers(1, 100), min_size=2, max_size=12), st.integers(2, 6))
def test_small_ones_are_not_worth_it(sizes, jobs):
    assert count_alone(sorted(sizes, reverse=True), jobs, 101) == 0


def test_equal_ones_go_side_by_side():
    assert count_alone([100] * 500, 2, 1) == 0
    assert count_alone([], 2, 1) == 0


def test_a_large_one_among_very_many():
    many = [1] * 5000
    assert count_alone([10_000, *many], 2, 1) == 1
    assert count_alone([100, *many], 2, 1) == 0


def test_schedules_by_hand():
    # Two at a time with two cores each: 80 / 1.6 = 50 with the others after it in 4 x 10.
    assert count_alone([80, 80, 10, 10, 10, 10], 4, 1) == 2
    # Three cores: one at a time with two of them; 100 / 1.6 + 20 < 100.
    assert count_alone([100, 20, 20, 20], 3, 1) == 1
    # The others take longer than the largest in any case.
    assert count_alone([100, 90, 90, 90, 90], 2, 1) == 1
    assert count_alone([100, 100, 100, 100], 4, 1) == 0
