"""Localisation: similarity of matched annotations by pair of annotators."""

import numpy as np

from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits


def pair_similarity(matched: MatchedUnits) -> Table:
    """Return the similarity of matched annotations for each pair of annotators.

    Only pairs within a unit count that reach the threshold themselves, not those joined through
    other annotations. Each row is a pair of annotators with matched pairs: their names, the number
    of matched pairs, and the mean and the smallest similarity of these.
    """
    pairs, names = matched.pairs, matched.data.annotator_names
    annotator = matched.data.annotations.annotator.astype(np.int64)
    # Annotations are ordered by annotator within an image, so that `left` is by the first.
    key = annotator[pairs.left] * len(names) + annotator[pairs.right]
    keys, row = np.unique(key, return_inverse=True)
    n_pairs = np.bincount(row, minlength=len(keys))
    lowest = np.full(len(keys), np.inf)
    np.minimum.at(lowest, row, pairs.similarity)
    first, second = np.divmod(keys, max(len(names), 1))
    return Table(
        {
            "annotator_1": Categorical(first.astype(np.int32), names),
            "annotator_2": Categorical(second.astype(np.int32), names),
            "n_pairs": n_pairs,
            "mean_similarity": np.bincount(row, pairs.similarity, len(keys)) / n_pairs,
            "min_similarity": lowest,
        }
    )
