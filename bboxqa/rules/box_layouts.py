"""B: boxes in another layout than COCO's, swapped sizes of images, and copied boxes."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import Checked, Rows, record_edit, summary
from bboxqa.rules.base.rule import LazyEdits, rule
from bboxqa.rules.facts.boxes import inside, overshoot, rounded_number, rounded_values
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layout import (
    ENOUGH_SIZES,
    EXPECTED_LAYOUT,
    Diagnosis,
    copies_in,
    diagnose,
    swapped_images,
)

# If at least this share of boxes are copies, other findings about boxes are hidden.
_NEARLY_ALL = 0.9


def _layout(code: str, document: Document, _settings: ValidateSettings) -> Checked:
    """B005 to B007: boxes in the layout that the rule reports."""
    found = document.once(diagnose)
    if found is not None and found.layout.code == code:
        yield summary(
            found.message,
            "annotations/bbox",
            found.rows,
            expected=EXPECTED_LAYOUT,
            edits=LazyEdits(partial(_converted, document, found)) if found.is_certain else (),
        )


def _converted(document: Document, found: Diagnosis) -> Iterator[Edit]:
    """Yield the edits that convert boxes, and areas and outlines in the same shares, to pixels."""
    for row, box in zip(found.rows.tolist(), found.bbox, strict=True):
        yield from record_edit("annotations", row, "bbox", value=rounded_values(box))
    unit, rings = found.layout.unit, document.annotations.rings
    if not unit:
        return
    area = document.annotations.area[found.rows]
    for row in found.rows[(unit == 1) & (area > 0) & (area <= 1)].tolist():
        pixels = float(document.annotations.area[row] * document.size[row].prod())
        yield from record_edit("annotations", row, "area", value=rounded_number(pixels))
    written = corners(found.layout.read(document.annotations.bbox[found.rows], None))
    apart = np.abs(written - document.outline_bounds[found.rows]).max(axis=1)
    for ring in np.flatnonzero(np.isin(rings.row, found.rows[apart <= unit / 100])).tolist():
        row, xy = int(rings.row[ring]), rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
        pointer = pointer_to("annotations", row, "segmentation", int(rings.place[ring]))
        yield Edit(pointer, "replace", rounded_values((xy * document.size[row] / unit).ravel()))


def _swapped(document: Document, _settings: ValidateSettings) -> Checked:
    """B012: images whose boxes lie inside after width and height are swapped."""
    images = document.once(swapped_images)
    rows, boxes = np.flatnonzero(images), np.append(images, False)[document.image]
    boxes &= document.has_box
    n_cured = inside(document.annotations.bbox[boxes], document.size[boxes][:, ::-1]).sum()
    has_outlines = np.isfinite(document.outline_bounds[boxes, 0]).any()
    turned = "" if has_outlines else ", or their boxes are y, x, height, width"
    yield summary(
        f"width and height look swapped in {len(rows):,} of {len(images):,} images{turned}: boxes "
        f"extend beyond them, but {n_cured:,} of {boxes.sum():,} lie inside after a swap",
        "images",
        rows,
        expected="the size of the image as it is shown",
        ids={"image": document.images.get(int(rows[0]), "id")} if len(rows) == 1 else {},
    )


def _copied(document: Document, settings: ValidateSettings) -> Checked:
    """B014: boxes with the same numbers on images of several sizes."""
    copies = document.once(copies_in)
    if copies is None:
        return
    bbox, rows = document.annotations.bbox, copies.rows
    first = rows[copies.group == np.argmax(copies.n_sizes)]
    # If hardly any box was drawn on its image, all other findings about boxes follow from that.
    nearly_all = len(rows) >= _NEARLY_ALL * document.has_box.sum()
    beyond = overshoot(bbox[rows], document.size[rows])
    is_off = bool((beyond >= np.tile(bbox[rows, 2:], 2)).any())
    hides = nearly_all or bool((beyond > settings.overshoot_px).any())
    defect = summary(
        f"{len(rows):,} boxes have the same four numbers as others on images of {ENOUGH_SIZES} or "
        f"more sizes, such as [{', '.join(f'{number:g}' for number in bbox[first[0]])}] on "
        f"{len(np.unique(document.image[first])):,} images of {copies.n_sizes.max():,} sizes; "
        "expected boxes drawn on each image",
        "annotations/bbox",
        [*first, *np.setdiff1d(rows, first)],
        found=bbox[first[0]].tolist(),
        expected="boxes drawn on each image",
    )
    severity = Severity.ERROR if nearly_all or is_off else None
    concerned = None if nearly_all else rows
    yield Rows([0], at="", defects=[defect], severity=severity, hides=hides, concerned=concerned)


def _box(*numbers: float) -> dict[str, object]:
    return {"bbox": list(numbers), "area": 200}


_TALL = [
    _box(10, 82, 20, 10), _box(50, 85, 20, 10), _box(40, 88, 20, 10), _box(20, 60, 20, 10),
    _box(5, 86, 20, 10), _box(30, 84, 20, 10),
]  # fmt: skip
_IMAGES = [{"width": w, "height": h} for w, h in ((100, 80), (120, 80), (100, 120))]

RULES = (
    rule(
        "B005 error: boxes look like x1, y1, x2, y2, or numbers in another order",
        breaks="Boxes are read far too large, and AP falls to about 0 without an error.",
        explanation="""COCO's boxes are x, y, width, height. As such, a fifth of the boxes of the
            file, or of an image of five or more, contradict their outline, image or area; in
            another order, 99 % are right. The unsafe fix converts the boxes, unless y before x
            holds as well; look at an image first.""",
        bad={"annotations": [
            _box(60, 50, 80, 60), _box(50, 60, 70, 70), _box(70, 30, 90, 40), _box(20, 60, 40, 70),
            _box(75, 65, 95, 75),
        ]},
        good={"annotations": [
            _box(60, 50, 20, 10), _box(50, 60, 20, 10), _box(70, 30, 20, 10), _box(20, 60, 20, 10),
            _box(75, 65, 20, 10),
        ]},
        check=partial(_layout, "B005"),
        fix="unsafe",
    ),
    rule(
        "B006 error: boxes look like centre-x, centre-y, width, height",
        breaks="Boxes are read shifted by half their size, and IoU is at most 1/7.",
        explanation="""COCO's boxes start with their top left corner. As such, a fifth of the boxes
            of the file, or of an image of five or more, contradict their outline or image; with
            centres, as in YOLO, 99 % are right. The unsafe fix converts the boxes.""",
        bad={"annotations": [
            _box(88, 50, 20, 10), _box(50, 74, 20, 10), _box(90, 30, 20, 10), _box(20, 60, 20, 10),
            _box(85, 75, 20, 10),
        ]},
        good={"annotations": [
            _box(78, 45, 20, 10), _box(40, 69, 20, 10), _box(80, 25, 20, 10), _box(10, 55, 20, 10),
            _box(75, 70, 20, 10),
        ]},
        check=partial(_layout, "B006"),
        fix="unsafe",
    ),
    rule(
        "B007 error: boxes look normalised to 0 to 1, 100 or 1000",
        breaks="All boxes lie in the corner of their image, and nothing is learned or found.",
        explanation="""COCO's boxes are in pixels. These are shares of the image of 0 to 1, 100 or
            1000, as outlines, areas and sizes prove. The unsafe fix multiplies boxes, and outlines
            in the same unit, by the size of their image.""",
        bad={"annotations": [{"bbox": [0.1, 0.2, 0.4, 0.5]}]},
        good={"annotations": [{"bbox": [0.5, 1, 40, 40]}]},
        check=partial(_layout, "B007"),
        fix="unsafe",
    ),
    rule(
        "B012 warning: width and height of images look swapped",
        breaks="Tools that clip boxes cut objects off, and masks have the wrong shape.",
        explanation="""At least five boxes extend beyond their images, and all boxes of these images
            lie inside after width and height are swapped. Compare with the images (rule M004), then
            swap the two numbers.""",
        bad={"annotations": _TALL},
        good={"images": [{"width": 80, "height": 100}], "annotations": _TALL},
        check=_swapped,
        requires=("B014",),
    ),
    rule(
        "B014 warning: same box on images of several sizes",
        breaks="Training and evaluation take background for objects.",
        explanation="""Boxes with the same four numbers are on images of at least 3 sizes, more in
            large files: annotations of one image were copied to others. It is an error if nine
            tenths of the boxes are such copies, or one lies outside its image. Ignore B014 for
            pages or screens with a constant layout.""",
        bad={"images": _IMAGES, "annotations": [{"image_id": number} for number in (1, 2, 3)]},
        good={
            "images": _IMAGES,
            "annotations": [
                {"image_id": number, "bbox": [10, 9 + number, 20, 30]} for number in (1, 2, 3)
            ],
        },
        check=_copied,
    ),
)  # fmt: skip
