"""Offsets of edges, against counting object by object."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from support.datasets import dataset
from support.matched import matched, objects_of, random_data

from bboxqa.diagnostics.annotators.image_ratios import RatioSums, holm
from bboxqa.diagnostics.annotators.offsets import EDGES, offsets


def edges(box):
    x, y, width, height = box
    return np.array([x, y, x + width, y + height])


@pytest.mark.parametrize(("seed", "n_annotators"), [(1, 2), (2, 3), (3, 5)])
def test_offsets_are_those_of_objects_one_by_one(seed, n_annotators):
    units = matched(random_data(seed, n_annotators=n_annotators))
    apart, sizes = defaultdict(list), defaultdict(list)
    boxes = units.data.annotations.bbox
    for _, _, drawn in objects_of(units):
        for who, row in drawn.items():
            others = [boxes[other] for name, other in drawn.items() if name != who]
            if others:
                apart[who].append(edges(boxes[row]) - np.mean([edges(b) for b in others], axis=0))
                sizes[who].append(np.mean(others, axis=0)[2:])
    table = offsets(units)
    assert table["edge"].tolist() == list(EDGES) * n_annotators
    for who in range(n_annotators):
        of = slice(4 * who, 4 * who + 4)
        assert table["n"][of].tolist() == [len(apart[who])] * 4
        assert table["offset_px"][of] == pytest.approx(np.mean(apart[who], axis=0), abs=1e-9)
        assert table["median_px"][of] == pytest.approx(np.median(apart[who], axis=0), abs=1e-9)
        percent = 100 * np.sum(apart[who], axis=0) / np.tile(np.sum(sizes[who], axis=0), 2)
        assert table["offset_percent"][of] == pytest.approx(percent, abs=1e-9)


def shifted_data(seed, shift):
    """Return three annotators of 40 images, the third `shift` px to the right."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(40):
        for place in rng.integers(5, 40, (3, 2)) + np.array([[0, 0], [100, 0], [0, 100]]):
            for annotator in range(3):
                x, y = place + rng.normal(0, 1, 2) + np.array([shift * (annotator == 2), 0])
                rows.append((image, annotator, 0, (x, y, 24.0, 24.0)))
    return dataset(rows)


def test_a_shift_is_found_with_its_direction():
    table = offsets(matched(shifted_data(1, 5.0), bootstrap=200))
    rows = {row["edge"]: row for row in table.records() if row["annotator"] == "annotator 0002"}
    for edge in ("left", "right"):
        assert rows[edge]["offset_px_low"] < 5 < rows[edge]["offset_px_high"]
        assert rows[edge]["systematic"]
    for edge in ("top", "bottom"):
        assert rows[edge]["offset_px_low"] < 0 < rows[edge]["offset_px_high"]
        assert not rows[edge]["systematic"]


def test_boxes_too_far_apart_to_match_have_an_offset():
    # Boxes of 20 px, 12 px apart: their IoU is 8 / 32 = 0.25.
    rows = [(0, 0, 0, (10, 10, 20, 20)), (0, 1, 0, (22, 10, 20, 20))]
    table = offsets(matched(dataset(rows)))
    assert table["offset_px"].tolist() == [-12, 0, -12, 0, 12, 0, 12, 0]
    assert table["offset_percent"].tolist() == [-60, 0, -60, 0, 60, 0, 60, 0]


def test_few_alarms_without_a_shift():
    alarms = [offsets(matched(shifted_data(seed, 0.0)))["systematic"].any() for seed in range(40)]
    # With a true rate of 5 %, more than 6 of 40 come about in 0.3 % of samples.
    assert sum(alarms) <= 6


def test_p_values_of_images_with_one_object_are_those_of_student():
    # With denominators of 1, the ratio is the mean over images.
    numbers = np.random.default_rng(2).normal(0.3, 1, 12)
    sums = RatioSums(1, 12)
    sums.add(np.zeros(12), np.arange(12), numbers, np.ones(12))
    assert sums.ratios(0, 0).p_value[0] == pytest.approx(ttest_1samp(numbers, 0).pvalue)


def test_p_values_without_spread():
    sums = RatioSums(3, 3)
    for row, numbers in enumerate(([5, 5, 5], [0, 0, 0], [5, 0, 0])):
        n_objects = [1, 1, 1] if row < 2 else [1, 0, 0]
        sums.add(np.full(3, row), np.arange(3), np.array(numbers), np.array(n_objects))
    found = sums.ratios(0, 0).p_value
    assert found[:2].tolist() == [0, 1]
    assert np.isnan(found[2])


def test_holm_by_hand():
    # Sorted: 0.005 · 4 = 0.02, 0.01 · 3 = 0.03, 0.03 · 2 = 0.06, 0.04 · 1 = 0.04 → 0.06.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]
    assert holm(np.zeros(0)).tolist() == []
