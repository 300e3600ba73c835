"""Annotations that a machine began are counted, and said above the numbers."""

import json

import pytest
from support.datasets import annotation, document, image

import bboxqa
from bboxqa.report.agreement_text import text_lines

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


def test_marks_of_later_sessions_are_no_warning_about_the_first(tmp_path):
    """Agreement between annotators is that of their first sessions, which nobody helped."""
    paths = [tmp_path / f"{n}.json" for n in (1, 2)]
    for path, marks in zip(paths, ({}, {"machine": True}), strict=True):
        path.write_text(json.dumps(marked(**marks)))
    data = bboxqa.read_coco(paths, session_key="file")
    assert data.headlines == ()
    (note,) = [note for note in data.notes if note.startswith("a machine began")]
    assert "1 of 8 annotations of all sessions (machine), all of them in later sessions" in note
    (line,) = bboxqa.read_coco(paths[::-1], session_key="file").headlines
    assert line.startswith("a machine began 1 of 8 annotations of all sessions (machine): ")
    for files, words in ((paths, "later sessions"), (paths[::-1], "share their errors")):
        result = bboxqa.agree(bboxqa.read_coco(files, session_key="file"), bootstrap=0)
        (warning,) = [each for each in result.story().warnings if "machine" in each]
        assert words in warning
        # It stands above the story already.
        assert "\n".join(text_lines(result, story=result.story())).count("a machine began") == 1


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
