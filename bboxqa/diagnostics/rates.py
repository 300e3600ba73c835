"""How often annotators miss, add, misname and split objects."""

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, sum_by
from bboxqa.core.remembered import remembered
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.decomposition import Disagreements, Kind, disagreements
from bboxqa.diagnostics.object_cells import (
    ObjectCells,
    RatioSums,
    alpha_has_meaning,
    object_cells,
    pairs_of_units,
)
from bboxqa.diagnostics.parts import parts
from bboxqa.diagnostics.vitality import vitality
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import MatchedUnits


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
