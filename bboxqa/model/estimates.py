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
        NaN where unknown.
    status : str
        "ok", or why the value is undefined, or a caution for its reader.
    observed, expected : float
        Observed and expected agreement, as shares; for an alpha, the disagreements D_o and D_e. NaN
        for coefficients without them.
    n_shared : int, optional
        For a mean over pairs: the number of compared answers, summed over the pairs.
    n_clusters : int
        The number of clusters (units, images or recordings) that it is computed from.
    advice : str
        What would make an undefined coefficient defined; may be empty.
    interval_shift: float
        How far the interval was moved so that it contains the value; else 0.
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
    """The chance-corrected agreement of every pair of annotators who share units.

    Attributes
    ----------
    first, second : (P,) int32
        The annotators, ``first < second``, sorted.
    n_shared : (P,) int64
        The number of compared answers.
    observed, expected, kappa : (P,) float64
        kappa is NaN where it is undefined.
    standard_error : (P,) float64
        By linearisation, otherwise by the jackknife; NaN where it was not asked for, and where a
        pair agrees on everything.
    interval : (P, 2) float64
        The 95 % interval from the standard error (`fisher_interval`), not from the bootstrap; NaN
        where that is NaN.
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
    """All coefficients of one table of ratings.

    Attributes
    ----------
    task : str, optional
        The part of the data that the table holds; None where it holds all.
    n_units, n_annotators, n_ratings : int
        Their numbers; only units with at least one rating count.
    coefficients : mapping of str to Estimate
        By name, such as ``"krippendorff_alpha"``.
    annotator_names : tuple of str
        The names for the indices in `pairs`.
    pairs : PairTable, optional
        The values that a pairwise coefficient is the mean of.
    annotators : mapping of str to float
        Krippendorff's alpha when each annotator is left out.
    values : mapping of str to mapping
        For each value, alpha when it is left out (``"alpha_without"``), and Fleiss' kappa of the
        value against all others (``"fleiss_kappa"``) with its ``"standard_error"`` and the bounds
        of its 95 % interval (``"low"``, ``"high"``), not from the bootstrap.
    notes : tuple of str
        Remarks needed to read the numbers.
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
        A label, or the name of the background.
    agreement : Estimate
        `both` divided by `either`; NaN where no compared annotator uses the label.
    both, either : int
        The time in which both annotators of a pair use the label, and in which at least one of them
        does; in sample points, summed over the pairs.
    n_recordings : int
        The number of compared recordings in which the label occurs.
    """

    label: str
    agreement: Estimate
    both: int
    either: int
    n_recordings: int
