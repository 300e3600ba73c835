"""Rates at which each annotator draws two boxes for one object, or one box for two."""

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.diagnostics.annotators.image_ratios import Ratios, RatioSums
from bboxqa.diagnostics.annotators.independent import independent
from bboxqa.diagnostics.disagreement.kinds import Kind, disagreements
from bboxqa.diagnostics.disagreement.parts import parts
from bboxqa.diagnostics.object_cells import ObjectCells, object_cells
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

RATES = ("twice_rate", "split_rate", "merge_rate")
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
    sums = RatioSums(len(RATES) * n_annotators, len(matched.data.image_names))
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
    return _table(ratios, matched.data.annotator_names)


def _table(ratios: Ratios, names: tuple[str, ...]) -> Table:
    """Return a row for each annotator; `ratios` has one rate of all annotators after the other."""
    n_annotators = len(names)
    columns: dict[str, Column] = {
        "annotator": Categorical(np.arange(n_annotators, dtype=np.int32), names),
        "n": ratios.denominator[:n_annotators].astype(np.int64),
        "n_expected": ratios.denominator[2 * n_annotators :].astype(np.int64),
    }
    for place, (rate, count) in enumerate(
        zip(RATES, ("n_twice", "n_split", "n_merged"), strict=True)
    ):
        own = ratios.part(slice(place * n_annotators, (place + 1) * n_annotators))
        columns |= {
            count: own.numerator.astype(np.int64),
            rate: own.value,
            f"{rate}_low": own.interval[:, 0],
            f"{rate}_high": own.interval[:, 1],
        }
    return Table(columns)


def _cells(
    cells: ObjectCells, of: IndexArray, annotator: IndexArray, n_annotators: int
) -> BoolArray:
    """Return (C,) bool: the cells of the given pairs of object and annotator."""
    wanted = (of * n_annotators + annotator)[of >= 0]
    result: BoolArray = np.isin(cells.object * n_annotators + cells.annotator, wanted)
    return result
