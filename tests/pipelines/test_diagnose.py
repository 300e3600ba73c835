"""Diagnostics: pairs inside units, and a table of each."""

import numpy as np
import pytest
from support.datasets import dataset, object_rows

from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics import diagnostic, names
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(iou_threshold=(0.3,), bootstrap=0)


@pytest.fixture
def data():
    return dataset(object_rows(np.random.default_rng(5)))


def tables_of(data):
    """Return the tables of a diagnosis."""
    return agree_with(data, SETTINGS).diagnose().tables


def rows(table):
    return {(first, second): numbers for first, second, *numbers in table.rows()}


def test_every_diagnostic_has_its_table(data):
    tables = tables_of(data)
    assert [*tables] == [
        *names(with_times=False, with_keypoints=False, with_tracks=False),
        "sensitivity",
        "suggested_threshold",
        "review_images",
    ]
    assert len(tables["sensitivity"]) == 19


def test_what_is_refused(data):
    with pytest.raises(ConfigError, match="'pair_similarly'; expected one of pair_similarity"):
        diagnostic("pair_similarly")
    settings = AgreeSettings(iou_threshold=(0.5, 0.7))
    with pytest.raises(ConfigError, match="has 2 numbers; expected one"):
        matched_units(compared_images(data), settings)
