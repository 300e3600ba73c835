"""Labels and their codes, ratings and segments, and coefficients with their uncertainty."""

import math
from ast import literal_eval
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from math import nan
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, FrozenArrays, IndexArray, IntArray, RowArrays
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, in_natural_order
from bboxqa.model.annotations import Source
from bboxqa.model.table import Table
from bboxqa.model.units import ReliabilityData

# Longer texts are no sets of labels.
_LONGEST_SET = 10_000


class LabelColumn(RowArrays, frozen=True, eq=False):
    """N cells of a column, coded in order of appearance."""

    shared = frozenset({"labels"})
    codes: IndexArray
    """(N,) int64. Indices into `labels`; -1 where the cell is missing."""
    labels: tuple[str | None, ...]

    def missing(self) -> IndexArray:
        """Return the indices of missing cells."""
        absent = np.array([label is None for label in self.labels] + [True])
        return np.flatnonzero(absent[self.codes])

    def label(self, row: int) -> str | None:
        """Return the label of a cell; None where it is missing."""
        place = int(self.codes[row])
        return None if place < 0 else self.labels[place]


class Coded(FrozenArrays, frozen=True, eq=False):
    """N cells as codes in the order of their names."""

    codes: IntArray
    """(N,) int32. Indices into `names`; -1 where the cell is missing."""
    names: tuple[str, ...]
    numbers: FloatArray | None
    """(K,) float64. The names as numbers; None if a name is not a finite number."""


class Coder:
    """Codes labels that arrive in chunks, in order of appearance."""

    def __init__(self) -> None:
        self._seen: defaultdict[Any, int] = defaultdict()
        self._seen.default_factory = self._seen.__len__
        self._parts: list[IndexArray] = [np.zeros(0, np.int64)]

    def add(self, labels: Collection[Any]) -> None:
        """Code more labels; lists are sets of labels. Raises TypeError for other objects."""
        try:
            codes = np.fromiter(map(self._seen.__getitem__, labels), np.int64, len(labels))
        except TypeError:
            plain = [label_of(each) if isinstance(each, list | set) else each for each in labels]
            codes = np.fromiter(map(self._seen.__getitem__, plain), np.int64, len(plain))
        self._parts.append(codes)

    def finish(self) -> tuple[IndexArray, list[Any]]:
        """Return the codes of all labels, and the labels in order of appearance."""
        return np.concatenate(self._parts), list(self._seen)


def set_of(label: str) -> frozenset[str] | None:
    """Return the labels of a set that is written as a list or a set; None for any other text.

    >>> sorted(set_of("['a', 'b']")), sorted(set_of('{"choices": ["a"]}')), set_of("a, b")
    (['a', 'b'], ['a'], None)
    """
    if label[:1] not in ("[", "{") or len(label) > _LONGEST_SET:
        return None
    try:
        value = literal_eval(label)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    is_set = isinstance(value, list | set) and all(isinstance(e, str | int | float) for e in value)
    return frozenset(label_of(each) or "" for each in value) if is_set else None


def _written(labels: Iterable[str]) -> str:
    """Return a set of labels as the text of a list, which is the same for equal sets."""
    named = in_natural_order({*labels})
    return f"[{', '.join(each if number_of(each) is not None else repr(each) for each in named)}]"


