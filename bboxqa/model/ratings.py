"""Ratings and segments of recordings, and coefficients of them with their uncertainty."""

from collections.abc import Mapping
from math import isnan, nan

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, FrozenArrays, IndexArray, IntArray
from bboxqa.core.text import clean, count
from bboxqa.model.annotations import Source
from bboxqa.model.table import Table
from bboxqa.model.units import ReliabilityData


class Ratings(FrozenArrays, frozen=True, eq=False):
    """Reliability data and the names of its codes."""

    data: ReliabilityData
    """Ratings of U units by A annotators, with K values. Its groups are the clusters that are
    resampled: the units themselves, or the images or recordings that they belong to. If an
    annotator rated a unit several times, only pairwise coefficients are defined."""
    unit_names: tuple[str, ...]
    """One per unit; empty where units are only numbered."""
    annotator_names: tuple[str, ...]
    """One per annotator."""
    value_names: tuple[str, ...]
    """One per value, in numerical order if all are numbers, else alphabetical."""
    numbers: FloatArray | None = None
    """(K,) float64. The values as numbers; None if a value is not a number."""
    n_options: IndexArray | None = None
    """(U,) int64. In choice tasks, the number of objects to choose from."""
    cluster_names: tuple[str, ...] = ()
    """One per cluster; empty where every unit is a cluster, or clusters are only numbered."""
    notes: tuple[str, ...] = ()
    """Remarks on the table for readers of a result."""

    def __repr__(self) -> str:
        return (
            f"<Ratings: {count(len(self.data.group), 'unit')}, "
            f"{count(len(self.annotator_names), 'annotator')}, "
            f"{count(len(self.data.counted), 'rating')}, values: {len(self.value_names):,}>"
        )


class Segments(FrozenArrays, frozen=True, eq=False):
    """N labelled intervals, in the order of the files."""

    recording: IntArray
    annotator: IntArray
    tier: IntArray
    """(N,) int32, as `label`. Indices into the names; a tier is a category of annotation, such as
    "posture" or "speech"."""
    start: IndexArray
    end: IndexArray
    """(N,) int64. Milliseconds from the beginning of the recording; the end is exclusive."""
    label: IntArray
    recording_names: tuple[str, ...]
    annotator_names: tuple[str, ...]
    tier_names: tuple[str, ...]
    label_names: tuple[str, ...]
    duration: IndexArray
    """(R,) int64. The length of each recording in milliseconds."""
    asked: BoolArray
    """(R, A) bool. Which annotators annotated which recordings, whole and in every tier."""
    file: IntArray | None = None
    line: IndexArray | None = None
    """(N,). The file, as an index into `sources`, and the line in it, from 1."""
    sources: tuple[Source, ...] = ()
    """The files that were read; empty for segments from elsewhere."""
    notes: tuple[str, ...] = ()
    """Remarks on the data for readers of a result."""

    def __len__(self) -> int:
        return len(self.start)


def describe(segments: Segments, place: int) -> tuple[str, str]:
    """Return the location of a segment in its file, and its content.

    For example ``"a.csv: line 7"`` and ``"'sit' from 0 ms to 1500 ms"``.
    """
    what = (
        f"'{clean(segments.label_names[segments.label[place]])}' from {segments.start[place]} ms "
        f"to {segments.end[place]} ms"
    )
    if segments.file is None or segments.line is None or not segments.sources:
        return f"segment {place}", what
    name = segments.sources[segments.file[place]].name
    return f"{name}: line {segments.line[place]}", what


def segment_problems(segments: Segments) -> list[str]:
    """Return the problems of single segments.

    A segment has a problem if it begins before the recording, ends after the recording, or does not
    end after its own start.
    """
    after = segments.end > segments.duration[segments.recording]
    checks = (
        (segments.start < 0, "expected a start of 0 or more"),
        (segments.end < segments.start, "ends before it starts; expected start, then end"),
        (segments.end == segments.start, "has no length; expected an end after the start"),
        (after, "ends after the recording, which lasts {duration} ms"),
    )
    found = [
        (int(place), expected) for wrong, expected in checks for place in np.flatnonzero(wrong)
    ]
    return [
        f"{where}: {what}: {expected.format(duration=segments.duration[segments.recording[place]])}"
        for place, expected in sorted(found, key=lambda problem: problem[0])
        for where, what in [describe(segments, place)]
    ]


class Estimate(msgspec.Struct, frozen=True):
    """A coefficient with its uncertainty."""

    value: float
    """NaN where undefined."""
    interval: tuple[float, float] = (nan, nan)
    """The 95 % interval; NaN where there is none."""
    standard_error: float = nan
    """NaN where unknown."""
    status: str = "ok"
    """Why the value is undefined, or a caution for its reader; else "ok"."""
    observed: float = nan
    expected: float = nan
    """Observed and expected agreement, as shares; for an alpha, the disagreements D_o and D_e. NaN
    for coefficients without them."""
    n_shared: int | None = None
    """For a mean over pairs: the number of compared answers, summed over the pairs."""
    n_clusters: int = 0
    """The number of clusters (units, images or recordings) that it is computed from."""
    advice: str = ""
    """What would make an undefined coefficient defined; may be empty."""
    interval_shift: float = 0.0
    """How far the interval was moved so that it contains the value; else 0."""


