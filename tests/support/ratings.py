"""Small random tables of ratings, and reliability data made of them."""

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

from bboxqa.agreement.chance import agreement_weights
from bboxqa.agreement.resampling import jackknife, replicates_of_all
from bboxqa.agreement.unit_counts import from_table

NUMBERS = np.array([0.0, 0.5, 2.0, 7.0])
AGREEMENTS = {
    "identity": np.eye(4).tolist(),
    "linear": agreement_weights("linear", 4).tolist(),
    "quadratic": agreement_weights("quadratic", 4).tolist(),
    "own": [[1, 0.5, 0.25, 0], [0.5, 1, 0.5, 0.125], [0, 0.25, 1, 0.75], [0, 0.5, 0.5, 1]],
}
"""Weights of the agreement of four values."""
LEVELS = {
    "nominal": "nominal",
    "ordinal": "ordinal",
    "interval": "interval",
    "ratio": "ratio",
    "absolute": lambda left, right: np.abs(left - right),
}


@st.composite
def tables(draw, annotators=(2, 4), units=(1, 7), n_values=4, missing=True):
    """Draw (A, U) codes, -1 where missing."""
    shape = draw(st.integers(*annotators)), draw(st.integers(*units))
    cells = shape[0] * shape[1]
    codes = st.integers(-1 if missing else 0, n_values - 1)
    return np.reshape(draw(st.lists(codes, min_size=cells, max_size=cells)), shape)


def reliability(values, n_values=4, *, group=None, weight=None):
    """Return the reliability data of (A, U) codes; who did not answer was not asked."""
    values = np.asarray(values)
    data = from_table(values, values >= 0, n_values)
    if group is not None:
        group = np.asarray(group, np.int32)
        data = replace(data, group=group, n_groups=int(group.max(initial=-1)) + 1)
    if weight is not None:
        data = replace(data, weight=np.asarray(weight, np.int64))
    return data


def matrix(name):
    """Return weights of agreement as coefficients take them: nothing where they are none."""
    return None if name == "identity" else np.array(AGREEMENTS[name])


def units_of(values):
    """Return the codes of each unit, without those that are missing."""
    return [[int(code) for code in unit if code >= 0] for unit in np.asarray(values).T]


def only_units(data, kept):
    """Return the ratings of some units; the others, and all values, stay known."""
    rows = np.flatnonzero(np.asarray(kept)[data.unit])
    names = ("unit", "annotator", "value", "state")
    return replace(data, **{name: getattr(data, name)[rows] for name in names})


def replicates_of(estimator, replicates, seed, on_progress=None):
    """Return the replicates of one coefficient."""
    return replicates_of_all({"": estimator}, replicates, seed, on_progress)[""]


def without_clusters(estimator):
    """Return the coefficient without each cluster, however it is kept."""
    return jackknife(estimator) if estimator.without is None else estimator.without


def jackknife_of(values):
    """Return the standard error from values without each cluster, by its formula."""
    n = len(values)
    if n < 2:
        return np.nan
    return np.sqrt((n - 1) / n * ((np.array(values) - np.mean(values)) ** 2).sum())


def at_total(estimator):
    """Return the coefficient evaluated at the sums of all clusters."""
    total = np.asarray(estimator.sums.sum(1), np.float64).reshape(-1, 1)
    return float(estimator.evaluate(total)[0])
