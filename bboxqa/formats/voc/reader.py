"""Reading Pascal VOC XML, also as roLabelImg and the LabelMe web tool write it."""

import math
import re
from collections import Counter
from pathlib import Path, PurePosixPath

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.document import Where
from bboxqa.formats.heads import begins
from bboxqa.formats.images import FileImages, pictures_of, size_of_picture
from bboxqa.formats.label_folders import by_place, path_below
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    SIDES,
    UNLABELLED,
    UNNAMED,
    Add,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.other_files import add_others, json_or_xml_of_tools
from bboxqa.formats.translation.shapes import turned_box
from bboxqa.formats.translation.untrusted import ValueProblemError, number_in
from bboxqa.formats.xml_elements import Element, XmlError, tree_of

_MARKS = ("difficult", "truncated", "occluded")
_BOX_SIDES = ("xmin", "ymin", "xmax", "ymax")
_HOW = ("edges counted from 0", "inclusive pixels counted from 1")
_OF_DATUMARO = re.compile(rb"<annotation>Unknown</annotation>\s*<image>Unknown</image>")
"""What datumaro writes as the source of an image, which CVAT uses."""
_ANONYMOUS = "anonymous"
"""The user name of everybody who did not sign in to the web tool."""
_USER = re.compile(rb"<username>([^<]*)</username>")
_ANNOTATOR = re.compile(rb"<object>(?:(?!</object>).)*?<annotator>\s*+[^<\s]", re.DOTALL)
_WORDS = (
    *((mark, "object", f"marked {mark}: compared like the others") for mark in _MARKS),
    ("part", "part", "of objects left out"),
    ("mask", "mask", "in image files: not read, and compared by the box"),
    ("deleted", "object", "marked as deleted left out"),
    ("nobody", "object", f"without annotator, here by {UNNAMED!r}"),
    ("unsized", "image", "without a size"),
    ("unnamed", "image", "without filename: named as the XML file"),
)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate the files of a folder or archive, or one file.

    Raises DatasetError if there are no files.
    """
    members = members_of(path)
    named = by_place([*members_with(members, ".xml")])
    heads = {place: member.head() for place, member in named.items()}
    if not any(begins("VOC", each) for each in heads.values()):
        raise DatasetError([f"{path}: has no XML of Pascal VOC"])
    # A full disk or a crash leaves empty files; reading them reports each one.
    files = {
        place: named[place]
        for place, head in heads.items()
        if begins("VOC", head) or not head.strip()
    }
    pictures = by_place(pictures_of(path, members, files))
    authors = {name for member in files.values() for name in _authors_in(member.read())}
    records = _VocRecords(pictures, add, wanted, authors)
    for number, (place, member) in enumerate(files.items()):
        records.add_file(place, member)
        if wanted.progress is not None and number % 100 == 0:
            wanted.progress(number, len(files))
    others = [named[place] for place in named if place not in files]
    others += json_or_xml_of_tools(members, files, pictures, (".json",))
    lists = (each for each in members if "ImageSets/Main/" in each.name)
    return records.done({place for each in lists for place in _listed(each)}, others)


def _authors_in(text: bytes) -> set[str]:
    """Return the names of the elements that name who drew the objects of a file."""
    users = {each.decode("utf-8", "replace").strip() for each in _USER.findall(text)}
    found = {"username"} if users - {"", _ANONYMOUS} else set()
    has_annotator = b"<annotator>" in text and _ANNOTATOR.search(text) is not None
    return found | ({"annotator"} if has_annotator else set())


def _listed(member: Member) -> set[str]:
    """Return the images of a list; lists with other values per line are for categories."""
    lines = member.text().decode("utf-8", "replace").splitlines()
    return {words[0] for words in map(str.split, lines) if len(words) == 1}


class _VocRecords:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(
        self, pictures: dict[str, Member], add: Add, wanted: Wanted, authors: set[str]
    ) -> None:
        self._authors = authors
        self._wanted = wanted
        is_said = wanted.choices.missing_txt == "not-asked"
        self._into = Collector("Pascal VOC XML", add, lists_images=is_said)
        self._images = FileImages(self._into, pictures, choices=wanted.choices)
        self._tally = self._images.tally
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
            if found.said("deleted") == "1":
                self._tally["deleted"] += 1
                continue
            try:
                self._add_object(found, image, where, base)
            except ValueProblemError as error:
                self._into.refuse(f"object {number}", error, where)

    def _base(self, data: bytes, root: Element, member: Member) -> int:
        """Return the coordinate of the first pixel of a file, which files of bboxqa state."""
        said, chosen = root.said("first_pixel"), self._wanted.choices.voc_base
        if said in ("0", "1"):
            base, reason = int(said), "as the files state"
        elif _OF_DATUMARO.search(data):
            base, reason = 0, "as CVAT and datumaro write them"
        elif chosen is not None:
            base, reason = chosen, "as given"
        else:
            base, reason = 1, "as Pascal VOC defines; if they are edges: --voc-base 0"
        if said not in ("", "0", "1"):
            problem = f"{member.name or 'the file'}: first_pixel is {one_line(said)!r}"
            self._into.defect("T001", f"{problem}; expected 0 or 1", Where(member.name, root.line))
        self._bases[base, reason] += b"<bndbox" in data
        return base

    def _image(self, place: str, member: Member, root: Element) -> Record:
        name = self._name(place, member, root)
        image = self._into.image(place, Where(member.name, root.line))
        image["file_name"] = name
        element, keys = root.find("size") or Element("size", 0), SIDES
        if (of_web := root.find("imagesize")) is not None:
            element, keys = of_web, ("ncols", "nrows")
        # LabelImg writes 0 for unknown sizes.
        sides = [side if side != "0" else "" for side in map(element.said, keys)]
        size = self._into.size(image, name, sides, Where(member.name, element.line or root.line))
        picture = self._images.picture_of(place, name)
        if picture is None and self._images.pictures:
            problem = f"{member.name}: no picture has this name"
            self._into.defect("T022", problem, Where(member.name, 1))
        if size is None and picture is not None:
            size = size_of_picture(picture)
        self._images.give_size(image, size)
        return image

    def _name(self, place: str, member: Member, root: Element) -> str:
        """Return the name of an image: the name in the file, unless another file has the same."""
        inner = path_below(root.said("filename"))
        last = PurePosixPath(inner).name
        folder = place.rpartition("/")[0]
        name = inner if "/" in inner or not folder else f"{folder}/{inner}"
        if not last:
            self._tally["unnamed"] += 1
            return place or member.shown
        if not is_picture(last) and "." not in last:
            # Some tools omit the suffix, which the image file has.
            picture = self._images.at(place)
            name += PurePosixPath(picture.name).suffix if picture is not None else ""
        return self._images.name(name, place, member.name, Where(member.name, root.line))

    def _add_object(self, found: Element, image: Record, where: Where, base: int) -> None:
        shape, is_turned = self._shape(found, base)
        label = found.said("name")
        record = {**shape, "image_id": image["id"]}
        if self._authors:
            record["annotator"] = self._author(found, where)
        record["category_id"] = self._into.category(label or UNLABELLED, where)
        marks = [mark for mark in _MARKS if found.said(mark) in ("1", "true", "True", "yes")]
        if marks:
            record["attributes"] = {**record.get("attributes", {}), **dict.fromkeys(marks, 1)}
        self._tally.update(marks)
        if not self._wanted.outlines:
            record.pop("segmentation", None)
        self._tally["part"] += len(found.all("part"))
        row = self._into.annotation(record, where)
        if is_turned:
            problem = "xmin is greater than xmax, or ymin than ymax; they are swapped"
            self._into.defect("T030", problem, where, row)
        if not label:
            self._into.defect("T004", "an object has no name", where, row)

    def _author(self, found: Element, where: Where) -> str:
        if name := clean(found.said("annotator")):
            return name
        if "username" in self._authors:
            place = found.find("polygon") or found.find("segm")
            return clean("" if place is None else place.said("username")) or _ANONYMOUS
        self._tally["nobody"] += 1
        self._into.defect("T005", "an object does not name its annotator", where)
        return UNNAMED

    def _shape(self, found: Element, base: int) -> tuple[Record, bool]:
        """Return the geometry keys of an object, and whether its corners were swapped."""
        rotated, box = found.find("robndbox"), found.find("bndbox")
        outline, mask = found.find("polygon"), found.find("segm")
        is_of_web = mask is not None or (outline is not None and outline.find("pt") is not None)
        if is_of_web and box is None:
            self._tally["mask"] += mask is not None
            self._into.title = "LabelMe web XML"
            return _web_shape(found), False
        if rotated is not None:
            return _rotated_box(rotated, base), False
        points = _points_of(outline) - base if outline is not None else np.zeros((0, 2))
        if box is None:
            if len(points) < 3:
                raise ValueProblemError("has no bndbox")
            return shapes.outlined(points), False
        shape, is_turned = _box_of(box, base)
        if degrees := _rotation(found):
            return turned_box(shape["bbox"], degrees), is_turned
        if len(points) >= 3:
            shape["segmentation"] = shapes.outlined(points)["segmentation"]
        return shape, is_turned

    def done(self, listed: set[str], others: list[Member]) -> Translated:
        """Return the translation; `listed` are images that lists name, `others` are left out."""
        notes = self._base_notes()
        notes += add_others(self._into, others, "XML of Pascal VOC")
        notes += self._images.add_unlabelled(listed, others)
        named_by = " and ".join(f"<{name}>" for name in sorted(self._authors))
        return self._into.done([*notes, *tally_notes(self._tally, _WORDS)], named_by)

    def _base_notes(self) -> list[str]:
        """Return one note on how corners are read, if there are any."""
        used = [(n, _HOW[base], reason) for (base, reason), n in sorted(self._bases.items()) if n]
        n_all = sum(n for n, _, _ in used)
        if len(used) == 1:
            return [f"corners are {how}, {reason}" for _, how, reason in used]
        parts = [f"{n:,} of {count(n_all, 'file')}: {how}, {reason}" for n, how, reason in used]
        return [f"corners are those of {' / '.join(parts)}"] if parts else []


def _box_of(element: Element, base: int) -> tuple[Record, bool]:
    """Return the COCO geometry keys of a `bndbox`, and whether its corners were swapped."""
    left, top, right, bottom = (_number(element, side) for side in _BOX_SIDES)
    is_turned = left > right or top > bottom
    left, right = sorted((left, right))
    top, bottom = sorted((top, bottom))
    # With inclusive corners, each side is a pixel longer.
    width, height = right - left + base, bottom - top + base
    return {"bbox": [left - base, top - base, width, height]}, is_turned


def _rotated_box(element: Element, base: int) -> Record:
    """Return the COCO geometry keys of a `robndbox` of roLabelImg."""
    x, y, width, height, angle = (
        _number(element, each) for each in ("cx", "cy", "w", "h", "angle")
    )
    box = (x - width / 2 - base, y - height / 2 - base, width, height)
    return turned_box(box, math.degrees(angle))


def _web_shape(found: Element) -> Record:
    """Return the COCO geometry keys of an object of the LabelMe web tool, with edges from 0."""
    if (mask := found.find("segm")) is not None:
        if (box := mask.find("box")) is None:
            raise ValueProblemError("its mask has no box")
        return _box_of(box, 0)[0]
    points = _points_of(found.find("polygon") or Element("polygon", found.line))
    if len(points) < 3:
        return {"shape": "point" if len(points) == 1 else "line"}
    record: Record = {"bbox": shapes.bounds(points)}
    if found.said("type") != "bounding_box":
        record["segmentation"] = [shapes.ring(points)]
    return record


def _points_of(element: Element) -> FloatArray:
    """Return the (K, 2) points of a `polygon`; none where x and y are not as many."""
    numbers = []
    for each in element.inside:
        if re.fullmatch(r"[xy]\d*", each.name):
            numbers.append(number_in(each.text.strip(), each.name))
        elif each.name in ("pt", "point"):
            numbers += [_number(each, "x"), _number(each, "y")]
    return np.array([] if len(numbers) % 2 else numbers, np.float64).reshape(-1, 2)


def _number(element: Element, name: str) -> float:
    found = element.find(name)
    if found is None:
        raise ValueProblemError(f"{element.name} has no {name}")
    return number_in(found.text.strip(), name)


def _rotation(found: Element) -> float:
    """Return the rotation in degrees that CVAT writes, with the corners before the rotation."""
    attributes = found.find("attributes") or Element("attributes", 0)
    for each in attributes.all("attribute"):
        if each.said("name") == "rotation":
            try:
                degrees = float(each.said("value"))
            except ValueError:
                return 0
            return degrees % 360 if abs(degrees) < 1e6 else 0
    return 0