class PairTable(FrozenArrays, frozen=True, eq=False):
    """The chance-corrected agreement of every pair of annotators who share units."""

    first: IntArray
    second: IntArray
    """(P,) int32. The annotators, ``first < second``, sorted."""
    n_shared: IndexArray
    """(P,) int64. The number of compared answers."""
    observed: FloatArray
    expected: FloatArray
    kappa: FloatArray
    """(P,) float64. kappa is NaN where it is undefined."""
    standard_error: FloatArray
    """(P,) float64. By linearisation, otherwise by the jackknife; NaN where it was not asked for,
    and where a pair agrees on everything."""
    interval: FloatArray
    """(P, 2) float64. The 95 % interval from the standard error (`fisher_interval`), not from the
    bootstrap; NaN where that is NaN."""

    def __len__(self) -> int:
        return len(self.first)


class TaskEstimates(msgspec.Struct, frozen=True, eq=False):
    """All coefficients of one table of ratings."""

    task: str | None
    """The part of the data that the table holds; None where it holds all."""
    n_units: int
    n_annotators: int
    n_ratings: int
    """Their numbers; only units with at least one rating count."""
    coefficients: Mapping[str, Estimate]
    """By name, such as ``"krippendorff_alpha"``."""
    annotator_names: tuple[str, ...] = ()
    """The names for the indices in `pairs`."""
    pairs: PairTable | None = None
    """The values that a pairwise coefficient is the mean of."""
    annotators: Mapping[str, float] = msgspec.field(default_factory=dict)
    """Krippendorff's alpha when each annotator is left out."""
    values: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    """For each value, alpha when it is left out (``"alpha_without"``), and Fleiss' kappa of the
    value against all others (``"fleiss_kappa"``) with its ``"standard_error"`` and the bounds of
    its 95 % interval (``"low"``, ``"high"``), not from the bootstrap."""
    notes: tuple[str, ...] = ()
    """Remarks needed to read the numbers."""


class LabelAgreement(msgspec.Struct, frozen=True):
    """The share of time on which annotators agree on a label."""

    label: str
    """A label, or the name of the background."""
    agreement: Estimate
    """`both` divided by `either`; NaN where no compared annotator uses the label."""
    both: int
    either: int
    """The time in which both annotators of a pair use the label, and in which at least one of them
    does; in sample points, summed over the pairs."""
    n_recordings: int
    """The number of compared recordings in which the label occurs."""


class Grouping(msgspec.Struct, frozen=True):
    """Groups of annotators by one method."""

    method: str
    n_groups: int
    """The number of groups with the largest silhouette."""
    silhouette: float
    status: str
    """Why the groups are not reliable, or "ok"."""


class SimilarAnnotators(msgspec.Struct, frozen=True, eq=False):
    """How similarly the annotators of a table of ratings answer."""

    task: str | None
    pairs: Table
    """Pairs of annotators who share units, with n_shared, the share of equal answers and the
    cosine.
    """
    groups: Table
    """Annotators and their group under each method, counted from 1; 0 if there are no groups."""
    groupings: tuple[Grouping, ...]
    notes: tuple[str, ...]


NOT_AGREEMENT = (
    "Association is not agreement: annotators who always contradict each other are associated "
    "as strongly as annotators who always agree."
)


class Independence(FrozenArrays, frozen=True, eq=False):
    """A chi-square test of independence."""

    statistic: float
    """Chi-square; NaN where undefined."""
    p_value: float
    """The probability of so large a statistic for independent features."""
    degrees_of_freedom: int
    """Of the rows and columns that are not empty; 0 where undefined."""
    expected: FloatArray
    """(R, C) float64. The counts of independent features with these totals; NaN where undefined."""
    cramers_v: float
    """The strength of the association in [0, 1], without correction."""
    interval: tuple[float, float]
    """The 95 % interval of Cramér's V; NaN where undefined. Sampling raises V on average, so that
    the V of a weak association in a small table may lie above its own interval."""
    status: str
    """Why it is undefined, or "ok"."""
    notes: tuple[str, ...] = ()
    """Limits of the numbers."""

    @property
    def sentence(self) -> str:
        """The result of the test in words."""
        if isnan(self.p_value):
            return f"The test of independence is {self.status}."
        low, high = self.interval
        between = "" if isnan(low) else f"; 95 % interval {low:.3f} to {high:.3f}"
        percent = "less than 0.01 %" if self.p_value < 1e-4 else f"{100 * self.p_value:.3g} %"
        return (
            "If the two features were independent, a table at least as far from the expected one "
            f"would come about in {percent} of samples. That is the risk of taking "
            "so large a difference for an association where there is none "
            f"(p = {self.p_value:.3g}). The association is {self.cramers_v:.3f} strong on a scale "
            f"from 0 to 1 (Cramér's V{between}). {NOT_AGREEMENT}"
        )


class ColumnAssociation(msgspec.Struct, frozen=True, eq=False):
    """A test of independence of two columns of a table."""

    columns: tuple[str, str]
    values: tuple[tuple[str, ...], tuple[str, ...]]
    """The R values of the first column and the C values of the second column."""
    counts: IndexArray
    """(R, C) int64. The number of rows with each combination of values."""
    test: Independence
    notes: tuple[str, ...]
    """Those of the test, and how many rows were left out."""
