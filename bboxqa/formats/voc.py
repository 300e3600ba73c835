"""Pascal VOC XML, with one file per image, also as roLabelImg, CVAT and Roboflow write it."""

import math
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.images import NO_PICTURE, FileImages
from bboxqa.formats.label_folders import path_below
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.writing.content import Content, Writer, Written, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.xml_elements import Element, XmlError, block, leaf, leaves, plain_xml, tree_of

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
    images = FileImages.of_tool(path, into, members, "VOC", ".xml")
    for each in members:
        if "ImageSets/Main/" in each.name:
            # Lists with other values per line are for categories.
            lines = map(str.split, each.text().decode("utf-8", "replace").splitlines())
            images.listed |= {words[0]: words[0] for words in lines if len(words) == 1}
    for number, (place, member) in enumerate(images.files.items()):
        _add_file(into, images, place, member)
        into.step(number, len(images.files))
    ways = {way: n for way, n in into.tally.items() if n and way.startswith(_HOW)}
    for way, n in sorted(ways.items()):
        some = f" of {n:,} of {count(sum(ways.values()), 'file')}" * (len(ways) > 1)
        into.notes.append(f"corners{some} are {way}")
    into.named_by = "<annotator>" if any(into.people) else ""
    images.done("XML of Pascal VOC", _NOTES)


def _add_file(into: Collector, images: FileImages, place: str, member: Member) -> None:
    """Add the objects of an image, and count where its pixels are counted from, and why."""
    data, file = member.read(), member.name or "the file"
    try:
        root = tree_of(data)
    except XmlError as error:
        into.defect("T001", f"{file}: {error}", Where(member.name, error.line))
        return
    where = Where(member.name, root.line)
    said, chosen = root.said("first_pixel"), into.settings.choices.voc_base
    found = (1, "as Pascal VOC defines; if they are edges: --voc-base 0")
    if said in ("0", "1"):
        found = (int(said), "as the files state")
    elif _OF_DATUMARO.search(data):
        found = (0, "as CVAT and datumaro write them")
    elif chosen is not None:
        found = (chosen, "as given")
    if said not in ("", "0", "1"):
        problem = f"{file}: first_pixel is {one_line(said)!r}; expected 0 or 1"
        into.defect("T001", problem, where)
    into.tally[f"{_HOW[found[0]]}, {found[1]}"] += b"<bndbox" in data
    inner = path_below(root.said("filename"))
    last, name = PurePosixPath(inner).name, _in_folder(inner, place)
    if last and "." not in last and (picture := images.pictures.get(place)) is not None:
        # Some tools omit the suffix, which the image file has.
        name += PurePosixPath(picture.name).suffix
    element = root.child("size")
    # LabelImg writes 0 for unknown sizes.
    sides = [side if side != "0" else "" for side in map(element.said, SIDES)]
    size = sides, Where(member.name, element.line)
    image, picture = images.add_named(place, member, name if last else "", where, size)
    if picture is None and images.pictures:
        into.defect("T022", f"{NO_PICTURE}/{one_line(place)}.jpg", Where(member.name, 1))
    for number, each in enumerate(root.all("object"), start=1):
        at = Where(member.name, each.line)
        with into.refusing(f"object {number}", at):
            # Along an edge of the image, corners of both axes may be equal.
            edges = {0, 1, image.get("width"), image.get("height")}
            shape, is_turned = _shape_of(each, found[0], edges)
            record = {**shape, "image_id": image["id"]}
            into.sign(record, clean(each.said("annotator")))
            marks = [mark for mark in _MARKS if each.said(mark) in ("1", "true", "True", "yes")]
            if marks:
                record["attributes"] = shape.get("attributes", {}) | dict.fromkeys(marks, 1)
            into.tally.update(marks)
            row = into.labelled(record, each.said("name"), at, "an object has no name")
            if is_turned:
                problem = "xmin is greater than xmax, or ymin than ymax; they are swapped"
                into.defect("T030", problem, at, row)


