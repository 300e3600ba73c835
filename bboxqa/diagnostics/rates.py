"""How often annotators miss, add and misname objects, and what each contributes to alpha."""

from typing import Any

import numpy as np

from bboxqa.agreement.alpha.nominal import binary_alpha, coincidence_tables, nominal_alpha
from bboxqa.agreement.counts.unit_counts import (
    coincidences,
    from_units,
    join_coincidences,
    unit_counts,
)
from bboxqa.agreement.objects import values_without_meaning
from bboxqa.agreement.uncertainty.drawn_intervals import drawn_intervals
from bboxqa.agreement.uncertainty.estimator import table_of
from bboxqa.core.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    compact,
    component_of_each,
    frozen_arrays,
    rows,
    sum_by,
)
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.decomposition import Disagreements, Kind, disagreements
from bboxqa.diagnostics.object_cells import (
    ObjectCells,
    RatioSums,
    alpha_has_meaning,
    cell_values,
    object_cells,
    pairs_of_units,
    summed_rows,
)
from bboxqa.diagnostics.parts import parts
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import Annotations
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import CandidatePairs, Cell, Coincidences, MatchedUnits, ReliabilityData

# Rows that are matched at a time, to limit memory.
_ROWS = 1 << 21


@frozen_arrays
class Rematched:
    """V images, each without one annotator."""

    image: IndexArray
    annotator: IndexArray
    """(V,) int64. Sorted by image, then annotator."""
    counts: Coincidences
    """The coincidences of the values of the others; the V groups are these images."""

    def holds(self, image: IndexArray, annotator: IndexArray, n_annotators: int) -> BoolArray:
        """Return which pairs of image and annotator are among these."""
        keys = self.image * n_annotators + self.annotator
        found: BoolArray = np.isin(image * n_annotators + annotator, keys)
        return found

    def losses(
        self, data: ReliabilityData, missing: str
    ) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
        """Return the index among V, the value, and the decreases of marginal and diagonal sums."""
        before, after = coincidences(data, missing), self.counts
        start, stop = (
            np.searchsorted(before.group, self.image, side) for side in ("left", "right")
        )
        place, offsets = rows(start, stop)
        of = np.repeat(np.arange(len(self.image)), np.diff(offsets))
        return (
            np.concatenate([of, after.group]).astype(np.int64),
            np.concatenate([before.value[place], after.value]).astype(np.int64),
            _both(before.marginal[place], after.marginal),
            _both(before.diagonal[place], after.diagonal),
        )


def _both(before: FloatArray, after: FloatArray) -> FloatArray:
    return np.concatenate([before, -after])


