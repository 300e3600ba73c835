"""Intervals of ratios over images."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from support.resampled import expanded

from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals, ratio_intervals

RNG = np.random.default_rng(4)
BELOW = RNG.integers(1, 9, (3, 20))
ABOVE = RNG.integers(0, BELOW + 1)


def test_against_draws_one_by_one():
    rng, n_images = np.random.default_rng(7), BELOW.shape[1]
    ratios = []
    for _ in range(200):
        drawn = rng.integers(0, n_images, n_images)
        ratios.append(ABOVE[:, drawn].sum(1) / BELOW[:, drawn].sum(1))
    expected = expanded(ratios, n_images).T
    assert ratio_intervals(ABOVE, BELOW, 200, 7) == pytest.approx(expected)


def test_sparse_sums_and_images_that_add_nothing():
    wide = [np.insert(sums, [0, 5, 20], 0, axis=1) for sums in (ABOVE, BELOW)]
    found = ratio_intervals(*map(csr_array, wide), 100, 7)
    assert found == pytest.approx(ratio_intervals(ABOVE, BELOW, 100, 7))


def test_few_images_of_a_ratio_among_many():
    # Of 20 images, 4 are those of the ratio: the interval is that of 4, not of 20.
    above, below = (np.append(sums[0, :4], np.zeros(16)) for sums in (ABOVE, BELOW))
    rest = np.append(np.zeros(4), np.ones(16))
    found = ratio_intervals(np.stack([above, rest]), np.stack([below, rest]), 500, 3)
    rng = np.random.default_rng(3)
    places = [rng.integers(0, 20, 20) for _ in range(500)]
    with np.errstate(invalid="ignore"):
        ratios = [above[drawn].sum() / below[drawn].sum() for drawn in places]
    assert found[0] == pytest.approx(expanded(ratios, 4))
    assert found[1].tolist() == [1, 1]


def test_no_interval_from_one_image_or_without_draws():
    below = np.array([[3, 0, 0], [3, 2, 0], [0, 0, 0]])
    found = ratio_intervals(below, below, 100, 0)
    # Images 0 and 1 are drawn twice; the second ratio is 1 in each draw.
    assert found[1].tolist() == [1, 1]
    assert np.isnan(found[[0, 2]]).all()
    assert np.isnan(ratio_intervals(below, below, 0, 0)).all()
    assert ratio_intervals(np.zeros((0, 3)), np.zeros((0, 3)), 100, 0).shape == (0, 2)


def test_numbers_below_0_are_not_cut_off():
    offset = np.full((1, 12), -5.0)
    assert ratio_intervals(offset, np.ones((1, 12)), 50, 0).tolist() == [[-5, -5]]


@pytest.mark.parametrize("largest", [5, 1 << 20])
@pytest.mark.parametrize("make", [np.asarray, csc_array])
def test_sums_of_counts_are_exact(largest, make):
    # A power of two changes no digit, and fractions are added in double precision. Sums over 30
    # images of up to 2 ** 20 exceed what single precision holds.
    counts = np.random.default_rng(0).integers(0, largest, (2, 30)) * 2.0 + 1

    def intervals(table):
        means = np.asarray(table.sum(1)).ravel() / 30
        return drawn_intervals(means, [make(table)], lambda sums: sums / 30, 300, 0)

    assert intervals(counts).tolist() == (1024 * intervals(counts / 1024)).tolist()
