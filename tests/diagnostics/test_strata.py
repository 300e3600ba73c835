"""On which objects errors depend, and agreement of groups of objects measured alone."""

from math import erfc, sqrt

import numpy as np
import pytest
from support.datasets import dataset
from support.matched import matched

import bboxqa
from bboxqa.diagnostics.strata import (
    agreement_by_crowding,
    agreement_by_region,
    agreement_by_size,
    dependence,
    explained_extras,
)
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis.findings import beyond_background
from bboxqa.pipelines.diagnosis.matched_units import matched_units

SETTINGS = AgreeSettings(bootstrap=50)
SIDES = {"small": 20, "medium": 40, "large": 120}


def rows_of_sizes(seed=2):
    """Return objects of three sizes in three corners, missed and misnamed at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(20):
        for n, side in enumerate(SIDES.values()):
            truth = int(rng.integers(3))
            for annotator in range(3):
                if rng.random() < 0.8:
                    x = 200 * n + int(rng.integers(3))
                    category = truth if rng.random() < 0.7 else int(rng.integers(3))
                    rows.append((image, annotator, category, (x, 200 * n, side, side)))
    return rows


def records(diagnostic, rows, size=(600, 600), settings=SETTINGS):
    data = dataset(rows, size=size)
    return diagnostic(matched_units(compared_images(data), settings)).records()


@pytest.mark.parametrize("diagnostic", [agreement_by_size, agreement_by_region])
def test_groups_are_as_if_measured_alone(diagnostic):
    rows = rows_of_sizes()
    found = records(diagnostic, rows)
    names = {"size": [*SIDES], "region": ["top left", "centre", "bottom right"]}
    title = next(iter(found[0]))
    for n, (row, start) in enumerate(zip(found, names[title], strict=True)):
        own = [each for each in rows if each[3][1] == 200 * n]
        alone = agree_with(dataset(own, n_images=20, n_annotators=3), SETTINGS).thresholds[0]
        assert row[title].startswith(start)
        assert row["alpha"] == pytest.approx(alone.alpha)
        assert (row["alpha_low"], row["alpha_high"]) == pytest.approx(alone.interval)
        assert row["f1"] == pytest.approx(alone.existence.f1)
        assert (row["f1_low"], row["f1_high"]) == pytest.approx(alone.existence.interval)
        assert row["class_share"] == pytest.approx(alone.class_agreement.share)
        assert row["mean_similarity"] == pytest.approx(alone.place.mean_iou)
        assert row["n_objects"] == alone.n_units
        assert row["missed_share"] == pytest.approx(1 - alone.n_complete_units / alone.n_units)
        assert row["badly_placed_share"] == 0


def test_neighbours_are_those_of_one_annotator():
    """Boxes of 10 × 10: the first two of annotator 0 overlap by a third, and one lies apart."""
    boxes = [(0, 0, 10, 10), (5, 0, 10, 10), (50, 0, 10, 10)]
    rows = [(0, 0, n % 2, box) for n, box in enumerate(boxes)]
    rows += [(0, 1, 0, boxes[0]), (0, 1, 0, boxes[2])]
    found = records(agreement_by_crowding, rows)
    assert [(row["crowding"], row["n_objects"]) for row in found] == [
        ("no neighbour", 1), ("1 neighbour", 2),
    ]  # fmt: skip


def test_a_badly_placed_box_and_images_of_unknown_size():
    rows = [(0, 0, 0, (0, 0, 10, 10)), (0, 1, 0, (6, 0, 10, 10))]
    found = records(agreement_by_crowding, rows)
    assert (found[0]["n_objects"], found[0]["badly_placed_share"], found[0]["f1"]) == (1, 1, 0)
    assert records(agreement_by_region, rows, size=(0, 0)) == []


def test_no_alpha_where_it_has_no_meaning():
    rows = [(0, who, 0, (50 * n, 0, 9, 9)) for n in range(5) for who in (0, 1) if who or n]
    assert records(agreement_by_crowding, rows)[0]["alpha"] is None
    ignoring = AgreeSettings(bootstrap=0, missing="ignore")
    rows += [(0, who, who, (0, 100, 9, 9)) for who in (0, 1)]
    assert records(agreement_by_crowding, rows, settings=ignoring)[0]["alpha"] is not None


def test_similarity_is_that_of_all_pairs_of_a_unit():
    """Of three boxes of one unit, the first and the last overlap by 18 / 42 only."""
    rows = [(image, a, 0, (100 + 6 * a, 100, 30, 30)) for image in range(3) for a in range(3)]
    (row,) = records(agreement_by_size, rows)
    assert row["mean_similarity"] == pytest.approx((2 * 24 / 36 + 18 / 42) / 3)
    alone = agree_with(dataset(rows, n_images=3, n_annotators=3), SETTINGS).thresholds[0]
    assert alone.place.mean_iou == pytest.approx(row["mean_similarity"])


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
