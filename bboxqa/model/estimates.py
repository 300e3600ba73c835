"""Coefficients with their uncertainty, or with the reason why they are undefined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, frozen_arrays


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
    n_clusters : int
        How many clusters (units, images, recordings) it stands on.
    advice : str
        What would define it where it is undefined; may be empty.
    interval_shift: float
        By how much the interval was moved, since it did not contain the value; else 0.
    """

    value: float
    interval: tuple[float, float] = (nan, nan)
    standard_error: float = nan
    status: str = "ok"
    observed: float = nan
    expected: float = nan
    n_shared: int | None = None
    n_clusters: int = 0
    advice: str = ""
    interval_shift: float = 0.0


@frozen_arrays
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
    standard_error : (P,) float64
        By linearisation, else by the jackknife; NaN where it was not asked for, and where a pair
        agrees on everything.
    interval : (P, 2) float64
        The 95 % interval that goes with it (`fisher_interval`), without draws; NaN likewise.
    """

    first: IntArray
    second: IntArray
    n_shared: IndexArray
    observed: FloatArray
    expected: FloatArray
    kappa: FloatArray
    standard_error: FloatArray
    interval: FloatArray

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
        all others (``"fleiss_kappa"``) with its ``"standard_error"`` and the ends of its 95 %
        interval (``"low"``, ``"high"``; without draws).
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


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """The share of time on which annotators agree on a label.

    Attributes
    ----------
    label : str
        Also the name of the background.
    agreement : Estimate
        `both` divided by `either`; NaN where no compared annotator uses the label.
    both, either : int
        The time on which both annotators of a pair, and at least one of them, use the label; summed
        over the pairs, in sample points.
    n_recordings : int
        Recordings with something to compare in which the label occurs.
    """

    label: str
    agreement: Estimate
    both: int
    either: int
    n_recordings: int
