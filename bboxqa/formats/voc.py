"""Pascal VOC XML, with one file per image, also as roLabelImg, CVAT and Roboflow write it."""

import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import compress
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.heads import begins
from bboxqa.formats.images import FileImages
from bboxqa.formats.label_folders import path_below
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.shapes import ValueProblemError, angle_in, number_in, turned_box
from bboxqa.formats.writing.content import Content, Options, Writer, Written, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.names import plain_xml
from bboxqa.formats.xml_elements import Element, XmlError, tree_of

_MARKS = ("difficult", "truncated", "occluded")
_BOX_SIDES = ("xmin", "ymin", "xmax", "ymax")
_HOW = ("edges counted from 0", "inclusive pixels counted from 1")
_OF_DATUMARO = re.compile(rb"<annotation>Unknown</annotation>\s*<image>Unknown</image>")
"""What datumaro writes as the source of an image, which CVAT uses."""
_NOTES = (
    *((mark, "object", f"marked {mark}: compared like the others") for mark in _MARKS),
    ("unsized", "image", "without a size"),
    ("unnamed", "image", "without filename: named as the XML file"),
)


def translate(path: Path, into: Collector) -> None:
    """Translate the files of a folder or archive, or one file."""
    into.title = "Pascal VOC XML"
    members = members_of(path)
    named = [*members_with(members, ".xml")]
    heads = [member.head() for member in named]
    if not any(begins("VOC", each) for each in heads):
        raise DatasetError([f"{path}: has no XML of Pascal VOC"])
    # A full disk or a crash leaves empty files; reading them reports each one.
    kept = [begins("VOC", head) or not head.strip() for head in heads]
    files = [*compress(named, kept)]
    apart = [member for member, is_kept in zip(named, kept, strict=True) if not is_kept]
    images = FileImages(path, into, files, members, (".json",), apart)
    for each in members:
        if "ImageSets/Main/" in each.name:
            # Lists with other values per line are for categories.
            lines = map(str.split, each.text().decode("utf-8", "replace").splitlines())
            images.listed |= {words[0]: words[0] for words in lines if len(words) == 1}
    records = _VocRecords(images, into)
    for number, (place, member) in enumerate(images.files.items()):
        records.add_file(place, member)
        into.step(number, len(files))
    records.add_base_notes()
    into.named_by = "<annotator>" if any(into.people) else ""
    images.done("XML of Pascal VOC", _NOTES)


class _VocRecords:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(self, images: FileImages, into: Collector) -> None:
        self._into, self._images, self._tally = into, images, into.tally
        self._bases: Counter[tuple[int, str]] = Counter()

    def add_file(self, place: str, member: Member) -> None:
        """Add the objects of an image."""
        data = member.read()
        try:
            root = tree_of(data)
        except XmlError as error:
            where = Where(member.name, error.line)
            self._into.defect("T001", f"{member.name or 'the file'}: {error}", where)
            return
        base = self._base(data, root, member)
        image = self._image(place, member, root)
        for number, found in enumerate(root.all("object"), start=1):
            where = Where(member.name, found.line)
            with self._into.refusing(f"object {number}", where):
                self._add_object(found, image, where, base)

    def _base(self, data: bytes, root: Element, member: Member) -> int:
        """Return the coordinate of the first pixel of a file, which files of bboxqa state."""
        said, chosen = root.said("first_pixel"), self._into.settings.choices.voc_base
        found = (1, "as Pascal VOC defines; if they are edges: --voc-base 0")
        if said in ("0", "1"):
            found = (int(said), "as the files state")
        elif _OF_DATUMARO.search(data):
            found = (0, "as CVAT and datumaro write them")
        elif chosen is not None:
            found = (chosen, "as given")
        if said not in ("", "0", "1"):
            problem = f"{member.name or 'the file'}: first_pixel is {one_line(said)!r}"
            self._into.defect("T001", f"{problem}; expected 0 or 1", Where(member.name, root.line))
        self._bases[found] += b"<bndbox" in data
        return found[0]

    def _image(self, place: str, member: Member, root: Element) -> Record:
        inner = path_below(root.said("filename"))
        last, name = PurePosixPath(inner).name, _in_folder(inner, place)
        if last and "." not in last and (picture := self._images.pictures.get(place)) is not None:
            # Some tools omit the suffix, which the image file has.
            name += PurePosixPath(picture.name).suffix
        element = root.find("size") or Element("size", root.line)
        # LabelImg writes 0 for unknown sizes.
        sides = [side if side != "0" else "" for side in map(element.said, SIDES)]
        size = sides, Where(member.name, element.line)
        where = Where(member.name, root.line)
        image, found = self._images.add_named(place, member, name if last else "", where, size)
        if found is None and self._images.pictures:
            problem = "no picture has the name of this file"
            self._into.defect("T022", problem, Where(member.name, 1))
        return image

    def _add_object(self, found: Element, image: Record, where: Where, base: int) -> None:
        # Along an edge of the image, corners of both axes may be equal.
        edges = {0, 1, image.get("width"), image.get("height")}
        shape, is_turned = _shape_of(found, base, edges)
        record = {**shape, "image_id": image["id"]}
        self._into.sign(record, clean(found.said("annotator")))
        marks = [mark for mark in _MARKS if found.said(mark) in ("1", "true", "True", "yes")]
        if marks:
            record["attributes"] = {**record.get("attributes", {}), **dict.fromkeys(marks, 1)}
        self._tally.update(marks)
        row = self._into.labelled(record, found.said("name"), where, "an object has no name")
        if is_turned:
            problem = "xmin is greater than xmax, or ymin than ymax; they are swapped"
            self._into.defect("T030", problem, where, row)

    def add_base_notes(self) -> None:
        """Add a note on the coordinates of the first pixel."""
        used = +self._bases
        for (base, reason), n in sorted(used.items()):
            some = f" of {n:,} of {count(used.total(), 'file')}" * (len(used) > 1)
            self._into.notes.append(f"corners{some} are {_HOW[base]}, {reason}")


