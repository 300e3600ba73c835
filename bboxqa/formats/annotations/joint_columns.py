"""Converting decoded lists of key points to flat arrays, window by window."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from bboxqa.core.arrays import ColumnBuilder, FloatArray, IndexArray
from bboxqa.core.text import count
from bboxqa.formats.annotations.records import Annotation
from bboxqa.model.shapes.keypoints import Keypoints

MOST_VISIBLE = 2
"""The visibility of a joint that is labelled and can be seen."""
_MOST_JOINTS, _JOINTS_EACH = 2_000_000, 20


def most_joints(n_given: int) -> int:
    """Return how many joints lists may have with those that they omit, if `n_given` are given.

    The names of a category are few characters for a joint of each of its annotations.
    """
    return max(_MOST_JOINTS, _JOINTS_EACH * n_given)


class JointsBuilder:
    """Collects key points, and adds a problem to `problems` for each that cannot be used.

    `name` is the name of the file in problems. `n_odd` counts joints whose visibility is not 0, 1
    or 2.
    """

    def __init__(self, name: str, problems: list[str]) -> None:
        self._name = name
        self._problems = problems
        self.n_odd = 0
        self._xy = ColumnBuilder(np.float64, 2)
        self._visibility = ColumnBuilder(np.uint8)
        self._n_joints = ColumnBuilder(np.int64)
        self._area = ColumnBuilder(np.float64)

    def add(self, records: Sequence[Annotation]) -> None:
        """Add the key points of one window."""
        lists = [record.keypoints or () for record in records]  # type: ignore[attr-defined]
        areas = [record.area for record in records]  # type: ignore[attr-defined]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        flat = np.fromiter(chain.from_iterable(lists), np.float64, int(lengths.sum()))
        if (lengths % 3).any() or not np.isfinite(flat).all():
            flat, lengths = self._refused(records, lengths, flat)
        triples = flat.reshape(-1, 3)
        self._xy.add(triples[:, :2])
        self.n_odd += int(((triples[:, 2] < 0) | (triples[:, 2] > MOST_VISIBLE)).sum())
        # Models write scores in place of visibility.
        self._visibility.add(np.clip(np.ceil(triples[:, 2]), 0, MOST_VISIBLE))
        self._n_joints.add(lengths // 3)
        self._area.add(np.array([np.nan if area is None else area for area in areas], np.float64))

    def _refused(
        self, records: Sequence[Annotation], lengths: IndexArray, flat: FloatArray
    ) -> tuple[FloatArray, IndexArray]:
        """Add a problem for each list that is not x, y and visibility; return the others."""
        stop = np.cumsum(lengths)
        for place, (end, length) in enumerate(zip(stop.tolist(), lengths.tolist(), strict=True)):
            where = f"{self._name}: annotation {records[place].id!r}: keypoints"
            if length % 3:
                self._problems.append(
                    f"{where} have {length} numbers; expected x, y and visibility of each"
                )
            elif not np.isfinite(flat[end - length : end]).all():
                self._problems.append(f"{where} are not finite; expected pixels")
        return flat[:0], lengths * 0

    def absorb(self, keypoints: Keypoints, n_odd: int) -> None:
        """Append the key points that another builder has collected."""
        self.n_odd += n_odd
        self._xy.add(keypoints.xy)
        self._visibility.add(keypoints.visibility)
        self._n_joints.add(keypoints.stop - keypoints.start)
        self._area.add(keypoints.area)

    def done(self) -> Keypoints:
        """Return the collected columns."""
        n_joints = self._n_joints.done()
        stop = np.cumsum(n_joints)
        return Keypoints(
            # Annotations of one image may be far apart in the file.
            xy=self._xy.done(),
            visibility=self._visibility.done(),
            start=stop - n_joints,
            stop=stop,
            area=self._area.done(),
        )


def odd_points_note(n: int) -> str:
    """Return a note on how joints with an invalid visibility are read."""
    have = "has" if n == 1 else "have"
    return (
        f"{count(n, 'key point')} {have} a visibility below 0 or above 2: taken as not labelled "
        "and as visible; bboxqa validate finds them (K002)"
    )


def without_box_note(n: int) -> str:
    """Return a note on annotations with key points but no box, which are left out."""
    is_ = "is" if n == 1 else "are"
    some = f"{count(n, 'annotation')} with key points and no box"
    return f"{some} {is_} not compared; --similarity keypoints compares key points"
