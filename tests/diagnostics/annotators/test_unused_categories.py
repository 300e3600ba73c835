"""Categories that one annotator never draws are told where chance does not explain it."""

import numpy as np
from support.datasets import dataset
from support.matched import matched

from bboxqa.diagnostics.categories import unused_categories

_BOX = (40.0, 40.0)


def drawn(n_annotators, n_images, skips, *, n_each=3, renames=()):
    """Return images with `n_each` objects of categories 0, 1 and 2 without what annotators skip."""
    rows = [
        (image, who, 0 if (who, category) in renames else category, (60.0 * x, 60.0 * y, *_BOX))
        for image in range(n_images)
        for who in range(n_annotators)
        for y, category in enumerate(range(3))
        for x in range(n_each)
        if (who, category) not in skips
    ]
    return dataset(rows)


def test_who_draws_the_objects_with_another_category_is_told_as_confusion():
    assert unused_categories(matched(drawn(3, 10, set(), renames={(1, 1)}))) == []


def test_who_draws_little_of_everything_may_miss_a_category_by_chance():
    rng = np.random.default_rng(0)
    rows = [
        (image, who, category, (60.0 * x, 60.0 * category, *_BOX))
        for image in range(30)
        for x in range(3)
        for category in range(2)
        for who in range(2)
        # The second one draws a twentieth, and of the rare category nothing.
        if (category == 0 or x == 0) and (who == 0 or (category == 0 and rng.random() < 0.05))
    ]
    data = dataset(rows)
    assert 0 < np.count_nonzero(data.annotations.annotator == 1) < 10
    assert unused_categories(matched(data)) == []


def test_a_category_that_one_of_three_never_draws_is_found():
    assert unused_categories(matched(drawn(3, 10, {(2, 1)}))) == [(2, 1, 30)]
