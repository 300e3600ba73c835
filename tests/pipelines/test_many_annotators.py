"""Data of so many annotators that not all of their pairs are counted."""

import json
from itertools import combinations

import numpy as np
import pytest
from support.datasets import annotation, document, image

import bboxqa
from bboxqa.agreement import object_counts as paired
from bboxqa.core.errors import DatasetError
from bboxqa.diagnostics import offsets, rates
from bboxqa.pipelines import counting

NAMES = [f"p{number}" for number in range(6)]


@pytest.fixture
def few_pairs(monkeypatch):
    monkeypatch.setattr(paired, "MOST_PAIRED", 3)


def read(path, boxes, n_images=1):
    images = [image(place + 1, width=640, height=480) for place in range(n_images)]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    path.write_text(json.dumps(document(boxes, images, categories)))
    return bboxqa.read_coco(path)


def drawn(n_annotators=6):
    """Return a box of each annotator, of which the last three agree, and two more of the last."""
    names = NAMES[-n_annotators:]
    left = [90 * place if place < n_annotators - 3 else 600 for place in range(n_annotators)]
    places = [*zip(left, names, strict=True), (0, NAMES[5]), (300, NAMES[4])]
    return [
        annotation(place + 1, bbox=(x, 10, 20, 20), annotator=name)
        for place, (x, name) in enumerate(places)
    ]


def test_pairs_are_counted_among_those_who_drew_most(few_pairs, tmp_path):
    found = bboxqa.agree(read(tmp_path / "x.json", drawn()), bootstrap=0)
    listed = [(row["annotator_1"], row["annotator_2"]) for row in found.pairs.records()]
    # The first of those who drew one box each comes with the two who drew two.
    assert listed == list(combinations(("p0", "p4", "p5"), 2))
    note = "pairs of annotators are counted among the 3 of 6 who drew the most annotations"
    assert note in found.notes


def test_too_many_annotators_for_their_annotations_are_refused(tmp_path, monkeypatch):
    # Tables of all annotators took 3.4 GB before an image was refused.
    boxes = [annotation(k + 1, bbox=(10, 10, 20, 20), annotator=NAMES[k]) for k in range(3)]
    data = read(tmp_path / "x.json", boxes, n_images=3)
    monkeypatch.setattr(counting, "_MEMORY", 17 * counting._BYTES_OF_TABLES)
    bboxqa.agree(data, bootstrap=0)
    monkeypatch.setattr(counting, "_CELLS_OF_ANNOTATION", 5)
    with pytest.raises(DatasetError) as refused:
        bboxqa.agree(data, bootstrap=0)
    [problem] = refused.value.problems
    assert problem == (
        "3 annotators of 3 annotations in 3 images give 18 pairs of two annotators, or of one and "
        "an image; expected 17 at most"
    )


def test_too_many_objects_for_the_annotators_are_refused(tmp_path, monkeypatch):
    data = read(tmp_path / "x.json", drawn())
    monkeypatch.setattr(counting, "_MEMORY", 30 * counting._BYTES)
    bboxqa.agree(data, bootstrap=0)
    monkeypatch.setattr(counting, "_MEMORY", 29 * counting._BYTES)
    with pytest.raises(DatasetError) as refused:
        bboxqa.agree(data, bootstrap=0)
    assert refused.value.problems == (
        "image '1.jpg': 6 annotators give 30 answers on 5 objects; expected 29 at most",
    )


def chain(n_images, n_annotators=4):
    """Return boxes of which each matches those beside it only, so that units are not clear."""
    return [
        annotation(1 + k, image_id=k // n_annotators + 1, bbox=(x, 10, 90, 90), annotator=f"p{who}")
        for k in range(n_images * n_annotators)
        for who, x in [(k % n_annotators, 25 * (k % n_annotators))]
    ]


def test_matching_without_each_of_many_annotators_is_refused(tmp_path, monkeypatch):
    data = read(tmp_path / "x.json", chain(2), n_images=2)
    bboxqa.agree(data, bootstrap=0).diagnose()
    monkeypatch.setattr(rates, "_ROWS", 1)
    monkeypatch.setattr(rates, "_ROWS_OF_ANNOTATION", 0)
    with pytest.raises(DatasetError, match="4 annotators: a diagnosis matches images without each"):
        bboxqa.agree(data, bootstrap=0).diagnose()


def test_offsets_of_many_pairs_have_no_intervals(tmp_path, monkeypatch):
    boxes = [each for each in chain(12) if each["annotator"] != "p3"]
    data = read(tmp_path / "x.json", boxes, n_images=12)
    before = bboxqa.agree(data, bootstrap=1000).diagnose().tables["offsets"]
    monkeypatch.setattr(offsets, "MOST_DRAWN", 5)
    after = bboxqa.agree(data, bootstrap=1000).diagnose().tables["offsets"]
    assert after["offset_px"].tolist() == before["offset_px"].tolist()
    assert np.isnan(after["offset_px_low"]).all()
