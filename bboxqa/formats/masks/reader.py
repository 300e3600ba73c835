"""Reading masks from image files: a value an object, an object a file, or regions of classes."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.images import FileImages, shared_folders
from bboxqa.formats.label_folders import OF_PICTURES, known_places
from bboxqa.formats.masks.folders import CONTENT, is_mask_name
from bboxqa.formats.masks.pixels import Runs, Values, runs_in, values_in
from bboxqa.formats.member import Member
from bboxqa.formats.source import files_in, members_of
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.masks import Allowance, Masks, RowMask
from bboxqa.formats.translation.untrusted import MaskProblemError

CATEGORY = "object"
"""The category of objects whose masks name no class."""
NAMES = "labelmap.txt"
"""The table of classes, which CVAT writes with colours."""
_SPECKLE, _SHOWN = 10, 3
_MOST_BYTES = 1 << 29
_IN_CONTENT = re.compile(rf"(^|/)(?:{CONTENT})(?=/)", re.IGNORECASE)
# The folders of Pascal VOC. Where both are there, objects have the class of their pixels.
_OBJECTS, _CLASSES = "segmentationobject", "segmentationclass"
_TWO_VALUES = """If edges are smooth, make two values, in a copy of the folder: python -c "import \
glob; from PIL import Image; [Image.open(f).convert('L').point(lambda v: 255 * (v > 127)).save(f) \
for f in glob.glob('*.png')]\""""
_EACH = "If each is an object: --mask instances; if each is a class: --mask classes"
_ROW = re.compile(r"\s*([^#:][^:]*?)\s*:\s*(\d{1,10}(?:\s*,\s*\d{1,3})*)\s*(?::.*)?")
_NOTES = (("nameless", "image", "without a picture: named as the mask, without suffix"),)


def translate(path: Path, into: Collector) -> None:
    """Translate a folder or archive of masks, as `Choices.mask` says.

    Raises DatasetError if there are none, or if their values are not what `Choices.mask` says.
    """
    into.title = "masks"
    members = members_of(path)
    mode = (into.wanted.choices.mask or "").partition(":")[0]
    masks, others = _masks_in(path, members)
    objects = [each for each in masks if _OBJECTS in each.folder.lower()]
    classes = [each for each in masks if _CLASSES in each.folder.lower()]
    class_of = {_image_of(each, ""): each for each in classes}
    if mode != "classes" and objects and {_image_of(each, "") for each in objects} <= {*class_of}:
        mode = "voc"
    own = {"classes": classes, "instances": objects, "voc": objects}.get(mode) or masks
    if apart := len(masks) - len(own) - len(class_of) * (mode == "voc"):
        some = f"{count(apart, 'picture')} outside of {one_line(own[0].folder)}"
        into.notes.append(f"{some} left out")
    of_image: dict[str, list[Member]] = {}
    for each in own:
        of_image.setdefault(_image_of(each, mode), []).append(each)
    labels = [each[0]._replace(name=name) for name, each in of_image.items()]
    images = FileImages(path, into, labels, others, ())
    _share_pictures(images)
    if len(images.files) < len(labels):
        used = {*images.files.values()}
        twice = next(each for each in labels if each not in used)
        problem = f"{path}: has several masks of one image, such as {one_line(twice.shown)}"
        raise DatasetError([problem], "Name the folder of one kind of masks.")
    records = _MaskRecords(into, mode, _names_in(path, members))
    for number, (place, label) in enumerate(images.files.items()):
        image = images.labelled(place, of_image[label.name][0])
        for each in of_image[label.name]:
            both = (each, class_of[label.name]) if mode == "voc" else (each,)
            contents = [mask._replace(most=_MOST_BYTES).read() for mask in both]
            records.add_file(image, each, *contents)
        into.step(number, len(labels))
    records.refuse_values()
    images.done("masks", _NOTES)


