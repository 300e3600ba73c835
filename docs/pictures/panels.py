"""Annotated scenes: boxes on a scene in colour and line style, with tags that never collide."""

from collections.abc import Sequence

from PIL import Image
from scene_records import SceneBox, SceneRecord, read_scene
from scenes import draw_scene
from sheet import GREY, PALE, PALETTE, PATTERNS, Rectangle, Sheet, text_size

from bboxqa.examples import read_expected
from bboxqa.report.drawing.label_places import place_labels

__all__ = ["annotated_scene", "overlay_scene", "tag_places"]

_WIDTH = 1200
_MARGIN = 12
_TITLE = 34
_LEGEND = 40
_TAG_SIZE = 14
_LINE = 2.5
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
    "Grass": PALETTE["yellow"],
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
    picture = draw_scene(scene, scale)
    sheet = Sheet(_WIDTH, _TITLE + picture.height + _LEGEND)
    for number, annotator in enumerate(record.annotators):
        left = _MARGIN + number * (panel_width + _MARGIN)
        sheet.picture(picture, left, _TITLE)
        boxes = [box for box in record.boxes if box.annotator == annotator]
        colours = [_CATEGORY_COLOURS[box.category] for box in boxes]
        _draw_boxes(sheet, record, boxes, colours, (left, _TITLE, scale))
        sheet.text((left, _TITLE / 2), annotator, 18, anchor="lm")
        sample = left + text_size(annotator, 18)[0] + 12
        points = [(sample, _TITLE / 2), (sample + 56, _TITLE / 2)]
        sheet.stroke(points, GREY, _LINE, PATTERNS[number])
        counted = f"{len(boxes)} boxes"
        sheet.text((left + panel_width, _TITLE / 2), counted, 14, GREY, "rm")
    middle = _TITLE + picture.height + _LEGEND / 2
    _legend(sheet, middle, [(name, _CATEGORY_COLOURS[name]) for name in record.categories])
    return sheet.finish()


def overlay_scene(scene: str) -> Image.Image:
    """Draw a scene once with the boxes of all annotators, and the units they form beside it.

    Colour and line style both stand for the annotator.
    """
    record = read_scene(scene)
    scale = _OVERLAY_SCALES[scene]
    picture = draw_scene(scene, scale)
    table = 44 + len(record.annotators) * _COLUMN
    sheet = Sheet(picture.width + table + 3 * _MARGIN + 18, picture.height + 2 * _MARGIN)
    sheet.picture(picture, _MARGIN, _MARGIN)
    places = [record.annotators.index(box.annotator) for box in record.boxes]
    colours = [_ANNOTATOR_COLOURS[place] for place in places]
    _draw_boxes(sheet, record, record.boxes, colours, (_MARGIN, _MARGIN, scale))
    _unit_table(sheet, record, _MARGIN + picture.width + 30)
    return sheet.finish()


def tag_places(
    boxes: Sequence[SceneBox], panel: tuple[float, float, float], size: tuple[float, float]
) -> list[Rectangle]:
    """Return where the tag of each box of a panel goes.

    `panel` is (left, top, scale) on the sheet; `size` is (width, height) of the scene in its own
    pixels. A panel that is too full is a ValueError.
    """
    left, top, _ = panel
    corners = [_on_sheet(box, panel) for box in boxes]
    sizes = [(text_size(str(box.id), _TAG_SIZE)[0] // 1 + 8, _TAG_SIZE + 3) for box in boxes]
    right, bottom = (
        start + length * panel[2] for start, length in zip((left, top), size, strict=True)
    )
    bounds = (left + 2, top + 2, right - 2, bottom - 2)
    places = [place for place in place_labels(corners, sizes, bounds, gap=2) if place is not None]
    if len(places) < len(boxes):
        raise ValueError(f"no room for {len(boxes) - len(places)} of {len(boxes)} tags")
    return places


def _on_sheet(box: SceneBox, panel: tuple[float, float, float]) -> Rectangle:
    left, top, scale = panel
    first, second, third, fourth = (round(edge * scale) for edge in box.corners)
    # Half a line width inwards keeps outlines at the rim of the scene visible.
    return left + first + 1, top + second + 1, left + third - 1, top + fourth - 1


def _draw_boxes(
    sheet: Sheet,
    record: SceneRecord,
    boxes: Sequence[SceneBox],
    colours: Sequence[str],
    panel: tuple[float, float, float],
) -> None:
    patterns = [PATTERNS[record.annotators.index(box.annotator)] for box in boxes]
    sheet.boxes([_on_sheet(box, panel) for box in boxes], colours, patterns, _LINE)
    places = tag_places(boxes, panel, (record.width, record.height))
    for box, colour, place in zip(boxes, colours, places, strict=True):
        sheet.tag(place, str(box.id), colour, _TAG_SIZE)


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
