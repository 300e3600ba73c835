"""Annotations that a machine began are counted, and said above the numbers."""

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
    "marks", [{"machine": True}, {"machine": "true"}, {"source": "Semi-auto"}, {"model": "yolo"}]
)
def test_each_mark_is_said(marks):
    (line,) = bboxqa.read_coco(marked(**marks)).headlines
    assert line.startswith(f"a machine began 1 of 4 annotations ({next(iter(marks))}):")
