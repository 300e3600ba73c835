"""Categories that an annotator never draws, though others do in the same images."""

from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.model.units import MatchedUnits

# Fewest objects of the others, and images with them, for a category to be reported.
_LEAST_OBJECTS, _LEAST_IMAGES = 20, 5
_ALARM = 0.05


class Unused(NamedTuple):
    """A category that an annotator never used."""

    annotator: int
    category: int
    n_objects: int
    """Objects to which others gave the category, in images that the annotator was asked about."""


def unused_categories(matched: MatchedUnits) -> list[Unused]:
    """Return the categories that annotators never use though most others do, by annotator.

    A category is reported if it has 20 objects or more in 5 images or more, the annotator drew at
    most half of these (with other categories), and chance does not explain it: at the annotator's
    rate for other objects, the probability of missing all the rest is at most 5 %, with
    Bonferroni's correction for annotators and categories. If the annotator drew more of them, the
    confusions show it.
    """
    from scipy.sparse import csr_array

    of, asked = matched.data.annotations, matched.data.assigned
    n_images, n_annotators = asked.shape
    n_categories = len(matched.data.category_names)
    own = _counts(of.annotator, of.category, (n_annotators, n_categories))
    was_asked = asked.astype(np.float64)
    # Sparse, as an image has few of all categories.
    in_images = csr_array(
        (np.ones(len(of)), (of.category, of.image)), shape=(n_categories, n_images)
    )
    there = (in_images @ was_asked).T
    together = (was_asked.T @ was_asked) > 0
    np.fill_diagonal(together, val=False)
    n_using = together.astype(np.float64) @ (own > 0).astype(np.float64)
    possible = (own == 0) & (there >= _LEAST_OBJECTS) & (2 * n_using > together.sum(1)[:, None])
    possible &= own.sum(1, keepdims=True) > 0
    found = []
    for annotator in np.flatnonzero(possible.any(1)).tolist():
        found += _of_annotator(matched, annotator, np.flatnonzero(possible[annotator]))
    return found


def _of_annotator(matched: MatchedUnits, annotator: int, categories: IndexArray) -> list[Unused]:
    """Return which of some categories one annotator significantly leaves out."""
    of = matched.data.annotations
    seen = np.flatnonzero(matched.data.assigned[of.image, annotator])
    objects, category, image = matched.objects[seen], of.category[seen], of.image[seen]
    is_own = of.annotator[seen] == annotator
    drawn = np.zeros(len(matched.objects), np.bool_)
    drawn[objects[is_own]] = True
    n_tests = len(matched.data.annotator_names) * len(matched.data.category_names)
    found = []
    for each in categories.tolist():
        has = category == each
        concerned, others = np.unique(objects[has]), np.unique(objects[~has & ~is_own])
        others = np.setdiff1d(others, concerned)
        n, n_drawn = len(concerned), int(drawn[concerned].sum())
        enough = n >= _LEAST_OBJECTS and len(np.unique(image[has])) >= _LEAST_IMAGES
        if not enough or not len(others) or 2 * n_drawn > n:
            continue
        if (1 - drawn[others].mean()) ** n <= _ALARM / n_tests:
            found.append(Unused(annotator, each, n))
    return sorted(found, key=lambda unused: -unused.n_objects)


def _counts(first: IntArray, second: IntArray, shape: tuple[int, int]) -> FloatArray:
    """Return how often two codes occur together, as an array of the given shape."""
    key = first.astype(np.int64) * shape[1] + second
    return np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
