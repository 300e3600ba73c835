"""Groups of annotators, against all groupings there are."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bboxqa.agreement.estimators import OK
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.diagnostics.answers import NO_CONTRAST, cluster_annotators

# Annotators 0, 3, 4 and 5 mostly say yes, the others mostly no.
TWO_GROUPS = np.array([[1, 1, 1], [0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]])
methods = pytest.mark.parametrize("method", ["kmeans", "hierarchical"])


@st.composite
def tables(draw):
    shape = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    size = shape[0] * shape[1]
    return np.reshape(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), shape)


def inertia(table, labels):
    return sum(np.var(table[labels == one], axis=0).sum() * (labels == one).sum()
               for one in np.unique(labels))  # fmt: skip


def silhouette(table, labels):
    widths = []
    for i, own in enumerate(labels):
        distance = np.linalg.norm(table - table[i], axis=1)
        fellows = [distance[j] for j in range(len(table)) if labels[j] == own and j != i]
        if not fellows:
            widths.append(0)
            continue
        a = np.mean(fellows)
        b = min(distance[labels == other].mean() for other in set(labels.tolist()) - {own})
        widths.append((b - a) / max(a, b) if max(a, b) else 0)
    return np.mean(widths)


@methods
@pytest.mark.parametrize("seed", range(3))
def test_two_groups_are_found(method, seed):
    found = cluster_annotators(TWO_GROUPS, 2, method, seed)
    assert found.labels.tolist() == [0, 1, 1, 0, 0, 0, 1]
    assert found.silhouette > 0.6
    assert found.status == OK


@settings(max_examples=12)
@given(tables(), st.data())
def test_kmeans_is_the_best_of_all_groupings(table, data):
    k = data.draw(st.integers(1, len(np.unique(table, axis=0))))
    found = cluster_annotators(table, k, seed=data.draw(st.integers(0, 99)))
    groupings = (np.array(labels) for labels in product(range(k), repeat=len(table)))
    best = min(inertia(table, labels) for labels in groupings if len(set(labels.tolist())) == k)
    assert found.inertia == pytest.approx(best, abs=1e-9)
    assert len(set(found.labels.tolist())) == k
    assert found.merges is None


@methods
@given(table=tables(), data=st.data())
def test_labels_inertia_and_silhouette(method, table, data):
    k = data.draw(st.integers(1, len(np.unique(table, axis=0))))
    found = cluster_annotators(table, k, method)
    first = [found.labels.tolist().index(label) for label in range(k)]
    assert first == sorted(first)
    assert found.labels.max() == k - 1
    assert found.inertia == pytest.approx(inertia(table, found.labels), abs=1e-9)
    if 1 < k < len(table):
        assert found.silhouette == pytest.approx(silhouette(table, found.labels))
        assert -1 <= found.silhouette <= 1
    else:
        assert np.isnan(found.silhouette)
        assert NO_CONTRAST in found.status


@methods
@given(seed=st.integers(0, 2**32), k=st.integers(1, 6))
def test_order_of_annotators_and_scale_change_nothing(method, seed, k):
    rng = np.random.default_rng(seed)
    table, order = rng.normal(size=(6, 2)), rng.permutation(6)
    found = cluster_annotators(table, k, method)
    other = cluster_annotators(table[order] * 3.0 + 7, k, method)
    together = found.labels[order][:, None] == found.labels[order]
    assert np.array_equal(other.labels[:, None] == other.labels, together)


@given(st.integers(1, 8))
def test_the_tree_is_cut_as_scipy_does(k):
    from scipy.cluster.hierarchy import fcluster

    table = np.random.default_rng(2).normal(size=(8, 3))
    found = cluster_annotators(table, k, "hierarchical")
    assert found.merges.shape == (7, 4)
    expected = fcluster(found.merges, k, "maxclust")
    together = found.labels[:, None] == found.labels
    assert np.array_equal(together, expected[:, None] == expected)


@pytest.mark.parametrize(
    ("scores", "k", "method", "message"),
    [
        (TWO_GROUPS, 0, "hierarchical", "k is 0; expected 1 or more, and no more than"),
        (TWO_GROUPS, 8, "hierarchical", "k is 8; expected 1 or more, and no more than"),
        (TWO_GROUPS, 2, "dbscan", "method is 'dbscan'; expected one of kmeans, hierarchical"),
        (np.zeros((2, 0)), 1, "kmeans", "scores have the shape (2, 0); expected one row per"),
        (np.array([[1, np.nan]]), 1, "kmeans", "row 0, column 1: score is nan; expected a finite"),
    ],
)
def test_what_cannot_be_grouped(scores, k, method, message):
    with pytest.raises((ConfigError, DatasetError), match=re.escape(message)):
        cluster_annotators(scores, k, method)
