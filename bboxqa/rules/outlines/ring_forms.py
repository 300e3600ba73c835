"""P: the notation of polygons; their geometry is in `ring_crossings` and `ring_geometry`."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray, sum_by
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.document.annotation_columns import Form
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits, part_hits
from bboxqa.rules.facts.document import Document

_RINGS = "a list of rings [[x, y, x, y, …], …]"
_FORMS = {
    Form.FLAT: "a flat list of numbers",
    Form.PAIRS: "a list of points",
    Form.NESTED: "lists of points",
    Form.TEXT: "text",
}
_MAX_NUMBER = 1e15


def _place(document: Document, ring: int) -> tuple[str, int, str, int]:
    rings = document.annotations.rings
    return "annotations", int(rings.row[ring]), "segmentation", int(rings.place[ring])


def _too_short(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rings = document.annotations.rings
    short_ones = (rings.n_numbers > 0) & (rings.n_numbers < 6)
    drop = _Dropping(document, rings.n_numbers < 6)

    def describe(ring: int) -> Defect:
        n = int(rings.n_numbers[ring])
        as_box = ", which pycocotools reads as a box" if n == 4 else ""
        first, stop = rings.offsets[ring], rings.offsets[ring + 1]
        return record_defect(
            document,
            _place(document, ring),
            f"polygon has {n} number{'s' * (n > 1)}{as_box}; expected at least 6 (3 points)",
            found=rings.xy[first:stop].ravel().tolist(),
            expected="at least 3 points",
            edits=drop.edits(ring),
        )

    yield from part_hits(rings.row, short_ones, describe)


class _Dropping:
    """Edits that remove rings; the last ring is replaced by [] if most have no outline."""

    def __init__(self, document: Document, bad: Any) -> None:
        columns = document.annotations
        rings, n = columns.rings, len(columns)
        self._document = document
        left = sum_by(rings.row, ~bad, n) > 0
        self._left = left
        written = ~np.isin(columns.form, (Form.ABSENT, Form.EMPTY, Form.OTHER))
        outlined = written & (left | (columns.form != Form.RINGS))
        # If most annotations have an outline, an empty one is a defect as well (S010).
        self._can_be_empty = document.has_box & bool(2 * outlined.sum() <= n)

    def edits(self, ring: int) -> tuple[Edit, ...]:
        row = int(self._document.annotations.rings.row[ring])
        if self._left[row]:
            return (Edit(pointer_to(*_place(self._document, ring)), "remove"),)
        if self._can_be_empty[row]:
            return (Edit(pointer_to("annotations", row, "segmentation"), "replace", []),)
        return ()


def _odd(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rings = document.annotations.rings

    def describe(ring: int) -> Defect:
        n = int(rings.n_numbers[ring])
        return record_defect(
            document,
            _place(document, ring),
            f"polygon has {n} numbers; expected an even number, x and y of each point",
            found=n,
            expected="an even number of numbers",
        )

    yield from part_hits(rings.row, rings.n_numbers % 2 == 1, describe)


def _empty(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rings = document.annotations.rings
    empty = rings.n_numbers == 0
    drop = _Dropping(document, empty)

    def describe(ring: int) -> Defect:
        return record_defect(
            document,
            _place(document, ring),
            "polygon is an empty list; expected at least 3 points",
            found=[],
            expected="at least 3 points",
            edits=drop.edits(ring),
        )

    yield from part_hits(document.annotations.rings.row, empty, describe)


def _other_form(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    form = document.annotations.form
    rows = np.flatnonzero(np.isin(form, tuple(_FORMS)))
    written = int((~np.isin(form, (Form.ABSENT, Form.EMPTY))).sum())

    def edits(row: int) -> tuple[Edit, ...]:
        rings = _as_rings(document.record(row).get("segmentation"))
        if rings is None:
            return ()
        return (Edit(pointer_to("annotations", row, "segmentation"), "replace", rings),)

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, "segmentation"),
            f"segmentation is {_FORMS[Form(form[row])]}; expected {_RINGS}",
            found=shortened(document.record(row).get("segmentation")),
            expected=_RINGS,
            edits=edits(row),
        )

    def summary(some: IndexArray, _share: str) -> str:
        most = _FORMS[Form(int(np.bincount(form[some]).argmax()))]
        share = f"{len(some):,} of {written:,} outlines"
        return f"{share} are not in COCO's form (most are {most}); expected {_RINGS}"

    yield from hits(rows, describe, key="segmentation", summary=summary, total=written, few=1)


def _as_rings(value: Any) -> list[list[float]] | None:
    """Return an outline in COCO's notation; None if its meaning is uncertain.

    Examples
    --------
    >>> _as_rings([1, 2, 3, 4, 5, 6]), _as_rings("1,2 3,4 5,6")
    ([[1, 2, 3, 4, 5, 6]], [[1, 2, 3, 4, 5, 6]])
    >>> _as_rings([[1, 2], [3, 4], [5, 6]])
    [[1, 2, 3, 4, 5, 6]]
    """
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, list) or not value:
        return None
    if not isinstance(value[0], list):
        rings = [value]
    elif not value[0] or not isinstance(value[0][0], list):
        pairs = all(isinstance(point, list) and len(point) == 2 for point in value)
        rings = [list(chain.from_iterable(value))] if pairs else value
    elif all(isinstance(p, list) and len(p) == 2 for ring in value for p in _list(ring)):
        rings = [list(chain.from_iterable(_list(ring))) for ring in value]
    else:
        return None
    return rings if all(map(_sound, rings)) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [None]


def _sound(ring: Any) -> bool:
    return (
        isinstance(ring, list)
        and len(ring) >= 6
        and len(ring) % 2 == 0
        and all(type(number) in (int, float) and abs(number) < _MAX_NUMBER for number in ring)
    )


def _parsed(text: str) -> Any:
    """Return the JSON value or the list of numbers in a text; None for other texts."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with suppress(ValueError, RecursionError):
        return [json.loads(part) for part in re.split(r"[\s,;]+", text.strip())]
    return None


