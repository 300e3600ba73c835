"""The registry of coefficients, and scales of words for their values."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import inf, isnan
from types import MappingProxyType

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.chance import Expectation, agreement_weights, chance_corrected, conger_kappa
from bboxqa.agreement.consistency import cronbach
from bboxqa.agreement.estimators import ROUNDING, Estimator, normal_share, undefined
from bboxqa.agreement.levels import Distance, SetDistance, alpha
from bboxqa.agreement.pair_kappas import (
    NO_CHANCE,
    PairKappas,
    choice_pairs,
    cohen_pairs,
    mean_of_pairs,
)
from bboxqa.agreement.unit_counts import UnitCounts, unit_counts
from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.plugins import lookup
from bboxqa.core.text import unknown_name
from bboxqa.model.ratings import Ratings
from bboxqa.model.units import Cell, ReliabilityData

NONE = "none"
"""The value that means, in choice tasks, that no object was picked."""

REPEATED = (
    "undefined: an annotator answered a unit several times; only means over pairs are defined"
)
NAMELESS = "undefined: counts do not say who gave which value"
TWO_ONLY = "undefined: for two annotators only; for more there is fleiss_kappa"
NEEDS_WEIGHTS = "undefined: needs weights; without them it is gwet_ac1"
NEEDS_OPTIONS = "undefined: needs the number of options of each unit"


class CoefficientInputs(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Ratings and how they are compared; intermediate results are computed once."""

    ratings: Ratings
    level: str | Distance = "nominal"
    """The level of measurement, for alpha."""
    weights: str | Sequence[Sequence[float]] | FloatArray = "identity"
    """Agreement of unequal values, for the weighted coefficients."""

    @cached_property
    def matrix(self) -> FloatArray | None:
        """The agreement of each pair of values, (K, K); None for identity."""
        return agreement_weights(self.weights, self.data.n_values, self.ratings.numbers)

    @property
    def data(self) -> ReliabilityData:
        """The ratings as codes."""
        return self.ratings.data

    @property
    def numbers(self) -> FloatArray | None:
        """The values as numbers, for alpha: codes where they are sets of labels."""
        if isinstance(self.level, SetDistance):
            return np.arange(self.data.n_values, dtype=np.float64)
        return self.ratings.numbers

    @property
    def n_annotators(self) -> int:
        """The number of annotators; of anonymous ratings, the most of any unit."""
        return len(self.ratings.annotator_names) or int(self.data.annotator.max(initial=-1)) + 1

    @cached_property
    def counts(self) -> UnitCounts:
        """The counts of values by unit."""
        return unit_counts(self.data)

    @cached_property
    def repeated(self) -> bool:
        """Whether some annotator rated a unit several times."""
        unit, annotator = self.data.unit, self.data.annotator
        return bool(((unit[1:] == unit[:-1]) & (annotator[1:] == annotator[:-1])).any())

    @property
    def anonymous(self) -> bool:
        """Whether annotators are not known, so that there are no pairs."""
        return not self.ratings.annotator_names

    @cached_property
    def cohen(self) -> PairKappas:
        """Cohen's kappa of each pair of annotators."""
        return cohen_pairs(self.data, self.n_annotators, self.matrix)

    @cached_property
    def pairs(self) -> PairKappas:
        """Kappa of each pair of annotators, by choices in choice tasks."""
        if self.ratings.n_options is None:
            return self.cohen
        is_none = np.array([name == NONE for name in self.ratings.value_names], np.bool_)
        return choice_pairs(self.data, self.n_annotators, is_none, self.ratings.n_options)


def _cohen(inputs: CoefficientInputs, *, by_shared: bool) -> Estimator:
    # Kappas with user-defined weights may be below −1.
    lowest = -1.0 if inputs.matrix is None else -inf
    return mean_of_pairs(inputs.cohen, by_shared=by_shared, lowest=lowest)


def _choice(inputs: CoefficientInputs) -> Estimator:
    if inputs.ratings.n_options is None:
        return undefined(NEEDS_OPTIONS, advice="Name their column with --n-options.")
    return mean_of_pairs(inputs.pairs, nothing=NO_CHANCE)


def _scott(inputs: CoefficientInputs) -> Estimator:
    drawn = inputs.data.state == Cell.CATEGORY
    if len(np.unique(inputs.data.annotator[drawn])) != 2:
        advice = "Report fleiss_kappa, or cohen_kappa of each pair."
        return undefined(TWO_ONLY, advice=advice)
    both = replace(inputs.counts, weight=inputs.counts.weight * (inputs.counts.size >= 2))
    return chance_corrected(both, "fleiss", inputs.matrix)


def _chance(kind: Expectation, inputs: CoefficientInputs) -> Estimator:
    return chance_corrected(inputs.counts, kind, inputs.matrix)


