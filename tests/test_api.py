"""The public functions have the settings as typed keywords."""

import inspect
from typing import Any

import pytest
from support.datasets import dataset

import bboxqa
from bboxqa.core.errors import ConfigError
from bboxqa.pipelines import counting
from bboxqa.report.agreement_summary import summary

OF_READING = {"annotator_key", "attribution", "filter", "join"}
OF_VALIDATE = {"source", "images", "ground_truth", "max_findings", "memory", "progress"}


def keywords(function) -> dict[str, Any]:
    """Return the keywords that a function names, with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def test_agree_has_the_settings_of_agree():
    defaults = bboxqa.AgreeSettings()
    expected = {name: getattr(defaults, name) for name in defaults.__struct_fields__}
    (expected["iou_threshold"],) = defaults.iou_threshold
    found = keywords(bboxqa.agree)
    assert found.pop("memory") is found.pop("progress") is None
    assert found == {name: value for name, value in expected.items() if name not in OF_READING}


def test_validate_has_the_settings_of_validate():
    defaults = bboxqa.ValidateSettings()
    expected = {name: getattr(defaults, name) for name in defaults.__struct_fields__}
    assert expected.pop("per_file_ignores") == {}
    found = keywords(bboxqa.validate)
    assert found.pop("per_file_ignores") is None
    assert {name: value for name, value in found.items() if name not in OF_VALIDATE} == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bboxqa.agree(DATA, matchers="greedy"), "'matchers'; did you mean 'matcher'?"),
        (lambda: bboxqa.agree(DATA, iou=0.5), "unknown setting 'iou'"),
        (lambda: bboxqa.validate({}, selekt=["B"]), "'selekt'; did you mean 'select'?"),
        (lambda: bboxqa.agree(DATA, filter="*"), "filter is for `bboxqa.read_coco`"),
    ],
)
def test_a_keyword_that_is_not_known(call, message):
    with pytest.raises(ConfigError) as caught:
        call()
    assert message in str(caught.value)


def test_settings_of_reading_may_be_none():
    result = bboxqa.agree(DATA, annotator_key=None, attribution=None, filter=None, bootstrap=0)
    assert result.settings == bboxqa.AgreeSettings(bootstrap=0)


def test_memory_does_not_change_the_result(monkeypatch):
    monkeypatch.setattr(counting, "_LEAST", 1)
    stages = []
    bounded = bboxqa.agree(DATA, memory=1, bootstrap=0, progress=lambda *each: stages.append(each))
    assert ("comparing", 2, 8) in stages
    assert summary(bounded) == summary(bboxqa.agree(DATA, bootstrap=0))


BOXES = (1, 1, 4, 4), (1, 1, 4, 5)
DATA = dataset([(image, drawer, 0, BOXES[drawer]) for image in range(4) for drawer in range(2)])
