"""The sample of annotations that is checked before a file is measured."""

import json

import numpy as np
import pytest
from support.datasets import annotation, document

from bboxqa.formats.coco.reader import sample_annotations


def many(n):
    return [annotation(number, segmentation=[[0, 0, 9, 0, 9, 9]], area=40.5) for number in range(n)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("first", ["images", "annotations"])
def test_a_small_file_is_read_as_a_whole(first, indent):
    content = document(many(400), [{"id": n, "file_name": f"{n}.jpg"} for n in range(3000)])
    content = {first: content[first]} | content
    columns = sample_annotations(json.dumps(content, indent=indent).encode())
    assert columns.id.tolist() == list(range(400))
    assert set(columns.area.tolist()) == {40.5}
    assert len(columns.rings.xy) == 3 * 400


def test_a_sample_is_spread_evenly():
    found = sample_annotations(json.dumps(document(many(40_000))).encode()).id
    share = len(found) / 40_000
    tenths, _ = np.histogram(found, bins=10, range=(0, 40_000))
    assert share < 0.2
    assert min(tenths) > 0.05 * len(found)


@pytest.mark.parametrize("text", ["{}", '{"annotations": []}', '{"annotations": [1, 2]}', "[]"])
def test_files_without_annotations_have_no_sample(text):
    assert len(sample_annotations(text.encode())) == 0