def _masks_in(path: Path, members: Sequence[Member]) -> tuple[list[Member], list[Member]]:
    """Return masks, which are pictures without loss outside of folders of pictures, and others."""
    found: tuple[list[Member], list[Member]] = [], []
    for each in members:
        is_apart = any(map(OF_PICTURES.fullmatch, each.folder.split("/")))
        found[is_apart or not is_mask_name(each.name)].append(each)
    if not found[0]:
        problem = f"{path}: has no masks in PNG or TIFF, outside of folders such as images"
        raise DatasetError([problem], "JPEG changes the values of masks: export them as PNG.")
    return found


def _image_of(member: Member, mode: str) -> str:
    """Return the path of the image of a mask, with the suffix of the mask."""
    name = _IN_CONTENT.sub(r"\1labels", member.name)
    if mode != "objects":
        return name
    folder = f"/{name}".rpartition("/")[0].removesuffix("/labels")[1:]
    if f"{folder}/" in ("/", member.top):
        problem = f"{member.shown}: is not in the folder of its image"
        raise DatasetError([problem], "If each file is of another image: --mask binary")
    return f"{folder}.png"


def _share_pictures(images: FileImages) -> None:
    """Give images the only picture of their name, where folders of people have the same images."""
    pictures = images.pictures
    places = [each for each in images.files if each not in pictures]
    known = dict(zip(places, known_places(places, {*pictures}), strict=True))
    found = {place: pictures[own] for place, own in known.items() if own in pictures}
    for place in {known[each] for each in found} - {*images.files}:
        del pictures[place]
    pictures |= found


class _Names(NamedTuple):
    """The names of classes by value, or by colour as one number; empty without a table."""

    of: Mapping[int, str] = MappingProxyType({})
    are_colours: bool = False

    def name(self, value: int) -> str:
        """Return the name of a class, or its number."""
        shown = f"{value >> 16},{value >> 8 & 255},{value & 255}" if self.are_colours else value
        return self.of.get(value, f"class {shown}")