def label_of(value: Any) -> str | None:
    """Return a value as text, sets in any order as one; None for None, NaN, NaT and ``pandas.NA``.

    >>> label_of(2.0), label_of(2.5), label_of(True), label_of("no"), label_of(float("nan"))
    ('2', '2.5', 'true', 'no', None)
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or is_nan or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | set | frozenset):
        return _written(label_of(each) or "" for each in value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def column_of(values: Any, name: str) -> LabelColumn:
    """Return a list, a numpy array, or a pandas, polars or pyarrow column as a `LabelColumn`."""
    cells = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(cells, np.ndarray):
        if cells.ndim != 1:
            raise DatasetError([f"{name}: has shape {cells.shape}; expected one dimension"])
        if cells.dtype.kind in "iufb":
            found, codes = np.unique(cells, return_inverse=True)
            write = str if cells.dtype.kind in "iu" else label_of
            return LabelColumn(codes.astype(np.int64), tuple(map(write, found.tolist())))
        cells = cells.tolist()
    coder = Coder()
    try:
        coder.add(cells)
    except TypeError:
        raise DatasetError([f"{name}: holds objects; expected texts or numbers"]) from None
    codes, labels = coder.finish()
    return LabelColumn(codes, tuple(map(label_of, labels)))


def code(column: LabelColumn, *, names: bool = False, natural: bool = False) -> Coded:
    """Return codes in numerical or alphabetical order.

    Equal numbers get one code, named by the shortest of their labels, as a column with a gap often
    has 1.0 for 1; and so do equal sets. With `names`, of units or annotators, 7 is not 007. With
    `natural`, p2 comes before p10.

    >>> coded = code(column_of(["10", "2", "1.0", "1", None], "value"))
    >>> coded.codes, coded.names
    (array([ 2,  1,  0,  0, -1], dtype=int32), ('1', '2', '10'))
    """
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
    occurring: list[int] = np.flatnonzero(counts).tolist()
    places = [place for place in occurring if column.labels[place] is not None]
    labels = [label for place in places if (label := column.labels[place]) is not None]
    if not names:
        sets = [*takewhile(lambda found: found is not None, map(set_of, labels))]
        labels = labels if len(sets) < len(labels) else [_written(each or ()) for each in sets]
    numbers = _numbers(labels)
    keys: Sequence[Any] = labels if numbers is None else numbers
    if names and numbers is not None:
        keys = list(zip(numbers, labels, strict=True))
    is_natural = natural and numbers is None
    order: list[Any] = in_natural_order({*labels}) if is_natural else sorted({*keys})
    rank = {key: place for place, key in enumerate(order)}
    # One more element, which a code of -1 indexes.
    codes = np.full(len(column.labels) + 1, -1, np.int32)
    codes[places] = np.fromiter(map(rank.__getitem__, keys), np.int32, len(keys))
    coded, as_numbers = codes[column.codes], None
    if names and numbers is not None:
        order = [label for _, label in order]
    elif numbers is not None:
        # Later entries replace earlier ones, so that the shortest label stays.
        named = sorted(zip(map(len, labels), labels, numbers, strict=True), reverse=True)
        name_of = {number: label for _, label, number in named}
        as_numbers = np.array([float(number) for number in order])
        order = [name_of[number] for number in order]
    return Coded(coded, tuple(order), as_numbers)


def _numbers(labels: Sequence[str]) -> Sequence[int | float] | None:
    """Return labels as numbers; None if there are no labels, or one is not a finite number."""
    numbers = [*takewhile(lambda number: number is not None, map(number_of, labels))]
    return numbers if 0 < len(numbers) == len(labels) else None  # type: ignore[return-value]


def number_of(label: str) -> int | float | None:
    """Return a label as a number, as an int if integral; None if it is not a finite number."""
    try:
        number = float(label)
        if "_" in label or not math.isfinite(number):
            return None
        return int(label) if number.is_integer() and label.strip("+- ").isdigit() else number
    except ValueError:
        return None


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
    """(N,) int32, as `label`. Indices into the names."""
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
    """(R, A) bool. Which annotators annotated which recordings."""
    file: IntArray | None = None
    line: IndexArray | None = None
    """(N,). The file, as an index into `sources`, and the line in it, from 1."""
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start)


def describe(segments: Segments, place: int) -> tuple[str, str]:
    """Return the location of a segment in its file, and its content."""
    what = (
        f"'{clean(segments.label_names[segments.label[place]])}' from {segments.start[place]} ms "
        f"to {segments.end[place]} ms"
    )
    if segments.file is None or segments.line is None or not segments.sources:
        return f"segment {place}", what
    name = segments.sources[segments.file[place]].name
    return f"{name}: line {segments.line[place]}", what


def segment_problems(segments: Segments) -> list[str]:
    """Return the problems of single segments."""
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


class PairTable(RowArrays, frozen=True, eq=False):
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


class LabelAgreement(msgspec.Struct, frozen=True):
    """The share of time on which annotators agree on a label."""

    label: str
    agreement: Estimate
    """`both` divided by `either`; NaN where no compared annotator uses the label."""
    both: int
    either: int
    """Sample points of both annotators of a pair, and of at least one, summed over the pairs."""
    n_recordings: int


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
    labels: tuple[LabelAgreement, ...] = ()
    """Of segments: the share of time on which annotators agree on each label."""


class Grouping(msgspec.Struct, frozen=True):
    """Groups of annotators by one method."""

    method: str
    n_groups: int
    silhouette: float
    status: str
    """Why the groups are not reliable, or "ok"."""


class SimilarAnnotators(msgspec.Struct, frozen=True, eq=False):
    """How similarly the annotators of a table of ratings answer."""

    task: str | None
    pairs: Table
    groups: Table
    """Annotators and their group by each method, from 1; 0 for none."""
    groupings: tuple[Grouping, ...]
    notes: tuple[str, ...]


class Independence(FrozenArrays, frozen=True, eq=False):
    """A chi-square test of independence."""

    statistic: float
    """Chi-square; NaN where undefined."""
    p_value: float
    degrees_of_freedom: int
    """Of the rows and columns that are not empty; 0 where undefined."""
    expected: FloatArray
    """(R, C) float64. NaN where undefined."""
    cramers_v: float
    """The strength of the association in [0, 1], without correction."""
    interval: tuple[float, float]
    """The 95 % interval of Cramér's V, corrected for its bias: V may lie above it."""
    status: str
    """Why it is undefined, or "ok"."""
    notes: tuple[str, ...] = ()


class ColumnAssociation(msgspec.Struct, frozen=True, eq=False):
    """A test of independence of two columns of a table."""

    columns: tuple[str, str]
    values: tuple[tuple[str, ...], tuple[str, ...]]
    counts: IndexArray
    """(R, C) int64."""
    test: Independence
    notes: tuple[str, ...]
