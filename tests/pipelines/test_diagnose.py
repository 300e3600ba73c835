"""Diagnostics: pairs inside units, and a table of each."""

from collections import defaultdict

import numpy as np
import pytest
from support.datasets import dataset, object_rows

from bboxqa.core.errors import ConfigError
from bboxqa.diagnostics.registry import diagnostic, names
from bboxqa.geometry.candidates import candidate_pairs
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


def test_pair_similarity_is_that_of_annotations_in_one_unit(data):
    table = agree_with(data, SETTINGS).units
    unit = {}
    for row, drawn in zip(table.rows(), table["state"], strict=True):
        if drawn == "drawn":
            unit[row[3]] = row[1]
    pairs, _ = candidate_pairs(data, "bbox", 0.3)
    expected = defaultdict(list)
    of = data.annotations
    for a, b, found in zip(pairs.left, pairs.right, pairs.similarity, strict=True):
        if unit[int(of.id[a])] == unit[int(of.id[b])]:
            names = (data.annotator_names[of.annotator[a]], data.annotator_names[of.annotator[b]])
            expected[names].append(found)
    found = rows(tables_of(data)["pair_similarity"])
    assert len(found) == 3
    assert found == {
        names: [len(part), pytest.approx(np.mean(part)), min(part)]
        for names, part in expected.items()
    }


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
