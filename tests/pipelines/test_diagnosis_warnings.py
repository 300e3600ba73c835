"""Each warning of a diagnosis comes where its cause is, with its figure, and nowhere else."""

import numpy as np
import pytest
from support.datasets import dataset, with_assigned
from support.stories import short_story

import bboxqa
from bboxqa.model.annotations import EDGES

_KINDS = {
    "image": "of the objects", "groups": "share no image", "base": "differ by the same amount",
}  # fmt: skip


def warned(data, **settings):
    """Return the warnings by kind."""
    found = {}
    for line in short_story(bboxqa.agree(data, **{"bootstrap": 100, **settings})).warnings:
        (kind,) = [kind for kind, words in _KINDS.items() if words in line]
        found[kind] = line
    return found


def simulated(errors, **more):
    options = {"images": 30, "annotators": 3, "categories": ("cow", "sheep"), **more}
    return bboxqa.read_coco(bboxqa.simulate(errors=errors, **options).document())


def rows_of(images, draws):
    """Return a row per image, annotator and object: category by the parity of the object."""
    return [
        (image, annotator, n % 2, (40.0 * n, 10.0 * annotator * moved, 30.0, 30.0))
        for image in images
        for annotator, moved in draws.items()
        for n in range(4)
    ]


def test_sound_data_have_no_warning():
    assert warned(simulated({"p*": "jitter=1"})) == {}


@pytest.mark.parametrize(("shift", "noise", "is_found"), [
    ((-1, -1, 0, 0), 0, True), ((0.5, 0.5, 0.5, 0.5), 1e-3, True), ((0, 0, 0, 0), 0, False),
    ((-1, -1, 0, 0), 0.3, False), ((3, 3, 3, 3), 0, False),
])  # fmt: skip
def test_files_that_count_pixels_otherwise(shift, noise, is_found):
    """One of 30 boxes is drawn otherwise, which says nothing about the others."""
    rng, rows = np.random.default_rng(0), []
    for image in range(10):
        for n in range(3):
            left, top, right, bottom = np.array([60.0 * n, 5, 60 * n + 40, 35]) + rng.integers(
                0, 9, 4
            )
            rows.append((image, 0, n % 2, (left, top, right - left, bottom - top)))
            moved = np.array(shift) + rng.normal(0, noise, 4) + 5 * (image == n == 0)
            left, top, right, bottom = np.array([left, top, right, bottom]) - moved
            rows.append((image, 1, n % 2, (left, top, right - left, bottom - top)))
    found = warned(dataset(rows))
    assert ("base" in found) is is_found
    if is_found:
        edges = [f"{name} {by:+g} px" for name, by in zip(EDGES, shift, strict=True) if by]
        assert f"29 of 30 matched pairs ({', '.join(edges)} for annotator 0000)" in found["base"]
        assert "--voc-base" in found["base"]


def two_labels(n_images=6):
    """Return rows of boxes of 30 px, and of two categories on one place by all of three.

    Their jitter of 1 px decides with which of both boxes of another annotator each one overlaps
    more, and has nothing to do with categories.
    """
    rng = np.random.default_rng(0)
    rows = rows_of(range(n_images), {0: 0, 1: 0, 2: 0})
    for image in range(n_images):
        rows += [
            (image, who, category, (*(200 + rng.normal(0, 1, 2)), 40.0, 40.0))
            for who in range(3)
            for category in (2, 3)
        ]
    return rows


def test_an_object_with_two_labels_is_no_confusion_where_equal_categories_match_first():
    data = dataset(two_labels())
    result = bboxqa.agree(data, bootstrap=200, category_lenient=True)
    found = result.diagnose()
    assert result.alpha == 1 > bboxqa.agree(data, bootstrap=0).alpha
    assert not len(found.tables["confusions"])
    kinds = found.tables["decomposition"]
    assert kinds["n_any"].tolist() == [36, 0, 0, 0, 0, 0]
    assert found.tables["annotators"]["class_share"].tolist() == [1, 1, 1]


def test_an_image_with_many_units_and_groups_without_a_common_image():
    rows = rows_of(range(2), {0: 0, 1: 0}) + rows_of((2, 3), {2: 0, 3: 0})
    rows += [(3, 2, 0, (40.0 * n, 200.0, 30.0, 30.0)) for n in range(9)]
    data = dataset(rows, size=(640, 480))
    assigned = np.repeat([[True, True, False, False], [False, False, True, True]], 2, axis=0)
    found = warned(with_assigned(data, assigned))
    assert set(found) == {"image", "groups"}
    assert found["groups"].startswith("2 groups of annotators share no image")
    assert " % of the objects: without it, alpha would be 1.00 and not " in found["image"]
