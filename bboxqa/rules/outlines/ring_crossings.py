"""P: polygons that cross or touch themselves."""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.core.text import count
from bboxqa.geometry.kernels.polygons import n_crossings
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, part_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.ring_shapes import (
    RingState,
    flat,
    invalid_reason,
    polygons_of,
    reason_in_words,
    ring_rows,
    ring_states,
    ring_xy,
    shapes,
)

# Rings that cross themselves more often are not split, as nobody could tell whether the parts are
# right. In hand-drawn outlines, up to 28 crossings have been seen.
_MOST_CROSSINGS = 30


def _invalid(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rings = document.annotations.rings
    whole = np.flatnonzero(rings.n_numbers % 2 == 0)
    states = document.once(ring_states)[whole]
    wrong = whole[states == RingState.INVALID]
    unchecked = np.unique(rings.row[whole[states == RingState.UNCHECKED]])
    # All wrong rings of an annotation are fixed by the same edit.
    edits_of = lru_cache(1)(partial(_ring_edits, document))

    def describe(ring: int) -> Defect:
        row, number = int(rings.row[ring]), int(rings.place[ring])
        reason = invalid_reason(rings, ring)
        return record_defect(
            document,
            ("annotations", row, "segmentation", number),
            f"polygon {reason_in_words(reason)}; expected a ring that does not cross or touch "
            "itself",
            found=reason,
            expected="a ring that does not cross or touch itself",
            edits=edits_of(row),
        )

    summary = "polygons cross or touch themselves in {share}; expected rings that do not"
    yield from part_hits(rings.row, wrong, describe, summary=summary)
    yield from summary_hits(
        f"{count(len(unchecked), 'outline')} not checked for crossings: a ring has more than a "
        "million pairs of edges side by side; expected fewer points",
        "annotations",
        unchecked,
        "segmentation",
        severity=Severity.INFO,
        expected="an outline of fewer points",
    )


def _ring_edits(document: Document, row: int) -> tuple[Edit, ...]:
    """Return the edit that makes all rings of an annotation valid.

    There is none if that needs a hole, or if a ring crosses itself too often.
    """
    import shapely

    rings = document.annotations.rings
    of_row = ring_rows(document, row)
    states = document.once(ring_states)[of_row]
    wrong = dict(zip(of_row.tolist(), (states == RingState.INVALID).tolist(), strict=True))
    value = document.record(row).get("segmentation")
    crossed = [ring_xy(rings, ring) for ring in wrong if wrong[ring]]
    if not isinstance(value, list):
        return ()
    if any(n_crossings(xy, _MOST_CROSSINGS) > _MOST_CROSSINGS for xy in crossed):
        return ()
    result: list[Any] = []
    for ring, raw in zip(of_row, value, strict=True):
        if not wrong[int(ring)]:
            result.append(raw)
            continue
        parts = polygons_of(shapely.make_valid(shapes(rings, np.array([ring]))[0]))
        if not parts:
            return ()
        result += map(flat, parts)
    return (Edit(pointer_to("annotations", row, "segmentation"), "replace", result),)


RULES = (
    Rule(
        code="P005",
        title="polygon crosses or touches itself",
        severity=Severity.WARNING,
        breaks="""shapely raises TopologicalError or GEOSException, and so do tools that slice
            images (sahi drops the object or stops); area and IoU are wrong.""",
        explanation="""The edges of a ring cross or touch each other, or its points lie on one line.
            The cause is a slip of the hand, or vertices in the wrong order; the message says where.
            The unsafe fix splits the ring into rings that do not cross themselves, unless that
            needs a hole or a ring crosses itself more than 30 times; edges without area are
            lost. Rings with more than a million pairs of edges side by side are not checked.""",
        bad={"annotations": [
            {"segmentation": [[10, 10, 30, 40, 30, 10, 10, 40]], "area": 300},
        ]},
        good={"annotations": [
            {"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]]},
        ]},
        check=_invalid,
        fix="unsafe",
    ),
)  # fmt: skip
