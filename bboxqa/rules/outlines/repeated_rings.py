"""P: rings that an outline has twice."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document


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


def _repeats(document: Document) -> dict[int, list[tuple[int, int]]]:
    """Return the rings that repeat an earlier one, with that ring, by annotation."""
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
    """Return the rings of at least 3 points, sorted, that others of their outline may repeat."""
    rings = np.flatnonzero((n_numbers >= 6) & (n_numbers % 2 == 0))
    # Most outlines have one ring only; the others are few enough to be sorted.
    rings = rings[_next_to(np.diff(row[rings]) == 0, len(rings))]
    rings = rings[np.lexsort((n_numbers[rings], row[rings]))]
    same = (np.diff(row[rings]) == 0) & (np.diff(n_numbers[rings]) == 0)
    return np.sort(rings[_next_to(same, len(rings))])


def _next_to(same: BoolArray, n: int) -> BoolArray:
    """Return which of `n` values are the same as the one before or after; `same` is of pairs."""
    padded = np.zeros(n + 1, np.bool_)
    padded[1 : len(same) + 1] = same
    either: BoolArray = padded[:-1] | padded[1:]
    return either


def _from_lowest(xy: FloatArray) -> FloatArray:
    """Return a ring from its lowest point on, in the direction of the lower of both neighbours.

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
        breaks="""Programs that sum up the areas of polygons count the area twice, and those that
            fill by the even-odd rule, such as cv2.fillPoly, make a hole of it.""",
        explanation="""Two polygons of one outline have the same points, from any point on and in
            any direction. The shape was saved twice, or parts were joined with themselves. The fix
            removes all but the first; pycocotools reads the same mask before and after.""",
        bad={"annotations": [{**_BOX, "segmentation": [_RING, _OTHER, [*_RING[2:], 10, 10]]}]},
        good={"annotations": [{**_BOX, "segmentation": [_RING, _OTHER]}]},
        check=_repeated,
        fix="safe",
        consequences=("B011",),
    ),
)
