"""Categories that one annotator never draws are told where chance does not explain it."""

import numpy as np
from support.datasets import dataset
from support.matched import matched

import bboxqa
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


def test_a_category_that_was_not_asked_for_is_told_with_its_cause():
    story = bboxqa.agree(drawn(2, 10, {(1, 1), (1, 2)}), bootstrap=200).story().story
    (line,) = [each for each in story if "never draws" in each]
    objects = "category 0001 (30 objects of others) and category 0002 (30 objects of others)"
    assert line == (
        f"annotator 0001 never draws {objects}: perhaps not asked for; with all such objects "
        "settled, alpha would be 0.92 [0.92, 0.92] higher"
    )
    assert not any("is found least" in each for each in story)


def test_who_misses_only_what_they_never_draw_is_told_once():
    story = bboxqa.agree(drawn(4, 20, {(1, 1), (1, 2)}), bootstrap=200).story().story
    (line,) = [each for each in story if "never draws" in each]
    assert line.startswith("annotator 0001 never draws category 0001 (60 objects of others) and ")
    assert not any("annotator 0001 misses" in each for each in story)
