"""What each annotator gave each object, and sums over pairs of annotators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.agreement.estimators import t_tail, table_of
from bboxqa.agreement.intervals import drawn_intervals, n_nonzero, ratio_intervals
from bboxqa.agreement.nominal import nominal_alpha
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.objects import has_meaning
from bboxqa.agreement.unit_counts import from_units
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    distinct_rows,
    pairs_within,
    remembered,
    run_starts,
)
from bboxqa.geometry.boxes import corners
from bboxqa.model.rotated_boxes import bounds, smallest_angle
from bboxqa.model.table import Column, figure_columns
from bboxqa.model.units import (
    CandidatePairs,
    Cell,
    MatchedUnits,
    ReferenceMatches,
    ReliabilityData,
    UnitTable,
)


class ObjectCells(FrozenArrays, frozen=True, eq=False):
    """C cells: an object, and an annotator who was asked about its image."""

    object: IndexArray
    image: IntArray
    annotator: IntArray
    """(C,) each."""
    annotation: IndexArray
    """(C,) int64. The annotation of the object by the annotator; -1 for none."""
    drawn: BoolArray
    """(C,) bool. Whether the annotator drew the object."""
    n_others: IndexArray
    n_others_drew: IndexArray
    """(C,) int64. The number of other annotators who were asked, and who drew the object."""
    n_voters: IndexArray
    n_voters_drew: IndexArray
    """(C,) int64. The same without models."""
    expected: BoolArray
    """(C,) bool. Whether more than half of the others, without models, drew the object."""
    n_same_category: IndexArray
    """(C,) int64. The number of others who drew it with the annotator's category; 0 if the
    annotator did not draw it."""


@remembered
def object_reliability(matched: MatchedUnits) -> ReliabilityData:
    """Return the value that each annotator gave each object of `matched.objects`."""
    image = np.zeros(int(matched.objects.max(initial=-1)) + 1, np.int32)
    data = matched.data
    image[matched.objects] = data.annotations.image
    objects = UnitTable(matched.objects, image)
    return from_units(data.annotations, objects, data.assigned, len(data.category_names))


@remembered
def object_cells(matched: MatchedUnits) -> ObjectCells:
    """Return the cells of all objects."""
    cells = object_reliability(matched)
    drawn = cells.state == Cell.CATEGORY
    annotation = np.full(len(drawn), -1)
    # Annotations of an image are sorted by annotator, like the cells of an object.
    annotation[drawn] = np.argsort(matched.objects, kind="stable")
    votes, n_same = ~matched.is_model[cells.annotator], np.zeros(len(drawn), np.int64)
    _, place, n_alike = distinct_rows(cells.unit[drawn], cells.value[drawn])
    n_same[drawn] = n_alike[place] - 1
    # Of each object, how many cells are so, without the cell itself.
    n_others, n_others_drew, n_voters, n_voters_drew = (
        np.bincount(cells.unit, each)[cells.unit].astype(np.int64) - each
        for each in (np.ones(len(drawn), np.bool_), drawn, votes, votes & drawn)
    )
    return ObjectCells(
        object=cells.unit,
        image=cells.group[cells.unit],
        annotator=cells.annotator,
        annotation=annotation,
        drawn=drawn,
        n_others=n_others,
        n_others_drew=n_others_drew,
        n_voters=n_voters,
        n_voters_drew=n_voters_drew,
        expected=2 * n_voters_drew > n_voters,
        n_same_category=n_same,
    )


def drawn_edges(matched: MatchedUnits) -> FloatArray:
    """Return the edges of boxes, bounds of rotated boxes or extents of key points, (N, 4)."""
    of = matched.data.annotations
    if of.keypoints is not None and matched.data.joint_sigmas:
        return corners(of.keypoints.extent())
    edges = corners(of.bbox)
    if of.rotated_box is not None:
        boxes = smallest_angle(of.rotated_box)
        turned = np.flatnonzero(of.rotated_box[:, 4])
        edges[turned] = bounds(boxes[turned])
    return edges


@remembered
def pairs_of_units(matched: MatchedUnits) -> CandidatePairs:
    """Return the pairs of annotations of one unit that overlap."""
    unit, near = matched.units.unit, matched.near
    return near.take(unit[near.left] == unit[near.right])


@remembered
def alpha_has_meaning(matched: MatchedUnits) -> bool:
    """Return whether alpha has a meaning, as in the result that is diagnosed."""
    drawn = np.bincount(matched.data.annotations.category).astype(np.float64)
    return has_meaning(drawn, matched.missing)


@remembered
def unit_members(matched: MatchedUnits) -> tuple[IndexArray, IndexArray]:
    """Return all pairs of annotations of one unit, (P,) each, ordered by annotator."""
    order = np.argsort(matched.units.unit, kind="stable")
    left, right = pairs_within(matched.units.unit[order])
    return order[left], order[right]


def by_annotators(
    matched: MatchedUnits, pairs: CandidatePairs
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the first and the second annotator of K pairs of them, and which each pair is of."""
    of = matched.data.annotations.annotator
    # Annotations are ordered by annotator within an image, so that `left` is by the first.
    (first, second), row, _ = distinct_rows(of[pairs.left], of[pairs.right])
    return first, second, row


