"""Coefficients as a user gets them: a value with its uncertainty, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan, nan

from bboxqa.arrays import FloatArray, IndexArray, IntArray, freeze

__all__ = ["CategoryAgreement", "Estimate", "PairTable", "TaskEstimates"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient with its uncertainty.

    Attributes
    ----------
    value : float
        NaN where undefined.
    interval : tuple of float
        The 95 % interval; NaN where there is none.
    standard_error : float
        NaN where none is known.
    status : str
        "ok", or why the value is undefined, or what its reader has to know.
    observed, expected : float
        Observed and expected agreement, as shares; for an alpha the disagreements D_o and D_e.
        NaN where the coefficient has none.
    n_shared : int, optional
        For the mean of pairs: how many answers were compared, summed over the pairs.
    """

    value: float
    interval: tuple[float, float] = (nan, nan)
    standard_error: float = nan
    status: str = "ok"
    observed: float = nan
    expected: float = nan
    n_shared: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """A chance-corrected agreement of every pair of annotators with something in common.

    Attributes
    ----------
    first, second : (P,) int32
        The annotators, ``first < second``, sorted.
    n_shared : (P,) int64
        How many answers were compared.
    observed, expected, kappa : (P,) float64
        kappa is NaN where it is undefined.
    """

    first: IntArray
    second: IntArray
    n_shared: IndexArray
    observed: FloatArray
    expected: FloatArray
    kappa: FloatArray

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True, eq=False)
class TaskEstimates:
    """All that was measured on one table of ratings.

    Attributes
    ----------
    task : str, optional
        What the table is part of; None where it is all there is.
    n_units, n_annotators, n_ratings : int
        Of the units, those with at least one rating.
    coefficients : mapping of str to Estimate
        By name, such as ``"krippendorff_alpha"``.
    annotator_names : tuple of str
        Of the indices in `pairs`.
    pairs : PairTable, optional
        What a pairwise coefficient is the mean of.
    annotators : mapping of str to float
        Krippendorff's alpha without each annotator.
    values : mapping of str to mapping
        Of each value, alpha without it (``"alpha_without"``), and Fleiss' kappa of it against
        all others (``"fleiss_kappa"``).
    notes : tuple of str
        What a reader of the numbers has to know.
    """

    task: str | None
    n_units: int
    n_annotators: int
    n_ratings: int
    coefficients: Mapping[str, Estimate]
    annotator_names: tuple[str, ...] = ()
    pairs: PairTable | None = None
    annotators: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class CategoryAgreement:
    """Percent agreement of pairs of annotators, overall and for each value.

    Attributes
    ----------
    value_names : tuple of str
        K values, the background among them where it occurs.
    agreement : (K,) float64
        `both` divided by `either`; NaN where the value does not occur in a comparison.
    both, either : (K,) int64
        On how much time both annotators of a pair say the value, and at least one of them; summed
        over the pairs, in sample points.
    overall : float
        The share of time on which a pair says the same, the mean over pairs weighted by time; NaN
        where no two annotators share any time.
    compared : int
        The time that pairs share, summed over the pairs, in sample points.
    status : str
        "ok", or why `overall` is undefined.
    """

    value_names: tuple[str, ...]
    agreement: FloatArray
    both: IndexArray
    either: IndexArray
    overall: float
    compared: int
    status: str

    def __post_init__(self) -> None:
        freeze(self)

    def records(self) -> list[dict[str, str | int | float | None]]:
        """Return a row for each value, None where its agreement is undefined."""
        return [
            {
                "label": name,
                "agreement": None if isnan(share) else share,
                "both": both,
                "either": either,
            }
            for name, share, both, either in zip(
                self.value_names,
                self.agreement.tolist(),
                self.both.tolist(),
                self.either.tolist(),
                strict=True,
            )
        ]