def _shape_of(found: Element, base: int, edges: Container[object]) -> tuple[Record, bool]:
    """Return the geometry keys of an object, and whether its corners were swapped."""
    rotated, box, outline = map(found.find, ("robndbox", "bndbox", "polygon"))
    if rotated is not None:
        texts = {each.name: each.text.strip() for each in rotated.inside}
        x, y, width, height, angle = shapes.numbers_of(texts, ("cx", "cy", "w", "h", "angle"))
        corner = (x - width / 2 - base, y - height / 2 - base)
        return shapes.turned_box((*corner, width, height), math.degrees(angle)), False
    inside = outline.inside if outline is not None else ()
    numbers = [each for each in inside if re.fullmatch(r"[xy]\d*", each.name)]
    xy = [shapes.number_of(each.text.strip(), each.name) for each in numbers]
    # There are none where x and y are not as many.
    points = np.array([] if len(xy) % 2 else xy, np.float64).reshape(-1, 2) - base
    if box is None:
        if len(points) < 3:
            raise shapes.ValueProblemError("has no bndbox, as Pascal VOC needs")
        return shapes.outlined(points), False
    texts = {each.name: each.text.strip() for each in box.inside}
    given = left, top, right, bottom = shapes.numbers_of(texts, _BOX_SIDES)
    is_turned = left > right or top > bottom
    for one, other in ((3, 0), (2, 1)) if is_turned else ():
        if given[one] == given[other] and given[one] not in edges:
            what = f"{_BOX_SIDES[one]} repeats {_BOX_SIDES[other]}"
            raise shapes.ValueProblemError(f"{what}, so that the corners are out of order")
    (left, right), (top, bottom) = sorted((left, right)), sorted((top, bottom))
    # With inclusive corners, each side is a pixel longer.
    bbox = [left - base, top - base, right - left + base, bottom - top + base]
    # CVAT writes the corners before the rotation, in degrees.
    listed = found.child("attributes").all("attribute")
    said = [e.said("value") for e in listed if e.said("name") == "rotation"]
    if degrees := shapes.degrees_of(said[0], "rotation") % 360 if said else 0.0:
        return shapes.turned_box(bbox, degrees), is_turned
    outlined = shapes.outlined(points) if len(points) >= 3 else {}
    return {**outlined, "bbox": bbox}, is_turned


def _in_folder(inner: str, place: str) -> str:
    """Return the path of an image, in the folder of its file if it names none."""
    folder, slash, _ = place.rpartition("/")
    return inner if "/" in inner else f"{folder}{slash}{inner}"


_DECIMALS = 6
_FEW_FRACTIONS = 0.05
_WRITTEN_MARKS = ("truncated", "difficult", "occluded")
# CVAT has texts.
_SET = (1, "1", "true")


def _corners(drawn: Sequence[Record], base: int) -> FloatArray:
    """Return xmin, ymin, xmax and ymax of annotations; with base 1, corners are inclusive."""
    boxes = np.array([each["bbox"] for each in drawn], np.float64).reshape(-1, 4)
    low = boxes[:, :2] + base
    corners = np.hstack([low, low + boxes[:, 2:] - base])
    # Products of relative numbers are whole where only rounding differs.
    whole = corners.round()
    return np.where(np.abs(corners - whole) < 10.0**-_DECIMALS, whole, corners)


def _files(content: Content) -> Iterator[Written]:
    # The coordinate of the first pixel is the same for all annotators.
    outlines = content.outlines
    upright = [each for each in content.annotations if outlines[each["id"]].box is None]
    edges = _corners(upright, base=1)
    are_edges = (edges[:, :2] > edges[:, 2:]).any() or (edges == 0).any()
    base = 0 if are_edges else int((edges % 1 != 0).sum() <= _FEW_FRACTIONS * edges.size)
    for place, _, drawn, path in content.files(VOC.folder, ".xml"):
        image = content.images[place]
        size = {"width": int(image["width"]), "height": int(image["height"]), "depth": 3}
        parts = [
            leaves(1, {"folder": "", "filename": image_name(image)}),
            block(1, "source", [leaf(2, "database", "Unknown")]),
            block(1, "size", [leaves(2, size)]),
            leaves(1, {"segmented": 0, "first_pixel": base}),
        ]
        corners = _corners(drawn, base).tolist()
        for each, box in zip(drawn, corners, strict=True):
            marks = shapes.mapping(each.get(ATTRIBUTES))
            about: Record = {
                "name": content.category_names[each["category_id"]],
                "pose": "Unspecified",
            }
            about |= {mark: int(marks.get(mark) in _SET) for mark in _WRITTEN_MARKS}
            if not about["occluded"]:
                del about["occluded"]
            kind, numbers = "bndbox", dict(zip(_BOX_SIDES, box, strict=True))
            if (turned := outlines[each["id"]].box) is not None:
                # As roLabelImg writes it, with angles below a half turn.
                kind = about["type"] = "robndbox"
                x, y, width, height, degrees = turned.tolist()
                numbers = {"cx": x + base, "cy": y + base, "w": width, "h": height}
                numbers["angle"] = math.radians(degrees % 180)
            texts = {key: f"{number:.10g}" for key, number in numbers.items()}
            shape = block(2, kind, [leaves(3, texts)])
            parts.append(block(1, "object", [leaves(2, about), shape]))
        yield Written(path, block(0, "annotation", parts).encode())


VOC = Writer(
    "Pascal VOC",
    "folder",
    (".xml",),
    _files,
    frozenset({"rotation", "image sizes", *(f"{ATTRIBUTES}.{mark}" for mark in _WRITTEN_MARKS)}),
    keeps=lambda key, value: not key.startswith(ATTRIBUTES) or value in _SET,
    reads={"category": lambda name: plain_xml(name).strip()},
    folder="Annotations",
    read_name=lambda name, place: _in_folder(path_below(plain_xml(name).strip()), place),
    needs_sizes="all images",
)
"""Boxes: inclusive corners counted from 1 if they are whole numbers, else edges from 0."""
