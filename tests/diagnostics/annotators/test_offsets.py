"""Offsets of edges, against counting pair by pair."""

from collections import Counter, defaultdict
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import stdtr
from support.datasets import dataset
from support.matched import matched, objects_of, random_data

from bboxqa.diagnostics.object_cells import RatioSums, holm
from bboxqa.diagnostics.offsets import offsets, p_values
from bboxqa.diagnostics.parts import parts
from bboxqa.model.annotations import EDGES


def edges(box):
    x, y, width, height = box
    return np.array([x, y, x + width, y + height])


def middle(differences, weights):
    """Return the value nearest to 0 of which others of 60 % of the weight have as much or more."""
    weights = np.minimum(weights, sorted([*weights, max(weights)])[-2 - (len(weights) > 1)])
    for sign in (1, -1):
        reached = [
            size
            for size in sign * np.array(differences)
            if size > 0 and 5 * weights[sign * differences >= size].sum() >= 3 * weights.sum()
        ]
        if reached:
            return sign * max(reached)
    return 0.0


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_offsets_are_those_of_pairs_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    apart, sizes = defaultdict(list), defaultdict(list)
    n_shared = Counter()
    boxes = units.data.annotations.bbox
    odd = parts(units).odd_boxes
    for _, _, everything in objects_of(units):
        drawn = {who: row for who, row in everything.items() if not odd[row]}
        n_shared.update(list(drawn) if len(drawn) > 1 else [])
        for who, other in permutations(drawn, 2):
            apart[who, other].append(edges(boxes[drawn[who]]) - edges(boxes[drawn[other]]))
            sizes[who].append(boxes[drawn[other]][2:])
    table = offsets(units)
    assert table["edge"].tolist() == list(EDGES) * n_annotators
    for who in range(n_annotators):
        of = slice(4 * who, 4 * who + 4)
        others = [pair for pair in apart if pair[0] == who]
        weights = [len(apart[pair]) for pair in others]
        assert table["n"][of].tolist() == [n_shared[who]] * 4
        assert table["n_others"][of].tolist() == [len(others)] * 4
        for name, function in (("offset_px", np.mean), ("median_px", np.median)):
            values = np.array([function(apart[pair], axis=0) for pair in others])
            expected = [middle(column, np.array(weights)) for column in values.T]
            if name == "offset_px" and len(others) == 2:
                # Of two that differ by chance alone, the mean.
                error = np.sqrt(sum(np.var(apart[p], axis=0) / len(apart[p]) for p in others))
                mean = np.average(values, axis=0, weights=weights)
                expected = np.where(np.abs(values[0] - values[1]) < 3 * error, mean, expected)
            assert table[name][of] == pytest.approx(expected, abs=1e-9)
        percent = 100 * table["offset_px"][of] / np.tile(np.mean(sizes[who], axis=0), 2)
        assert table["offset_percent"][of] == pytest.approx(percent, abs=1e-9)


def shifted_data(seed, shift, n_annotators=3):
    """Return annotators of 40 images, the third `shift` px to the right."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(40):
        for place in rng.integers(5, 40, (3, 2)) + np.array([[0, 0], [100, 0], [0, 100]]):
            for annotator in range(n_annotators):
                x, y = place + rng.normal(0, 1, 2) + np.array([shift * (annotator == 2), 0])
                rows.append((image, annotator, 0, (x, y, 24.0, 24.0)))
    return dataset(rows)


@pytest.mark.parametrize("n_annotators", [3, 4])
def test_a_shift_is_found_and_leaves_the_others_where_they_are(n_annotators):
    rows = [
        row
        for seed in range(5)
        for row in offsets(matched(shifted_data(seed, 5.0, n_annotators), bootstrap=200)).records()
    ]
    covered = []
    for row in rows:
        shifted = row["annotator"] == "annotator 0002" and row["edge"] in {"left", "right"}
        assert row["offset_px"] == pytest.approx(5.0 * shifted, abs=0.5)
        assert row["n_others"] == n_annotators - 1
        # Two others may as well be those who err.
        assert row["systematic"] == (shifted and n_annotators > 3)
        covered.append(row["offset_px_low"] <= 5 * shifted <= row["offset_px_high"])
    assert np.mean(covered) > 0.85


def test_p_values_of_images_with_one_object_are_those_of_student():
    # Here, since each process that collects tests would import it.
    from scipy.stats import ttest_1samp

    # With denominators of 1, the ratio is the mean over images.
    numbers = np.random.default_rng(2).normal(0.3, 1, 12)
    images = SimpleNamespace(image_names=("",) * 12)
    matched, mean = SimpleNamespace(data=images, bootstrap=0, seed=0), (np.zeros(12), np.arange(12))
    sums = RatioSums(matched, 1, {"mean": [(*mean, numbers, 1.0)]})
    found = sums.ratios(null=0.0)["mean"].p_value[0]
    assert found == pytest.approx(ttest_1samp(numbers, 0).pvalue)


def test_holm_by_hand():
    # Sorted: 0.005 · 4 = 0.02, 0.01 · 3 = 0.03, 0.03 · 2 = 0.06, 0.04 · 1 = 0.04 → 0.06.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]
    assert holm(np.zeros(0)).tolist() == []


def test_an_annotator_who_shares_few_objects_with_each_of_many_others_is_found():
    # Three images with each of eight others.
    rng = np.random.default_rng(2)
    rows = [
        (image, who, 0, (*(50 + rng.normal(0, 1, 2) + [4 * (who == 8), 0]), 24.0, 24.0))
        for image in range(24)
        for who in (image % 8, 8)
    ]
    table = offsets(matched(dataset(rows), bootstrap=200))
    found = {(row["annotator"][-1], row["edge"]) for row in table.records() if row["systematic"]}
    assert found >= {("8", "left"), ("8", "right")}
    assert not found & {("8", "top"), ("8", "bottom")}


def test_p_values_by_hand():
    # With 5 images, an interval of ±2.776 around 2 has an error of 1.
    figures, n_images = np.array([[2.0], [-0.776], [4.776]]), np.array([5])
    assert p_values(figures, n_images)[0] == pytest.approx(2 * stdtr(4, -2), abs=1e-4)
    assert p_values(figures * [[0.0], [1], [1]], n_images).tolist() == [1]
    assert np.isnan(p_values(figures * [[1.0], [np.nan], [1]], n_images)).all()
