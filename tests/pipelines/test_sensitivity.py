"""Agreement at thresholds from 0.05 to 0.95."""

import msgspec
import numpy as np
import pytest
from support.datasets import dataset, object_rows, with_assigned
from support.resampled import expanded

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
    assert found.suggested["n_images"].tolist() == [15]
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
    assert 0 < part.suggested["n_images"][0] < 15
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


def test_the_suggested_threshold_is_where_f1_is_most_above_chance(data, found):
    result = agree_with(data, SETTINGS)
    (row,) = result.diagnose().tables["suggested_threshold"].records()
    table = found.table
    apart = table["observed_share"] - table["expected_share"]
    best = int(np.argmax(table["distance"]))
    # The sums of differences above and below are largest there.
    assert table["distance"][best] == pytest.approx(apart[best:].sum())
    assert apart[best] >= 0 >= apart[best - 1]
    assert (row["similarity"], row["n_images"]) == ("bbox", 15)
    assert row["lowest"] <= table["threshold"][best] <= row["highest"]
    text = result.diagnose().story[-1]
    assert text.startswith(row["reason"] or f"IoU {row['threshold']:g} ") or row["reason"] in text
