"""Reading Pascal VOC XML, also as roLabelImg, CVAT and Roboflow write it."""

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
from bboxqa.formats.member import Member
from bboxqa.formats.records import UNNAMED
from bboxqa.formats.source import members_of, members_with
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    SIDES,
    UNLABELLED,
    Add,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.other_files import add_others, json_or_xml_of_tools
from bboxqa.formats.translation.shapes import angle_in, turned_box
from bboxqa.formats.translation.untrusted import ValueProblemError, number_in
from bboxqa.formats.xml_elements import Element, XmlError, tree_of

_MARKS = ("difficult", "truncated", "occluded")
_BOX_SIDES = ("xmin", "ymin", "xmax", "ymax")
_HOW = ("edges counted from 0", "inclusive pixels counted from 1")
_OF_DATUMARO = re.compile(rb"<annotation>Unknown</annotation>\s*<image>Unknown</image>")
"""What datumaro writes as the source of an image, which CVAT uses."""
_ANNOTATOR = re.compile(rb"<object>(?:(?!</object>).)*?<annotator>\s*+[^<\s]", re.DOTALL)
_NOTES = (
    *((mark, "object", f"marked {mark}: compared like the others") for mark in _MARKS),
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
    kept = {at for at, head in heads.items() if begins("VOC", head) or not head.strip()}
    files = {place: member for place, member in named.items() if place in kept}
    pictures = by_place(pictures_of(path, members, files))
    is_named = any(
        b"<annotator>" in text and _ANNOTATOR.search(text)
        for text in (member.read() for member in files.values())
    )
    records = _VocRecords(pictures, add, wanted, is_named=is_named)
    for number, (place, member) in enumerate(files.items()):
        records.add_file(place, member)
        if wanted.progress is not None and number % 100 == 0:
            wanted.progress(number, len(files))
    others = [member for place, member in named.items() if place not in kept]
    others += json_or_xml_of_tools(members, files, pictures, (".json",))
    lists = (each for each in members if "ImageSets/Main/" in each.name)
    return records.done({place for each in lists for place in _listed(each)}, others)


def _listed(member: Member) -> set[str]:
    """Return the images of a list; lists with other values per line are for categories."""
    lines = member.text().decode("utf-8", "replace").splitlines()
    return {words[0] for words in map(str.split, lines) if len(words) == 1}


class _VocRecords:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(
        self, pictures: dict[str, Member], add: Add, wanted: Wanted, *, is_named: bool
    ) -> None:
        self._is_named = is_named
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
        element = root.find("size") or Element("size", root.line)
        # LabelImg writes 0 for unknown sizes.
        sides = [side if side != "0" else "" for side in map(element.said, SIDES)]
        size = self._into.size(image, name, sides, Where(member.name, element.line))
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
        if "." not in last and (picture := self._images.at(place)) is not None:
            # Some tools omit the suffix, which the image file has.
            name += PurePosixPath(picture.name).suffix
        return self._images.name(name, place, member.name, Where(member.name, root.line))

    def _add_object(self, found: Element, image: Record, where: Where, base: int) -> None:
        shape, is_turned = _shape_of(found, base)
        record = {**shape, "image_id": image["id"]}
        author = clean(found.said("annotator"))
        if self._is_named:
            record["annotator"] = author or UNNAMED
            if not author:
                self._tally["nobody"] += 1
                self._into.defect("T005", "an object does not name its annotator", where)
        label = found.said("name")
        record["category_id"] = self._into.category(label or UNLABELLED, where)
        marks = [mark for mark in _MARKS if found.said(mark) in ("1", "true", "True", "yes")]
        if marks:
            record["attributes"] = {**record.get("attributes", {}), **dict.fromkeys(marks, 1)}
        self._tally.update(marks)
        if not self._wanted.outlines:
            record.pop("segmentation", None)
        row = self._into.annotation(record, where)
        if not label:
            self._into.defect("T004", "an object has no name", where, row)
        if is_turned:
            problem = "xmin is greater than xmax, or ymin than ymax; they are swapped"
            self._into.defect("T030", problem, where, row)

    def done(self, listed: set[str], others: list[Member]) -> Translated:
        """Return the translation; `listed` are images that lists name, `others` are left out."""
        used = [(n, _HOW[base], reason) for (base, reason), n in sorted(self._bases.items()) if n]
        n_all = sum(n for n, _, _ in used)
        parts = [f"{n:,} of {count(n_all, 'file')}: {how}, {reason}" for n, how, reason in used]
        notes = [f"corners are those of {' / '.join(parts)}"] if parts else []
        if len(used) == 1:
            notes = [f"corners are {used[0][1]}, {used[0][2]}"]
        notes += add_others(self._into, others, "XML of Pascal VOC")
        notes += self._images.add_unlabelled(listed, others)
        named_by = "<annotator>" if self._is_named else ""
        return self._into.done([*notes, *tally_notes(self._tally, _NOTES)], named_by)


def _shape_of(found: Element, base: int) -> tuple[Record, bool]:
    """Return the geometry keys of an object, and whether its corners were swapped."""
    rotated, box, outline = map(found.find, ("robndbox", "bndbox", "polygon"))
    if rotated is not None:
        # As roLabelImg writes it.
        sides = ("cx", "cy", "w", "h", "angle")
        x, y, width, height, angle = (_number(rotated, each) for each in sides)
        corner = (x - width / 2 - base, y - height / 2 - base)
        return turned_box((*corner, width, height), math.degrees(angle)), False
    points = _points_of(outline) - base if outline is not None else np.zeros((0, 2))
    if box is None:
        if len(points) < 3:
            raise ValueProblemError("has no bndbox, as Pascal VOC needs")
        return shapes.outlined(points), False
    left, top, right, bottom = (_number(box, side) for side in _BOX_SIDES)
    is_turned = left > right or top > bottom
    (left, right), (top, bottom) = sorted((left, right)), sorted((top, bottom))
    # With inclusive corners, each side is a pixel longer.
    bbox = [left - base, top - base, right - left + base, bottom - top + base]
    if degrees := _rotation(found):
        return turned_box(bbox, degrees), is_turned
    outlined = shapes.outlined(points) if len(points) >= 3 else {}
    return {**outlined, "bbox": bbox}, is_turned


def _points_of(element: Element) -> FloatArray:
    """Return the (K, 2) points of a `polygon`; none where x and y are not as many."""
    numbers = [
        number_in(each.text.strip(), each.name)
        for each in element.inside
        if re.fullmatch(r"[xy]\d*", each.name)
    ]
    return np.array([] if len(numbers) % 2 else numbers, np.float64).reshape(-1, 2)


def _number(element: Element, name: str) -> float:
    found = element.find(name)
    if found is None:
        raise ValueProblemError(f"{element.name} has no {name}")
    return number_in(found.text.strip(), name)


def _rotation(found: Element) -> float:
    """Return the rotation in degrees that CVAT writes, with the corners before the rotation."""
    attributes = found.find("attributes") or Element("attributes", 0)
    values = [e.said("value") for e in attributes.all("attribute") if e.said("name") == "rotation"]
    return angle_in(values[0]) % 360 if values else 0.0
