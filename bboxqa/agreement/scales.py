"""Scales that describe a coefficient in words, and the certainty of the description."""

from dataclasses import dataclass
from math import erfc, inf, isnan, sqrt
from types import MappingProxyType

import numpy as np

from bboxqa.agreement.uncertainty.estimator import ROUNDING
from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError


@dataclass(frozen=True, slots=True)
class Bin:
    """One step of a scale, which ends where the next better one begins."""

    label: str
    """The author's word."""
    lower: float
    """Its lower bound; minus infinity for the worst."""
    includes_lower: bool
    """Whether the bound belongs to this step, and not to the next worse one."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of words for coefficients.

    Attributes
    ----------
    name : str
        Its authors.
    bins : tuple of Bin
        Best to worst.
    source : str
        Where the bounds are printed.
    """

    name: str
    bins: tuple[Bin, ...]
    source: str


def _scale(name: str, source: str, *steps: tuple[str, float, bool]) -> Scale:
    """Return a scale of steps (label, lower, includes_lower)."""
    bins = tuple(Bin(word, lower, includes_lower=includes) for word, lower, includes in steps)
    return Scale(name, bins, source)


# Landis and Koch: doi:10.2307/2529310.
SCALES = MappingProxyType(
    {
        "landis_koch": _scale(
            "Landis and Koch",
            "Landis and Koch (1977), The measurement of observer agreement for categorical data, "
            "Biometrics 33(1), p. 165: below 0.00, 0.00-0.20, 0.21-0.40, 0.41-0.60, 0.61-0.80, "
            "0.81-1.00",
            ("almost perfect", 0.8, False),
            ("substantial", 0.6, False),
            ("moderate", 0.4, False),
            ("fair", 0.2, False),
            ("slight", 0.0, True),
            ("poor", -inf, False),
        ),
        "krippendorff": _scale(
            "Krippendorff",
            "Krippendorff (2004), Content Analysis, 2nd edition, p. 241: at least 0.800, and at "
            "least 0.667 where tentative conclusions are acceptable",
            ("reliable", 0.8, True),
            ("tentative conclusions only", 0.667, True),
            ("unreliable", -inf, False),
        ),
        "fleiss": _scale(
            "Fleiss",
            "Fleiss (1981), Statistical Methods for Rates and Proportions, 2nd edition, p. 218: "
            "greater than 0.75, between 0.40 and 0.75, below 0.40",
            ("excellent", 0.75, False),
            ("fair to good", 0.4, True),
            ("poor", -inf, False),
        ),
        "altman": _scale(
            "Altman",
            "Altman (1991), Practical Statistics for Medical Research, p. 404: below 0.20, "
            "0.21-0.40, 0.41-0.60, 0.61-0.80, 0.81-1.00; 0.20 itself is counted as the other "
            "bounds are",
            ("very good", 0.8, False),
            ("good", 0.6, False),
            ("moderate", 0.4, False),
            ("fair", 0.2, False),
            ("poor", -inf, False),
        ),
        "cicchetti_sparrow": _scale(
            "Cicchetti and Sparrow",
            "Cicchetti and Sparrow (1981), Developing criteria for establishing interrater "
            "reliability of specific items, American Journal of Mental Deficiency 86(2), "
            "pp. 127-137: below 0.40, 0.40-0.59, 0.60-0.74, 0.75-1.00",
            ("excellent", 0.75, True),
            ("good", 0.6, True),
            ("fair", 0.4, True),
            ("poor", -inf, False),
        ),
    }
)


def _reaches(step: Bin, value: float) -> bool:
    """Return whether a value is in this step or above it."""
    # A coefficient of 0.6 may be computed as 0.6000000000000001.
    return value >= step.lower - ROUNDING if step.includes_lower else value > step.lower + ROUNDING


def label(scale: Scale, value: float) -> str:
    """Return the word of a scale for a coefficient; empty where the value is NaN.

    Bounds printed with two digits leave gaps, such as 0.20 to 0.21: a step then begins right above
    the last one, so that 0.205 is "fair" to Landis and Koch. A value within 1e-12 of a bound is at
    the bound.

    Parameters
    ----------
    scale : Scale
        One of `SCALES`.
    value : float
        At most 1; it may be below -1, as an alpha can be.

    Raises
    ------
    DatasetError
        If the value is above 1.

    Examples
    --------
    >>> label(SCALES["landis_koch"], 0.61), label(SCALES["krippendorff"], 0.61)
    ('substantial', 'unreliable')
    """
    if isnan(value):
        return ""
    if value > 1 + ROUNDING:
        raise DatasetError(
            [f"scale {scale.name}: coefficient is {value}; expected at most 1, or NaN"],
            "Give the coefficient as a share, not as a percentage.",
        )
    return next((step.label for step in scale.bins if _reaches(step, value)), scale.bins[-1].label)


def _normal(value: float) -> float:
    """Return the standard normal distribution function."""
    return erfc(-value / sqrt(2)) / 2


def membership_probabilities(scale: Scale, value: float, standard_error: float) -> FloatArray:
    """Return the probability that the true coefficient is in a step or in a better one, (B,).

    The coefficient is taken as normal around `value`, truncated to [-1, 1]:
    [Φ((v − lower) / s) − Φ((v − 1) / s)] / [Φ((v + 1) / s) − Φ((v − 1) / s)]
    (Gwet 2014, Handbook of Inter-Rater Reliability, 4th edition, ch. 6, cumulative membership
    probabilities). Gwet takes the best step with a probability of at least 0.95.

    Parameters
    ----------
    scale : Scale
        With B steps, best to worst; the last probability is 1.
    value : float
        All probabilities are NaN outside [-1, 1].
    standard_error : float
        0 or more.

    Raises
    ------
    DatasetError
        If the standard error is negative.

    Examples
    --------
    >>> membership_probabilities(SCALES["fleiss"], 0.67, 0.15).round(5)
    array([0.28699, 0.96356, 1.     ])
    """
    if standard_error < 0:
        raise DatasetError(
            [f"scale {scale.name}: standard error is {standard_error}; expected 0 or more"]
        )
    # True also where either is NaN.
    if not (abs(value) <= 1 + ROUNDING and standard_error >= 0):
        return np.full(len(scale.bins), np.nan)
    if standard_error == 0:
        return np.array([float(_reaches(step, value)) for step in scale.bins])
    above = _normal((value - 1) / standard_error)
    inside = _normal((value + 1) / standard_error) - above
    lower = (max(step.lower, -1.0) for step in scale.bins)
    within = [_normal((value - bound) / standard_error) - above for bound in lower]
    return np.array(within) / inside
