"""R: readable masks with wrong content: written row by row, or without pixels."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.core.text import count
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.model.shapes.masks import compress_counts, n_turned, spans_of_runs, transposed_runs
from bboxqa.rules.base.reporting import record_defect, row_edits, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.facts.misread_masks import row_major_masks, runs_of

_MOST_RUNS, _RUNS_EACH = 1 << 21, 8
"""Runs that all masks may have after a fix: some however few they had, and some more for each."""


def _row_major(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    masks = document.once(row_major_masks, settings.bounds_px)
    rows = masks.row
    if len(rows) == 0:
        return
    rles = document.annotations.rles
    height, width = rles.size[np.searchsorted(rles.row, rows)].T
    fit, also = "fit their boxes", ""
    if masks.is_shifted:
        fit, also = "have the sizes of their boxes", "; their boxes lie elsewhere as well"
    yield from summary_hits(
        f"{len(rows):,} of {count(len(rles.row), 'mask')} {fit} if their run lengths go row by "
        f"row, and do not as they are{also}; expected run lengths column by column",
        "annotations",
        rows,
        "segmentation",
        "counts",
        expected="run lengths column by column",
        # In a square image, the box may be transposed instead.
        edits=row_edits(
            _of_few_runs(document, rows[height != width]), lambda row: _columnwise(document, row)
        ),
    )


def _of_few_runs(document: Document, rows: IndexArray) -> IndexArray:
    """Return all rows of masks, or none if their runs column by column would be too many."""
    n_given = n_found = 0
    for row in rows.tolist():
        runs = runs_of(document, row)
        width = document.record(row)["segmentation"]["size"][1]
        n_given += len(runs)
        n_found += n_turned(spans_of_runs(runs), width)
        if n_found > _MOST_RUNS + _RUNS_EACH * n_given:
            return rows[:0]
    return rows


def _columnwise(document: Document, row: int) -> tuple[Edit, ...]:
    """Return the edit that writes the counts of a mask column by column."""
    mask = document.record(row)["segmentation"]
    height, width = mask["size"]
    runs = transposed_runs(runs_of(document, row), height, width)
    is_text = isinstance(mask["counts"], str)
    counts = compress_counts(runs, height, width).decode() if is_text else runs.tolist()
    return (Edit(pointer_to("annotations", row, "segmentation", "counts"), "replace", counts),)


def _empty(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns, rles = document.annotations, document.annotations.rles
    whole = (rles.problem == 0) & (rles.total == rles.size.prod(axis=1))

    def describe(row: int) -> Defect:
        width, height = columns.bbox[row, 2:].tolist()
        area = columns.area[row]
        found = [f"its bbox is {figure(width)} x {figure(height)} px"] if width > 0 else []
        found += [f"its area is {figure(area)} px²"] if area > 0 else []
        but = f", but {' and '.join(found)}" if found else ""
        return record_defect(
            document,
            ("annotations", row, "segmentation"),
            f"mask has no pixels{but}; expected the pixels of the object",
            found=0,
            expected="the pixels of the object",
        )

    yield from hits(rles.row[whole & (rles.area == 0)], describe)


_FIELDS = {"bbox": [10, 10, 20, 30], "area": 600}
_COLUMNWISE = [810, *[30, 50] * 19, 30, 5660]
_ROWWISE = [1010, *[20, 80] * 29, 20, 4070]

RULES = (
    Rule(
        code="R007",
        title="masks are written row by row",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every program reads a wrong mask, with stripes across the image, and training and
            IoU silently use it.""",
        explanation="""Run lengths go down the columns of the image, one column after another. Here
            they fit the boxes only if they go along the rows, as when a numpy array is flattened in
            C order instead of Fortran order. If none fits its box, the sizes of nearly all of at
            least 5 masks show it, and their boxes were shifted as well. Masks whose box fits both
            are not checked. The fix writes the runs column by column; in square images, where the
            box may be transposed instead, nothing is changed, nor where a few runs would become
            millions.""",
        bad={"annotations": [{**_FIELDS, "segmentation": {"size": [80, 100], "counts": _ROWWISE}}]},
        good={
            "annotations": [{**_FIELDS, "segmentation": {"size": [80, 100], "counts": _COLUMNWISE}}]
        },
        check=_row_major,
        fix="safe",
    ),
    Rule(
        code="R008",
        title="mask is empty",
        severity=Severity.ERROR,
        breaks="""The object has an IoU of 0 with every detection, so it always counts as missed,
            and losses that divide by the area of the mask become NaN.""",
        explanation="""The run lengths of the mask contain no pixels of the object. If there is a
            box, the mask was lost when it was resized, cropped or converted; otherwise nothing was
            drawn. Draw the mask again, or remove the annotation.""",
        bad={"annotations": [{**_FIELDS, "segmentation": {"size": [80, 100], "counts": [8000]}}]},
        good={
            "annotations": [{**_FIELDS, "segmentation": {"size": [80, 100], "counts": _COLUMNWISE}}]
        },
        check=_empty,
        consequences=("B001", "B011"),
    ),
)
