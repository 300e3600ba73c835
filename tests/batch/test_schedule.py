"""Which projects get several cores, against all ways to share them out."""

from hypothesis import given
from hypothesis import strategies as st

from bboxqa.batch.workers.schedule import n_two_core

FASTER = 1.6


def end(sizes, jobs, n_wide):
    """Return when the last is done: core by core, event by event, with nothing but lists."""
    wide, narrow = list(sizes[:n_wide]), list(sizes[n_wide:])
    until = [0.0] * jobs
    now = 0.0
    while True:
        idle = [core for core in range(jobs) if until[core] <= now]
        if wide and len(idle) > 1:
            until[idle[0]] = until[idle[1]] = now + wide.pop(0) / FASTER
        elif narrow and idle:
            until[idle[0]] = now + narrow.pop(0)
        elif wide or narrow:
            now = min(each for each in until if each > now)
        else:
            return max(until)


@given(st.lists(st.integers(1, 100), max_size=12), st.integers(1, 6))
def test_no_other_number_ends_sooner(sizes, jobs):
    sizes = sorted(sizes, reverse=True)
    found = n_two_core(sizes, jobs, 1)
    considered = range(min(len(sizes), 2 * jobs) + 1 if jobs > 1 else 1)
    assert end(sizes, jobs, found) <= min(end(sizes, jobs, n) for n in considered) + 1e-9


@given(st.lists(st.integers(1, 100), min_size=2, max_size=12), st.integers(2, 6))
def test_small_ones_are_not_worth_it(sizes, jobs):
    assert n_two_core(sorted(sizes, reverse=True), jobs, 101) == 0


def test_equal_ones_go_side_by_side():
    assert n_two_core([100] * 500, 2, 1) == 0
    assert n_two_core([], 2, 1) == 0


def test_a_large_one_among_very_many():
    many = [1] * 5000
    assert n_two_core([10_000, *many], 2, 1) == 1
    assert n_two_core([100, *many], 2, 1) == 0


def test_schedules_by_hand():
    # Two with two cores each, and the others after them: 80 / 1.6 + 10.
    assert n_two_core([80, 80, 10, 10, 10, 10], 4, 1) == 2
    # Three cores: the others are done one by one beside the largest, in 62.5 instead of 100.
    assert n_two_core([100, 20, 20, 20], 3, 1) == 1
    assert end([100, 20, 20, 20], 3, 1) == 62.5
    # The others take longer than the largest in any case.
    assert n_two_core([100, 90, 90, 90, 90], 2, 1) == 1
    assert n_two_core([100, 100, 100, 100], 4, 1) == 0
