"""B: files whose boxes are all in another layout than COCO's, or whose image sizes are swapped."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Hits, LazyEdits, Rule, described_hits
from bboxqa.rules.facts.box_layout import Layout, diagnose, swapped_images
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import rounded_number, rounded_values

Check = Callable[[Document, ValidateSettings], Iterable[Hits]]
_EXPECTED = "x, y, width, height in pixels"


def _layout(wanted: Layout) -> Check:
    """Return the check for boxes in one layout."""

    def check(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
        diagnosis = document.once(diagnose)
        if diagnosis is None or diagnosis.layout is not wanted:
            return

        def edits() -> Iterator[Edit]:
            for row, box in zip(diagnosis.rows.tolist(), diagnosis.bbox, strict=True):
                yield Edit(pointer_to("annotations", row, "bbox"), "replace", rounded_values(box))
            if wanted is Layout.NORMALISED:
                yield from _scaled(document)

        found = summary_defect(
            f"boxes look like {wanted.value}: {diagnosis.evidence}; expected {_EXPECTED}",
            "annotations",
            diagnosis.rows,
            "bbox",
            expected=_EXPECTED,
            edits=LazyEdits(edits),
        )
        yield from described_hits([found])

    return check


def _scaled(document: Document) -> Iterator[Edit]:
    """Yield the edits that scale normalised areas and outlines to pixels."""
    diagnosis, rings = document.once(diagnose), document.annotations.rings
    if diagnosis is None:
        return
    areas = document.annotations.area
    for row in diagnosis.rows[(areas[diagnosis.rows] > 0) & (areas[diagnosis.rows] <= 1)].tolist():
        pixels = float(areas[row]) * float(document.size[row].prod())
        yield Edit(pointer_to("annotations", row, "area"), "replace", rounded_number(pixels))
    bounds = document.outline_bounds
    wanted = np.zeros(len(bounds), np.bool_)
    wanted[diagnosis.rows] = True
    wanted &= (bounds.min(axis=1) >= -1) & (bounds.max(axis=1) <= 2)
    for ring in np.flatnonzero(wanted[rings.row]).tolist():
        row = int(rings.row[ring])
        xy = rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
        pointer = pointer_to("annotations", row, "segmentation", int(rings.place[ring]))
        yield Edit(pointer, "replace", rounded_values((xy * document.size[row]).ravel()))


def _swapped(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = swapped_images(document)
    rows = np.flatnonzero(images)
    if len(rows) == 0:
        return
    padded = np.append(images, False)
    n_boxes = int((document.has_box & padded[document.image]).sum())
    found = summary_defect(
        f"width and height look swapped in {len(rows):,} of {len(images):,} images: boxes extend "
        f"beyond them, but all their {n_boxes:,} boxes lie inside after a swap",
        "images",
        rows,
        expected="the size of the image as it is shown",
        ids={"image": document.images.get(int(rows[0]), "id")} if len(rows) == 1 else {},
    )
    yield from described_hits([found])


def _box(*numbers: float) -> dict[str, object]:
    return {"bbox": list(numbers), "area": 200}


RULES = (
    Rule(
        code="B005",
        title="boxes look like x1, y1, x2, y2",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every reader treats the third and fourth number as width and height: boxes become
            far too large, and AP falls to about 0 without an error.""",
        explanation="""COCO's boxes are x, y, width, height. These look like two corners, as in
            Pascal VOC and torchvision: read this way, they are the bounds of their outlines, or lie
            inside images that they would otherwise extend beyond. At least five boxes must support
            this, or all boxes of a smaller file. The unsafe fix converts all of them to x, y,
            width, height.""",
        bad={"annotations": [
            _box(60, 50, 80, 60), _box(50, 60, 70, 70), _box(70, 30, 90, 40), _box(20, 60, 40, 70),
            _box(75, 65, 95, 75),
        ]},
        good={"annotations": [
            _box(60, 50, 20, 10), _box(50, 60, 20, 10), _box(70, 30, 20, 10), _box(20, 60, 20, 10),
            _box(75, 65, 20, 10),
        ]},
        check=_layout(Layout.CORNERS),
        fix="unsafe",
    ),
    Rule(
        code="B006",
        title="boxes look like centre-x, centre-y, width, height",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every reader treats the first two numbers as the top left corner: boxes are
            shifted right and down by half their size, and IoU is at most 1/7.""",
        explanation="""COCO's boxes start with their top left corner. These look as if they started
            with their centre, as in YOLO: read this way, they are the bounds of their outlines, or
            lie inside images that many of them would otherwise extend beyond. At least five boxes
            must support this, or all boxes of a smaller file. The unsafe fix converts all of them
            to x, y, width, height.""",
        bad={"annotations": [
            _box(88, 50, 20, 10), _box(50, 74, 20, 10), _box(90, 30, 20, 10), _box(20, 60, 20, 10),
            _box(85, 75, 20, 10),
        ]},
        good={"annotations": [
            _box(78, 45, 20, 10), _box(40, 69, 20, 10), _box(80, 25, 20, 10), _box(10, 55, 20, 10),
            _box(75, 70, 20, 10),
        ]},
        check=_layout(Layout.CENTRE),
        fix="unsafe",
    ),
    Rule(
        code="B007",
        title="boxes look normalised to 0 to 1",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every reader treats them as pixels: all boxes lie in the first pixel of their
            image, and nothing is learned or found.""",
        explanation="""COCO's boxes are in pixels. These lie between 0 and 1, as in YOLO, which
            writes fractions of the width and height of the image. The unsafe fix multiplies boxes,
            and normalised areas and outlines, by the size of their image; if the boxes then match
            B005 or B006, that is fixed next.""",
        bad={"annotations": [{"bbox": [0.1, 0.2, 0.4, 0.5]}]},
        good={"annotations": [{"bbox": [0.5, 1, 40, 40]}]},
        check=_layout(Layout.NORMALISED),
        fix="unsafe",
    ),
    Rule(
        code="B012",
        title="width and height of images look swapped",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Tools that clip boxes to the image cut objects off, masks have the wrong shape,
            and normalised coordinates are wrong.""",
        explanation="""Boxes extend beyond their images, and all boxes of these images lie inside
            after width and height are swapped. This comes from programs that ignore the EXIF
            orientation of a photograph, or mistake rows for width. At least five boxes must support
            this. Compare with the images (`--images`, rule M004), then swap the two numbers.""",
        bad={"annotations": [
            _box(10, 82, 20, 10), _box(50, 85, 20, 10), _box(40, 88, 20, 10), _box(20, 60, 20, 10),
            _box(5, 86, 20, 10), _box(30, 84, 20, 10),
        ]},
        good={
            "images": [{"width": 80, "height": 100}],
            "annotations": [
                _box(10, 82, 20, 10), _box(50, 85, 20, 10), _box(40, 88, 20, 10),
                _box(20, 60, 20, 10), _box(5, 86, 20, 10), _box(30, 84, 20, 10),
            ],
        },
        check=_swapped,
    ),
)  # fmt: skip
