"""Rotated boxes whose width and height are exchanged."""

import numpy as np

from bboxqa.diagnostics.annotators.edge_differences import BoxDifferences, box_differences
from bboxqa.diagnostics.annotators.independent import independent
from bboxqa.diagnostics.annotators.offsets import offset_figures, row_columns, with_bounds
from bboxqa.diagnostics.rotated.turned_pairs import TurnedPairs, turned_pairs
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits

ACROSS, RENAMED = "across the others'", "the other side is the width"
TURNS = (ACROSS, RENAMED)


def quarter_turns(matched: MatchedUnits) -> Table:
    """Return the rates at which each annotator exchanges width and height of rotated boxes.

    A row for each annotator and kind. "across the others'" are boxes whose long side lies along the
    short side of the others' boxes, as where width and height were exchanged and the angle was not.
    "the other side is the width" are the same rectangles with width and height exchanged and a
    quarter turn, which changes no figure of agreement; NaN if all angles lie in one quarter turn,
    as when boxes are given by their corners, which do not say which side is the width.

    Nearly square boxes, whose sides differ by less than a quarter, are left out: they do not show
    exchanged sides. As for offsets, others with 60 % of the weight confirm the share.

    Columns: annotator; kind; n, the number of objects that others drew as well; n_others, the
    number of these others; share with its 95 % interval over images.
    """
    matched = independent(matched)
    pairs = turned_pairs(matched)
    found = _differences(matched, pairs)
    (figures, _), _ = offset_figures(found, matched)
    figures[1:] = np.clip(figures[1:], 0, 1)
    if not _tell_width(matched, pairs):
        figures[:, TURNS.index(RENAMED) :: len(TURNS)] = np.nan
    return Table({**row_columns(found, matched, "kind", TURNS), **with_bounds("share", figures)})


def _differences(matched: MatchedUnits, pairs: TurnedPairs) -> BoxDifferences:
    kept = pairs.is_elongated
    kinds = np.column_stack([pairs.is_across[kept], pairs.is_renamed[kept]]).astype(np.float64)
    one = np.ones((len(kinds), 1))
    return box_differences(
        matched,
        pairs.left[kept],
        pairs.right[kept],
        kinds,
        (one, one),
        np.zeros(len(TURNS), np.int64),
        sign=1,
    )


def _tell_width(matched: MatchedUnits, pairs: TurnedPairs) -> bool:
    """Return whether angles lie in both quarters of a half turn."""
    boxes = matched.data.annotations.rotated_box
    rows = np.concatenate([pairs.left, pairs.right])
    if boxes is None or not len(rows):
        return False
    is_second = np.mod(boxes[rows, 4], 180) >= 90
    return bool(is_second.any() and not is_second.all())