def _gwet_ac2(inputs: CoefficientInputs) -> Estimator:
    if inputs.matrix is None:
        return undefined(NEEDS_WEIGHTS, advice="Give --weights linear or quadratic.")
    return _chance("gwet", inputs)


class Coefficient(msgspec.Struct, frozen=True):
    """How a coefficient is computed, and what it needs."""

    estimate: Callable[[CoefficientInputs], Estimator]
    """Returns an `Estimator` of `CoefficientInputs`."""
    of_pairs: bool = False
    """Whether it is a mean over pairs of annotators, so that an annotator may rate a unit several
    times."""
    nameless: bool = False
    """Whether it is defined without knowing who gave which value."""
    scale: str = ""
    """The name in `SCALES` of the words for its values; empty where there are none."""

    def __call__(self, inputs: CoefficientInputs) -> Estimator:
        """Return the coefficient, or the reason why these ratings do not define it."""
        if inputs.anonymous and not self.nameless:
            advice = "Give ratings instead of counts, one row each."
            return undefined(NAMELESS, advice=advice)
        if inputs.repeated and not self.of_pairs:
            advice = "Keep one answer of each annotator, or use a pairwise coefficient."
            return undefined(REPEATED, advice=advice)
        return self.estimate(inputs)


COEFFICIENTS: dict[str, Coefficient] = {
    "krippendorff_alpha": Coefficient(
        lambda of: alpha(of.counts, of.level, of.numbers), nameless=True, scale="krippendorff"
    ),
    "cohen_kappa": Coefficient(partial(_cohen, by_shared=True), of_pairs=True, scale="landis_koch"),
    "choice_kappa": Coefficient(_choice, of_pairs=True, scale="landis_koch"),
    "light_kappa": Coefficient(
        partial(_cohen, by_shared=False), of_pairs=True, scale="landis_koch"
    ),
    "conger_kappa": Coefficient(lambda of: conger_kappa(of.data, of.matrix), scale="landis_koch"),
    "fleiss_kappa": Coefficient(partial(_chance, "fleiss"), nameless=True, scale="landis_koch"),
    "scott_pi": Coefficient(_scott, scale="landis_koch"),
    "gwet_ac1": Coefficient(lambda of: chance_corrected(of.counts, "gwet"), nameless=True),
    "gwet_ac2": Coefficient(_gwet_ac2, nameless=True),
    "brennan_prediger": Coefficient(partial(_chance, "uniform"), nameless=True),
    "percent_agreement": Coefficient(partial(_chance, "none"), nameless=True),
    "cronbach_alpha": Coefficient(lambda of: cronbach(of.data, of.ratings.numbers)),
}
"""By name, in the order in which they are shown."""


def coefficient(name: str) -> Coefficient:
    """Return the coefficient of a name; raises ConfigError if there is none."""
    return lookup("coefficient", COEFFICIENTS, name)


def default_coefficients(inputs: CoefficientInputs) -> tuple[str, ...]:
    """Return the names of the coefficients that suit the ratings."""
    if inputs.ratings.n_options is not None:
        return ("choice_kappa",)
    if inputs.repeated:
        return ("cohen_kappa",)
    if inputs.level != "nominal":
        return ("krippendorff_alpha",)
    if inputs.anonymous:
        return ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1", "percent_agreement")
    return ("krippendorff_alpha", "cohen_kappa", "gwet_ac1", "percent_agreement")


def named_coefficients(names: Sequence[str], what: str = "coefficient") -> tuple[str, ...]:
    """Return names of coefficients in the order of the registry, ``"all"`` spelled out."""
    known = (*COEFFICIENTS, "all")
    for name in names:
        if name not in known:
            raise ConfigError(f"{what} {unknown_name(name, known)}")
    return tuple(name for name in COEFFICIENTS if name in names or "all" in names)


class Bin(msgspec.Struct, frozen=True):
    """One step of a scale, which ends where the next better one begins."""

    label: str
    """The author's word."""
    lower: float
    """Its lower bound; minus infinity for the worst."""
    includes_lower: bool
    """Whether the bound belongs to this step, and not to the next worse one."""


class Scale(msgspec.Struct, frozen=True):
    """A scale of words for coefficients."""

    name: str
    """Its authors."""
    bins: tuple[Bin, ...]
    """Best to worst."""
    source: str
    """Where the bounds are printed."""


def _scale(name: str, source: str, *steps: tuple[str, float, bool]) -> Scale:
    return Scale(name, tuple(Bin(*step) for step in steps), source)


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
    above = normal_share((value - 1) / standard_error)
    inside = normal_share((value + 1) / standard_error) - above
    lower = (max(step.lower, -1.0) for step in scale.bins)
    within = [normal_share((value - bound) / standard_error) - above for bound in lower]
    return np.array(within) / inside
