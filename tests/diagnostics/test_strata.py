"""On which objects errors depend, and agreement of groups of objects measured alone."""

from math import erfc, sqrt

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched

import bboxqa
from bboxqa.diagnostics.strata import (
    covariates,
    dependence,
    explained_extras,
)
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.findings import beyond_background
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(bootstrap=50)


def test_neighbours_are_those_of_one_annotator():
    """Boxes of 10 × 10: the first two of annotator 0 overlap by a third, and one lies apart."""
    boxes = [(0, 0, 10, 10), (5, 0, 10, 10), (50, 0, 10, 10)]
    rows = [(0, 0, n % 2, box) for n, box in enumerate(boxes)]
    rows += [(0, 1, 0, boxes[0]), (0, 1, 0, boxes[2])]
    found = covariates(matched_units(compared_images(dataset(rows)), SETTINGS))
    assert found["crowding"].tolist() == [1, 1, 0]


def test_errors_on_small_objects_are_found_and_others_are_not():
    rng = np.random.default_rng(0)
    size = np.exp(rng.uniform(np.log(20), np.log(180), 800)) ** 2
    values = {"size": size, "border": rng.uniform(0, 300, 800), "category": rng.choice(4, 800)}
    failed = rng.random(800) < np.where(size < 3600, 0.3, 0.02)
    name, threshold, below, inside, outside = dependence(values, failed, 20)
    assert name == "size"
    assert below
    assert threshold == pytest.approx(3600, rel=0.25)
    assert inside == pytest.approx(failed[size < threshold].mean())
    assert outside == pytest.approx(failed[size >= threshold].mean())
    n_named = 0
    for _ in range(200):
        n_named += dependence(values, rng.random(800) < 0.15, 20) is not None
    assert n_named <= 2


def test_the_likelihood_ratio_is_that_of_two_rates_and_one():
    # 60 of 100 in category 1 and 10 of 100 in 0: 2 (ln L - ln L0) = 59.8.
    values = {"category": np.repeat([0.0, 1.0], 100)}
    failed = np.tile(np.arange(100), 2) < np.repeat([10, 60], 100)
    log_l = sum(k * np.log(k / n) + (n - k) * np.log(1 - k / n) for k, n in ((10, 100), (60, 100)))
    ratio = 2 * (log_l - (70 * np.log(0.35) + 130 * np.log(0.65)))
    p_value = 2 * erfc(sqrt(ratio / 2))
    assert dependence(values, failed, int(0.04 / p_value))[1] == 1
    assert dependence(values, failed, int(0.06 / p_value)) is None


@pytest.mark.parametrize("n_annotators", [3, 4])
def test_extras_that_the_misses_of_the_others_explain(n_annotators):
    """Two others miss 20 %, so that both miss 4 % of what the first drew."""
    rng = np.random.default_rng(1)
    rows = [
        (image, who, 0, (100 * place, 10, 20 + place, 30))
        for image in range(200)
        for place in range(5)
        for who in range(n_annotators)
        if who < n_annotators - 2 or rng.random() < 0.8
    ]
    of = matched(dataset(rows, n_annotators=n_annotators, size=(600, 400)), bootstrap=0)
    explained = explained_extras(of)
    assert 0.04 * 1000 < explained[0] < 0.09 * 1000
    assert explained[-1] == 0


def test_nobody_is_named_for_what_two_others_missed():
    rng = np.random.default_rng(2)
    rows = [
        (image, who, place % 2, (80 * place + rng.normal(), 10 + rng.normal(), 40, 40))
        for image in range(100)
        for place in range(6)
        for who in range(3)
        if who == 2 or rng.random() < 0.8
    ]
    result = bboxqa.agree(dataset(rows), bootstrap=200)
    lines = result.tell().lines
    assert {name[-1] for line in lines for name in line.annotators} <= {"0", "1"}


def test_confusions_beyond_those_of_other_pairs():
    first, second = np.triu_indices(4, 1)
    given = np.array([400, 300, 200, 100])
    usual = np.round(0.0002 * given[first] * given[second]).astype(np.int64)
    assert not beyond_background(usual, first, second, given).any()
    more = usual.copy()
    more[-1] += 15
    assert beyond_background(more, first, second, given).tolist() == [False] * 5 + [True]
    two = beyond_background(np.array([9]), first[:1], second[:1], given[:2])
    assert two.all()
