"""Agreement over time, against a table with one column per millisecond."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bboxqa.agreement.consistency import cronbach_of_points
from bboxqa.agreement.over_time import (
    BACKGROUND,
    label_agreement,
    overlapping,
    sweep,
    without_overlaps,
)
from bboxqa.core.errors import DatasetError
from bboxqa.model.annotations import Source
from bboxqa.model.ratings import Segments

RULES = ["first", "last", "longest"]


def build(rows, durations, *, annotators=None, tiers=None, asked=None, **more):
    """Return the segments of (recording, annotator, tier, start, end, label) rows."""
    rows = list(rows)
    recordings = list(durations)
    annotators = annotators or sorted({row[1] for row in rows})
    tiers = tiers or sorted({row[2] for row in rows})
    labels = sorted({row[5] for row in rows})
    if asked is None:
        asked = np.ones((len(recordings), len(annotators)), bool)
    codes = [
        np.array([names.index(row[place]) for row in rows], np.int32)
        for place, names in ((0, recordings), (1, annotators), (2, tiers), (5, labels))
    ]
    return Segments(
        codes[0], codes[1], codes[2],
        np.array([row[3] for row in rows], np.int64), np.array([row[4] for row in rows], np.int64),
        codes[3], tuple(recordings), tuple(annotators), tuple(tiers), tuple(labels),
        np.array(list(durations.values()), np.int64), asked, **more,
    )  # fmt: skip


def tracks(by_annotator, duration, tier="posture"):
    return build(
        [("day", who, tier, *segment) for who, own in by_annotator.items() for segment in own],
        {"day": duration},
        annotators=list(by_annotator),
        tiers=[tier],
    )


def expanded(ratings):
    """Return the values at each sample point, by annotator name."""
    data = ratings.data
    units = [{} for _ in data.group]
    for unit, annotator, value in zip(data.unit, data.annotator, data.value, strict=True):
        units[unit][ratings.annotator_names[annotator]] = ratings.value_names[value]
    return [unit for unit, times in zip(units, data.weight, strict=True) for _ in range(times)]


@st.composite
def worlds(draw):
    """Draw segments, overlapping or not, on two recordings in two tiers."""
    durations = {"am": draw(st.integers(0, 25)), "pm": draw(st.integers(1, 25))}
    rows = []
    for recording, length in durations.items():
        for _ in range(draw(st.integers(0, 7)) if length else 0):
            start = draw(st.integers(0, length - 1))
            end = draw(st.integers(start + 1, length))
            who, tier = draw(st.sampled_from("xyz")), draw(st.sampled_from("st"))
            rows.append((recording, who, tier, start, end, draw(st.sampled_from("kl"))))
    asked = np.array(draw(st.lists(st.booleans(), min_size=6, max_size=6))).reshape(2, 3)
    rows = [r for r in rows if asked[list(durations).index(r[0]), "xyz".index(r[1])]]
    return rows, durations, asked


def winner(rows, time, rule):
    """Return the label at a time by the definition of a rule."""
    there = [(place, row) for place, row in enumerate(rows) if row[3] <= time < row[4]]
    if not there:
        return BACKGROUND
    key = {
        "first": lambda item: (item[1][3], item[0]),
        "last": lambda item: (-item[1][3], -item[0]),
        "longest": lambda item: (item[1][3] - item[1][4], item[1][3], item[0]),
    }[rule]
    return min(there, key=key)[1][5]


def points_by_definition(world, tiers, rule, resolution, support):
    rows, durations, asked = world
    points = []
    for tier in tiers:
        for number, (recording, length) in enumerate(durations.items()):
            for time in range(resolution // 2, length, resolution):
                own = {
                    who: winner([r for r in rows if r[:3] == (recording, who, tier)], time, rule)
                    for place, who in enumerate("xyz")
                    if asked[number, place]
                }
                if support == "all" or set(own.values()) - {BACKGROUND}:
                    points.append((number, own))
    return points


@given(worlds(), st.sampled_from([None, "s", "t"]), st.sampled_from(RULES), st.integers(1, 9),
       st.sampled_from(["all", "marked"]))  # fmt: skip
def test_every_point_by_definition(world, tier, rule, resolution, support):
    rows, durations, asked = world
    segments = build(rows, durations, annotators=list("xyz"), tiers=["s", "t"], asked=asked)
    ratings = sweep(segments, tier, overlaps=rule, resolution_ms=resolution, support=support)
    expected = points_by_definition(world, [tier] if tier else "st", rule, resolution, support)
    assert expanded(ratings) == [own for _, own in expected]
    data = ratings.data
    assert np.repeat(data.group, data.weight).tolist() == [number for number, _ in expected]
    assert (data.weight > 0).all()
    used = {value for _, own in expected for value in own.values()}
    assert set(ratings.value_names) == used
    assert ratings.value_names == tuple(sorted(used, key=lambda name: (name == BACKGROUND, name)))
    assert data.n_values == len(used)
    assert data.n_groups == 2
    assert (data.unit.dtype, data.value.dtype, data.weight.dtype) == (np.int64, np.int32, np.int64)
    pairs = [p for _, own in expected for p in combinations(own.values(), 2)]
    for name, share in zip(ratings.value_names, label_agreement(ratings), strict=True):
        either = sum(name in p for p in pairs)
        both = sum(p == (name, name) for p in pairs)
        if not either:
            assert (share.status, len(share.clusters)) == (
                "undefined: the label is not used where annotators can be compared",
                0,
            )
            continue
        assert share.value == pytest.approx(both / either)
        of_recording = [
            [sum((number, p) == (g, (name, name)) for number, p in numbered),
             sum(number == g and name in p for number, p in numbered)]
            for g in (0, 1)
            for numbered in [
                [(number, p) for number, own in expected for p in combinations(own.values(), 2)]
            ]
        ]  # fmt: skip
        assert share.sums.T.tolist() == of_recording
        compared = {number for number, own in expected if len(own) > 1}
        assert share.clusters.tolist() == sorted(compared)


@given(worlds())
def test_overlaps_by_definition(world):
    rows, durations, asked = world
    segments = build(rows, durations, annotators=list("xyz"), tiers=["s", "t"], asked=asked)
    later = []
    try:
        sweep(segments)
    except DatasetError as error:
        later = [int(problem.split(":")[0].removeprefix("segment ")) for problem in error.problems]
    expected = {
        j
        for j, b in enumerate(rows)
        for i, a in enumerate(rows)
        if i != j and a[:3] == b[:3] and (a[3], i) < (b[3], j) and b[3] < a[4]
    }
    assert set(later) == expected
    assert len(later) == len(expected)


@given(worlds(), st.sampled_from(RULES))
def test_pieces_do_not_overlap_and_cover_the_same_time(world, rule):
    rows = sorted(world[0], key=lambda row: (row[1], row[3]))
    columns = (
        np.array(["xyz".index(row[1]) for row in rows], np.int32),
        *(np.array([row[k] for row in rows], np.int64) for k in (3, 4)),
    )
    segment, start, end = without_overlaps(*columns, rule)
    assert len(overlapping(columns[0][segment], start, end)[0]) == 0
    covered = {(who, t) for who, _, a, b in _quads(columns[0][segment], start, end)
               for t in range(a, b)}  # fmt: skip
    assert covered == {(who, t) for who, _, a, b in _quads(*columns) for t in range(a, b)}
    assert (start < end).all()


def _quads(annotator, start, end):
    return zip(annotator.tolist(), range(len(start)), start.tolist(), end.tolist(), strict=True)


@pytest.mark.parametrize("labels", [("1_0", "9"), ("9", "9.0"), ("9", "inf"), ("9", "sit")])
def test_labels_that_are_not_numbers(labels):
    first, second = labels
    rows = [("day", "ann", "grade", 0, 5, first), ("day", "ann", "grade", 5, 10, second)]
    ratings = sweep(build(rows, {"day": 10}))
    assert ratings.numbers is None
    assert ratings.value_names == labels


# The worked case of 300 seconds: percent agreement, and Cronbach's alpha beside it.


def cronbach_by_definition(table):
    """Return alpha of a table cases × items from numpy's variances."""
    k = table.shape[1]
    return k / (k - 1) * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))


