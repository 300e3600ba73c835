"""Categories that one annotator never draws are told where chance does not explain it."""

from dataclasses import replace

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched

import bboxqa
from bboxqa.diagnostics.categories import Unused, unused_categories

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


@pytest.mark.parametrize("n_annotators", [2, 4])
def test_who_never_draws_categories_is_told_them_all(n_annotators):
    data = drawn(n_annotators, 10, {(1, 1), (1, 2)})
    assert unused_categories(matched(data)) == [Unused(1, 1, 30), Unused(1, 2, 30)]


def test_what_most_do_not_draw_is_no_omission_of_theirs():
    data = drawn(4, 10, {(who, 2) for who in (0, 1, 2)})
    assert unused_categories(matched(data)) == []


@pytest.mark.parametrize(("n_images", "n_each"), [(10, 1), (4, 6)])
def test_few_objects_or_images_are_no_evidence(n_images, n_each):
    assert unused_categories(matched(drawn(2, n_images, {(1, 1)}, n_each=n_each))) == []


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
    objects = "category 0001 (30 objects of others) and category 0002 (30)"
    assert line == (
        f"annotator 0001 never draws {objects}: perhaps they were not asked for; if both agreed "
        "on all such objects, alpha would be 0.92 [0.92, 0.92] higher"
    )
    assert not any("is found least" in each for each in story)


def test_who_misses_only_what_they_never_draw_is_told_once():
    story = bboxqa.agree(drawn(4, 20, {(1, 1), (1, 2)}), bootstrap=200).story().story
    (line,) = [each for each in story if "never draws" in each]
    assert line.startswith("annotator 0001 never draws category 0001 (60 objects of others) and ")
    assert not any("annotator 0001 misses" in each for each in story)


def test_who_misses_more_misses_all_that_they_never_draw():
    data = drawn(4, 20, {(1, 1), (1, 2)})
    of = data.annotations
    fewer = replace(data, annotations=of.take(np.flatnonzero((of.annotator != 1) | (of.image > 4))))
    story = bboxqa.agree(fewer, bootstrap=200).story().story
    (line,) = [each for each in story if "annotator 0001 misses" in each]
    assert "that most others drew, among them all category 0001 and category 0002; " in line
