"""Annotated scenes: boxes on a scene in colour and line style, with tags that never collide."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from scene_records import SceneBox, SceneRecord, read_scene
from scenes import draw_scene
from sheet import DASHES, GREY, PALE, PALETTE, PATTERNS, Sheet, text_size

from bboxqa.examples import read_expected
from bboxqa.report.drawing import Look, Scale, Shape, draw_shapes
from bboxqa.report.plots import page_style

__all__ = ["annotated_scene", "overlay_scene", "scene_axes"]

_WIDTH = 1200
_MARGIN = 12
_TITLE = 34
_LEGEND = 40
_TAG_SIZE = 14
_LINE = 2.5
_DASHES = tuple(DASHES[pattern] for pattern in PATTERNS)
_OVERLAY_SCALES = {"fruits": 1.6, "smiling_fruits": 1.6, "landscape": 11}
_COLUMN = 112
_ANNOTATOR_COLOURS = (PALETTE["blue"], PALETTE["vermillion"], PALETTE["black"])
# Chosen to stand out from what they enclose: a yellow box around a banana could not be seen.
_CATEGORY_COLOURS = {
    "Apple": PALETTE["blue"],
    "Banana": PALETTE["black"],
    "Orange": PALETTE["purple"],
    "Sky": PALETTE["black"],
    "Tree": PALETTE["vermillion"],
    "Grass": "#7B3294",
    "Rocks": PALETTE["purple"],
    "Waterfall": PALETTE["blue"],
    "River": PALETTE["orange"],
}


def annotated_scene(scene: str) -> Image.Image:
    """Draw a scene once per annotator, side by side, each with that annotator's boxes.

    Colour stands for the category, line style for the annotator.
    """
    record = read_scene(scene)
    count = len(record.annotators)
    panel_width = (_WIDTH - (count + 1) * _MARGIN) // count
    scale = panel_width / record.width
    height = round(record.height * scale)
    sheet = Sheet(_WIDTH, _TITLE + height + _LEGEND)
    for number, annotator in enumerate(record.annotators):
        left = _MARGIN + number * (panel_width + _MARGIN)
        boxes = [box for box in record.boxes if box.annotator == annotator]
        looks = [Look(_CATEGORY_COLOURS[box.category], _DASHES[number]) for box in boxes]
        sheet.picture(_drawn(record, boxes, looks, scale), left, _TITLE)
        sheet.text((left, _TITLE / 2), annotator, 18, anchor="lm")
        sample = left + text_size(annotator, 18)[0] + 12
        points = [(sample, _TITLE / 2), (sample + 56, _TITLE / 2)]
        sheet.stroke(points, GREY, _LINE, PATTERNS[number])
        counted = f"{len(boxes)} boxes"
        sheet.text((left + panel_width, _TITLE / 2), counted, 14, GREY, "rm")
    middle = _TITLE + height + _LEGEND / 2
    _legend(sheet, middle, [(name, _CATEGORY_COLOURS[name]) for name in record.categories])
    return sheet.finish()


def overlay_scene(scene: str) -> Image.Image:
    """Draw a scene once with the boxes of all annotators, and the units they form beside it.

    Colour and line style both stand for the annotator.
    """
    record = read_scene(scene)
    scale = _OVERLAY_SCALES[scene]
    places = [record.annotators.index(box.annotator) for box in record.boxes]
    looks = [Look(_ANNOTATOR_COLOURS[place], _DASHES[place]) for place in places]
    picture = _drawn(record, record.boxes, looks, scale)
    table = 44 + len(record.annotators) * _COLUMN
    sheet = Sheet(picture.width + table + 3 * _MARGIN + 18, picture.height + 2 * _MARGIN)
    sheet.picture(picture, _MARGIN, _MARGIN)
    _unit_table(sheet, record, _MARGIN + picture.width + 30)
    return sheet.finish()


def scene_axes(
    record: SceneRecord, boxes: Sequence[SceneBox], looks: Sequence[Look], scale: float
) -> Axes:
    """Return axes with a scene in its own size times `scale`, and boxes with their ids as tags."""
    outlines = [
        Shape(box.bbox_xywh, look=look, label=str(box.id))
        for box, look in zip(boxes, looks, strict=True)
    ]
    picture = draw_scene(record.name, scale)
    # One point is one pixel.
    figure = Figure((picture.width / 72, picture.height / 72), dpi=72)
    ax = figure.add_axes((0, 0, 1, 1))
    # A margin of half a line keeps outlines at the rim of the scene visible.
    rim = _LINE / 2 / scale
    part = (-rim, -rim, record.width + rim, record.height + rim)
    fits = picture.width / (record.width + 2 * rim)
    n_hidden = draw_shapes(
        ax, (record.width, record.height), outlines, np.asarray(picture), part,
        Scale(fits, _LINE, _TAG_SIZE),
    )  # fmt: skip
    if n_hidden:
        raise ValueError(f"no room for {n_hidden} of {len(boxes)} tags")
    return ax


def _drawn(
    record: SceneRecord, boxes: Sequence[SceneBox], looks: Sequence[Look], scale: float
) -> Image.Image:
    content = BytesIO()
    with page_style():
        ax = scene_axes(record, boxes, looks, scale)
        ax.figure.savefig(
            content, format="png", facecolor="white", pil_kwargs={"compress_level": 0}
        )
    return Image.open(content).convert("RGB")


def _legend(sheet: Sheet, middle: float, entries: Sequence[tuple[str, str]]) -> None:
    widths = [text_size(name, 16)[0] + 26 + 28 for name, _ in entries]
    left = (sheet.width - sum(widths) + 28) / 2
    for (name, colour), width in zip(entries, widths, strict=True):
        sheet.rectangle((left, middle - 8, left + 18, middle + 8), colour, radius=3)
        sheet.text((left + 26, middle), name, 16, anchor="lm")
        left += width


def _unit_table(sheet: Sheet, record: SceneRecord, left: float) -> None:
    columns = [left + 50 + _COLUMN * number for number in range(len(record.annotators))]
    right = columns[-1] + _COLUMN - 10
    row = 34 if len(record.units) > 8 else 40
    sheet.text((left, _MARGIN), "Boxes and the units they form", 18)
    top = _MARGIN + 64
    sheet.text((left, top), "Unit", 16, anchor="lm")
    for annotator, x, pattern, colour in zip(
        record.annotators, columns, PATTERNS, _ANNOTATOR_COLOURS, strict=True
    ):
        sheet.text((x, top), annotator, 16, anchor="lm")
        sheet.stroke([(x + 2, top + 18), (x + 62, top + 18)], colour, _LINE, pattern)
    top += 34
    for line, unit in enumerate(record.units):
        middle = top + (line + 0.5) * row
        sheet.stroke([(left, top + line * row), (right, top + line * row)], PALE, 1)
        sheet.text((left + 6, middle), str(line + 1), 16, GREY, "lm")
        for annotation_id, x, colour in zip(unit, columns, _ANNOTATOR_COLOURS, strict=True):
            if annotation_id is None:
                sheet.text((x, middle), "missing", 14, GREY, "lm")
            else:
                sheet.tag((x, middle - 10, x + 26, middle + 10), str(annotation_id), colour, 14)
                sheet.text((x + 32, middle), record.box(annotation_id).category, 14, anchor="lm")
    bottom = top + len(record.units) * row
    sheet.stroke([(left, bottom), (right, bottom)], PALE, 1)
    results = read_expected()["images"][record.name]
    sheet.text((left, bottom + 16), f"IoU threshold {results['iou_threshold']}", 16)
    sheet.text((left, bottom + 40), f"Krippendorff's alpha {results['alpha']:.4f}", 16)
    sheet.text((left, bottom + 64), "a missing box is a category of its own", 14, GREY)
