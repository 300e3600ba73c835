"""What a finding is does not depend on where its record stands."""

import json

import numpy as np
import pytest
from support.mutants import MUTATIONS, mutant
from support.reference import data_file
from support.validation import report_of

from bboxqa.model.findings import identities


def shuffled(text, seed, indent=None):
    document = json.loads(text)
    rng = np.random.default_rng(seed)
    for name in ("images", "annotations", "categories"):
        if isinstance(document.get(name), list):
            order = rng.permutation(len(document[name]))
            document[name] = [document[name][place] for place in order]
    return json.dumps(document, indent=indent)


def known(text):
    return sorted(identities(report_of(text).findings))


# What is not JSON cannot be shuffled; repeated keys are lost on the way.
@pytest.mark.parametrize("code", sorted(set(MUTATIONS) - {"F001", "F002", "F003", "F005", "F006"}))
def test_reordered_records_are_the_same_findings(code):
    text = mutant(code, 3).decode()
    assert known(shuffled(text, 1, indent=1)) == known(shuffled(text, 2))


@pytest.mark.parametrize(
    "name",
    [
        "roboflow",
        "simulated",
        "exports/cvat_boxes",
        "exports/cvat_polygons",
        "exports/roboflow_boxes",
        "exports/taco",
    ],
)
def test_reordered_exports_are_the_same_findings(name):
    text = data_file(f"{name}.json").read_text("utf-8")
    assert known(shuffled(text, 1)) == known(text)
