"""Writing Pascal VOC XML, with one folder per annotator and one file per image."""

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.formats.label_folders import path_below
from bboxqa.formats.translation.shapes import mapping
from bboxqa.formats.writing.content import Content, Options, Writer, Written, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.names import people_paths, plain_xml, safe_paths
from bboxqa.formats.writing.outlines import Record

_TITLE = "Pascal VOC"
_DECIMALS = 6
_FEW_FRACTIONS = 0.05
_MARKS = ("truncated", "difficult", "occluded")
# CVAT has texts.
_SET = (1, "1", "true")


def _is_mark(key: str, value: object) -> bool:
    """Return whether a key is a mark, or anything but an attribute."""
    first, _, name = key.partition(".")
    return first != ATTRIBUTES or (name in _MARKS and value in _SET)


def _read_name(name: str, place: str) -> str:
    """Return the name of an image as it is read back, which its file gives."""
    inner, folder = path_below(plain_xml(name).strip()), place.rpartition("/")[0]
    return inner if "/" in inner or not folder else f"{folder}/{inner}"


def _base(content: Content) -> int:
    """Return the coordinate of the first pixel, the same for all annotators."""
    drawn = content.annotations
    upright = [each for each in drawn if content.rotated(each, any_rectangle=True) is None]
    edges = _corners(upright, base=1)
    if (edges[:, :2] > edges[:, 2:]).any() or (edges == 0).any():
        return 0
    return int((edges % 1 != 0).sum() <= _FEW_FRACTIONS * edges.size)


def _corners(drawn: Sequence[Record], base: int) -> FloatArray:
    """Return xmin, ymin, xmax and ymax of annotations; with base 1, corners are inclusive."""
    boxes = np.array([each["bbox"] for each in drawn], np.float64).reshape(-1, 4)
    low = boxes[:, :2] + base
    corners = np.hstack([low, low + boxes[:, 2:] - base])
    # Products of relative numbers are whole where only rounding differs.
    whole = corners.round()
    return np.where(np.abs(corners - whole) < 10.0**-_DECIMALS, whole, corners)


def _files(content: Content, _options: Options) -> Iterator[Written]:
    paths = safe_paths(image_name(each) for each in content.images)
    people = people_paths(content.annotators)
    base = _base(content)
    for place, image in enumerate(content.images):
        *folders, last = paths[image_name(image)]
        for name, drawn in content.works(place):
            text = "".join(_lines(content, image, drawn, base))
            parts = (*people[name], VOC.folder, *folders, f"{last}.xml")
            yield Written(parts, text.encode())


def _lines(content: Content, image: Record, drawn: Sequence[Record], base: int) -> Iterator[str]:
    yield f"<annotation>\n  <folder></folder>\n  <filename>{_text(image_name(image))}</filename>\n"
    yield "  <source>\n    <database>Unknown</database>\n  </source>\n"
    yield f"  <size>\n    <width>{int(image['width'])}</width>\n"
    yield f"    <height>{int(image['height'])}</height>\n    <depth>3</depth>\n  </size>\n"
    yield f"  <segmented>0</segmented>\n  <first_pixel>{base}</first_pixel>\n"
    corners = _corners(drawn, base).tolist()
    for each, (left, top, right, bottom) in zip(drawn, corners, strict=True):
        marks = mapping(each.get(ATTRIBUTES))
        yield f"  <object>\n    <name>{_text(content.category_names[each['category_id']])}</name>\n"
        yield "    <pose>Unspecified</pose>\n"
        for mark in _MARKS:
            is_set = marks.get(mark) in _SET
            if mark != "occluded" or is_set:
                yield f"    <{mark}>{int(is_set)}</{mark}>\n"
        turned = content.rotated(each, any_rectangle=True)
        if turned is None:
            box = {"xmin": left, "ymin": top, "xmax": right, "ymax": bottom}
            yield from _numbers("bndbox", box)
        else:
            yield "    <type>robndbox</type>\n"
            # As roLabelImg writes it, with angles below a half turn.
            x, y, width, height, degrees = turned.tolist()
            centre, angle = {"cx": x + base, "cy": y + base}, math.radians(degrees % 180)
            yield from _numbers("robndbox", {**centre, "w": width, "h": height, "angle": angle})
        yield "  </object>\n"
    yield "</annotation>\n"


def _numbers(name: str, values: dict[str, float]) -> Iterator[str]:
    yield f"    <{name}>\n"
    for key, each in values.items():
        yield f"      <{key}>{each:.10g}</{key}>\n"
    yield f"    </{name}>\n"


def _text(text: str) -> str:
    return escape(plain_xml(text), {"\r": "&#13;"})


VOC = Writer(
    _TITLE,
    "folder",
    (".xml",),
    _files,
    frozenset({"rotation", "attributes", "image sizes"}),
    keeps=_is_mark,
    reads={"category": lambda name: plain_xml(name).strip()},
    folder="Annotations",
    read_name=_read_name,
    needs_sizes="all images",
)
"""Boxes: inclusive corners counted from 1 if they are whole numbers, else edges from 0.

Each file states which of the two in `first_pixel`, of which the format knows nothing. Rotated boxes
are written as by roLabelImg.
"""
