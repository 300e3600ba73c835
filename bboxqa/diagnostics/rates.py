"""How often annotators miss, add and misname objects, and what each contributes to alpha."""

from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.agreement.estimators import table_of
from bboxqa.agreement.nominal import coincidence_tables
from bboxqa.agreement.unit_counts import coincidences, from_units
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, distinct_rows, remembered, sum_by
from bboxqa.core.errors import DatasetError
from bboxqa.diagnostics.annotator_pairs import independent, moved_pairs
from bboxqa.diagnostics.decomposition import Kind, disagreements
from bboxqa.diagnostics.object_cells import (
    Amounts,
    ObjectCells,
    RatioSums,
    alpha_has_meaning,
    alphas_after,
    drawn_figures,
    object_cells,
    pairs_of_units,
)
from bboxqa.diagnostics.parts import parts
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.matchers import match
from bboxqa.model.table import Categorical, Column, Table, figure_columns
from bboxqa.model.units import CandidatePairs, Coincidences, MatchedUnits

# Rows of images that are matched again in a few seconds, and further ones for each annotation.
_ROWS, _ROWS_OF_ANNOTATION = 1 << 25, 3000


def check_rematching(matched: MatchedUnits) -> None:
    """Raise DatasetError if matching images without each of their annotators takes too long."""
    of, n_images = matched.data.annotations, len(matched.data.image_names)
    n_asked = matched.data.assigned.sum(1)
    # Annotations, pairs of them, and values that the others gave.
    each = np.bincount(of.image, minlength=n_images)
    each += np.bincount(of.image[reaching_pairs(matched).left], minlength=n_images)
    each += np.bincount(matched.units.image, minlength=n_images) * n_asked
    n_rows = each * n_asked * (n_asked > 2)
    total, most = int(n_rows.sum()), max(_ROWS, _ROWS_OF_ANNOTATION * len(of))
    if total > most:
        worst = int(n_rows.argmax())
        problem = (
            f"image {matched.data.image_names[worst]!r}: {int(n_asked[worst]):,} annotators: a "
            "diagnosis matches images without each of their annotators, which takes long "
            f"({total:,} rows in all images; expected {most:,} at most)"
        )
        advice = "Look whether annotator keys name persons, and not annotations."
        raise DatasetError([problem], advice)


def reaching_pairs(matched: MatchedUnits) -> CandidatePairs:
    """Return the pairs that reach the threshold, inside units and between them."""
    return matched.near.take(matched.near.similarity >= matched.threshold - TOLERANCE)


def _without(
    matched: MatchedUnits, annotator: int, images: IndexArray, pairs: CandidatePairs
) -> Coincidences:
    """Return the coincidences of images that are matched again without an annotator."""
    of, place = matched.data.annotations, np.full(len(matched.data.image_names), -1)
    place[images] = np.arange(len(images))
    drawn = np.flatnonzero((place[of.image] >= 0) & (of.annotator != annotator))
    number = np.full(len(of), -1)
    number[drawn] = np.arange(len(drawn))
    others = replace(of.take(drawn), image=place[of.image[drawn]].astype(np.int32))
    units = match(
        others, moved_pairs(pairs, number), matched.matcher, matched.threshold,
        category_lenient=matched.category_lenient,
    )  # fmt: skip
    assigned = matched.data.assigned[images]
    assigned[:, annotator] = False
    # The units of images in which nobody drew anything come last.
    empty = place[matched.reliability.group[len(matched.units) :]]
    empty = empty[empty >= 0].astype(np.int32)
    data = from_units(others, units, assigned, len(matched.data.category_names), empty)
    found = coincidences(data, matched.missing)
    return replace(found, group=images[found.group].astype(np.int32))