class Ratios(FrozenArrays, frozen=True, eq=False):
    """K ratios of sums over images, NaN where undefined."""

    value: FloatArray
    interval: FloatArray
    """(K,) and (K, 2) float64."""
    n_counted: IndexArray
    n: IndexArray
    """(K,) int64. The sums of the numerators and denominators, where these count objects."""
    p_value: FloatArray
    """(K,) float64. P-values of tests against the ratio of the null hypothesis; NaN with fewer than
    two images, and where nothing is tested."""

    def columns(self, name: str) -> dict[str, Column]:
        """Return the ratios and their intervals as columns."""
        return figure_columns(name, self.value, self.interval)


Amounts = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | float, NDArray[Any] | float]
"""Ratios and images, (E,) each, and amounts of the numerator and denominator, (E,) or a number."""


class RatioSums:
    """Sums in each image of the numerators and denominators of K ratios of each name."""

    def __init__(
        self,
        matched: MatchedUnits | ReferenceMatches,
        n_ratios: int,
        amounts: Mapping[str, Sequence[Amounts]],
    ) -> None:
        self._names, self._draws = [*amounts], (matched.bootstrap, matched.seed)
        parts = [
            (row + place * n_ratios, image, *(np.broadcast_to(each, row.shape) for each in both))
            for place, of_name in enumerate(amounts.values())
            for row, image, *both in of_name
        ]
        row, image, above, below = map(np.concatenate, zip(*parts, strict=True))
        shape = len(amounts) * n_ratios, len(matched.data.image_names)
        # The numerators and denominators of one name after the other, dense or sparse arrays.
        self.tables = (
            table_of(row.astype(np.int64), image, above.astype(np.float64), shape),
            table_of(row.astype(np.int64), image, below.astype(np.float64), shape),
        )

    def columns(self) -> dict[str, Column]:
        """Return the ratios of each name and their intervals as columns of a table."""
        every = self.ratios().items()
        return {key: column for name, e in every for key, column in e.columns(name).items()}

    def ratios(self, null: float | None = None) -> dict[str, Ratios]:
        """Return the ratios of each name, and the p-values of tests against `null`."""
        totals = [np.asarray(table.sum(1), np.float64).ravel() for table in self.tables]
        value = ratio(*totals)
        unknown = np.full(len(value), np.nan)
        p_value = unknown if null is None else _p_values(*self.tables, value, null)
        interval = ratio_intervals(*self.tables, *self._draws)
        numbers = (each.astype(np.int64) for each in totals)
        columns = [
            np.split(each, len(self._names)) for each in (value, interval, *numbers, p_value)
        ]
        return {name: Ratios(*each) for name, *each in zip(self._names, *columns, strict=True)}


