"""P: rings that are twice in an outline, and rings that go round twice."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.ring_shapes import RingState, ring_states, ring_xy


def _repeated(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    repeats = _repeats(document)
    place = document.annotations.rings.place

    def describe(row: int) -> Defect:
        numbers = [int(place[ring]) for ring, _ in repeats[row]]
        first = int(place[repeats[row][0][1]])
        return record_defect(
            document,
            ("annotations", row, "segmentation", numbers[0]),
            f"polygon has the same points as polygon {first} of its outline; expected each once",
            found=len(numbers),
            expected="each polygon once",
            edits=tuple(
                Edit(pointer_to("annotations", row, "segmentation", number), "remove")
                for number in numbers
            ),
        )

    yield from hits(np.array(sorted(repeats), np.int64), describe)


def _round_twice(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """P009: rings that go round the same points several times."""
    rings = document.annotations.rings
    # Such a ring touches itself everywhere.
    invalid = np.flatnonzero(document.once(ring_states) == RingState.INVALID)
    periods = np.array([_period(ring_xy(rings, ring)) for ring in invalid.tolist()], np.int64)
    several = periods > 0

    def describe(place: int) -> Defect:
        ring, period = int(invalid[several][place]), int(periods[several][place])
        row, number = int(rings.row[ring]), int(rings.place[ring])
        pointer = pointer_to("annotations", row, "segmentation", number)
        raw = document.record(row)["segmentation"][number]
        xy = ring_xy(rings, ring)
        turns, n_points = len(xy) // period, len(np.unique(xy[:period], axis=0))
        return record_defect(
            document,
            ("annotations", row, "segmentation", number),
            f"polygon goes round its {n_points} points {turns} times; expected once",
            found=turns,
            expected="each point once",
            edits=(Edit(pointer, "replace", raw[: 2 * period]),),
        )

    def summary(_places: IndexArray, share: str) -> str:
        return f"polygons go round their points several times in {share}; expected once"

    if several.any():
        yield Hits(rings.row[invalid[several]], describe, summary=summary)


def _period(xy: FloatArray) -> int:
    """Return the number of points after which a ring repeats itself; 0 if it does not.

    The points that close each round are among them, but not one that closes only the last.

    Examples
    --------
    >>> round_ = [[0.0, 0], [9, 0], [9, 9]]
    >>> closed = [*round_, round_[0]]
    >>> [_period(np.array(ring)) for ring in (2 * round_, 2 * closed, round_, closed)]
    [3, 4, 0, 0]
    """
    again = np.flatnonzero((xy[1:] == xy[0]).all(axis=1)) + 1
    if len(again) == 0:
        return 0
    if 2 * (int(again[0]) + 1) <= len(xy) and (xy[again[0] + 1] == xy[0]).all():
        period, n_points = int(again[0]) + 1, len(xy)
    else:
        period, n_points = int(again[0]), len(xy) - (again[-1] == len(xy) - 1)
    repeated = n_points >= 2 * period >= 6 and n_points % period == 0
    return period if repeated and (xy[period:n_points] == xy[: n_points - period]).all() else 0


def _repeats(document: Document) -> dict[int, list[tuple[int, int]]]:
    """Return the rings that repeat an earlier ring, with that ring, by annotation."""
    rings = document.annotations.rings
    first: dict[tuple[int, bytes], int] = {}
    found: dict[int, list[tuple[int, int]]] = {}
    for ring in _of_equal_length(rings.row, rings.n_numbers).tolist():
        row, xy = int(rings.row[ring]), rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
        earlier = first.setdefault((row, _from_lowest(xy).tobytes()), ring)
        if earlier != ring:
            found.setdefault(row, []).append((ring, earlier))
    return found


def _of_equal_length(row: IndexArray, n_numbers: IndexArray) -> IndexArray:
    """Return the rings of at least 3 points that may be repeated in their outline, sorted."""
    rings = np.flatnonzero((n_numbers >= 6) & (n_numbers % 2 == 0))
    # Most outlines have only one ring, so few rings have to be sorted.
    rings = rings[_next_to(np.diff(row[rings]) == 0, len(rings))]
    rings = rings[np.lexsort((n_numbers[rings], row[rings]))]
    same = (np.diff(row[rings]) == 0) & (np.diff(n_numbers[rings]) == 0)
    return np.sort(rings[_next_to(same, len(rings))])


def _next_to(same: BoolArray, n: int) -> BoolArray:
    """Return which of `n` values equal a neighbour; `same` compares adjacent values."""
    padded = np.zeros(n + 1, np.bool_)
    padded[1 : len(same) + 1] = same
    either: BoolArray = padded[:-1] | padded[1:]
    return either


def _from_lowest(xy: FloatArray) -> FloatArray:
    """Return a ring that starts at its lowest point, towards the lower of both neighbours.

    Rings that differ only in their first point and direction become equal.
    """
    start = int(np.lexsort((xy[:, 1], xy[:, 0]))[0])
    forward = np.roll(xy, -start, axis=0)
    backward = np.roll(forward[::-1], 1, axis=0)
    return min(forward, backward, key=lambda ring: ring.tolist()) + 0.0


_RING = [10, 10, 30, 10, 30, 40, 10, 40]
_OTHER = [40, 10, 60, 10, 60, 40, 40, 40]
_BOX = {"bbox": [10, 10, 50, 30], "area": 1200}

RULES = (
    Rule(
        code="P008",
        title="polygon is in its outline twice",
        severity=Severity.WARNING,
        breaks="""Programs that add up the areas of polygons count the area twice, and programs that
            fill by the even-odd rule, such as cv2.fillPoly, leave a hole.""",
        explanation="""Two polygons of one outline have the same points, starting at any point and
            in any direction. The shape was saved twice, or parts were joined with themselves. The
            fix removes all but the first; pycocotools reads the same mask before and after.""",
        bad={"annotations": [{**_BOX, "segmentation": [_RING, _OTHER, [*_RING[2:], 10, 10]]}]},
        good={"annotations": [{**_BOX, "segmentation": [_RING, _OTHER]}]},
        check=_repeated,
        fix="safe",
        consequences=("B011",),
    ),
    Rule(
        code="P009",
        title="polygon goes round its points twice",
        severity=Severity.ERROR,
        breaks="""pycocotools fills by the even-odd rule, by which points inside twice are outside,
            so the mask is empty. The shoelace formula gives twice the area.""",
        explanation="""The points of one polygon are followed by the same points again, in the same
            list. A tool closed the shape twice, or joined it with itself. The fix keeps the first
            round.""",
        bad={"annotations": [{**_BOX, "segmentation": [_OTHER + _OTHER]}]},
        good={"annotations": [{**_BOX, "segmentation": [_OTHER]}]},
        check=_round_twice,
        fix="safe",
        consequences=("P005", "B011"),
    ),
)