@remembered
def vitality(matched: MatchedUnits) -> tuple[FloatArray, FloatArray]:
    """Return the fall of alpha without each annotator, (A,), and its interval, (A, 2).

    The annotations of the others are matched again. NaN where undefined.
    """
    found, pairs, assigned = [], reaching_pairs(matched), matched.data.assigned
    before = coincidences(matched.reliability, matched.missing)
    for annotator, asked in enumerate(assigned.T):
        own = np.flatnonzero(asked[before.group])
        # One who is left alone agrees with nobody.
        images = np.flatnonzero(asked & (assigned.sum(1) > 2))
        after = _without(matched, annotator, images, pairs)
        group, value, marginal, diagonal = (
            np.concatenate([getattr(before, name)[own], sign * getattr(after, name)])
            for name, sign in (("group", 1), ("value", 1), ("marginal", -1), ("diagonal", -1))
        )
        found.append((np.full(len(group), annotator), group, value, marginal, diagonal))
    # The decreases of pairable values and of coincidences with themselves.
    who, image, value, marginal, diagonal = map(np.concatenate, zip(*found, strict=True))
    (annotator_of, value_of), row, _ = distinct_rows(who, value)
    n_images, n_annotators = before.n_groups, len(matched.data.annotator_names)
    tables = (
        *coincidence_tables(before, before.n_values),
        table_of(row, image, marginal, (len(value_of), n_images)),
        table_of(who, image, diagonal, (n_annotators, n_images)),
    )

    def falls(
        marginal: FloatArray, agreeing: FloatArray, less: FloatArray, less_agreeing: FloatArray
    ) -> FloatArray:
        sums = marginal, agreeing[0]
        alpha = alphas_after(sums, annotator_of, value_of, -less, -less_agreeing)
        return np.asarray(alpha[0] - alpha[1:])

    of_image = sum_by(who * n_images + image, marginal, n_annotators * n_images)
    in_images = (of_image.reshape(n_annotators, -1) != 0).sum(1)
    return drawn_figures(matched, tables, falls, in_images)


def asked_with_others(matched: MatchedUnits) -> BoolArray:
    """Return (I, A) bool: annotators who were asked about an image together with others."""
    assigned = matched.data.assigned
    return np.asarray(assigned & (assigned.sum(1, keepdims=True) > 1))


def image_f1(matched: MatchedUnits) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
    """Return each image of two annotators or more and each of its annotators, sorted, (C,) each.

    Also return twice the number of matched pairs with an annotation of the annotator, and the
    number of annotations of both, summed over the others: the ratio of the two is F1.
    """
    of, unit = matched.data.annotations, matched.units.unit
    image, annotator = np.nonzero(asked_with_others(matched))
    n_images, n_annotators = matched.data.assigned.shape
    cell = of.image.astype(np.int64) * n_annotators + of.annotator
    others = np.bincount(unit, minlength=len(matched.units))[unit] - 1
    place = image * n_annotators + annotator
    own = np.bincount(cell, minlength=n_images * n_annotators)[place]
    everyone = np.bincount(of.image, minlength=n_images)[image]
    n_others = matched.data.assigned.sum(1)[image] - 1
    same = sum_by(cell, 2 * others, n_images * n_annotators)[place]
    # F1 counts the annotations of both sides of each pair of annotators.
    return image, annotator, same, (n_others * own + everyone - own).astype(np.float64)


RATES = ("f1", "miss_rate", "extra_rate", "class_share", "mean_similarity")
"""Columns of the table, each with a ``_low`` and a ``_high``."""


def annotators(matched: MatchedUnits) -> Table:
    """Return the agreement of each annotator with the others, a row per annotator.

    Copies are left out (see `independent`), also from n_images, but not from n and vitality.

    Columns: annotator; n, the number of compared annotations; n_images, and n_images_asked, which
    includes images where copies are left out; and with 95 % intervals over images: vitality, the
    fall of alpha without the annotator, NaN where alpha has no meaning; f1 of annotations with each
    other annotator, in units of the threshold; and of objects, so that badly placed, second and
    split boxes are neither missed nor extra:

    - miss_rate: of the objects that more than half of the others drew (a model has no vote), the
      share that the annotator did not draw; n_missed is their number. Extra_rate: of the
      annotator's objects, the share that fewer than half of the others drew; n_extra.
    - class_share: of the others' boxes of objects that the annotator drew, the share with the same
      category. Mean_similarity: the mean of matched pairs. Both without parts of objects.
    """
    names, judged = matched.data.annotator_names, independent(matched)
    fall, bounds = np.full(len(names), np.nan), np.full((len(names), 2), np.nan)
    # One of two annotators alone has no alpha.
    if alpha_has_meaning(matched) and len(names) > 2:
        fall, bounds = vitality(matched)
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(len(names), dtype=np.int32), names),
        "n": np.bincount(matched.data.annotations.annotator, minlength=len(names)),
        "n_images": asked_with_others(judged).sum(0),
        "n_images_asked": asked_with_others(matched).sum(0),
        **figure_columns("vitality", fall, bounds),
    }
    for name, found in rate_sums(judged).ratios().items():
        columns |= found.columns(name)
        if name in _COUNTED:
            columns[_COUNTED[name]] = found.n_counted
    return Table(columns)


