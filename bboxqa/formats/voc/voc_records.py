"""Translating Pascal VOC files to COCO records."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, one_line
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.boxes.turned_boxes import turned_box
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.images.image_places import by_place, path_below
from bboxqa.formats.translation.images.label_images import FileImages, pictures_of
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import members_of, members_with
from bboxqa.formats.translation.other_files import add_others, json_or_xml_of_tools
from bboxqa.formats.translation.picture_sizes import is_picture, size_of_picture
from bboxqa.formats.translation.translated import (
    UNLABELLED,
    UNNAMED,
    Add,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.untrusted import ValueProblemError
from bboxqa.formats.voc.voc_boxes import (
    FirstPixels,
    box_of,
    outline_of,
    rotated_box,
)
from bboxqa.formats.voc.voc_heads import is_voc_head
from bboxqa.formats.voc.web_objects import authors_in, is_web_object, user_of, web_shape
from bboxqa.formats.xml_elements import Element, XmlError, tree_of

TITLE = "Pascal VOC XML"
WEB_TITLE = "LabelMe web XML"
_MARKS = ("difficult", "truncated", "occluded")
_LISTS = "ImageSets/Main/"
_WORDS = (
    *((mark, "object", f"marked {mark}: compared like the others") for mark in _MARKS),
    ("part", "part", "of objects left out"),
    ("mask", "mask", "in image files: not read, and compared by the box"),
    ("deleted", "object", "marked as deleted left out"),
    ("nobody", "object", f"without annotator, here by {UNNAMED!r}"),
    ("unsized", "image", "without a size"),
    ("unnamed", "image", "without filename: named as the XML file"),
)


def translate_voc(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate the files of a folder or archive, or one file.

    Raises DatasetError if there are no files.
    """
    members = members_of(path)
    named = by_place([*members_with(members, ".xml")])
    heads = {place: member.head() for place, member in named.items()}
    if not any(map(is_voc_head, heads.values())):
        raise DatasetError([f"{path}: has no XML of Pascal VOC"])
    # A full disk or a crash leaves empty files; reading them reports each one.
    files = {
        place: named[place]
        for place, head in heads.items()
        if is_voc_head(head) or not head.strip()
    }
    first_pixels = FirstPixels(choices().voc_base)
    authors: set[str] = set()
    for place, member in files.items():
        text = member.read()
        first_pixels.add(place, text)
        authors |= authors_in(text)
    pictures = by_place(pictures_of(path, members, files))
    records = _VocRecords(members, pictures, add, wanted, authors)
    for number, (place, member) in enumerate(files.items()):
        records.add_file(place, member, first_pixels.base_of(place))
        if wanted.progress is not None and number % 100 == 0:
            wanted.progress(number, len(files))
    others = [named[place] for place in named if place not in files]
    others += json_or_xml_of_tools(members, files, pictures, (".json",))
    found = records.done(first_pixels.notes(), others)
    return replace(found, told_base=first_pixels.told_base())


class _VocRecords:
    """Converts files to COCO records, and collects images, categories and counts."""

    def __init__(
        self,
        members: list[Member],
        pictures: dict[str, Member],
        add: Add,
        wanted: Wanted,
        authors: set[str],
    ) -> None:
        self._lists = [each for each in members if _LISTS in each.name]
        self._authors = authors
        self._wanted = wanted
        is_said = choices().missing_txt == "not-asked"
        self._into = Collector(TITLE, add, lists_images=is_said)
        self._images = FileImages(self._into, pictures)
        self._tally = self._images.tally

    def add_file(self, place: str, member: Member, base: int) -> None:
        """Add the objects of an image, whose first pixel has the coordinate `base`."""
        try:
            root = tree_of(member.read())
        except XmlError as error:
            where = Where(member.name, error.line)
            self._into.defect("T001", f"{member.name or 'the file'}: {error}", where)
            return
        if (said := root.said("first_pixel")) not in ("", "0", "1"):
            problem = f"{member.name or 'the file'}: first_pixel is {one_line(said)!r}"
            self._into.defect("T001", f"{problem}; expected 0 or 1", Where(member.name, root.line))
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

    def _image(self, place: str, member: Member, root: Element) -> Record:
        where = Where(member.name, root.line)
        name = self._name(place, member, root)
        image = self._into.image(place, where)
        image["file_name"] = name
        element, keys = root.find("size") or Element("size", 0), SIDES
        if (of_web := root.find("imagesize")) is not None:
            element, keys = of_web, ("ncols", "nrows")
        # LabelImg writes 0 for unknown sizes.
        sides = [_given(element.said(key)) for key in keys]
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
        said = root.said("filename")
        inner = path_below(said)
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
        attributes = dict(record.get("attributes", {}))
        for mark in _MARKS:
            if found.said(mark) in ("1", "true", "True", "yes"):
                attributes[mark] = 1
                self._tally[mark] += 1
        if attributes:
            record["attributes"] = attributes
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
            return user_of(found)
        self._tally["nobody"] += 1
        self._into.defect("T005", "an object does not name its annotator", where)
        return UNNAMED

    def _shape(self, found: Element, base: int) -> tuple[Record, bool]:
        """Return the geometry keys of an object, and whether its corners were swapped."""
        if is_web_object(found):
            shape, is_mask = web_shape(found)
            self._tally["web"] += 1
            self._tally["mask"] += is_mask
            return shape, False
        rotated, box = found.find("robndbox"), found.find("bndbox")
        if rotated is not None:
            return rotated_box(rotated, base), False
        outline = found.find("polygon")
        inside = outline_of(outline, base) if outline is not None else None
        if box is None:
            if inside is None:
                raise ValueProblemError("has no bndbox")
            return inside, False
        shape, is_turned = box_of(box, base)
        degrees = _rotation(found)
        if degrees:
            return turned_box(shape["bbox"], degrees), is_turned
        if inside is not None:
            shape["segmentation"] = inside["segmentation"]
        return shape, is_turned

    def done(self, notes: list[str], others: list[Member]) -> Translated:
        """Return the translation, with all images, categories and notes."""
        listed = {place for each in self._lists for place in _listed(each)}
        notes += add_others(self._into, others, "XML of Pascal VOC")
        notes += self._images.add_unlabelled(listed, others)
        if self._tally["web"]:
            self._into.title = WEB_TITLE
        named_by = " and ".join(f"<{name}>" for name in sorted(self._authors))
        return self._into.done([*notes, *tally_notes(self._tally, _WORDS)], named_by)


def _given(side: str) -> str:
    return "" if side == "0" else side


def _whole(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _rotation(found: Element) -> float:
    """Return the rotation in degrees that CVAT writes, with the corners before the rotation."""
    attributes = found.find("attributes") or Element("attributes", 0)
    for each in attributes.all("attribute"):
        if each.said("name") == "rotation":
            degrees = _whole(each.said("value"))
            return degrees % 360 if degrees is not None and abs(degrees) < 1e6 else 0
    return 0


def _listed(member: Member) -> Iterator[str]:
    """Yield the images of a list; lists with other values per line are for categories."""
    for line in member.text().decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) == 1:
            yield words[0]