def drawn_figures(
    matched: MatchedUnits,
    tables: Sequence[Any],
    evaluate: Callable[..., FloatArray],
    n_images: IndexArray | None = None,
    highest: float = np.inf,
) -> tuple[FloatArray, FloatArray]:
    """Return figures of sums over images, (K,), and their 95 % intervals; see `drawn_intervals`."""
    whole = (np.asarray(table.sum(1), np.float64).reshape(-1, 1) for table in tables)
    value = evaluate(*whole)[:, 0]
    draws = matched.bootstrap, matched.seed
    return value, drawn_intervals(value, tables, evaluate, *draws, highest, n_images=n_images)


def n_images_of(row: IndexArray, image: IndexArray | IntArray, n_rows: int) -> IndexArray:
    """Return the number of images in which each row occurs, (R,)."""
    return np.bincount(distinct_rows(row, image)[0][0], minlength=n_rows)


def alphas_after(
    sums: tuple[FloatArray, FloatArray],
    row: IndexArray,
    value: IndexArray,
    change: FloatArray,
    more: FloatArray,
) -> FloatArray:
    """Return nominal alpha, and alpha after each of R changes, (R + 1, B).

    `sums` are how often each value occurs, (K, B), and the coincidences of values with themselves,
    (B,); `change`, (E, B), is that of a value in a row, sorted by row, and `more`, (R, B), that of
    the coincidences.
    """
    (marginal, agreeing), n_rows = sums, len(more) + 1
    of_change = change * (2 * marginal[value] + change)
    total = marginal.sum(0) + summed_rows(row + 1, change, n_rows)
    squares = (marginal**2).sum(0) + summed_rows(row + 1, of_change, n_rows)
    return nominal_alpha(total, agreeing + np.insert(more, 0, 0.0, axis=0), squares)[0]


def _p_values(numerator: Any, denominator: Any, value: FloatArray, null: float) -> FloatArray:
    """Return the p-values of t-tests of ratios against `null`, (K,)."""

    def products(one: Any, other: Any) -> FloatArray:
        return np.asarray((one * other).sum(1), np.float64).ravel()

    n_images = n_nonzero(denominator).astype(np.float64)
    squares = products(numerator, numerator)
    residual = squares - 2 * value * products(numerator, denominator)
    residual += value**2 * products(denominator, denominator)
    # Rounding leaves a residue where all images have the same ratio.
    residual[residual < 1e-12 * squares] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(residual * n_images / (n_images - 1))
        statistic = np.abs(value - null) * np.asarray(denominator.sum(1)).ravel() / scale
        found: FloatArray = 2 * t_tail(n_images - 1, statistic)
    found[value == null] = 1.0
    found[(n_images < 2) | np.isnan(value)] = np.nan
    return found


def summed_rows(group: IndexArray, rows: FloatArray, n_groups: int) -> FloatArray:
    """Return the sums of the rows of each group, (R, B) → (G, B); `group`, (R,), is sorted."""
    result = np.zeros((n_groups, rows.shape[1]))
    starts = run_starts(group)
    result[group[starts]] = np.add.reduceat(rows, starts, axis=0)
    return result


def medians(values: FloatArray, key: IndexArray, n_keys: int) -> FloatArray:
    """Return the median of the values of each key, (K,); NaN without values."""
    order = np.lexsort((values, key))
    number = np.bincount(key, minlength=n_keys)
    start = np.cumsum(number) - number
    result = np.full(n_keys, np.nan)
    some = np.flatnonzero(number)
    low, high = (start[some] + (number[some] - 1 + side) // 2 for side in (0, 1))
    result[some] = (values[order[low]] + values[order[high]]) / 2
    return result


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values adjusted for the number of tests by Holm's method (1979); NaN are ignored."""
    result = np.full(len(p_values), np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    scaled = p_values[order] * np.arange(len(order), 0, -1)
    result[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return result
