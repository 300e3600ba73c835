"""Annotations that a machine began are counted, and said above the numbers."""

import json

import pytest
from support.datasets import annotation, document, image

import bboxqa

_ASKED = image(1, annotators=["a", "b"])


def marked(**marks):
    """Return four annotations, two of each annotator; one of them has the marks."""
    return document(
        [
            annotation(1, annotator="a", **marks),
            annotation(2, annotator="a", bbox=[60, 10, 20, 20]),
            annotation(3, annotator="b"),
            annotation(4, annotator="b", bbox=[60, 10, 20, 20], machine=False, source="manual"),
        ],
        images=[_ASKED],
    )


@pytest.mark.parametrize(
    "marks",
    [{"machine": True}, {"machine": "true"}, {"source": "Semi-auto"}, {"model": "yolo"}],
)
def test_each_mark_is_said(marks):
    (line,) = bboxqa.read_coco(marked(**marks)).headlines
    assert line.startswith(f"a machine began 1 of 4 annotations ({next(iter(marks))}):")


@pytest.mark.parametrize(
    "marks",
    [{}, {"machine": 0}, {"source": "coco.json"}, {"model": ""}, {"model": {"a": 1}}],
)
def test_other_values_are_no_marks(marks):
    assert bboxqa.read_coco(marked(**marks)).headlines == ()


def test_an_object_under_one_key_hides_no_other_mark():
    found = marked(source={"file": 1})
    found["annotations"][1]["machine"] = True
    (line,) = bboxqa.read_coco(found).headlines
    assert "1 of 4 annotations (machine)" in line


def test_a_file_that_needs_the_tolerant_reader_is_read_alike(tmp_path):
    path = tmp_path / "export.json"
    # NaN is not JSON.
    path.write_text(json.dumps({"info": float("nan"), **marked(machine=True)}))
    (line,) = bboxqa.read_coco(path).headlines
    assert line.startswith("a machine began 1 of 4 annotations (machine)")


def test_the_key_that_names_annotators_may_be_a_mark():
    found = marked()
    for each in found["annotations"]:
        each["source"] = each.pop("annotator")
    data = bboxqa.read_coco(found, annotator_key="source")
    assert data.annotator_names == ("a", "b")
