"""Each warning of a diagnosis comes where its cause is, with its figure, and nowhere else."""

import numpy as np
import pytest
from support.datasets import dataset

import bboxqa
from bboxqa.model.annotations import EDGES

_KINDS = {
    "asked": "list who was asked",
    "image": "of the units",
    "groups": "share no image",
    "copies": "identical boxes",
    "base": "differ by the same amount",
    "twice": "twice: drawn once",
    "threshold": "depends on the threshold",
    "matcher": "depends on the matcher",
}


def warned(data, **settings):
    """Return the warnings by kind."""
    found = {}
    for line in bboxqa.agree(data, **{"bootstrap": 100, **settings}).story().warnings:
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


def test_copied_boxes():
    data = simulated({"p*": "jitter=3 miss=0.2", "p02": "copy=p01:0.8"}, annotators=4)
    line = warned(data)["copies"]
    assert line.startswith("p01 and p02 have")
    document = bboxqa.agree(data, bootstrap=0)
    assert f"and not {document.alpha:.2f}" in line


def test_where_everybody_copies_alpha_says_nothing():
    errors = {"p*": "jitter=3 miss=0.2", "p02": "copy=p01:1", "p03": "copy=p01:1"}
    line = warned(simulated(errors))["copies"]
    assert line.startswith("p01, p02 and p03 have identical boxes, 100 % of those")
    assert "alpha 1.00 does not show" in line


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


def test_an_object_with_two_labels_is_no_confusion():
    result = bboxqa.agree(dataset(two_labels()), bootstrap=200)
    found = result.diagnose()
    (line,) = [line for line in found.warnings if "--category-lenient" in line]
    lenient = bboxqa.agree(dataset(two_labels()), bootstrap=0, category_lenient=True).alpha
    assert line.startswith(
        "6 places have overlapping boxes of two categories by the same annotators, category 0002 "
        "and category 0003: "
    )
    assert f"gives {lenient:.2f} and not {result.alpha:.2f}" in line
    assert lenient == 1 > result.alpha
    assert not len(found.tables["confusions"])
    kinds = found.tables["decomposition"]
    assert kinds["n_any"].tolist() == [36, 0, 0, 0, 0, 0]
    assert found.tables["annotators"]["class_share"].tolist() == [1, 1, 1]


def test_alpha_that_moves_with_the_threshold():
    # Boxes of 30 moved by 10: an IoU of 20 / 40 = 0.5.
    data = dataset(rows_of(range(6), {0: 0, 1: 1}))
    line = warned(data)["threshold"]
    assert "at IoU 0.4 / 0.5 / 0.6" in line
    high = bboxqa.agree(data, iou_threshold=0.6, bootstrap=0).alpha
    assert f"1.00 / 1.00 / {high:.2f}" in line
    # At a low threshold there is no pair below half of it: only the higher neighbour is known.
    assert "threshold" not in warned(data, iou_threshold=0.15)


def test_who_was_asked_is_not_known():
    document = bboxqa.simulate(images=20, annotators=2, categories=("cow", "sheep")).document()
    first = {image["id"] for image in document["images"][:8]}
    for image in document["images"]:
        del image["annotators"]
    document["annotations"] = [
        each
        for each in document["annotations"]
        if each["annotator"] == "p01" or each["image_id"] not in first
    ]
    data = bboxqa.read_coco(document)
    result = bboxqa.agree(data, bootstrap=0)
    line = warned(data)["asked"]
    everyone = bboxqa.agree(bboxqa.read_coco(document, asked="all"), bootstrap=0)
    assert f"would be {everyone.alpha:.2f}" in line
    assert f"alpha {result.alpha:.2f}" in line
