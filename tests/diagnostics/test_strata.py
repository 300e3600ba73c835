"""Agreement by size, crowding and region, against measuring each group of objects alone."""

import numpy as np
import pytest
from support.datasets import dataset

from bboxqa.diagnostics.strata import agreement_by_crowding, agreement_by_region, agreement_by_size
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import compared_images
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