def _names_in(path: Path, members: Sequence[Member]) -> _Names:
    """Return the table of classes in a source or around it."""
    around = [each for folder in shared_folders(path) for each in files_in(folder)]
    named = (each for each in (*members, *around) if each.name.rpartition("/")[2] == NAMES)
    if (found := next(named, None)) is None:
        return _Names()
    of: dict[int, str] = {}
    forms = set()
    for number, line in enumerate(found.text().decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = _ROW.fullmatch(line)
        numbers = [*map(int, row[2].split(","))] if row else []
        forms.add(len(numbers))
        if row and forms in ({1}, {3}):
            of[sum(n << 8 * place for place, n in enumerate(reversed(numbers)))] = row[1]
        else:
            problem = f"{found.shown}:{number}: {one_line(line)!r} is no class"
            raise DatasetError([f"{problem}; expected NAME:VALUE, or in all lines NAME:R,G,B"])
    return _Names(of, forms == {3})


def _of_classes(runs: Runs, values: Values, classes: Values) -> Runs:
    """Return the runs of objects with the values of their classes in another mask."""
    _, first, number = np.unique(runs.value, return_index=True, return_inverse=True)
    if classes.shape == values.shape:
        found = classes.ravel()[runs.spans[first, 0]][number]
        drawn = np.repeat(found, np.diff(runs.spans)[:, 0])
        if found.all() and (drawn == classes[values != 0]).all():
            return runs._replace(value=found)
    raise MaskProblemError(f"has an object that is not of one value in {_CLASSES}")


class _MaskRecords:
    """Converts masks to COCO records."""

    def __init__(self, into: Collector, mode: str, names: _Names) -> None:
        value = (into.wanted.choices.mask or "").partition(":")[2]
        self._mode, self._value = mode, int(value) if value else None
        self._seen: dict[str, dict[int, list[str]]] = {}
        self._into, self._is_named = into, mode in ("classes", "voc")
        self._names = names if self._is_named else _Names()
        self._masks = Masks(outlines=into.wanted.outlines)
        # A folder has thousands of small files, each of which stands for a whole image.
        self._pictures = Allowance("bytes of pixels", 3 << 27, (4096, 4096))
        self._runs = Allowance("runs of pixels", 1 << 20, (2, 32))
        self._objects = Allowance("objects", 20_000, (0, 1))

    def add_file(self, image: Record, member: Member, data: bytes, *classes: bytes) -> None:
        """Add the objects of a mask, whose classes may be in another mask."""
        into, name, where = self._into, member.name, Where(member.name, "")
        is_one = self._mode in ("binary", "objects")
        try:
            is_rgb = self._names.are_colours
            values = values_in(data, self._pictures, in_colours=is_rgb and not classes)
            runs = runs_in(values, partial(self._runs.take, n_characters=len(data)))
            if is_one:
                runs = self._of_value(runs, member, is_bit=values.dtype == np.bool_)
            key = runs.piece + 1 if self._mode == "classes" else runs.value
            for each in classes:
                runs = _of_classes(runs, values, values_in(each, self._pictures, in_colours=is_rgb))
            self._objects.take(len(np.unique(key)), len(data))
        except MaskProblemError as error:
            into.refuse(name, error, where)
            return
        height, width = values.shape
        size = image.setdefault("width", width), image.setdefault("height", height)
        if size != (width, height):
            problem = f"{name}: has {width} × {height} pixels, its image {size[0]} × {size[1]}"
            into.defect("T061", problem, where)
            return
        if not len(key) and self._mode == "objects":
            into.defect("T011", f"{name}: the mask has no pixels", where)
        elif not len(key):
            into.defect("T060", f"{name}: has no object; taken as nothing found", where)
        n_bytes = len(data)
        for rows, spans in runs.groups(key):
            mask = RowMask(spans, width, height, n_characters=n_bytes)
            place = "" if is_one else f"/{key[rows[0]]}"
            self._add(image["id"], runs, rows, mask, Where(name, place))
            n_bytes = 0

    def _of_value(self, runs: Runs, member: Member, *, is_bit: bool) -> Runs:
        """Return the runs of the object of a file: those of its value, if one is given."""
        if self._value is not None and not is_bit:
            kept = runs.value == self._value
            return Runs(runs.spans[kept], runs.value[kept], runs.piece[kept])
        seen = self._seen.setdefault(member.folder, {})
        for value in np.unique(runs.value).tolist():
            seen.setdefault(255 if is_bit else value, []).append(member.shown)
        return runs._replace(value=np.ones_like(runs.value))

    def refuse_values(self) -> None:
        """Refuse folders of files of one object that have several values, the most usual first."""
        for seen in (each for each in self._seen.values() if len(each) > 1):
            values = sorted(seen, key=lambda value: (-len(seen[value]), value))
            files = [f"{value} ({count(len(seen[value]), 'file')})" for value in values]
            shown = f"its folder has the values {first_few(files, _SHOWN)}, besides 0"
            is_smooth = len(values) > 8 and 127 < max(values) < 256
            one = f"If one is that of objects: --mask {self._mode}:{values[0]}"
            advice = f"{_TWO_VALUES if is_smooth else one}\n{_EACH}"
            raise DatasetError([f"{seen[values[-1]][0]}: {shown}; expected one"], advice)

    def _add(self, image: int, runs: Runs, rows: IndexArray, mask: RowMask, where: Where) -> None:
        """Add an object, given by its runs, its mask and its place."""
        into, value, is_class = self._into, int(runs.value[rows[0]]), self._mode == "classes"
        try:
            shape = self._masks.record(mask, (mask.width, mask.height))
        except MaskProblemError as error:
            into.refuse(f"{where.member}{where.at}", error, where)
            return
        category = into.category(self._names.name(value) if self._is_named else CATEGORY, where)
        row = into.annotation({"image_id": image, "category_id": category, **shape}, where)
        if self._names.of and value not in self._names.of:
            into.defect("T020", f"{self._names.name(value)} has no name in {NAMES}", where, row)
        sizes = runs.sizes(rows)
        if n_small := int((sizes < _SPECKLE).sum()) if is_class or len(sizes) > 1 else 0:
            some = count(n_small, "piece")
            problem = f"has {some} of fewer than {_SPECKLE} pixels, the smallest of {sizes.min()}"
            into.defect("T062", problem, where, row)
        if (n_large := int((sizes >= _SPECKLE).sum())) > 1:
            into.defect("T063", f"is in {n_large} pieces", where, row)
