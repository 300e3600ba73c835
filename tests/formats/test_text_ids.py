"""Ids that are text, such as "im_1": linked by equality, and shown as the file has them."""

import json
import re

import pytest
from support.cli import run
from support.datasets import annotation, document, image

import bboxqa

BOXES = [[10, 10, 20, 20], [60, 60, 20, 20], [30, 60, 20, 20]]
PREFIX = {"images": "im_", "categories": "cat_", "annotations": "an_"}


def content():
    """Return two annotators, who name one object of the second image differently."""
    places = [(1, 0, 1, 1), (1, 1, 2, 2), (2, 0, 1, 1), (2, 1, 1, 2), (2, 2, 2, None)]
    records = []
    for image_id, box, *named in places:
        for rater, category in zip(("ann", "bob"), named, strict=True):
            if category is not None:
                number = len(records) + 1
                records.append(annotation(number, image_id, category, bbox=BOXES[box], rater=rater))
    names = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    return document(records, [image(1, "a.jpg"), image(2, "b.jpg")], names)


def as_text(document):
    """Return the same with text in place of numbers."""
    found = json.loads(json.dumps(document))
    for key, prefix in PREFIX.items():
        for record in found[key]:
            record["id"] = f"{prefix}{record['id']}"
    for record in found["annotations"]:
        record["image_id"] = f"im_{record['image_id']}"
        record["category_id"] = f"cat_{record['category_id']}"
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "numbers.json").write_text(json.dumps(content()))
    (tmp_path / "text.json").write_text(json.dumps(as_text(content())))
    return tmp_path


def test_results_are_those_of_numbers_with_the_ids_of_the_file(folder):
    numbers, text = (bboxqa.agree(folder / f"{e}.json", bootstrap=0) for e in ("numbers", "text"))
    for name in ("images", "categories", "pairs"):
        assert repr(getattr(text, name).records()) == repr(getattr(numbers, name).records())
    # Numbers of units follow ids.
    rows = [[row | {"unit": 0} for row in result.units.records()] for result in (numbers, text)]
    for row in rows[0]:
        row["annotation"] = f"an_{row['annotation']}" if row["annotation"] else ""
    assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1]))
    annotations = [result.diagnose().review["annotations"] for result in (numbers, text)]
    assert [re.sub(r"(ann|bob): (\d+)", r"\1: an_\2", each) for each in annotations[0]] == [
        *annotations[1]
    ]


def test_versions_are_compared_by_them(folder):
    changed = as_text(content())
    changed["annotations"][0]["category_id"] = "cat_2"
    changed["annotations"][1]["bbox"][0] += 4
    del changed["annotations"][8]
    (folder / "after.json").write_text(json.dumps(changed))
    before, after = (bboxqa.read_coco(folder / name) for name in ("text.json", "after.json"))
    result = bboxqa.compare(before, after)
    assert result.by_id
    rows = {row["id_before"]: row["change"] for row in result.changes.records()}
    assert rows == {"an_1": "renamed", "an_2": "moved", "an_9": "removed"}


def test_a_converted_copy_has_numbers_and_keeps_the_text(folder):
    assert run("convert", "text.json", "copy.json", "--to", "coco", cwd=folder).returncode == 0
    found = json.loads((folder / "copy.json").read_text())
    first = found["annotations"][0]
    assert [each["id"] for each in found["images"]] == [1, 2]
    assert (first["id"], first["own_id"]) == (1, "an_1")
    assert bboxqa.validate(folder / "copy.json", select=["S003", "I"]).findings == ()
    copy, numbers = (
        bboxqa.agree(bboxqa.read_coco(folder / name)).thresholds[0].alpha
        for name in ("copy.json", "numbers.json")
    )
    assert copy == numbers