_COUNTED = {"miss_rate": "n_missed", "extra_rate": "n_extra"}


@remembered
def error_cells(matched: MatchedUnits) -> dict[str, tuple[BoolArray, NDArray[Any], NDArray[Any]]]:
    """Return of which cells rates are, and the numerator and denominator of each, (C,)."""
    cells, found = object_cells(matched), disagreements(matched)
    # Parts, second boxes and boxes around several objects are not objects of their own.
    single = (found.root == np.arange(len(found.root)))[cells.object]
    parted = found.kind == Kind.SPLIT
    n_annotators = len(matched.data.annotator_names)
    merged = _cells(cells, found.object[parted], found.annotator[parted], n_annotators)
    shared = cells.drawn & (cells.n_others_drew > 0)
    shared &= ~np.isin(cells.object, matched.objects[parts(matched).odd_boxes])
    return {
        "miss_rate": (cells.expected & single, ~cells.drawn & ~merged, cells.expected),
        "extra_rate": (
            cells.drawn & (cells.n_voters > 0),
            single & (2 * cells.n_voters_drew < cells.n_voters),
            cells.drawn,
        ),
        "class_share": (shared, cells.n_same_category, cells.n_others_drew),
    }


@remembered
def rate_sums(matched: MatchedUnits) -> RatioSums:
    """Return the sums of `RATES`, each of all annotators, one after the other."""
    image, annotator, same, drawn = image_f1(matched)
    amounts: dict[str, list[Amounts]] = {"f1": [(annotator, image, same, drawn)]}
    cells, odd_boxes = object_cells(matched), parts(matched).odd_boxes
    for name, (among, number, number_of) in error_cells(matched).items():
        who, where = cells.annotator[among], cells.image[among]
        amounts[name] = [(who, where, number[among], number_of[among])]
    of, pairs = matched.data.annotations, pairs_of_units(matched)
    pairs = pairs.take(~(odd_boxes[pairs.left] | odd_boxes[pairs.right]))
    amounts["mean_similarity"] = [
        (of.annotator[side], of.image[side], pairs.similarity, 1.0)
        for side in (pairs.left, pairs.right)
    ]
    return RatioSums(matched, len(matched.data.annotator_names), amounts)


def boxes_per_object(matched: MatchedUnits) -> Table:
    """Return the rates at which each annotator draws objects twice, splits and merges them.

    Columns: annotator; n, the number of objects that the annotator drew; n_expected, that of
    objects that more than half of the others drew; n_twice and n_split, of n, drawn twice or in
    parts, and n_merged, of n_expected, drawn in one box with another; each with its rate and the 95
    % interval over images.
    """
    matched = independent(matched)
    cells, names = object_cells(matched), matched.data.annotator_names
    found, drawn_parts = disagreements(matched), parts(matched)
    single = (found.root == np.arange(len(found.root)))[cells.object]
    drawn, expected = cells.drawn & single, cells.expected & single
    twice = np.flatnonzero(found.kind == Kind.TWICE)
    split, merge = np.flatnonzero(~drawn_parts.is_merge), np.flatnonzero(drawn_parts.is_merge)
    merged = np.append(drawn_parts.part[merge], drawn_parts.whole[merge])
    amounts: dict[str, list[Amounts]] = {}
    for name, of, who, among in (
        ("twice", found.root[found.object[twice]], found.annotator[twice], drawn),
        ("split", drawn_parts.whole[split], drawn_parts.annotator[split], drawn),
        ("merge", merged, np.tile(drawn_parts.annotator[merge], 2), expected),
    ):
        has = _cells(cells, of, who, len(names))[among]
        amounts[name] = [(cells.annotator[among], cells.image[among], has, 1.0)]
    ratios = RatioSums(matched, len(names), amounts).ratios()
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(len(names), dtype=np.int32), names),
        "n": ratios["twice"].n,
        "n_expected": ratios["merge"].n,
    }
    for name, count in (("twice", "n_twice"), ("split", "n_split"), ("merge", "n_merged")):
        columns |= {count: ratios[name].n_counted, **ratios[name].columns(f"{name}_rate")}
    return Table(columns)


def _cells(
    cells: ObjectCells, of: IndexArray, annotator: IndexArray, n_annotators: int
) -> BoolArray:
    """Return (C,) bool: the cells of the given pairs of object and annotator."""
    wanted = (of * n_annotators + annotator)[of >= 0]
    return np.isin(cells.object * n_annotators + cells.annotator, wanted)