@given(worlds())
def test_cronbach_without_expanding(world):
    rows, durations, _ = world
    segments = build(rows, durations, annotators=list("xyz"), tiers=["s", "t"])
    ratings = sweep(segments, overlaps="first")
    table = np.array(
        [[ratings.value_names.index(unit[who]) for unit in expanded(ratings)] for who in "xyz"]
    )
    found = cronbach_of_points(ratings)
    if table.shape[1] < 2 or table.sum(axis=1).var() == 0:
        assert np.isnan(found.value)
        assert found.status.startswith("undefined: ")
    else:
        assert found.value == pytest.approx(cronbach_by_definition(table))


@given(worlds())
def test_cronbach_without_each_recording(world):
    rows, durations, _ = world
    segments = build(rows, durations, annotators=list("xyz"), tiers=["s", "t"])
    ratings = sweep(segments, overlaps="first")
    found = cronbach_of_points(ratings)
    assume(not np.isnan(found.value))
    recording = np.repeat(ratings.data.group, ratings.data.weight)
    table = np.array(
        [[ratings.value_names.index(unit[who]) for unit in expanded(ratings)] for who in "xyz"]
    )
    assert found.clusters.tolist() == sorted(set(recording.tolist()))
    for cluster, value in zip(found.clusters.tolist(), found.without.tolist(), strict=True):
        rest = table[:, recording != cluster]
        if rest.shape[1] < 2 or rest.sum(axis=1).var() == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(cronbach_by_definition(rest))


def test_cronbach_needs_two_annotators_who_saw_the_same():
    segments = build(
        [("am", "A", "s", 0, 5, "k"), ("pm", "B", "s", 0, 5, "k")],
        {"am": 9, "pm": 9},
        asked=np.eye(2, dtype=bool),
    )
    assert "annotated by everyone" in cronbach_of_points(sweep(segments)).status
    alone = build([("am", "A", "s", 0, 5, "k")], {"am": 9})
    assert "one annotator only" in cronbach_of_points(sweep(alone)).status


def test_overlaps_are_refused_with_both_segments_and_their_lines():
    segments = build(
        [("day", "A", "s", 0, 10, "sit"), ("day", "B", "s", 0, 9, "sit"),
         ("day", "A", "s", 8, 12, "run")],
        {"day": 20},
        file=np.array([0, 1, 0], np.int32), line=np.array([2, 2, 3]),
        sources=(Source("a.csv", 1, None), Source("b.csv", 1, None)),
    )  # fmt: skip
    with pytest.raises(DatasetError, match="the first, the last or the longest") as error:
        sweep(segments)
    (problem,) = error.value.problems
    assert problem == (
        "a.csv: line 3: 'run' from 8 ms to 12 ms overlaps 'sit' from 0 ms to 10 ms "
        "(a.csv: line 2); expected one segment of A at a time"
    )


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        (tracks({"A": [(0, 5, "k"), (0, 5, "k")]}, 9), "segment 1"),
        (tracks({"A": [(0, 5, BACKGROUND)]}, 9), "name of time without"),
    ],
)
def test_what_is_refused(segments, said):
    with pytest.raises(DatasetError, match=said):
        sweep(segments)
