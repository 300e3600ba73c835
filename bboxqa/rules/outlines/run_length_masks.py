"""R: run-length masks, and the crowd flag of outlines."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.core.text import count
from bboxqa.formats.annotations.cvat_crowds import are_of_cvat
from bboxqa.formats.document.annotation_columns import Form
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, row_edits, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits, part_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.misread_masks import slashed_masks, with_backslashes


def _not_crowd(row: int) -> tuple[Edit, ...]:
    return (Edit(pointer_to("annotations", row, "iscrowd"), "replace", 0),)


def _size(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rles = document.annotations.rles
    image = document.size[rles.row][:, ::-1]
    known = (rles.size > 0).all(axis=1) & ~np.isnan(image).any(axis=1)

    def describe(mask: int) -> Defect:
        row, size = int(rles.row[mask]), rles.size[mask].tolist()
        expected = [float(side) for side in image[mask]]
        text = f"[{expected[0]:g}, {expected[1]:g}]"
        swapped = " (height and width are swapped)" if size == expected[::-1] else ""
        return record_defect(
            document,
            ("annotations", row, "segmentation", "size"),
            f"mask has size {size}{swapped}; expected {text}, height and width of its image",
            found=size,
            expected=text,
        )

    yield from part_hits(rles.row, known & (rles.size != image).any(axis=1), describe)


def _counts(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rles = document.annotations.rles
    pixels = rles.size.prod(axis=1)
    unread = rles.problem > 0
    explained = np.isin(rles.row, document.once(slashed_masks).row)

    def describe(mask: int) -> Defect:
        row, problem = int(rles.row[mask]), rles.problems[rles.problem[mask]]
        height, width = rles.size[mask].tolist()
        total, wanted = int(rles.total[mask]), height * width
        return record_defect(
            document,
            ("annotations", row, "segmentation"),
            problem or f"run lengths add up to {total:,}; expected {wanted:,} ({height} x {width})",
            found=problem or total,
            expected="run lengths of all pixels of the mask",
        )

    yield from part_hits(rles.row, (unread | (rles.total != pixels)) & ~explained, describe)


def _slashes(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    slashed = document.once(slashed_masks)
    rows, proven = slashed.row, slashed.row[slashed.has_area]

    def edits(row: int) -> tuple[Edit, ...]:
        counts = document.record(row)["segmentation"]["counts"]
        pointer = pointer_to("annotations", row, "segmentation", "counts")
        return (Edit(pointer, "replace", with_backslashes(counts)),)

    n_masks = len(document.annotations.rles.row)
    yield from summary_hits(
        f"/ stands for \\ in the compressed counts of {len(rows):,} of "
        f"{count(n_masks, 'mask')}: with \\ they fill their size, and {len(proven):,} have "
        "the area that is written; expected \\",
        "annotations",
        rows,
        "segmentation",
        "counts",
        expected="characters from '0' to 'o'",
        edits=row_edits(proven, edits),
    )


def _all_crowds(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations
    rows = columns.rles.row
    if not len(rows) or not (columns.iscrowd[rows] == 1).all():
        return
    if all(are_of_cvat(document.record(row).get("attributes")) for row in rows.tolist()):
        why = "since CVAT writes it for every mask and ellipse"
    elif len(rows) > 1 and (columns.iscrowd == 1).all():
        why = "and no annotation has 0"
    else:
        return
    masks = "the only mask has" if len(rows) == 1 else f"all {len(rows):,} masks have"
    yield from summary_hits(
        f"{masks} iscrowd 1, {why}; expected 0 for masks of single objects",
        "annotations",
        rows,
        "iscrowd",
        expected="iscrowd 0 for masks of single objects",
        edits=row_edits(rows, _not_crowd),
    )


def _crowded_polygon(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    columns = document.annotations

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, "iscrowd"),
            "iscrowd is 1 for a polygon; expected 0, or run lengths of a crowd",
            found=1,
            expected="0",
            edits=_not_crowd(row),
        )

    polygon = np.isin(columns.form, (Form.RINGS, Form.FLAT, Form.PAIRS, Form.NESTED))
    yield from hits((columns.iscrowd == 1) & polygon, describe)


def _mixed(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    rles = document.annotations.rles
    sound = rles.problem == 0
    packed, plain = rles.row[rles.compressed & sound], rles.row[~rles.compressed & sound]
    if len(packed) == 0 or len(plain) == 0:
        return
    yield from summary_hits(
        f"{len(packed):,} masks are compressed text and {len(plain):,} are lists of numbers; "
        "expected one form",
        "annotations",
        packed if len(packed) <= len(plain) else plain,
        "segmentation",
        expected="one form of masks",
    )


_MASK = {"size": [80, 100], "counts": [810, 100, 7090]}

RULES = (
    Rule(
        code="R001",
        title="size of a mask differs from its image",
        severity=Severity.ERROR,
        breaks="""pycocotools gives masks of different sizes an IoU of -1, so the object is never
            found; pasting the mask on the image stops with a broadcast error.""",
        explanation="""The size of run lengths is [height, width] of the image. Here it differs:
            width and height are swapped, or the mask was made for a resized image. Create the mask
            again at the size of the image.""",
        bad={"annotations": [
            {"segmentation": {"size": [100, 80], "counts": [810, 600, 6590]}},
        ]},
        good={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": [810, 600, 6590]}},
        ]},
        check=_size,
        requires=("B014",),
        consequences=("B011",),
    ),
    Rule(
        code="R002",
        title="run lengths do not fill the mask",
        severity=Severity.ERROR,
        breaks="""pycocotools may silently compute area, box and IoU of a wrong mask. Only its
            decode() may stop, with 'Invalid RLE mask representation'; it leaves missing pixels
            uninitialised.""",
        explanation="""Run lengths count all pixels of a mask, column by column, so they add up to
            height times width. Here they do not, or they are not in COCO's notation. The export was
            cut off, its text was changed, or the runs belong to a crop rather than to the image.
            Export the mask again.""",
        bad={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": [810, 600, 6500]}},
        ]},
        good={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": [810, 600, 6590]}},
        ]},
        check=_counts,
        consequences=("P007", "B011"),
    ),
    Rule(
        code="R003",
        title="all masks are marked as crowds",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""COCOeval ignores crowds: without other objects, AP is -1. Detectron2 and
            MMDetection leave them out of training.""",
        explanation="""Every annotation has iscrowd 1, or every mask in an export of CVAT, which
            writes it for masks and ellipses, also beside boxes and polygons. Some converters write
            it for each run-length mask, since COCO's own run-length masks are crowds; but it means
            a region of many objects that are not annotated one by one. `bboxqa agree` takes masks
            of CVAT as single objects. The unsafe fix writes 0.""",
        bad={"annotations": [
            {"segmentation": _MASK, "iscrowd": 1, "area": 100},
            {"segmentation": _MASK, "iscrowd": 1, "area": 100, "bbox": [40, 10, 20, 30]},
        ]},
        good={"annotations": [
            {"segmentation": _MASK, "iscrowd": 1, "area": 100},
            {"segmentation": _MASK, "iscrowd": 0, "area": 100, "bbox": [40, 10, 20, 30]},
        ]},
        check=_all_crowds,
        fix="unsafe",
    ),
    Rule(
        code="R004",
        title="polygon is marked as a crowd",
        severity=Severity.WARNING,
        breaks="""COCOeval ignores the object, and most data loaders leave it out of training; tools
            that expect run lengths of a crowd stop at the list.""",
        explanation="""A crowd is a region of many objects, and COCO writes it as run lengths. A
            polygon with iscrowd 1 is usually a single object that is marked wrongly. The unsafe fix
            writes 0.""",
        bad={"annotations": [
            {"segmentation": [[10, 10, 30, 10, 30, 40, 10, 40]], "iscrowd": 1},
        ]},
        good={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": [810, 600, 6590]}, "iscrowd": 1},
        ]},
        check=_crowded_polygon,
        fix="unsafe",
    ),
    Rule(
        code="R005",
        title="compressed and plain run lengths in one file",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Readers that support only one form (lists of numbers, or text) stop at the other,
            often far into the file.""",
        explanation="""The counts of a mask are a list of numbers or, compressed, text. COCO allows
            both, but few readers expect both in one file, which results from joining exports of
            several tools. Write all masks in one form.""",
        bad={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": [810, 600, 6590]}},
            {"segmentation": {"size": [2, 2], "counts": "04"}},
        ]},
        good={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": [810, 600, 6590]}},
        ]},
        check=_mixed,
    ),
    Rule(
        code="R006",
        title="backslashes of compressed masks are written as slashes",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools silently reads a wrong mask: IoU and training use shapes that nobody
            drew.""",
        explanation="""Compressed counts use the characters from '0' to 'o', which include the
            backslash but not the slash. Programs that convert paths between systems replace
            backslashes anywhere in the file. With backslashes, the counts can be read and add up to
            the size of the mask. The fix restores them if the mask then has the area in the
            file.""",
        bad={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": "UV11^22N2N2N2N20N2N2N2N2N/h5"},
             "bbox": [15, 16, 11, 11], "area": 61},
        ]},
        good={"annotations": [
            {"segmentation": {"size": [80, 100], "counts": "UV11^22N2N2N2N20N2N2N2N2N\\h5"},
             "bbox": [15, 16, 11, 11], "area": 61},
        ]},
        check=_slashes,
        fix="safe",
    ),
)  # fmt: skip
