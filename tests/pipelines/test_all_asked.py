"""Images that do not list who was asked: alpha under both readings."""

import json
from math import isnan

import numpy as np
import pytest
from support.datasets import document_of, object_rows, write

from bboxqa import agree, read_coco

NOTE = "annotated by some annotators only, without a list of who was asked"


def export(seed, *, listed=(), n_annotators=3):
    """Return 12 images of which some list who was asked: all."""
    rows = object_rows(np.random.default_rng(seed), n_annotators=n_annotators)
    rows = [(i + 1, f"r{a}", c + 1, box) for i, a, c, box in rows]
    content = document_of(rows, 12, ("c0", "c1", "c2"), size=(500, 500))
    for place in listed:
        content["images"][place]["annotators"] = [f"r{a}" for a in range(n_annotators)]
    return content


@pytest.mark.parametrize("n_annotators", [2, 3])
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_other_alpha_is_that_of_asking_all(seed, n_annotators, tmp_path):
    path = write(tmp_path / "a.json", export(seed, listed=(3, 5), n_annotators=n_annotators))
    settings = {"bootstrap": 0, "iou_threshold": [0.3, 0.6]}
    found = agree(read_coco(path), **settings)
    other = agree(read_coco(path, asked="all"), **settings)
    for part, expected in zip(found.thresholds, other.thresholds, strict=True):
        assert part.all_asked_alpha == pytest.approx(expected.alpha, abs=1e-12, nan_ok=True)
        assert part.all_asked_f1 == pytest.approx(expected.existence.f1, abs=1e-12)
        assert isnan(expected.all_asked_alpha)
        assert isnan(expected.all_asked_f1)
    assert (found.n_images, other.n_images) == (12 - lonely(path), 12)
    assert any(NOTE in note for note in found.notes)
    assert not any(NOTE in note for note in other.notes)


def lonely(path):
    """Return how many images without a list have fewer than two annotators."""
    content = json.loads(path.read_text())
    by_image = {each["id"]: set(each.get("annotators", ())) for each in content["images"]}
    for each in content["annotations"]:
        by_image[each["image_id"]].add(each["annotator"])
    return sum(len(names) < 2 for names in by_image.values())


def alone():
    """Return two annotators who agree on 2 images; on 6 others only one of them drew something."""
    drawn = [(1, "ann"), (1, "bob"), (2, "ann"), (2, "bob")]
    drawn += [(number, ("ann", "bob")[number % 2]) for number in range(3, 9)]
    rows = [(place, who, 1 + place % 2, (10, 10, 20, 20)) for place, who in drawn]
    return document_of(rows, 10, ("cat", "dog"))


@pytest.mark.parametrize("other", ["cat", "dog"])
def test_no_alpha_is_compared_with_one_that_is_undefined(other, tmp_path):
    """All annotators agree on one category; `other` is in images that one of them drew in."""
    content = alone()
    for each in content["annotations"]:
        each["category_id"] = 1 if other == "cat" or each["image_id"] < 6 else 2
    path = write(tmp_path / "a.json", content)
    found = agree(read_coco(path), bootstrap=0)
    expected = agree(read_coco(path, asked="all"), bootstrap=0)
    assert isnan(found.alpha)
    assert isnan(expected.alpha) == (other == "cat")
    alpha = found.thresholds[0].all_asked_alpha
    assert alpha == pytest.approx(expected.alpha, abs=1e-12, nan_ok=True)
