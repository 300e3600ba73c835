"""B: boxes in a layout other than COCO's, and swapped image sizes."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.geometry.kernels.boxes import corners
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Hits, LazyEdits, Rule, described_hits
from bboxqa.rules.facts.boxes import inside
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import rounded_number, rounded_values
from bboxqa.rules.facts.layouts.box_layout import EXPECTED_LAYOUT, Diagnosis, diagnose
from bboxqa.rules.facts.layouts.doubtful_boxes import swapped_images
from bboxqa.rules.facts.layouts.likely_centres import likely_centres
from bboxqa.rules.facts.layouts.quarters import in_quarter

Check = Callable[[Document, ValidateSettings], Iterable[Hits]]


def _order(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """Yield boxes in another order, and boxes that image files show to be y, x, height, width."""
    yield from _layout("B005")(document, settings)
    images = document.once(swapped_images)
    if not _has_sizes_of_files(document, images):
        return
    rows, which = _inside_if_swapped(document, images)
    found = summary_defect(
        f"boxes in {images.sum():,} of {len(images):,} images look like y, x, height, width: they "
        f"extend beyond images whose sizes match the image files, but {which} lie inside if read "
        f"this way; expected {EXPECTED_LAYOUT}",
        "annotations",
        rows,
        "bbox",
        expected=EXPECTED_LAYOUT,
    )
    yield from described_hits([found])


def _inside_if_swapped(document: Document, images: BoolArray) -> tuple[IndexArray, str]:
    """Return the boxes of images, and how many of them lie inside after a swap, in words."""
    rows = np.flatnonzero(np.append(images, False)[document.image] & document.has_box)
    n_inside = inside(document.annotations.bbox[rows], document.size[rows][:, ::-1]).sum()
    whole = f"their {len(rows):,} boxes"
    return rows, f"all {whole}" if n_inside == len(rows) else f"{n_inside:,} of {whole}"


def _has_sizes_of_files(document: Document, images: BoolArray) -> bool:
    """Return whether some image files exist, and all of these have the given size."""
    disk = document.disk
    if disk is None or not images.any():
        return False
    return bool((document.image_size[images] == disk.shown[images]).all())


def _layout(code: str) -> Check:
    """Return the check for boxes in the layouts that a rule reports."""

    def check(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
        diagnosis = document.once(diagnose)
        if diagnosis is None or diagnosis.code != code:
            return

        def edits() -> Iterator[Edit]:
            for row, box in zip(diagnosis.rows.tolist(), diagnosis.bbox, strict=True):
                yield Edit(pointer_to("annotations", row, "bbox"), "replace", rounded_values(box))
            if diagnosis.layout.unit:
                yield from _scaled(document, diagnosis)

        found = summary_defect(
            diagnosis.message,
            "annotations",
            diagnosis.rows,
            "bbox",
            expected=EXPECTED_LAYOUT,
            edits=() if diagnosis.doubt else LazyEdits(edits),
        )
        yield from described_hits([found])

    return check


def _centre(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """Yield boxes that start at their centre, and a warning if they probably do."""
    yield from _layout("B006")(document, settings)
    likely = document.once(likely_centres)
    if likely is None:
        return
    found = summary_defect(
        f"boxes in {likely.n_images:,} of {len(document.images):,} images may be centre-x, "
        f"centre-y, width, height: {likely.n_beyond:,} of {len(likely.rows):,} extend beyond the "
        "right edge or the lower one, none beyond the others, and read this way, all lie inside; "
        f"expected {EXPECTED_LAYOUT}",
        "annotations",
        likely.rows,
        "bbox",
        expected=EXPECTED_LAYOUT,
    )
    yield from described_hits([found], Severity.WARNING)


def _scale(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """Yield boxes scaled by a constant, and a warning if they look halved."""
    if document.once(diagnose) is not None:
        yield from _layout("B013")(document, settings)
        return
    quarter = in_quarter(document)
    if quarter is None:
        return
    rows = np.flatnonzero(quarter.concerned)
    right = f", but those of {quarter.right} in the upper right one" if quarter.right else ""
    found = summary_defect(
        f"{quarter.boxes} boxes of {quarter.images} lie in the upper left quarter of their "
        f"image{right}; expected boxes in all parts: were images enlarged without their boxes?",
        "annotations",
        rows,
        "bbox",
        expected="boxes in all parts of the images",
    )
    yield from described_hits([found], Severity.WARNING)


def _scaled(document: Document, diagnosis: Diagnosis) -> Iterator[Edit]:
    """Yield the edits that convert areas and outlines from the unit of the boxes to pixels."""
    rings, unit = document.annotations.rings, diagnosis.layout.unit
    if unit == 1:
        areas = document.annotations.area
        small = (areas[diagnosis.rows] > 0) & (areas[diagnosis.rows] <= 1)
        for row in diagnosis.rows[small].tolist():
            pixels = float(areas[row]) * float(document.size[row].prod())
            yield Edit(pointer_to("annotations", row, "area"), "replace", rounded_number(pixels))
    bounds = document.outline_bounds
    wanted = np.zeros(len(bounds), np.bool_)
    wanted[diagnosis.rows] = True
    if unit == 1:
        wanted &= (bounds.min(axis=1) >= -1) & (bounds.max(axis=1) <= 2)
    else:
        written = document.annotations.bbox
        same = np.abs(corners(written[wanted]) - bounds[wanted]).max(axis=1) <= unit / 100
        wanted[wanted] = same
    for ring in np.flatnonzero(wanted[rings.row]).tolist():
        row = int(rings.row[ring])
        xy = rings.xy[rings.offsets[ring] : rings.offsets[ring + 1]]
        pointer = pointer_to("annotations", row, "segmentation", int(rings.place[ring]))
        pixels = xy * document.size[row] / unit
        yield Edit(pointer, "replace", rounded_values(pixels.ravel()))


def _swapped(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    images = document.once(swapped_images)
    rows = np.flatnonzero(images)
    if len(rows) == 0 or _has_sizes_of_files(document, images):
        return
    padded = np.append(images, False)
    _, which = _inside_if_swapped(document, images)
    # Boxes with swapped x and y look the same, but outlines would show it.
    of_image = padded[document.image]
    is_boxes = not np.isfinite(document.outline_bounds[of_image, 0]).any()
    found = summary_defect(
        f"width and height look swapped in {len(rows):,} of {len(images):,} images"
        f"{', or their boxes are y, x, height, width' if is_boxes else ''}: boxes extend "
        f"beyond them, but {which} lie inside after a swap",
        "images",
        rows,
        expected="the size of the image as it is shown",
        ids={"image": document.images.get(int(rows[0]), "id")} if len(rows) == 1 else {},
    )
    yield from described_hits([found])


def _box(*numbers: float) -> dict[str, object]:
    return {"bbox": list(numbers), "area": 200}


def _ring(x: float, y: float, width: float, height: float) -> list[list[float]]:
    return [[x, y, x + width, y, x + width, y + height, x, y + height]]


RULES = (
    Rule(
        code="B005",
        title="boxes look like x1, y1, x2, y2, or numbers in another order",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every reader treats the third and fourth number as width and height: boxes become
            far too large, and AP falls to about 0 without an error.""",
        explanation="""COCO's boxes are x, y, width, height. These look like two corners, as in
            Pascal VOC and torchvision: read this way, they are the bounds of their outlines, or lie
            inside images that they would otherwise extend beyond. At least five boxes must support
            this, or all boxes of a smaller file; in one or two images, all boxes must, by their
            areas or outlines, or ten that extend beyond the image, and none may contradict it. The
            unsafe fix converts all boxes to x, y, width, height. There is no fix if the order y
            before x is equally likely, because no box would extend beyond its image, as in square
            images. Without outlines and areas, boxes that lie inside their images in both layouts
            prove nothing; width, height, x, y is likely if boxes only overlap in COCO's layout and
            their sizes agree in this one. If there is another explanation, such as wrong image
            sizes or areas, the message says so and there is no fix. Look at an image.""",
        bad={"annotations": [
            _box(60, 50, 80, 60), _box(50, 60, 70, 70), _box(70, 30, 90, 40), _box(20, 60, 40, 70),
            _box(75, 65, 95, 75),
        ]},
        good={"annotations": [
            _box(60, 50, 20, 10), _box(50, 60, 20, 10), _box(70, 30, 20, 10), _box(20, 60, 20, 10),
            _box(75, 65, 20, 10),
        ]},
        check=_order,
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
            must support this, or all boxes of a smaller file. If boxes of other images are valid,
            these boxes must also end at the edges of their images if read this way, as many objects
            are cut off there. Otherwise it is a warning, as boxes may just extend beyond their
            images. If it is an error, the unsafe fix converts boxes to x, y, width, height.""",
        bad={"annotations": [
            _box(88, 50, 20, 10), _box(50, 74, 20, 10), _box(90, 30, 20, 10), _box(20, 60, 20, 10),
            _box(85, 75, 20, 10),
        ]},
        good={"annotations": [
            _box(78, 45, 20, 10), _box(40, 69, 20, 10), _box(80, 25, 20, 10), _box(10, 55, 20, 10),
            _box(75, 70, 20, 10),
        ]},
        check=_centre,
        fix="unsafe",
    ),
    Rule(
        code="B007",
        title="boxes look normalised to 0 to 1, 100 or 1000",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Every reader treats them as pixels: all boxes lie in the first pixel of their
            image, and nothing is learned or found.""",
        explanation="""COCO's boxes are in pixels. These lie between 0 and 1, as in YOLO, which
            writes fractions of the width and height of the image; or between 0 and 100, as percent
            in Label Studio, or between 0 and 1000, as language models write them. Small numbers
            alone do not prove percentages; outlines do, or decimals that fill the whole range. The
            unsafe fix multiplies boxes, and outlines in the same unit, by the size of their image;
            if the boxes then match B005 or B006, that is fixed next.""",
        bad={"annotations": [{"bbox": [0.1, 0.2, 0.4, 0.5]}]},
        good={"annotations": [{"bbox": [0.5, 1, 40, 40]}]},
        check=_layout("B007"),
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
            after width and height are swapped, or nearly all boxes do whose centres are outside.
            This comes from programs that ignore the EXIF orientation of a photograph, or mistake
            rows for width. Without outlines, boxes written as y, x, height, width look the same; if
            the image files (`--images`) have the given sizes, rule B005 reports them. At least five
            boxes must support this, or ten centres. Compare with the images (rule M004), then swap
            the two numbers.""",
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
    Rule(
        code="B013",
        title="boxes are scaled by a constant",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""No box is at its object, so nothing that is learned from the images or measured on
            them is valid.""",
        explanation="""The images were resized after annotation, and only the image sizes or
            outlines were changed accordingly, or only the boxes. Multiplied by one number, boxes
            are the bounds of their outlines, have the areas in the file, or lie inside and fill
            images that they would otherwise extend beyond. If neither outlines nor areas show it,
            only boxes of twice the size are found. Look at an image. The unsafe fix scales the
            boxes. It does not if the outlines extend beyond their images, or if boxes would still
            lie inside after enlarging them, since outlines or areas may then be scaled instead. It
            is a warning if all boxes lie in the upper left quarter of their images, as halved boxes
            do, or if the boxes of some images do and resemble the others when doubled.""",
        bad={"annotations": [
            {"bbox": [30 * n, 10, 24, 40], "segmentation": _ring(15 * n, 5, 12, 20), "area": 240}
            for n in range(5)
        ]},
        good={"annotations": [
            {"bbox": [15 * n, 5, 12, 20], "segmentation": _ring(15 * n, 5, 12, 20), "area": 240}
            for n in range(5)
        ]},
        check=_scale,
        fix="unsafe",
    ),
)  # fmt: skip
