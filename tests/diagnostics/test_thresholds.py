"""The threshold that data suggest, or why none does."""

import numpy as np
import pytest

from bboxqa.pipelines.diagnosis.sensitivity import threshold_choice

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
        (0.6 - GRID / 2, 0.5 - GRID / 2, "at no threshold is F1 more than 0.10 above"),
        (np.ones(9), np.zeros(9), "all thresholds from 0.1 to 0.9 separate"),
        (1 - GRID, GRID * 0, "F1 is most above F1 by chance at the lowest threshold, 0.1"),
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
    assert found["reason"].startswith(
        "the choice of images decides which of the thresholds 0.3 to 0.8 is best"
    )
