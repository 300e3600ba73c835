"""Images in which too many annotations overlap to diagnose them."""

import re

import numpy as np
import pytest
from support.datasets import dataset

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines import agreement_result
from bboxqa.pipelines.agree import agree_with


def boxes(image, n, step):
    """Return boxes of two annotators, each moved by a step, which overlap if it is below 9."""
    return [(image, i % 2, 0, (step * i, 0, 9, 9)) for i in range(n)]


@pytest.fixture
def data():
    """Return 60 boxes in one place, 80 side by side, and 40 in one place."""
    return dataset([*boxes(0, 60, 0), *boxes(1, 80, 9), *boxes(2, 40, 0)])


def test_a_result_has_no_story_of_crowds_and_says_so(data, monkeypatch):
    assert not agree_with(data, AgreeSettings(bootstrap=0)).why_slow
    monkeypatch.setattr(agreement_result, "_PAIRS", -180 * agreement_result._OF_ANNOTATION)
    result = agree_with(data, AgreeSettings(bootstrap=0))
    assert re.match("image 'image 0000': too many of its 60 annotations", result.why_slow)
    with pytest.raises(DatasetError, match="image 'image 0000'"):
        result.diagnose()


def test_a_story_of_many_outlines_is_told_on_request_only(monkeypatch):
    monkeypatch.setattr(agreement_result, "_QUICK_OUTLINES", 1)
    rows = [(0, i, 0, (10.0, 10.0, 20.0, 20.0)) for i in range(2)]
    ring = [np.array([[10.0, 10.0], [30, 10], [30, 30], [10, 30]])]
    drawn = bboxqa.agree(dataset(rows, [ring] * 2), similarity="polygon", bootstrap=0)
    assert drawn.why_slow == "with 2 outlines it takes longer than the figures"
    assert not bboxqa.agree(dataset(rows), bootstrap=0).why_slow
