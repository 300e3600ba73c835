"""The consensus of several annotators: which objects there are, and what was left out."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from bboxqa.core.arrays import (
    BoolArray,
    ByteArray,
    FloatArray,
    IndexArray,
    IntArray,
    frozen_arrays,
)
from bboxqa.model.annotations import EDGES, Dataset
from bboxqa.model.table import Categorical, Column, Table, text_column

LINK, SAME = 0.3, 0.7
"""Boxes of two annotators with this IoU can show one object; boxes of one annotator with that IoU
do."""
# A kept object whose boxes have a lower mean IoU with the consensus is to be reviewed.
_WIDE = 0.7
# The mean IoU of the boxes of an object with the consensus, on data whose truth is known.
_USUAL_IOU = 0.8


class LeftOut(IntEnum):
    """Why an annotation has no vote."""

    VOTES = 0
    """It has."""
    CROWD = 1
    EMPTY = 2


_REASONS = {
    LeftOut.CROWD: "a group of objects (iscrowd)",
    LeftOut.EMPTY: "without an area inside the image",
}


@frozen_arrays
class ConsensusObjects:
    """O objects that at least one annotator drew, in the order of images."""

    image: IntArray
    category: IntArray
    """(O,) int32. The most frequent category."""
    bbox: FloatArray
    """(O, 4) float64. The median of each edge, as x, y, width, height."""
    votes: IndexArray
    """(O,) int64. How many annotators drew it."""
    asked: IndexArray
    """(O,) int64. How many were asked about the image, also those who drew nothing."""
    quorum: IndexArray
    """(O,) int64. The votes with which it is kept."""
    overlap: FloatArray
    """(O,) float64. The sum of the IoU of each box with `bbox`, by those asked."""
    spread: FloatArray
    """(O, 4) float64. The distance between the outermost left, top, right and bottom edges."""
    is_tie: BoolArray
    """(O,) bool. Whether as many votes are for another category."""

    def __len__(self) -> int:
        return len(self.image)

    @property
    def is_kept(self) -> BoolArray:
        """(O,) bool. Whether the votes reach the quorum."""
        kept: BoolArray = self.votes >= self.quorum
        return kept

    @property
    def margin(self) -> FloatArray:
        """(O,) float64. How far `overlap` is from what decides, the order of review."""
        usual = _USUAL_IOU * (self.quorum - 0.5) / self.asked
        distance: FloatArray = np.abs(self.overlap - usual)
        return distance.round(9)

    @property
    def is_near(self) -> BoolArray:
        """(O,) bool. Whether one vote more or less may keep or drop it: 1 of 2, 2 or 3 of 7."""
        near: BoolArray = (self.votes < self.asked) & (
            (self.votes == self.quorum) | (self.votes == self.quorum - 1)
        )
        return near

    @property
    def is_wide(self) -> BoolArray:
        """(O,) bool. Whether the boxes of a kept object have a mean IoU below 0.7 with it."""
        wide: BoolArray = self.is_kept & (self.overlap * self.asked < _WIDE * self.votes)
        return wide

    @property
    def to_review(self) -> IndexArray:
        """(R,) int64. The objects that a person should look at, in the order of review."""
        open_ = self.is_near | self.is_wide | (self.is_tie & self.is_kept)
        order = self.review_order
        return order[open_[order]]

    @property
    def review_order(self) -> IndexArray:
        """(O,) int64. The objects in the order of review."""
        return np.lexsort((*self.bbox.T[::-1], self.image, self.margin))


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusResult:
    """One data set from the opinions of several annotators."""

    data: Dataset
    """The N annotations."""
    found: ConsensusObjects
    of: IndexArray
    """(N,) int64. The object of each annotation; -1 for those that are left out."""
    left_out: ByteArray
    """(N,) uint8. A `LeftOut` per annotation."""
    shapes: tuple[dict[str, Any], ...]
    """(O,). The keys of a COCO annotation that say more of the shape of an object than its box:
    `segmentation`, `keypoints` and, for a rotated box, `attributes`."""
    quorum: float | None
    """The quorum that was given: votes, or a share below 1 of those asked."""
    link: float
    """The least IoU of two boxes of one object."""
    similarity: str
    """How boxes were compared, as in `agree`."""
    n_clipped: int
    """Boxes that were cut off at the border of the image."""
    n_again: int
    """Boxes that repeat one of the same annotator."""
    n_equal: int
    """Boxes that are exactly equal to one of another annotator."""
    notes: tuple[str, ...] = ()
    """Notes on the data for the reader of the result."""

    def __repr__(self) -> str:
        n_kept = int(self.found.is_kept.sum())
        return f"<ConsensusResult: {n_kept:,} of {len(self.found):,} objects kept>"

    @property
    def objects(self) -> Table:
        """A row for each object, kept or not."""
        found, data = self.found, self.data
        columns: dict[str, Column] = {
            "image": Categorical(found.image, data.image_names),
            "category": Categorical(found.category, data.category_names),
            **dict(zip(("x", "y", "width", "height"), found.bbox.T, strict=True)),
            **{name: getattr(found, name) for name in ("votes", "asked", "quorum")},
            "kept": found.is_kept,
            "tie": found.is_tie,
            "overlap": found.overlap,
            **{f"{edge}_spread": of for edge, of in zip(EDGES, found.spread.T, strict=True)},
        }
        return Table(columns)

    @property
    def dropped(self) -> Table:
        """A row for each annotation that no kept object has, with the reason."""
        of, found = self.data.annotations, self.found
        is_kept = np.append(found.is_kept, False)
        rows = np.flatnonzero(~is_kept[self.of])
        rows = rows[np.lexsort((*of.bbox[rows].T[::-1], of.annotator[rows], of.image[rows]))]
        at, why = self.of[rows], self.left_out[rows].tolist()
        drawn = zip(found.votes[at].tolist(), found.asked[at].tolist(), strict=True)
        reasons = [
            _REASONS[LeftOut(out)] if out else f"outvoted: {votes} of {asked} drew it"
            for out, (votes, asked) in zip(why, drawn, strict=True)
        ]
        columns: dict[str, Column] = {
            "image": Categorical(of.image[rows], self.data.image_names),
            "annotator": Categorical(of.annotator[rows], self.data.annotator_names),
            "id": text_column(of.shown_ids(rows)),
            "category": Categorical(of.category[rows], self.data.category_names),
            **dict(zip(("x", "y", "width", "height"), of.bbox[rows].T, strict=True)),
            "reason": text_column(reasons),
        }
        return Table(columns)
