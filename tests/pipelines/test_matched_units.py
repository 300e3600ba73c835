"""What the diagnostics look at, against comparing everything one by one."""

from itertools import combinations

import numpy as np
import pytest
from support.brute import box_iou
from support.datasets import dataset, random_rows

from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(iou_threshold=(0.3,), bootstrap=0)


@pytest.fixture
def rows():
    return random_rows(np.random.default_rng(3), n_boxes=9)


@pytest.fixture
def matched(rows):
    return matched_units(compared_images(dataset(rows)), SETTINGS)


def as_set(pairs, of):
    ends = of.id[pairs.left].tolist(), of.id[pairs.right].tolist()
    return {frozenset(pair) for pair in zip(*ends, strict=True)}


def test_pairs_near_and_own(rows, matched):
    near, own = set(), set()
    neighbours = np.zeros(len(rows), int)
    for a, b in combinations(range(len(rows)), 2):
        similarity = float(box_iou(rows[a][3], rows[b][3]))
        if rows[a][0] != rows[b][0] or similarity < 0.1:
            continue
        if rows[a][1] != rows[b][1]:
            near.add(frozenset([a, b]))
        else:
            neighbours[[a, b]] += 1
            if similarity >= 0.3:
                own.add(frozenset([a, b]))
    assert own
    of = matched.data.annotations
    assert as_set(matched.near, of) == near
    assert as_set(matched.own, of) == own
    assert matched.n_neighbours.tolist() == neighbours[of.id].tolist()


def test_units_are_those_of_agree(rows, matched):
    result = agree_with(dataset(rows), SETTINGS)
    assert len(matched.units) == result.thresholds[0].n_units
    assert np.array_equal(matched.reliability.value, result.thresholds[0].reliability.value)
    assert np.array_equal(matched.reliability.state, result.thresholds[0].reliability.state)
