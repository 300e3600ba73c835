"""The consensus of several annotators: which objects there are, and what was left out."""

from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, RowArrays
from bboxqa.model.annotations import EDGES, Dataset
from bboxqa.model.table import Categorical, Column, Table, text_column

LINK, SAME = 0.3, 0.7
"""Boxes of two annotators with this IoU can show one object; boxes of one annotator with that IoU
do."""
CONSENSUS = "consensus"
"""Who drew the merged boxes, on a page, and who decides what is sent back."""
REASONS = ("outvoted", "a group of objects (iscrowd)", "without an area inside the image")
"""Why annotations are in no kept object; those of the last two have no vote."""
CROWD, EMPTY = 1, 2
# The mean IoU of boxes with the consensus, where the truth is known; below the other, look again.
_USUAL_IOU, _LITTLE_IOU = 0.8, 0.7


class ConsensusObjects(RowArrays, frozen=True, eq=False):
    """O objects that at least one annotator drew, in the order of images."""

    image: IntArray
    category: IntArray
    """(O,) int32. The most frequent category."""
    bbox: FloatArray
    """(O, 4) float64. The median of each edge, as x, y, width, height."""
    votes: IndexArray
    asked: IndexArray
    quorum: IndexArray
    """(O,) int64. How many drew it, of how many who were asked about the image, and how many votes
    keep it."""
    overlap: FloatArray
    """(O,) float64. The sum of the IoU of each box with `bbox`, by those asked."""
    spread: FloatArray
    """(O, 4) float64. The distance between the outermost left, top, right and bottom edges."""
    is_tie: BoolArray
    """(O,) bool. Whether as many votes are for another category."""

    @property
    def is_kept(self) -> BoolArray:
        """(O,) bool. Whether the votes reach the quorum."""
        return np.asarray(self.votes >= self.quorum)

    @property
    def doubts(self) -> dict[str, BoolArray]:
        """(O,) bool each. What is doubtful about objects, in words.

        Near the quorum, one vote more or less may keep or drop it: 1 of 2, 2 or 3 of 7.
        """
        kept, missing = self.is_kept, self.quorum - self.votes
        near = (self.votes < self.asked) & (missing >= 0) & (missing <= 1)
        wide = kept & (self.overlap * self.asked < _LITTLE_IOU * self.votes)
        return {"outvoted": ~kept, "near the quorum": near, "tie": self.is_tie & kept,
                "little overlap": wide}  # fmt: skip

    @property
    def review_order(self) -> IndexArray:
        """(O,) int64. The objects by how far `overlap` is from what decides, the least first."""
        usual = _USUAL_IOU * (self.quorum - 0.5) / self.asked
        margin = np.abs(self.overlap - usual).round(9)
        return np.lexsort((*self.bbox.T[::-1], self.image, margin))

    @property
    def to_review(self) -> IndexArray:
        """(R,) int64. The objects that a person should look at, in the order of review."""
        order, (_, near, tie, wide) = self.review_order, self.doubts.values()
        return order[(near | tie | wide)[order]]


class ConsensusResult(msgspec.Struct, frozen=True, eq=False):
    """One data set from the opinions of several annotators."""

    data: Dataset
    """The N annotations."""
    found: ConsensusObjects
    of: IndexArray
    """(N,) int64. The object of each annotation; -1 for those without a vote."""
    left_out: ByteArray
    """(N,) uint8. Why an annotation has no vote, a place in `REASONS`; 0 where it has."""
    shapes: tuple[dict[str, Any], ...]
    """(O,), or empty for boxes. The keys of a COCO annotation that say more of an object than its
    box, such as `segmentation` and `keypoints`."""
    n_clipped: int
    n_again: int
    n_equal: int
    """Boxes that were cut off at the border of the image, that repeat one of the same annotator,
    and that are exactly equal to one of another annotator."""
    notes: tuple[str, ...] = ()
    """Notes on the data for the reader of the result."""

    def __repr__(self) -> str:
        n_kept = int(self.found.is_kept.sum())
        return f"<ConsensusResult: {n_kept:,} of {len(self.found):,} objects kept>"

    @property
    def in_kept(self) -> BoolArray:
        """(N,) bool. Whether an annotation is in a kept object."""
        return np.append(self.found.is_kept, False)[self.of]

    @property
    def objects(self) -> Table:
        """A row for each object, kept or not."""
        found = self.found
        columns: dict[str, Column] = {
            "image": Categorical(found.image, self.data.image_names),
            "category": Categorical(found.category, self.data.category_names),
            **dict(zip(("x", "y", "width", "height"), found.bbox.T, strict=True)),
            **{name: getattr(found, name) for name in ("votes", "asked", "quorum", "overlap")},
            "kept": found.is_kept,
            "tie": found.is_tie,
            **{f"{edge}_spread": of for edge, of in zip(EDGES, found.spread.T, strict=True)},
        }
        return Table(columns)

    @property
    def dropped(self) -> Table:
        """A row for each annotation that no kept object has, with the reason."""
        of, found, rows = self.data.annotations, self.found, np.flatnonzero(~self.in_kept)
        rows = rows[np.lexsort((*of.bbox[rows].T[::-1], of.annotator[rows], of.image[rows]))]
        votes, asked = (np.append(each, 0)[self.of[rows]] for each in (found.votes, found.asked))
        why = zip(self.left_out[rows].tolist(), votes.tolist(), asked.tolist(), strict=True)
        drawn = (REASONS[out] + f": {n} of {most} drew it" * (out == 0) for out, n, most in why)
        columns: dict[str, Column] = {
            "image": Categorical(of.image[rows], self.data.image_names),
            "annotator": Categorical(of.annotator[rows], self.data.annotator_names),
            "id": text_column(of.shown_ids(rows)),
            "category": Categorical(of.category[rows], self.data.category_names),
            **dict(zip(("x", "y", "width", "height"), of.bbox[rows].T, strict=True)),
            "reason": text_column([*drawn]),
        }
        return Table(columns)
