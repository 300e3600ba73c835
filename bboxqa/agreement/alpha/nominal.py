"""Krippendorff's nominal alpha from coincidences: pooled, per image, per category."""

from dataclasses import dataclass

import numpy as np

from bboxqa.agreement.counts.pair_counts import PairCounts
from bboxqa.agreement.uncertainty.estimator import NO_PAIR, NO_VARIATION, OK, ONE_IMAGE
from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, sum_by
from bboxqa.model.reliability import Coincidences


@dataclass(frozen=True, slots=True)
class Alpha:
    """A coefficient with its observed and expected disagreement."""

    value: float
    """NaN where undefined."""
    observed: float
    expected: float
    """The disagreements D_o and D_e, as shares in [0, 1]."""
    status: str
    """Why the value is undefined, or "ok"."""


def nominal_alpha(
    total: FloatArray, agreeing: FloatArray, squares: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return alpha, observed and expected disagreement, each (K,) float64.

    alpha = 1 − D_o / D_e with D_o = 1 − Σ o_cc / n and D_e = 1 − Σ n_c (n_c − 1) / (n (n − 1)) for
    nominal data [1]_. All are NaN without pairable values; alpha also where only one value occurs.
    The arguments are n, the number of pairable values, Σ o_cc, and Σ n_c², each (K,) float64.

    References
    ----------
    .. [1] K. Krippendorff (2011), Computing Krippendorff's alpha-reliability, University of
           Pennsylvania. See also A. F. Hayes and K. Krippendorff (2007), Answering the call for a
           standard reliability measure for coding data, Communication Methods and Measures 1(1),
           doi:10.1080/19312450709336664.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (total - agreeing) / total
        expected = (total * total - squares) / (total * (total - 1))
        alpha = 1 - observed / expected
    # With several values, squares is below n² by at least 2 (n − 1).
    alpha[~(expected > 0)] = np.nan
    return alpha, observed, expected


def value_sums(data: Coincidences) -> tuple[FloatArray, FloatArray]:
    """Return the marginal and the diagonal of each value over all groups, (K,) each."""
    return (
        sum_by(data.value, data.marginal, data.n_values),
        sum_by(data.value, data.diagonal, data.n_values),
    )


def alpha_of_sums(marginal: FloatArray, agreeing: float, *, one_group: bool) -> Alpha:
    """Return alpha with its status, from pairable marginals n_c and Σ o_cc.

    If only one value occurs, alpha is undefined; with `one_group` it is 1, as the annotators of a
    single image agree on everything.
    """
    total = marginal.sum()
    if total == 0:
        return Alpha(np.nan, np.nan, np.nan, NO_PAIR)
    sums = (np.array([number]) for number in (total, agreeing, (marginal**2).sum()))
    value, observed, expected = (float(array[0]) for array in nominal_alpha(*sums))
    if expected > 0:
        return Alpha(value, observed, expected, OK)
    if one_group:
        return Alpha(1.0, observed, expected, ONE_IMAGE)
    return Alpha(np.nan, observed, expected, NO_VARIATION)


def pooled_alpha(data: Coincidences, n_groups: int | None = None) -> Alpha:
    """Return alpha over the units of all groups together; `n_groups` is their number.

    If only one value occurs, alpha is 1 with a single group, and undefined with several groups.
    """
    marginal, diagonal = value_sums(data)
    one_group = (data.n_groups if n_groups is None else n_groups) == 1
    return alpha_of_sums(marginal, diagonal.sum(), one_group=one_group)


def alpha_per_group(data: Coincidences) -> FloatArray:
    """Return alpha of each group alone, (G,) float64.

    It is 1 if all values of a group agree, even if only one value occurs, and NaN if the group has
    no pairable values.
    """
    marginal = sum_by(data.group, data.marginal, data.n_groups)
    diagonal = sum_by(data.group, data.diagonal, data.n_groups)
    squares = sum_by(data.group, data.marginal**2, data.n_groups)
    alpha, observed, _ = nominal_alpha(marginal, diagonal, squares)
    alpha[observed == 0] = 1.0
    return alpha


def binary_alpha(
    marginal: FloatArray, diagonal: FloatArray, total: FloatArray | float
) -> FloatArray:
    """Return alpha of one value against all others, elementwise.

    With a = n_c and b = n − n_c, the value c disagrees with the rest 2 (n_c − o_cc) times among
    n pairs, and by chance 2 a b / (n (n − 1)).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha: FloatArray = 1 - (total - 1) * (marginal - diagonal) / (
            marginal * (total - marginal)
        )
    alpha[~(marginal * (total - marginal) > 0)] = np.nan
    return alpha


def alpha_per_category(data: Coincidences) -> tuple[FloatArray, FloatArray]:
    """Return alpha of each value against all others together, and its pairable frequency.

    Both are (K,) float64. Alpha is NaN if the value, or every other value, does not occur
    ([1]_, ch. 12: the distinction of one value from the rest).

    References
    ----------
    .. [1] K. Krippendorff (2022), Content analysis: an introduction to its methodology, 4th
           edition, SAGE, doi:10.4135/9781071878781.
    """
    marginal, diagonal = value_sums(data)
    return binary_alpha(marginal, diagonal, float(marginal.sum())), marginal


def images_per_value(data: Coincidences) -> IndexArray:
    """Return the number of groups, such as images, in which each value is pairable, (K,) int64."""
    return np.bincount(data.value[data.marginal > 0], minlength=data.n_values)


def alpha_per_pair(
    counts: PairCounts,
) -> tuple[IntArray, IntArray, FloatArray, IndexArray]:
    """Return alpha of each pair of annotators who were asked about the same unit.

    Returns
    -------
    first, second : (P,) int32
        The annotators, ``first < second``, sorted.
    alpha : (P,) float64
        NaN where undefined.
    n_units : (P,) int64
        Units that were compared.
    """
    keys, n_units = counts.unit_pair, counts.n_units
    total = (2 * n_units).astype(np.float64)
    place = np.searchsorted(keys, counts.agreeing_pair)
    same = sum_by(place, 2 * counts.n_agreeing, len(keys))
    owner = np.searchsorted(keys, counts.pair_value // counts.n_values)
    squares = sum_by(owner, counts.n_given * counts.n_given, len(keys))
    alpha = nominal_alpha(total, same, squares)[0]
    first, second = (side.astype(np.int32) for side in np.divmod(keys, counts.n_annotators))
    return first, second, alpha, n_units
