"""Intervals of ratios over images."""

import numpy as np
import pytest
from scipy.sparse import csc_array
from support.resampled import expanded

from bboxqa.agreement.intervals import drawn_intervals, ratio_intervals

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
