"""Answers of a table: annotators who answer alike, and associated columns."""

from pathlib import Path
from typing import get_args

import numpy as np

from bboxqa.agreement.code_tables import cross_table, independence
from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count
from bboxqa.diagnostics.answers import (
    Clusters,
    Method,
    annotator_similarity,
    cluster_annotators,
    shared_units,
)
from bboxqa.formats.ratings.reader import column_problems
from bboxqa.formats.unreadable import open_table
from bboxqa.model.labels import code
from bboxqa.model.ratings import ColumnAssociation, Grouping, Ratings, SimilarAnnotators
from bboxqa.model.table import Categorical, Column, Table


def column_association(path: str | Path, first: str, second: str) -> ColumnAssociation:
    """Return a chi-square test of independence of two columns, with Cramér's V.

    Rows of the file in which one of the cells is missing are left out. Raises ConfigError if both
    are one column, and DatasetError if the file cannot be read or lacks one of them.
    """
    if first == second:
        raise ConfigError(f"both columns are {first!r}; expected two different ones")
    table = open_table(path)
    if problems := [*column_problems(table, (first, second))]:
        raise DatasetError(problems)
    read = table.columns([first, second])
    coded = code(read[first]), code(read[second])
    known = np.flatnonzero((coded[0].codes >= 0) & (coded[1].codes >= 0))
    codes = [each.codes[known] for each in coded]
    shape = len(coded[0].names), len(coded[1].names)
    counts = cross_table(codes[0], codes[1], shape)
    test = independence(counts)
    missing = len(coded[0].codes) - len(known)
    left_out = (f"{count(missing, 'row')} left out: a value is missing",) if missing else ()
    names = coded[0].names, coded[1].names
    return ColumnAssociation((first, second), names, counts, test, (*test.notes, *left_out))


# More groups than this are not looked for.
_MOST_GROUPS = 10

TOO_FEW = "no groups: they need three annotators or more"
NOTHING_SHARED = "no groups: some annotators share no unit, so that their similarity is unknown"
ALL_ALIKE = "no groups: all annotators are equally similar"


def similar_annotators(
    ratings: Ratings, *, task: str | None = None, seed: int = 0
) -> SimilarAnnotators:
    """Return the similarity of each pair of annotators, and groups of annotators.

    Pairs are sorted by falling share of equal answers. The cosine is NaN where values are not
    numbers. Groups are of rows of the matrix of shares of equal answers, by k-means from seeded
    starts and by Ward's tree; their number is that with the largest silhouette. Raises DatasetError
    for counts, which do not tell annotators apart.
    """
    names = ratings.annotator_names
    if not names:
        raise DatasetError(
            ["counts do not say who gave which value, so that no annotators can be compared"],
            "Give ratings instead of counts, one row each.",
        )
    similarity = annotator_similarity(ratings.data, len(names))
    # An annotator without ratings is in no group.
    rated = np.flatnonzero(~np.isnan(np.diagonal(similarity)))
    compared = similarity[np.ix_(rated, rated)]
    most = min(_MOST_GROUPS, len(rated) - 1, len(np.unique(compared, axis=0)))
    clusters, notes = dict[str, Clusters](), tuple[str, ...]()
    if len(rated) < 3:
        notes = (TOO_FEW,)
    elif np.isnan(compared).any():
        notes = (NOTHING_SHARED,)
    elif most < 2:
        notes = (ALL_ALIKE,)
    else:
        for method in get_args(Method):
            tried = (cluster_annotators(compared, k, method, seed) for k in range(2, most + 1))
            clusters[method] = max(
                tried, key=lambda each: -1.0 if np.isnan(each.silhouette) else each.silhouette
            )
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
