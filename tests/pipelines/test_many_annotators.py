"""Data of so many annotators that not all of their pairs are listed."""

import json
from itertools import combinations

import pytest
from support.datasets import annotation, document, image

import bboxqa
from bboxqa.pipelines import notes, result_tables

NAMES = [f"p{number}" for number in range(6)]


@pytest.fixture
def few_pairs(monkeypatch):
    for module in (notes, result_tables):
        monkeypatch.setattr(module, "MOST_PAIRS", 4)


def measured(path, n_annotators=6):
    """Return agreement of annotators of whom the last three drew the same object."""
    names = NAMES[-n_annotators:]
    left = [90 * place if place < n_annotators - 3 else 600 for place in range(n_annotators)]
    boxes = [
        annotation(place + 1, bbox=(x, 10, 20, 20), annotator=name)
        for place, (x, name) in enumerate(zip(left, names, strict=True))
    ]
    path.write_text(json.dumps(document(boxes, [image(1, width=640, height=480)])))
    return bboxqa.agree(bboxqa.read_coco(path), bootstrap=0)


def test_the_pairs_with_most_objects_in_common_are_listed(few_pairs, tmp_path):
    found = measured(tmp_path / "x.json")
    listed = [(row["annotator_1"], row["annotator_2"]) for row in found.pairs.records()]
    assert listed == [("p0", "p1"), *combinations(NAMES[3:], 2)]
    assert found.pairs["f1"].tolist() == [0, 1, 1, 1]
    note = "the table of pairs of annotators has the 4 of 15 pairs that drew the most objects in"
    assert [each for each in found.notes if each.startswith(note)]


def test_without_too_many_pairs_nothing_is_left_out(few_pairs, tmp_path):
    found = measured(tmp_path / "x.json", n_annotators=3)
    assert len(found.pairs) == 3
    assert not [note for note in found.notes if "table of pairs" in note]
