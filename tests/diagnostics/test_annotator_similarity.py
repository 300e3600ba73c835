"""Similarity of annotators, against a walk over the units that two of them share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bboxqa.agreement.unit_counts import from_table
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.diagnostics.answers import annotator_similarity
from bboxqa.model.units import Cell, ReliabilityData

NUMBERS = np.array([-2.0, 0.0, 0.1, 7.0])


@st.composite
def ratings(draw, repeated=False):
    """Draw ratings of 4 annotators and 6 units, some missing; once per unit, or more often."""
    cells = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-1, 3)),
                          unique_by=None if repeated else lambda cell: cell[:2]))  # fmt: skip
    cells = np.array(sorted(cells), np.int64).reshape(-1, 3)
    return ReliabilityData(
        unit=cells[:, 0],
        annotator=cells[:, 1].astype(np.int32),
        value=np.maximum(cells[:, 2], 0).astype(np.int32),
        state=np.where(cells[:, 2] < 0, Cell.MISSING, Cell.CATEGORY).astype(np.uint8),
        group=np.arange(6, dtype=np.int32),
        n_values=4,
        n_groups=6,
    )


def shared(data, a, b):
    """Return the values of both for each pair of ratings of one unit."""
    cells = [
        (u, n, v)
        for u, n, v, s in zip(data.unit, data.annotator, data.value, data.state, strict=True)
        if s == Cell.CATEGORY
    ]
    times = np.ones(6, int) if data.weight is None else data.weight
    pairs = [
        (v, w)
        for u, n, v in cells
        for x, m, w in cells
        if (n, m) == (a, b) and u == x
        for _ in range(times[u])
    ]
    return np.array(pairs, int).reshape(-1, 2).T


def by_walk(data, measure, a, b):
    first, second = shared(data, a, b)
    if not len(first):
        return np.nan
    if measure == "agreement":
        return np.mean(first == second)
    x, y = NUMBERS[first], NUMBERS[second]
    if measure == "correlation":
        x, y = x - x.mean(), y - y.mean()
    lengths = np.sqrt((x @ x) * (y @ y))
    return x @ y / lengths if lengths > 1e-9 else np.nan


@pytest.mark.parametrize("measure", ["agreement", "cosine", "correlation"])
@given(st.one_of(ratings(), ratings(repeated=True)), st.booleans())
def test_by_a_walk_over_shared_units(measure, data, weighted):
    if weighted:
        data = replace(data, weight=np.array([1, 2, 3, 1, 5, 2]))
    found = annotator_similarity(data, 4, NUMBERS, measure)
    assert found.shape == (4, 4)
    assert np.array_equal(np.isnan(found), np.isnan(found.T))
    for a in range(4):
        for b in range(4):
            expected = by_walk(data, measure, a, b)
            if a == b and not np.isnan(found[a, a]):
                expected = 1
            if a == b:
                continue
            assert found[a, b] == pytest.approx(expected, nan_ok=True, abs=1e-9)
            assert found[a, b] == pytest.approx(found[b, a], nan_ok=True, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("jaccard", "measure is 'jaccard'; expected one of agreement, cosine, correlation"),
        ("cosine", "cosine of annotators: values are not numbers; expected numbers"),
    ],
)
def test_measures_that_are_refused(measure, message):
    data = from_table(np.array([[0], [0]]), np.ones((2, 1), bool), 1)
    with pytest.raises((ConfigError, DatasetError), match=message):
        annotator_similarity(data, 2, None, measure)
