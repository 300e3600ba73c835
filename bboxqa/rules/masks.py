"""R: run-length masks, and the crowd flag of outlines."""

from typing import Any

import numpy as np

from bboxqa.core.text import count
from bboxqa.formats.column_builder import are_of_cvat
from bboxqa.formats.columns import Form
from bboxqa.model.findings import Edit
from bboxqa.model.settings import ValidateSettings
from bboxqa.model.shapes.masks import compress_counts, n_turned, spans_of_runs, transposed_runs
from bboxqa.rules.base.reporting import Checked, Rows, record_edit, row_edits, summary
from bboxqa.rules.base.rule import rule
from bboxqa.rules.facts.boxes import figure
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.rings import row_major_masks, runs_of

# Runs that a mask may have after a fix: some however few it had, and some more for each.
_MOST_RUNS, _RUNS_EACH = 1 << 14, 8

_SINGLE = "0 for masks of single objects"


def _not_crowd(row: int) -> tuple[Edit, ...]:
    return record_edit("annotations", row, "iscrowd", value=0)


def _mask(*runs: int, height: int = 80, width: int = 100, **more: Any) -> dict[str, Any]:
    return {"segmentation": {"size": [height, width], "counts": list(runs)}, **more}


_SOUND = _mask(810, 600, 6590)
_CROWD = _mask(810, 100, 7090, iscrowd=1, area=100)
_FIELDS: dict[str, Any] = {"bbox": [10, 10, 20, 30], "area": 600}
_COLUMNWISE = _mask(810, *[30, 50] * 19, 30, 5660, **_FIELDS)


@rule(
    "R001 error: size of a mask differs from its image",
    breaks="pycocotools gives masks of different sizes an IoU of -1: the object is never found.",
    explanation="""The size of run lengths is [height, width] of the image. Here they are swapped,
        or the mask is of a resized image. Create the mask again at the size of the image.""",
    bad={"annotations": [_mask(810, 600, 6590, height=100, width=80)]},
    good={"annotations": [_SOUND]},
    requires=("B014",),
)
def _size(document: Document, _settings: ValidateSettings) -> Checked:
    rles = document.annotations.rles
    image = document.size[rles.row][:, ::-1]
    known = (rles.size > 0).all(axis=1) & ~np.isnan(image).any(axis=1)

    def says(mask: int) -> str:
        size, (height, width) = rles.size[mask].tolist(), image[mask].tolist()
        swapped = " (height and width are swapped)" if size == [width, height] else ""
        wanted = f"[{height:g}, {width:g}], height and width of its image"
        return f"mask has size {size}{swapped}; expected {wanted}"

    wrong = known & (rles.size != image).any(axis=1)
    yield Rows(wrong, says, "annotations/segmentation/size", owner=rles.row)


@rule(
    "R002 error: run lengths do not fill the mask",
    breaks="pycocotools may silently compute area, box and IoU of a wrong mask.",
    explanation="""Run lengths do not add up to height times width, or are not in COCO's notation:
        they were cut off, changed, for example backslashes into slashes, or belong to a crop.
        Export the mask again.""",
    bad={"annotations": [_mask(810, 600, 6500)]},
    good={"annotations": [_SOUND]},
)
def _counts(document: Document, _settings: ValidateSettings) -> Checked:
    rles = document.annotations.rles

    def says(mask: int) -> str:
        height, width = rles.size[mask].tolist()
        wanted = f"{height * width:,} ({height} x {width})"
        return (
            rles.problems[rles.problem[mask]]
            or f"run lengths add up to {rles.total[mask]:,}; expected {wanted}"
        )

    yield Rows(
        (rles.problem > 0) | (rles.total != rles.size.prod(axis=1)),
        says,
        "annotations/segmentation",
        owner=rles.row,
        found=lambda mask: rles.problems[rles.problem[mask]] or int(rles.total[mask]),
    )