@remembered
def rematched(matched: MatchedUnits) -> Rematched:
    """Return the images whose units may change without an annotator, matched again.

    In other images each box matches all others of its unit and no box outside, so that a unit
    without one of its annotators is still one unit.
    """
    pairs, image, who = _changed_images(matched)
    n_rows = _rows_of_images(matched, pairs)[image]
    ends = np.flatnonzero(np.diff(np.cumsum(n_rows) // _ROWS, prepend=0)) + 1
    counts = [
        _counted_again(matched, pairs, image[part], who[part])
        for part in map(slice, [0, *ends], [*ends, len(image)])
    ]
    return Rematched(image, who, join_coincidences(counts))


def _counted_again(
    matched: MatchedUnits, pairs: CandidatePairs, image: IndexArray, who: IndexArray
) -> Coincidences:
    """Return the coincidences of images that are matched again, each without one annotator."""
    annotations, kept_pairs = _without(matched.data.annotations, pairs, image, who)
    units = match(
        annotations,
        kept_pairs,
        matched.matcher,
        matched.threshold,
        category_lenient=matched.category_lenient,
    )
    asked = matched.data.assigned[image]
    asked[np.arange(len(image)), who] = False
    data = from_units(annotations, units, asked, len(matched.data.category_names))
    return coincidences(data, matched.missing)


def rows_to_rematch(matched: MatchedUnits) -> IndexArray:
    """Return how many rows it takes to match each image again without each annotator, (I,) int64.

    Rows are annotations, pairs of them, and values that the others gave.
    """
    pairs, image, _ = _changed_images(matched)
    n_rows = _rows_of_images(matched, pairs)
    return n_rows * np.bincount(image, minlength=len(n_rows))


def _rows_of_images(matched: MatchedUnits, pairs: CandidatePairs) -> IndexArray:
    """Return how many rows it takes to match each image once, (I,) int64."""
    of, n_images = matched.data.annotations, len(matched.data.image_names)
    each = np.bincount(of.image, minlength=n_images)
    each += np.bincount(of.image[pairs.left], minlength=n_images)
    each += np.bincount(matched.units.image, minlength=n_images) * matched.data.assigned.sum(1)
    return each


def _changed_images(matched: MatchedUnits) -> tuple[CandidatePairs, IndexArray, IndexArray]:
    """Return pairs that match, and images whose units may change without which annotator."""
    of, assigned = matched.data.annotations, matched.data.assigned
    n_annotators = len(matched.data.annotator_names)
    pairs = matched.near.take(matched.near.similarity >= matched.threshold - TOLERANCE)
    open_rows = _in_open_groups(matched, pairs) & (assigned.sum(1) > 2)[of.image]
    keys = np.unique(of.image[open_rows].astype(np.int64) * n_annotators + of.annotator[open_rows])
    return pairs, *np.divmod(keys, max(n_annotators, 1))


def _in_open_groups(matched: MatchedUnits, pairs: CandidatePairs) -> BoolArray:
    """Return the annotations in groups of matching boxes that are not one unit, (N,)."""
    n = len(matched.data.annotations)
    group = component_of_each(n, pairs.left, pairs.right)
    size = np.bincount(group, minlength=n)
    n_pairs = np.bincount(group[matched.pairs.left], minlength=n)
    is_open: BoolArray = (2 * n_pairs < size * (size - 1))[group]
    return is_open


def _without(
    of: Annotations, pairs: CandidatePairs, image: IndexArray, who: IndexArray
) -> tuple[Annotations, CandidatePairs]:
    """Return the annotations of the others in each (image, annotator), and the pairs of these."""
    place, number, start, offsets = _rows_of(of.image, image)
    kept = of.annotator[place] != who[number]
    new = np.cumsum(kept) - 1
    drawn, at = place[kept], number[kept]
    # Ties are broken by all shapes.
    annotations = Annotations(
        id=of.id[drawn],
        image=at.astype(np.int32),
        annotator=of.annotator[drawn],
        category=of.category[drawn],
        bbox=of.bbox[drawn],
        iscrowd=of.iscrowd[drawn],
        segmentation=None if of.segmentation is None else of.segmentation.take(drawn),
        keypoints=None if of.keypoints is None else of.keypoints.take(drawn),
        rotated_box=None if of.rotated_box is None else of.rotated_box[drawn],
    )
    pair, number, _, _ = _rows_of(of.image[pairs.left], image)
    shift = (offsets[:-1] - start)[number]
    left, right = pairs.left[pair] + shift, pairs.right[pair] + shift
    both = kept[left] & kept[right]
    return annotations, CandidatePairs(
        new[left[both]], new[right[both]], pairs.similarity[pair[both]]
    )


def _rows_of(
    group: IntArray | IndexArray, wanted: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
    """Return the rows of each wanted group, the index of the group, and where each begins."""
    start, stop = (np.searchsorted(group, wanted, side) for side in ("left", "right"))
    place, offsets = rows(start, stop)
    return place, np.repeat(np.arange(len(wanted)), np.diff(offsets)), start, offsets


@frozen_arrays
class LostCoincidences:
    """Sums of coincidences that are lost without each annotator."""

    marginal: FloatArray
    diagonal: FloatArray
    """(K,) float64. The pairable values c and the coincidences of c with itself, of all data."""
    annotator: IndexArray
    value: IndexArray
    """(L,) int64. Annotator and value, sorted."""
    lost_marginal: FloatArray
    lost_diagonal: FloatArray
    """(L,) float64. The decrease of the two sums of the value without the annotator."""
    row: IndexArray
    image: IndexArray
    part_marginal: FloatArray
    part_diagonal: FloatArray
    """(E,) each. The parts of these losses: which loss, and in which image."""


def lost_coincidences(
    data: ReliabilityData, n_annotators: int, missing: str, again: Rematched
) -> LostCoincidences:
    """Return the coincidences lost without each annotator, who is at most once in a unit.

    A unit that nobody else drew is lost with its annotator, as the object does not exist for the
    others. A unit of two values is lost as well: one value alone is not pairable. Images that are
    matched again without the annotator are counted again.
    """
    who, image, value, lost_marginal, lost_diagonal = _lost(data, n_annotators, missing, again)
    counts = unit_counts(data, missing)
    n_values = counts.n_values
    key = who * n_values + value
    keys, place = compact(key, n_annotators * n_values)
    annotator, value = np.divmod(keys, max(n_values, 1))
    # The pairable values, and the coincidences of each with itself, (K,) each.
    size = counts.size[counts.unit]
    pairable = size >= 2
    twice = counts.count * (counts.count - 1) / np.maximum(size - 1, 1)
    marginal, diagonal = (
        sum_by(counts.value, counts.count * pairable, counts.n_values),
        sum_by(counts.value, twice * pairable, counts.n_values),
    )
    return LostCoincidences(
        marginal=marginal,
        diagonal=diagonal,
        annotator=annotator,
        value=value,
        lost_marginal=sum_by(place, lost_marginal, len(keys)),
        lost_diagonal=sum_by(place, lost_diagonal, len(keys)),
        row=place,
        image=image,
        part_marginal=lost_marginal,
        part_diagonal=lost_diagonal,
    )


def _lost(
    data: ReliabilityData, n_annotators: int, missing: str, again: Rematched
) -> tuple[IndexArray, IndexArray, IndexArray, FloatArray, FloatArray]:
    """Return annotators, images and values, and the losses of marginals and diagonals there."""
    counts = unit_counts(data, missing)
    drawn = data.state == Cell.CATEGORY
    cells = np.flatnonzero((drawn | (missing == "category")) & (counts.size[data.unit] >= 2))
    unit = data.unit[cells]
    size = counts.size[unit]
    n_drawn = np.bincount(data.unit[drawn], minlength=len(counts.size))[unit]
    leaves = np.zeros(len(drawn), np.bool_)
    leaves[cells] = (size == 2) | (drawn[cells] & (n_drawn == 1))
    found = cell_values(data, counts, cells)
    value, number, stays = found.value, found.count, found.n_others
    m = counts.size[data.unit[found.cell]]
    before = number * (number - 1) / (m - 1)
    after = stays * (stays - 1) / np.maximum(m - 2, 1)
    gone = leaves[found.cell]
    lost_marginal = np.where(gone, number, number - stays)
    lost_diagonal = np.where(gone, before, before - after)
    who = data.annotator[found.cell].astype(np.int64)
    image = data.group[data.unit[found.cell]].astype(np.int64)
    kept = np.flatnonzero(~again.holds(image, who, n_annotators))
    of, new_value, new_marginal, new_diagonal = again.losses(data, missing)
    return (
        np.concatenate([who[kept], again.annotator[of]]),
        np.concatenate([image[kept], again.image[of]]),
        np.concatenate([value[kept], new_value]),
        np.concatenate([lost_marginal[kept], new_marginal]),
        np.concatenate([lost_diagonal[kept], new_diagonal]),
    )


@frozen_arrays
class Vitality:
    """The fall of pooled nominal alpha without each annotator; NaN where undefined.

    Without an annotator, the others' annotations are matched again.
    """

    alpha: float
    without: FloatArray
    """(A,) float64. Alpha of all annotators, and without each one."""
    value: FloatArray
    interval: FloatArray
    """(A,) and (A, 2) float64. Their difference, with its 95 % interval over images."""


def vitality(matched: MatchedUnits) -> Vitality:
    """Return the vitality of each annotator."""
    data, missing = matched.reliability, matched.missing
    n_annotators = len(matched.data.annotator_names)
    lost = lost_coincidences(data, n_annotators, missing, rematched(matched))

    def evaluate(*sums: FloatArray) -> FloatArray:
        alphas = _alphas(lost, *sums)
        fall: FloatArray = alphas[-1] - alphas[:-1]
        return fall

    lost_diagonal = sum_by(lost.annotator, lost.lost_diagonal, n_annotators)
    sums = lost.marginal, lost.diagonal.sum(keepdims=True), lost.lost_marginal, lost_diagonal
    *without, alpha = _alphas(lost, *(each[:, None] for each in sums))[:, 0]
    value = alpha - np.array(without)
    tables = _tables(lost, n_annotators, data, missing) if matched.bootstrap else ()
    cells = np.unique(lost.annotator[lost.row] * data.n_groups + lost.image)
    made_of = np.bincount(cells // max(data.n_groups, 1), minlength=n_annotators)
    interval = drawn_intervals(
        value, tables, evaluate, matched.bootstrap, matched.seed, n_images=made_of
    )
    return Vitality(float(alpha), np.array(without), value, interval)


def _alphas(
    lost: LostCoincidences,
    marginal: FloatArray,
    agreeing: FloatArray,
    lost_marginal: FloatArray,
    lost_diagonal: FloatArray,
) -> FloatArray:
    """Return alpha without each annotator, and of all annotators, (A + 1, B)."""
    n = len(lost_diagonal) + 1
    before = marginal[lost.value]
    change = (before - lost_marginal) ** 2 - before**2
    squares = (marginal**2).sum(0) + summed_rows(lost.annotator, change, n)
    total = marginal.sum(0) - summed_rows(lost.annotator, lost_marginal, n)
    left = np.concatenate([agreeing - lost_diagonal, agreeing])
    alphas: FloatArray = nominal_alpha(total, left, squares)[0]
    return alphas


def _tables(
    lost: LostCoincidences, n_annotators: int, data: ReliabilityData, missing: str
) -> tuple[Any, ...]:
    """Return the sums of `_alphas` by image."""
    who, shape = lost.annotator[lost.row], (len(lost.annotator), data.n_groups)
    return (
        *coincidence_tables(coincidences(data, missing), len(lost.marginal)),
        table_of(lost.row, lost.image, lost.part_marginal, shape),
        table_of(who, lost.image, lost.part_diagonal, (n_annotators, data.n_groups)),
    )


def category_vitality(matched: MatchedUnits) -> Table:
    """Return the fall of each category's alpha (against the rest) without each annotator.

    A row for each category that occurs and each annotator whose absence changes its values: their
    names, alpha of all annotators, alpha without the annotator, and their difference, the vitality.
    NaN where an alpha is undefined. A category with more than 90 % of the annotations has no rows,
    as its alpha has no meaning.
    """
    names, categories = matched.data.annotator_names, matched.data.category_names
    n_annotators = len(names)
    again = rematched(matched)
    lost = lost_coincidences(matched.reliability, n_annotators, matched.missing, again)
    total = float(lost.marginal.sum())
    left = total - sum_by(lost.annotator, lost.lost_marginal, n_annotators)
    value, who = lost.value, lost.annotator
    everyone = binary_alpha(lost.marginal, lost.diagonal, total)[value]
    without = binary_alpha(
        lost.marginal[value] - lost.lost_marginal,
        lost.diagonal[value] - lost.lost_diagonal,
        left[who],
    )
    has_meaning = ~values_without_meaning(lost.marginal) | (matched.missing == "ignore")
    shown = np.flatnonzero((value < len(categories)) & has_meaning[value])
    shown = shown[np.lexsort([who[shown], value[shown]])]
    return Table(
        {
            "category": Categorical(value[shown].astype(np.int32), categories),
            "annotator": Categorical(who[shown].astype(np.int32), names),
            "alpha": everyone[shown],
            "alpha_without": without[shown],
            "vitality": (everyone - without)[shown],
        }
    )


@frozen_arrays
class ImageF1:
    """C pairs of an image, which has two annotators or more, and one of its annotators."""

    image: IndexArray
    annotator: IndexArray
    """(C,) each; sorted by image, then annotator."""
    matched: FloatArray
    """(C,) float64. Twice the number of matched pairs with an annotation of the annotator."""
    drawn: FloatArray
    """(C,) float64. The number of annotations of the annotator and of another, summed over the
    others. The ratio of the two sums is F1."""


def asked_with_others(matched: MatchedUnits) -> BoolArray:
    """Return (I, A) bool: annotators who were asked about an image together with others."""
    assigned = matched.data.assigned
    result: BoolArray = assigned & (assigned.sum(1, keepdims=True) > 1)
    return result


def image_f1(matched: MatchedUnits) -> ImageF1:
    """Return the sums of F1 of each image and annotator."""
    of, unit = matched.data.annotations, matched.units.unit
    image, annotator = np.nonzero(asked_with_others(matched))
    n_images, n_annotators = matched.data.assigned.shape
    cell = of.image.astype(np.int64) * n_annotators + of.annotator
    others = np.bincount(unit, minlength=len(matched.units))[unit] - 1
    place = image * n_annotators + annotator
    own = np.bincount(cell, minlength=n_images * n_annotators)[place]
    everyone = np.bincount(of.image, minlength=n_images)[image]
    n_others = matched.data.assigned.sum(1)[image] - 1
    return ImageF1(
        image=image,
        annotator=annotator,
        matched=sum_by(cell, 2 * others, n_images * n_annotators)[place],
        # F1 counts the annotations of both sides of each pair of annotators.
        drawn=(n_others * own + everyone - own).astype(np.float64),
    )


RATES = ("f1", "miss_rate", "extra_rate", "class_share", "mean_similarity")
"""Columns of the table, each with a ``_low`` and a ``_high``."""


def annotators(matched: MatchedUnits) -> Table:
    """Return the agreement of each annotator with the others, a row per annotator.

    Copies are left out (see `independent`), also from n_images, but not from n and vitality.

    Columns: annotator; n, the number of compared annotations; n_images, and n_images_asked, which
    includes images where copies are left out; vitality, the fall of alpha without the annotator,
    NaN where alpha has no meaning; and each of `RATES`; vitality and rates have 95 % intervals over
    images.

    - f1: 2 · matched / (drawn by the annotator + drawn by the others), over each other annotator
      and image that both were asked about, in units of the threshold.
    - miss_rate: of the objects that more than half of the others drew (the model of `predictions`
      has no vote), the share that the annotator did not draw; n_missed is their number. Extra_rate:
      of the annotator's objects, the share that fewer than half of the others drew; n_extra is
      their number. Objects that exactly half of the others drew are neither. Both count objects, so
      that a badly placed box is neither a miss nor an extra; nor are objects that are drawn twice,
      in parts, or with others in one box (see `boxes_per_object`).
    - class_share: of the other annotators' boxes of objects that the annotator drew, the share with
      the same category, without split or merged objects. Mean_similarity: the mean of matched
      pairs, without boxes that show parts of objects, or several objects.
    """
    names = matched.data.annotator_names
    n_annotators = len(names)
    judged = independent(matched)
    found = rate_sums(judged).ratios(matched.bootstrap, matched.seed)
    author = matched.data.annotations.annotator
    vital, bounds = _vitality(matched)
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(n_annotators, dtype=np.int32), names),
        "n": np.bincount(author, minlength=n_annotators),
        "n_images": asked_with_others(judged).sum(0),
        "n_images_asked": asked_with_others(matched).sum(0),
        **figure_columns("vitality", vital, bounds),
    }
    for place, name in enumerate(RATES):
        of = slice(place * n_annotators, (place + 1) * n_annotators)
        columns |= {
            **figure_columns(name, found.value[of], found.interval[of]),
        }
        if name in _COUNTED:
            columns[_COUNTED[name]] = found.numerator[of].astype(np.int64)
    return Table(columns)


def _vitality(matched: MatchedUnits) -> tuple[FloatArray, FloatArray]:
    """Return vitalities and their intervals, (A,) and (A, 2); NaN where alpha has no meaning."""
    n_annotators = len(matched.data.annotator_names)
    if not alpha_has_meaning(matched):
        return np.full(n_annotators, np.nan), np.full((n_annotators, 2), np.nan)
    found = vitality(matched)
    return found.value, found.interval


_COUNTED = {"miss_rate": "n_missed", "extra_rate": "n_extra"}


@remembered
def rate_sums(matched: MatchedUnits) -> RatioSums:
    """Return the sums of `RATES`, each of all annotators, one after the other."""
    cells = object_cells(matched)
    n_annotators = len(matched.data.annotator_names)
    sums = RatioSums(len(RATES) * n_annotators, len(matched.data.image_names))
    drawn, expected = cells.drawn, cells.expected
    row, image = cells.annotator.astype(np.int64), cells.image
    f1 = image_f1(matched)
    sums.add(f1.annotator, f1.image, f1.matched, f1.drawn)
    found = disagreements(matched)
    # Parts, second boxes and boxes around several objects are not objects of their own.
    single = (found.root == np.arange(len(found.root)))[cells.object]
    expected = expected & single
    missed = expected & ~drawn & ~_merged(cells, found, n_annotators)
    sums.add((row + n_annotators)[expected], image[expected], missed[expected], expected[expected])
    extra = single & cells.unexpected
    compared = drawn & (cells.n_voters > 0)
    sums.add(
        (row + 2 * n_annotators)[compared], image[compared], extra[compared], compared[compared]
    )
    shared = drawn & (cells.n_others_drew > 0)
    odd_boxes = parts(matched).odd_boxes
    shared &= ~np.isin(cells.object, matched.objects[odd_boxes])
    same, others = cells.n_same_category[shared], cells.n_others_drew[shared]
    sums.add((row + 3 * n_annotators)[shared], image[shared], same, others)
    first_row = 4 * n_annotators
    of, pairs = matched.data.annotations, pairs_of_units(matched)
    pairs = pairs.take(~(odd_boxes[pairs.left] | odd_boxes[pairs.right]))
    for side in (pairs.left, pairs.right):
        row = of.annotator[side].astype(np.int64) + first_row
        sums.add(row, of.image[side], pairs.similarity, np.ones(len(side)))
    return sums


def _merged(cells: ObjectCells, found: Disagreements, n_annotators: int) -> BoolArray:
    """Return (C,) bool: cells of annotators who drew the object in one box with another."""
    parted = np.flatnonzero(found.kind == Kind.SPLIT)
    wanted = found.object[parted] * n_annotators + found.annotator[parted]
    merged: BoolArray = np.isin(cells.object * n_annotators + cells.annotator, wanted)
    return merged & ~cells.drawn


_BOX_RATES = ("twice_rate", "split_rate", "merge_rate")
"""Columns of the table, each with a ``_low`` and a ``_high``."""


def boxes_per_object(matched: MatchedUnits) -> Table:
    """Return the rates at which each annotator draws objects twice, splits and merges them.

    Columns: annotator; n, the number of objects that the annotator drew; n_expected, that of
    objects that more than half of the others drew; then n_twice, n_split and n_merged, each with
    its rate and the 95 % interval over images.

    - twice_rate: of the n objects, the share that the annotator drew twice.
    - split_rate: of the n objects, the share that the annotator drew in parts.
    - merge_rate: of the n_expected objects, the share that the annotator drew in one box with
      another object.
    """
    matched = independent(matched)
    cells, n_annotators = object_cells(matched), len(matched.data.annotator_names)
    found, drawn_parts = disagreements(matched), parts(matched)
    single = (found.root == np.arange(len(found.root)))[cells.object]
    drawn, expected = cells.drawn & single, cells.expected & single
    twice = np.flatnonzero(found.kind == Kind.TWICE)
    split, merge = np.flatnonzero(~drawn_parts.is_merge), np.flatnonzero(drawn_parts.is_merge)
    sums = RatioSums(len(_BOX_RATES) * n_annotators, len(matched.data.image_names))
    for place, (of, who, among) in enumerate(
        (
            (found.root[found.object[twice]], found.annotator[twice], drawn),
            (drawn_parts.whole[split], drawn_parts.annotator[split], drawn),
            (
                np.append(drawn_parts.part[merge], drawn_parts.whole[merge]),
                np.tile(drawn_parts.annotator[merge], 2),
                expected,
            ),
        )
    ):
        has = _cells(cells, of, who, n_annotators) & among
        row = cells.annotator[among] + place * n_annotators
        sums.add(row, cells.image[among], has[among], np.ones(int(among.sum())))
    ratios = sums.ratios(matched.bootstrap, matched.seed)
    # A row for each annotator; `ratios` has one rate of all annotators after the other.
    n_annotators = len(matched.data.annotator_names)
    columns: dict[str, Column] = {
        "annotator": Categorical(
            np.arange(n_annotators, dtype=np.int32), matched.data.annotator_names
        ),
        "n": ratios.denominator[:n_annotators].astype(np.int64),
        "n_expected": ratios.denominator[2 * n_annotators :].astype(np.int64),
    }
    for place, (rate, count) in enumerate(
        zip(_BOX_RATES, ("n_twice", "n_split", "n_merged"), strict=True)
    ):
        own = ratios.part(slice(place * n_annotators, (place + 1) * n_annotators))
        columns |= {
            count: own.numerator.astype(np.int64),
            **figure_columns(rate, own.value, own.interval),
        }
    return Table(columns)


def _cells(
    cells: ObjectCells, of: IndexArray, annotator: IndexArray, n_annotators: int
) -> BoolArray:
    """Return (C,) bool: the cells of the given pairs of object and annotator."""
    wanted = (of * n_annotators + annotator)[of >= 0]
    result: BoolArray = np.isin(cells.object * n_annotators + cells.annotator, wanted)
    return result
