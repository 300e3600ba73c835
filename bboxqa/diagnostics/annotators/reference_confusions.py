"""Confusions of categories with those of a reference."""

import numpy as np

from bboxqa.agreement.uncertainty.drawn_intervals import ratio_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import IndexArray, find
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import ReferenceMatches

_MOST = 1000


def reference_confusions(found: ReferenceMatches) -> Table:
    """Return the pairs of categories that annotators confuse, compared with the reference.

    The most frequent pair comes first. Columns: first and second, the categories; n, the number of
    matched annotations with one of them where the reference has the other; and share, n divided by
    the matched annotations with one of them on either side, with its 95 % interval over images.
    At most 1,000 pairs are returned.
    """
    own, expected, image = _categories(found)
    names, n_images = found.data.category_names, len(found.data.image_names)
    n_categories = max(len(names), 1)
    differs = own != expected
    key = np.minimum(own, expected) * n_categories + np.maximum(own, expected)
    keys, count = np.unique(key[differs], return_counts=True)
    keys = keys[np.argsort(-count, kind="stable")][:_MOST]
    first, second = np.divmod(keys, n_categories)
    row = find(keys, key)
    shown = row >= 0
    both = table_of(row[shown], image[shown], np.ones(int(shown.sum())), (len(keys), n_images))
    value = np.append(own, expected[differs])
    given = table_of(
        value, np.append(image, image[differs]), np.ones(len(value)), (n_categories, n_images)
    )
    either = given[first] + given[second] - both
    n = np.asarray(both.sum(1), np.float64).ravel()
    interval = ratio_intervals(both, either, found.bootstrap, found.seed)
    return Table(
        {
            "first": Categorical(first.astype(np.int32), names),
            "second": Categorical(second.astype(np.int32), names),
            "n": n.astype(np.int64),
            "share": n / np.asarray(either.sum(1), np.float64).ravel(),
            "share_low": interval[:, 0],
            "share_high": interval[:, 1],
        }
    )


def reference_confusion_matrix(found: ReferenceMatches) -> Table:
    """Return the confusion matrix of each annotator with the reference.

    A row for each annotator, category of the annotator and category of the reference that occur
    together. Columns: these three; n, the number of matched annotations; and share, n divided by
    the annotator's matches with this category of the reference.
    """
    own, expected, _ = _categories(found)
    author = found.data.annotations.annotator[found.matched.left].astype(np.int64)
    n_categories = max(len(found.data.category_names), 1)
    keys, n = np.unique((author * n_categories + expected) * n_categories + own, return_counts=True)
    group, category = np.divmod(keys, n_categories)
    who, reference = np.divmod(group, n_categories)
    _, of_group = np.unique(group, return_inverse=True)
    names = found.data.category_names
    return Table(
        {
            "annotator": Categorical(who.astype(np.int32), found.data.annotator_names[:-1]),
            "category": Categorical(category.astype(np.int32), names),
            "reference": Categorical(reference.astype(np.int32), names),
            "n": n,
            "share": n / np.bincount(of_group, n)[of_group],
        }
    )


def _categories(found: ReferenceMatches) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the categories of both sides, and the image, of each matched pair."""
    of = found.data.annotations
    category, image = of.category.astype(np.int64), of.image.astype(np.int64)
    return category[found.matched.left], category[found.matched.right], image[found.matched.left]