@rule(
    "R003 warning, unsafe fix: all masks are marked as crowds",
    breaks="COCOeval ignores crowds: without other objects, AP is -1.",
    explanation="""Every annotation has iscrowd 1, or every mask in an export of CVAT; but it means
        a region of many objects. `bboxqa agree` takes masks of CVAT as single objects. The unsafe
        fix writes 0.""",
    bad={"annotations": [_CROWD, {**_CROWD, "bbox": [40, 10, 20, 30]}]},
    good={"annotations": [_CROWD, {**_CROWD, "iscrowd": 0, "bbox": [40, 10, 20, 30]}]},
)
def _all_crowds(document: Document, _settings: ValidateSettings) -> Checked:
    columns = document.annotations
    rows = columns.rles.row
    if not (columns.iscrowd[rows] == 1).all():
        return
    if all(are_of_cvat(document.record(row).get("attributes")) for row in rows.tolist()):
        why = "since CVAT writes it for every mask and ellipse"
    elif len(rows) > 1 and (columns.iscrowd == 1).all():
        why = "and no annotation has 0"
    else:
        return
    yield summary(
        f"iscrowd is 1 in {count(len(rows), 'mask')}, all of them, {why}; expected {_SINGLE}",
        "annotations/iscrowd",
        rows,
        expected=_SINGLE,
        edits=row_edits(rows, _not_crowd),
    )


@rule(
    "R004 warning, unsafe fix: polygon is marked as a crowd",
    breaks="COCOeval ignores the object, and most data loaders leave it out of training.",
    explanation="""A crowd is a region of many objects, and COCO writes it as run lengths. The
        unsafe fix writes 0.""",
    bad={"annotations": [
        {"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]], "iscrowd": 1},
    ]},
    good={"annotations": [{**_SOUND, "iscrowd": 1}]},
)  # fmt: skip
def _crowded_polygon(document: Document, _settings: ValidateSettings) -> Checked:
    columns = document.annotations
    polygon = np.isin(columns.form, (Form.RINGS, Form.FLAT, Form.PAIRS, Form.NESTED))
    wrong, expected = (columns.iscrowd == 1) & polygon, "0, or run lengths of a crowd"
    says = "iscrowd is 1 for a polygon"
    yield Rows(wrong, says, "annotations/iscrowd", expected, new=lambda _row: 0)


@rule(
    "R007 error, safe fix: masks are written row by row",
    breaks="Every program reads a wrong mask, with stripes across the image.",
    explanation="""Run lengths go down the columns of the image. Here they fit the boxes only if
        they go along the rows. The fix writes them column by column, but not in square images, nor
        where a few runs would become millions.""",
    bad={"annotations": [_mask(1010, *[20, 80] * 29, 20, 4070, **_FIELDS)]},
    good={"annotations": [_COLUMNWISE]},
)
def _row_major(document: Document, settings: ValidateSettings) -> Checked:
    rles, rows = document.annotations.rles, document.once(row_major_masks, settings.bounds_px)

    def edits(row: int) -> tuple[Edit, ...]:
        mask, runs = document.record(row)["segmentation"], runs_of(document, row)
        height, width = mask["size"]
        # In a square image, the box may be transposed instead.
        most = _MOST_RUNS + _RUNS_EACH * len(runs)
        if height == width or n_turned(spans_of_runs(runs), width) > most:
            return ()
        runs = transposed_runs(runs, height, width)
        is_text = isinstance(mask["counts"], str)
        counts = compress_counts(runs, height, width).decode() if is_text else runs.tolist()
        return record_edit("annotations", row, "segmentation", "counts", value=counts)

    yield summary(
        f"{len(rows):,} of {count(len(rles.row), 'mask')} fit their boxes if their run lengths go "
        "row by row, and do not as they are; expected run lengths column by column",
        "annotations/segmentation/counts",
        rows,
        expected="run lengths column by column",
        edits=row_edits(rows, edits),
    )


@rule(
    "R008 error: mask is empty",
    breaks="The object always counts as missed, and losses divided by the area become NaN.",
    explanation="""The run lengths of the mask contain no pixels of the object. Draw the mask again,
        or remove the annotation.""",
    bad={"annotations": [_mask(8000, **_FIELDS)]},
    good={"annotations": [_COLUMNWISE]},
)
def _empty(document: Document, _settings: ValidateSettings) -> Checked:
    rles = document.annotations.rles
    whole = (rles.problem == 0) & (rles.total == rles.size.prod(axis=1))

    def says(row: int) -> str:
        width, height = document.annotations.bbox[row, 2:].tolist()
        but = f", but its bbox is {figure(width)} x {figure(height)} px" if width > 0 else ""
        return f"mask has no pixels{but}"

    rows, expected = rles.row[whole & (rles.area == 0)], "the pixels of the object"
    yield Rows(rows, says, "annotations/segmentation", expected, lambda _row: 0)