def _shape_of(found: Element, base: int, edges: Container[object]) -> tuple[Record, bool]:
    """Return the geometry keys of an object, and whether its corners were swapped."""
    rotated, box, outline = map(found.find, ("robndbox", "bndbox", "polygon"))
    if rotated is not None:
        # As roLabelImg writes it.
        sides = ("cx", "cy", "w", "h", "angle")
        x, y, width, height, angle = (_number(rotated, each) for each in sides)
        corner = (x - width / 2 - base, y - height / 2 - base)
        return turned_box((*corner, width, height), math.degrees(angle)), False
    inside = outline.inside if outline is not None else ()
    numbers = [each for each in inside if re.fullmatch(r"[xy]\d*", each.name)]
    xy = [number_in(each.text.strip(), each.name) for each in numbers]
    # There are none where x and y are not as many.
    points = np.array([] if len(xy) % 2 else xy, np.float64).reshape(-1, 2) - base
    if box is None:
        if len(points) < 3:
            raise ValueProblemError("has no bndbox, as Pascal VOC needs")
        return shapes.outlined(points), False
    given = left, top, right, bottom = [_number(box, side) for side in _BOX_SIDES]
    is_turned = left > right or top > bottom
    for one, other in ((3, 0), (2, 1)) if is_turned else ():
        if given[one] == given[other] and given[one] not in edges:
            what = f"{_BOX_SIDES[one]} repeats {_BOX_SIDES[other]}"
            raise ValueProblemError(f"{what}, so that the corners are out of order")
    (left, right), (top, bottom) = sorted((left, right)), sorted((top, bottom))
    # With inclusive corners, each side is a pixel longer.
    bbox = [left - base, top - base, right - left + base, bottom - top + base]
    # CVAT writes the corners before the rotation, in degrees.
    attributes = found.find("attributes") or Element("attributes", 0)
    said = [e.said("value") for e in attributes.all("attribute") if e.said("name") == "rotation"]
    if degrees := angle_in(said[0]) % 360 if said else 0.0:
        return turned_box(bbox, degrees), is_turned
    outlined = shapes.outlined(points) if len(points) >= 3 else {}
    return {**outlined, "bbox": bbox}, is_turned


def _in_folder(inner: str, place: str) -> str:
    """Return the path of an image, in the folder of its file if it names none."""
    folder = place.rpartition("/")[0]
    return inner if "/" in inner or not folder else f"{folder}/{inner}"


def _number(element: Element, name: str) -> float:
    found = element.find(name)
    if found is None:
        raise ValueProblemError(f"{element.name} has no {name}")
    return number_in(found.text.strip(), name)


_TITLE = "Pascal VOC"
_DECIMALS = 6
_FEW_FRACTIONS = 0.05
_WRITTEN_MARKS = ("truncated", "difficult", "occluded")
# CVAT has texts.
_SET = (1, "1", "true")


def _is_mark(key: str, value: object) -> bool:
    """Return whether a key is a mark, or anything but an attribute."""
    first, _, name = key.partition(".")
    return first != ATTRIBUTES or (name in _WRITTEN_MARKS and value in _SET)


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
    base = _base(content)
    for place, _, drawn, path in content.files(VOC.folder, ".xml"):
        text = "".join(_lines(content, content.images[place], drawn, base))
        yield Written(path, text.encode())


def _lines(content: Content, image: Record, drawn: Sequence[Record], base: int) -> Iterator[str]:
    yield f"<annotation>\n  <folder></folder>\n  <filename>{_text(image_name(image))}</filename>\n"
    yield "  <source>\n    <database>Unknown</database>\n  </source>\n"
    yield f"  <size>\n    <width>{int(image['width'])}</width>\n"
    yield f"    <height>{int(image['height'])}</height>\n    <depth>3</depth>\n  </size>\n"
    yield f"  <segmented>0</segmented>\n  <first_pixel>{base}</first_pixel>\n"
    corners = _corners(drawn, base).tolist()
    for each, (left, top, right, bottom) in zip(drawn, corners, strict=True):
        marks = shapes.mapping(each.get(ATTRIBUTES))
        yield f"  <object>\n    <name>{_text(content.category_names[each['category_id']])}</name>\n"
        yield "    <pose>Unspecified</pose>\n"
        for mark in _WRITTEN_MARKS:
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
    read_name=lambda name, place: _in_folder(path_below(plain_xml(name).strip()), place),
    needs_sizes="all images",
)
"""Boxes: inclusive corners counted from 1 if they are whole numbers, else edges from 0.

Each file states which of the two in `first_pixel`, of which the format knows nothing. Rotated boxes
are written as by roLabelImg.
"""
