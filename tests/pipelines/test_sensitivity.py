"""Agreement at thresholds from 0.05 to 0.95."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from support.datasets import dataset, object_rows, with_assigned
from support.resampled import expanded

from bboxqa.diagnostics.strata import sigma
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.chance_existence import chance_existence
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis import sensitivity as module
from bboxqa.pipelines.diagnosis.sensitivity import THRESHOLDS, sensitivity

SETTINGS = AgreeSettings(bootstrap=40)


@pytest.fixture(scope="module")
def data():
    found = dataset(object_rows(np.random.default_rng(1), n_images=16), size=(60, 60))
    assigned = found.assigned.copy()
    assigned[0] = [True, False, False]
    return with_assigned(found, assigned)


@pytest.fixture(scope="module")
def found(data):
    return sensitivity(compared_images(data), SETTINGS)


def test_each_threshold_is_as_if_measured_alone(data, found):
    assert found.n_images == 15
    assert found.table["threshold"].tolist() == list(THRESHOLDS)
    for place in (0, 9, 18):
        row = {name: column[place] for name, column in found.table.columns.items()}
        settings = msgspec.structs.replace(SETTINGS, iou_threshold=(THRESHOLDS[place],))
        alone = agree_with(data, settings, with_chance=False).thresholds[0]
        shown = [row["alpha"], row["alpha_low"], row["alpha_high"], row["f1"], row["f1_low"],
                 row["class_alpha"], row["class_share"], row["mean_similarity"],
                 row["n_units"]]  # fmt: skip
        expected = [alone.alpha, *alone.interval, alone.existence.f1, alone.existence.interval[0],
                    alone.class_agreement.alpha, alone.class_agreement.share, alone.place.mean_iou,
                    alone.n_units]  # fmt: skip
        assert shown == pytest.approx(expected, nan_ok=True)
    assert (np.diff(found.table["f1"]) <= 0).all()
    assert (found.table["f1_by_chance"] < found.table["f1"])[:10].all()


def test_the_sentence_names_the_threshold(data, found):
    choice = found.separation.choice
    assert choice.reason == ""
    low, high = choice.interval
    assert low <= choice.threshold <= high
    assert found.text.startswith(
        f"IoU {choice.threshold:g} [{low:g}, {high:g}] separates objects from chance best: "
    )
    assert f"a distance of {choice.distance:.2f} [" in found.text
    without = AgreeSettings(bootstrap=0)
    unknown = sensitivity(compared_images(replace(data, image_size=data.image_size * 0)), without)
    assert unknown.text == "no threshold suggests itself: agreement by chance is not known"


def test_shares_are_those_of_a_histogram_and_cross_at_the_threshold(found):
    table = found.table
    for name, f1 in (("observed_share", "f1"), ("expected_share", "f1_by_chance")):
        assert table[name].sum() == pytest.approx(table[f1][0])
        assert (table[name] >= 0).all()
    (best,) = np.flatnonzero(table["threshold"] == found.separation.choice.threshold)
    apart = table["observed_share"] - table["expected_share"]
    # The sums of differences above and below are largest there.
    assert table["distance"][best] == pytest.approx(apart[best:].sum())
    assert table["distance"][best] == table["distance"].max()
    assert apart[best] >= 0 >= apart[best - 1]


def test_sigma_is_the_share_of_distances_below_the_5th_percentile_of_those_by_chance():
    """Shares at fine thresholds are as good as the similarities themselves."""
    rng = np.random.default_rng(3)
    observed, expected = rng.beta(8, 3, 4000), rng.beta(1, 6, 4000)
    thresholds = np.linspace(0, 1, 2001)[:-1]
    share, start = sigma(
        thresholds, *((each >= thresholds[:, None]).mean(1) for each in (observed, expected))
    )
    least = np.quantile(1 - expected, 0.05)
    assert share == pytest.approx(np.mean(1 - observed < least), abs=2e-3)
    assert start == pytest.approx(1 - least, abs=2e-3)


def test_sigma_where_little_or_all_overlaps_by_chance():
    thresholds = np.array([0.1, 0.5])
    # By column: too few by chance to be interpolated, too many for any threshold, and not measured.
    observed = np.array([[0.8, 0.8, 0.8], [0.3, 0.3, 0.3]])
    by_chance = np.array([[0.02, 0.9, np.nan], [0.0, 0.5, np.nan]])
    share, start = sigma(thresholds, observed, by_chance)
    assert share == pytest.approx([0.8, np.nan, np.nan], nan_ok=True)
    assert start == pytest.approx([0.1, np.nan, np.nan], nan_ok=True)


def test_the_suggested_threshold_is_a_row_with_sigma(found):
    row = found.separation.row()
    choice = found.separation.choice
    assert (row["threshold"], row["distance"]) == (choice.threshold, choice.distance)
    (best,) = np.flatnonzero(found.table["threshold"] == choice.threshold)
    assert row["distance_low"] == found.table["distance_low"][best]
    assert row["sigma_low"] <= row["sigma"] <= row["sigma_high"]
    by_chance = np.interp(row["sigma_threshold"], THRESHOLDS, found.table["f1_by_chance"])
    assert by_chance == pytest.approx(0.05)
    f1 = np.interp(row["sigma_threshold"], THRESHOLDS, found.table["f1"])
    assert row["sigma"] == pytest.approx(f1)


def test_the_interval_of_the_distance_is_that_of_drawing_images_again(data):
    part, settings = compared_images(data), msgspec.structs.replace(SETTINGS, seed=5)
    table = sensitivity(part, settings).table
    settings = msgspec.structs.replace(settings, iou_threshold=(0.3,))
    sums = chance_existence(part, msgspec.structs.replace(settings, iou_threshold=THRESHOLDS)).sums[
        5
    ]
    images = agree_with(data, settings, with_chance=False).thresholds[0].images
    possible = images["n_annotations"] * (images["n_annotators"] - 1) / 2
    observed = np.stack([np.nan_to_num(images["f1"]) * possible, possible])
    expected = sums[images.columns["image"].code].T
    used = np.flatnonzero(possible + expected[1])
    rng, drawn = np.random.default_rng(5), []
    for _ in range(40):
        places = used[rng.integers(0, len(used), len(used))]
        one, other = (found[:, places].sum(1) for found in (observed, expected))
        drawn.append(one[0] / one[1] - other[0] / other[1])
    found = table["distance_low"][5], table["distance_high"][5]
    assert found == pytest.approx(expanded(np.array(drawn), len(used)))


def test_of_many_annotations_random_images_are_measured(data, found, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 60)
    other = AgreeSettings(bootstrap=0, iou_threshold=(0.7,))
    part = sensitivity(compared_images(data), other)
    assert 0 < part.n_images < 15
    assert 0 < part.table["n_units"][9] < found.table["n_units"][9]


def test_f1_by_chance_is_that_of_the_result(data):
    """It was measured with fewer passes at each of the 19 thresholds: 0.17 and 0.19, say."""
    settings = msgspec.structs.replace(SETTINGS, iou_threshold=(0.5, 0.75), bootstrap=0)
    result = agree_with(data, settings)
    table = result.diagnose().tables["sensitivity"]
    shown = table["f1_by_chance"][[THRESHOLDS.index(0.5), THRESHOLDS.index(0.75)]]
    known = [part.existence.chance for part in result.thresholds]
    assert shown == pytest.approx(known)
    above = [part.existence.alpha for part in result.thresholds]
    assert table["existence_alpha"][[9, 14]] == pytest.approx(above)
    assert (np.diff(table["f1_by_chance"]) <= 0).all()
    alone = sensitivity(compared_images(data), settings).table["f1_by_chance"]
    assert alone[9] != pytest.approx(known[0])
