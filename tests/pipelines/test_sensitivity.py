"""Agreement at thresholds from 0.05 to 0.95, existence by chance, and what they suggest."""

from itertools import permutations

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from support.brute import best_matchings, box_iou
from support.datasets import dataset, object_rows, random_rows, with_assigned
from support.resampled import expanded

from bboxqa.matching.matchers import MATCHERS
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines import chance_existence as module
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.chance_existence import chance_existence
from bboxqa.pipelines.counting import compared_images
from bboxqa.pipelines.diagnosis import sensitivity as curve
from bboxqa.pipelines.diagnosis.sensitivity import THRESHOLDS, sensitivity, threshold_choice


def counted(data, **settings):
    return chance_existence(compared_images(data), AgreeSettings(**settings))


def by_chance(data, **settings):
    """Return the F1 by chance at the first threshold."""
    matched, possible = counted(data, **settings).sums[0].sum(0)
    return matched / possible


def f1(data):
    """Return the F1 of two annotators at IoU 0.5."""
    n_matched = sum(matches(rows_of(data, i, 0), rows_of(data, i, 1)) for i in images_of(data))
    return 2 * n_matched / len(data.annotations)


def images_of(data):
    return range(len(data.image_names))


def rows_of(data, image, annotator):
    """Return the boxes of one annotator in one image."""
    of = (data.annotations.image == image) & (data.annotations.annotator == annotator)
    return data.annotations.bbox[of].tolist()


def matches(lefts, rights):
    """Return how many boxes match if the total IoU is the largest, at 0.5."""
    pairs = [(a, b) for a in range(len(lefts)) for b in range(len(rights))]
    iou = [box_iou(lefts[a], rights[b]) for a, b in pairs]
    kept = [place for place, value in enumerate(iou) if 2 * value >= 1]
    _, found = best_matchings([pairs[place] for place in kept], [iou[place] for place in kept])
    return max(map(len, found))


def random_data(seed, *, n_images=6, n_annotators=2, n_categories=3):
    rng = np.random.default_rng(seed)
    shape = {"n_images": n_images, "n_annotators": n_annotators}
    rows = random_rows(rng, **shape, n_categories=n_categories, side=20.0)
    return dataset(rows, size=(40, 40), **shape)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_f1_of_all_pairs_of_different_images(seed):
    data = random_data(seed, n_images=5)
    pairs = list(permutations(images_of(data), 2))
    drawn = {(i, a): rows_of(data, i, a) for i in images_of(data) for a in (0, 1)}
    n_matched = sum(matches(drawn[i, 0], drawn[j, 1]) for i, j in pairs)
    n_drawn = sum(len(drawn[i, 0]) + len(drawn[j, 1]) for i, j in pairs)
    # 100 passes are 500 places of 20 different ones.
    assert by_chance(data) == pytest.approx(2 * n_matched / n_drawn, abs=0.02)


def test_annotators_who_place_boxes_at_random_agree_as_by_chance():
    above = []
    for seed in range(15):
        data = random_data(seed, n_images=12)
        above.append(1 - (1 - f1(data)) / (1 - by_chance(data)))
    error = np.std(above) / np.sqrt(len(above))
    assert error < 0.05
    assert abs(np.mean(above)) < 3 * error


@pytest.mark.parametrize("matcher", MATCHERS)
def test_names_and_the_order_of_images_have_no_effect(matcher):
    n_annotators = 4 if matcher == "greedy" else 2
    data = random_data(5, n_annotators=n_annotators)
    found = counted(data, matcher=matcher).sums[0]
    images = np.random.default_rng(0).permutation(6)
    annotators = np.arange(n_annotators)[::-1]
    each = zip(
        images[data.annotations.image].tolist(),
        annotators[data.annotations.annotator].tolist(),
        data.annotations.category.tolist(),
        map(tuple, data.annotations.bbox.tolist()),
        strict=True,
    )
    renamed = dataset([*each][::-1], size=(40, 40), n_images=6, n_annotators=n_annotators)
    assert (counted(renamed, matcher=matcher).sums[0][images] == found).all()