RULES = (
    Rule(
        code="P001",
        title="polygon with fewer than 3 points",
        severity=Severity.ERROR,
        breaks="""pycocotools reads 4 numbers as a box and stops with TypeError, at 2 with 'input
            type is not supported'; shapely raises ValueError.""",
        explanation="""A ring has fewer than 3 points, so it has no area. Stray clicks and the
            simplification of tiny outlines leave such rings. The unsafe fix removes the ring. If it
            is the only ring, the fix leaves an empty list if most annotations of the file have no
            outline, and otherwise changes nothing.""",
        bad={
            "annotations": [
                {"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40], [12, 12, 14, 14]]},
            ]
        },
        good={
            "annotations": [
                {"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40], [12, 12, 14, 12, 14, 14]]},
            ]
        },
        check=_too_short,
        fix="unsafe",
    ),
    Rule(
        code="P002",
        title="polygon with an odd number of coordinates",
        severity=Severity.ERROR,
        breaks="""pycocotools silently drops the last number; numpy's reshape(-1, 2) in data loaders
            stops with ValueError. If a number in the middle is missing, x and y are swapped from
            there on.""",
        explanation="""A ring lists x and y of each point, so it has an even number of coordinates.
            Here one is missing or superfluous, and the file does not show which. Export or draw the
            outline again.""",
        bad={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40, 10]]}]},
        good={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40, 10, 25]]}]},
        check=_odd,
    ),
    Rule(
        code="P003",
        title="outline is not written as a list of rings",
        severity=Severity.ERROR,
        breaks="""pycocotools stops with a TypeError, or with 'input type is not supported'; other
            tools do not load the outline.""",
        explanation="""COCO writes [[x, y, x, y, …], …]: a list of rings, each a flat list of
            numbers. Here the outer list is missing, points are separate lists, or the outline is
            text. The fix writes the same points in COCO's form, where there are at least 3.""",
        bad={"annotations": [{"segmentation": [10, 10, 30, 10, 30, 40, 10, 40]}]},
        good={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]]}]},
        check=_other_form,
        fix="safe",
    ),
    Rule(
        code="P004",
        title="empty polygon in an outline",
        severity=Severity.WARNING,
        breaks="""pycocotools stops with 'input type is not supported' if it is the first ring;
            other readers stop at its missing first point.""",
        explanation="""One of the rings is an empty list, often because a part of an outline was
            deleted. The fix removes it. If it is the only ring, the fix leaves an empty list if
            most annotations of the file have no outline, and otherwise changes nothing.""",
        bad={"annotations": [{"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40], []]}]},
        good={"annotations": [{"segmentation": []}]},
        check=_empty,
        fix="safe",
    ),
)
