"""Similarity of annotators by their ratings, and groups of annotators who answer alike."""

from typing import get_args

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.answers import (
    Clusters,
    Method,
    annotator_similarity,
    cluster_annotators,
    shared_units,
)
from bboxqa.model.answers import Grouping, SimilarAnnotators
from bboxqa.model.ratings import Ratings
from bboxqa.model.table import Categorical, Column, Table

# More groups than this are not looked for.
_MOST_GROUPS = 10

TOO_FEW = "no groups: they need three annotators or more"
NOTHING_SHARED = "no groups: some annotators share no unit, so that their similarity is unknown"
ALL_ALIKE = "no groups: all annotators are equally similar"


def similar_annotators(
    ratings: Ratings, *, task: str | None = None, seed: int = 0
) -> SimilarAnnotators:
    """Return the similarity of each pair of annotators, and groups of annotators.

    Parameters
    ----------
    ratings : Ratings
    task : str, optional
        The name of the ratings, for the result.
    seed : int
        Seed of the starts of k-means.

    Returns
    -------
    SimilarAnnotators
        Pairs by falling share of equal answers. The cosine is NaN where values are not numbers.
        Groups are of rows of the matrix of shares of equal answers, by k-means and by Ward's tree;
        their number is that with the largest silhouette.

    Examples
    --------
    >>> from bboxqa.stats import ratings_from_table
    >>> codes = np.array([[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
    >>> found = similar_annotators(ratings_from_table(codes))
    >>> found.groups["hierarchical"].tolist()
    [1, 2, 2, 1]
    """
    names = ratings.annotator_names
    similarity = annotator_similarity(ratings.data, len(names))
    # An annotator without ratings is in no group.
    rated = np.flatnonzero(~np.isnan(np.diagonal(similarity)))
    clusters, notes = _clusters(similarity[np.ix_(rated, rated)], seed)
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(len(names), dtype=np.int32), names)
    }
    for method in get_args(Method):
        labels = np.zeros(len(names), np.int32)
        if method in clusters:
            labels[rated] = clusters[method].labels + 1
        columns[method] = labels
    return SimilarAnnotators(
        task=task,
        pairs=_pairs(ratings, similarity),
        groups=Table(columns),
        groupings=tuple(
            Grouping(method, int(found.labels.max()) + 1, found.silhouette, found.status)
            for method, found in clusters.items()
        ),
        notes=notes,
    )


def _pairs(ratings: Ratings, similarity: FloatArray) -> Table:
    names = ratings.annotator_names
    shared = shared_units(ratings.data, len(names))
    first, second = np.nonzero(np.triu(shared, 1))
    cosine = np.full(similarity.shape, np.nan)
    if ratings.numbers is not None:
        cosine = annotator_similarity(ratings.data, len(names), ratings.numbers, "cosine")
    equal = similarity[first, second]
    order = np.lexsort([second, first, -equal])
    first, second = first[order], second[order]
    return Table(
        {
            "first": Categorical(first.astype(np.int32), names),
            "second": Categorical(second.astype(np.int32), names),
            "n_shared": shared[first, second],
            "equal": equal[order],
            "cosine": cosine[first, second],
        }
    )


def _clusters(similarity: FloatArray, seed: int) -> tuple[dict[str, Clusters], tuple[str, ...]]:
    """Return the best groups by each method, or why there are none."""
    if len(similarity) < 3:
        return {}, (TOO_FEW,)
    if np.isnan(similarity).any():
        return {}, (NOTHING_SHARED,)
    n_different = len(np.unique(similarity, axis=0))
    most = min(_MOST_GROUPS, len(similarity) - 1, n_different)
    if most < 2:
        return {}, (ALL_ALIKE,)
    return {
        method: max(
            (cluster_annotators(similarity, k, method, seed) for k in range(2, most + 1)),
            key=lambda found: -1.0 if np.isnan(found.silhouette) else found.silhouette,
        )
        for method in get_args(Method)
    }, ()