@pytest.mark.parametrize("seed", range(5))
def test_names_of_empty_images_have_no_effect(seed):
    """Images without boxes differ in who was asked about them."""
    rng = np.random.default_rng(seed)
    drawn = random_data(seed, n_annotators=3, n_images=12)
    kept = np.flatnonzero(drawn.annotations.image < 6)
    assigned = rng.random((12, 3)) < 0.8
    assigned[:6] = True
    data = replace(drawn, annotations=drawn.annotations.take(kept), assigned=assigned)
    found = counted(data).sums[0]
    order = rng.permutation(12)
    place = np.argsort(order)
    of = data.annotations
    moved = np.argsort(place[of.image], kind="stable")
    renamed = replace(of, image=place[of.image].astype(np.int32)).take(moved)
    turned = replace(data, annotations=renamed, assigned=assigned[order])
    assert counted(turned).sums[0].sum(0).tolist() == found.sum(0).tolist()


def test_of_large_data_random_images_are_compared(monkeypatch):
    data = random_data(9, n_images=200)
    whole = by_chance(data)
    monkeypatch.setattr(module, "_ENOUGH", 600)
    sums = counted(data).sums[0]
    n_compared = (sums[:, 1] > 0).sum()
    assert 40 < n_compared < 120
    assert sums[:, 0].sum() / sums[:, 1].sum() == pytest.approx(whole, abs=0.1)
    assert (counted(data, seed=1).sums[0] != sums).any()


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
    monkeypatch.setattr(curve, "_MOST", 60)
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


GRID = np.arange(1, 10) / 10


def survival(samples):
    """Return the share of samples that reach each threshold."""
    return np.mean(np.asarray(samples)[:, None] >= GRID, axis=0)


def test_distance_is_that_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(0)
    # Multiples of the step, between the thresholds, so that the grid has all values.
    observed = np.round(rng.beta(8, 3, 200), 1) + 0.05
    expected = np.round(rng.beta(1, 6, 300), 1) + 0.05
    found = threshold_choice(GRID, survival(observed), survival(expected))
    everywhere = np.union1d(observed, expected)
    shares = [np.mean(each[:, None] <= everywhere, axis=0) for each in (observed, expected)]
    assert found["distance"] == pytest.approx(np.abs(shares[0] - shares[1]).max())
    # Densities of beta distributions: equal near 0.43.
    assert found["threshold"] in {0.4, 0.5}
    assert found["lowest"] <= found["threshold"] <= found["highest"]
    assert found["reason"] == ""


@pytest.mark.parametrize(
    ("observed", "by_chance", "reason"),
    [
        (GRID * np.nan, GRID, "agreement by chance is not known"),
        (
            0.6 - GRID / 2,
            0.5 - GRID / 2,
            "no threshold stands out: F1 is at most 0.10 above",
        ),
        (np.ones(9), np.zeros(9), "no threshold stands out: F1 is at most 1.00 above"),
        (1 - GRID, GRID * 0, "no threshold stands out: F1 is at most 0.90 above"),
    ],
)
def test_none_suggests_itself(observed, by_chance, reason):
    found = threshold_choice(GRID, observed, by_chance)
    assert np.isnan(found["threshold"])
    assert found["reason"].startswith(reason)


def test_none_suggests_itself_where_another_choice_of_images_moves_it_far():
    curves = GRID, 0.9 - (GRID - 0.4) ** 2, 0.3 - 0.3 * GRID
    assert threshold_choice(*curves, (0.4, 0.7))["reason"] == ""
    found = threshold_choice(*curves, (0.3, 0.8))
    assert np.isnan(found["threshold"])
    assert found["reason"].startswith("no threshold stands out")
