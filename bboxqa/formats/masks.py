"""Masks in image files: a value an object, an object a file, or regions of classes."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import IndexArray, listed_by
from bboxqa.core.errors import DatasetError
from bboxqa.core.image_opening import RASTERS, block_problem, opened, opened_raster, reason_of
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.images import FileImages, folders_around
from bboxqa.formats.label_folders import OF_MASKS, OF_PICTURES, ends_of, is_mask_name
from bboxqa.formats.member import Member, is_picture
from bboxqa.formats.source import members_of
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.masks import MOST_PIXELS, Allowance, RowMask, png_of
from bboxqa.formats.translation.shapes import EmptyMaskProblemError, MaskProblemError
from bboxqa.formats.writing.content import Content, Loss, Writer, Written, as_mask, image_name
from bboxqa.formats.writing.losses import losses_of
from bboxqa.formats.writing.outlines import flat_rings
from bboxqa.model.masks import joined

Values = NDArray[Any]
"""(H, W) whole numbers, or bool of a file with one bit per pixel."""

_MOST_BYTES, _MOST_ROWS = 1 << 28, 1 << 16
_MODES = ("1", "L", "P", "I;16", "I;16B", "I", "RGB", "RGBA", "LA")
_FORMATS = ("PNG", "BMP", "GIF", "PPM")
# Pillow scales grey values of two and four bits to 255.
_STEPS = {2: 85, 4: 17}
CATEGORY = "object"
"""The category of objects whose masks name no class."""
NAMES = "labelmap.txt"
"""The table of classes, which CVAT writes with colours."""
_SPECKLE, _SHOWN = 10, 3
_MOST_FILE = 1 << 29
_IN_CONTENT = re.compile(rf"(^|/)(?:{OF_MASKS})(?=/)", re.IGNORECASE)
# The folders of Pascal VOC. Where both are there, objects have the class of their pixels.
_OBJECTS, _CLASSES = "SegmentationObject", "SegmentationClass"
_EACH = "If each is an object: --mask instances; if each is a class: --mask classes"
_ROW = re.compile(r"\s*([^#:][^:]*?)\s*:\s*(\d{1,10}(?:\s*,\s*\d{1,3})*)\s*(?::.*)?")
_NOTES = (("nameless", "image", "without a picture: named as the mask, without suffix"),)


def values_in(data: bytes, pictures: Allowance, *, in_colours: bool | None = False) -> Values:
    """Return the values of a mask in an image file.

    The size is checked before the image is decoded. If `in_colours`, values are colours,
    ``red << 16 | green << 8 | blue``; else those of a palette are its indices, and a file with
    colours for each pixel is refused, unless `in_colours` is None.
    """
    read = _of_tiff if RASTERS.get(data[:4]) == "GTiff" else _of_picture
    try:
        with warnings.catch_warnings(action="ignore"):
            found, palette = read(data, pictures)
    except MaskProblemError:
        raise
    # Decoders raise any error for a broken file.
    except Exception as error:  # noqa: BLE001
        raise MaskProblemError(f"cannot be decoded: {reason_of(error)}") from None
    if in_colours or (in_colours is None and found.ndim == 3):
        colours = found if palette is None else palette[found]
        packed: Values = np.zeros(colours.shape[:2], np.uint32)
        # One band at a time, as each takes four bytes a pixel.
        for place in range(3):
            band = colours[..., place] if colours.ndim == 3 else colours
            packed |= band.astype(np.uint32) << (16 - 8 * place)
        return packed
    if found.ndim == 3:
        expected = f"one channel, or for classes {NAMES} with a line NAME:RED,GREEN,BLUE for each"
        raise MaskProblemError(f"has colours; expected {expected}")
    return found


def _check(pictures: Allowance, size: tuple[int, int], n_bytes: int, data: bytes) -> None:
    width, height = size
    if width * height > MOST_PIXELS or width * height * n_bytes > _MOST_BYTES:
        problem = f"has {width:,} × {height:,} pixels of {n_bytes} bytes"
        raise MaskProblemError(f"{problem}; expected at most {_MOST_BYTES:,} bytes: cut it")
    pictures.take(width * height * n_bytes, len(data))


def _of_tiff(data: bytes, pictures: Allowance) -> tuple[Values, None]:
    with opened_raster(io.BytesIO(data), "GTiff") as raster:
        if raster is None:
            raise MaskProblemError("cannot be decoded: no TIFF that rasterio reads")
        if raster.count != 1 or raster.subdatasets:
            raise MaskProblemError("has several bands or pages; expected a file for each")
        kind = np.dtype(raster.dtypes[0])
        problem = block_problem(raster) if kind.kind in "ui" else f"of type {kind}"
        if problem:
            raise MaskProblemError(f"has values {problem}; expected whole numbers")
        _check(pictures, (raster.width, raster.height), kind.itemsize, data)
        values: Values = raster.read(1)
    if values.min() < 0:
        raise MaskProblemError("has values below 0; expected 0 for the background")
    return values, None


def _of_picture(data: bytes, pictures: Allowance) -> tuple[Values, Values | None]:
    """Return the values of a picture, (H, W) or (H, W, 3), and its palette, (256, 3)."""
    with opened(io.BytesIO(data)) as picture:
        mode, n_bands = picture.mode, len(picture.getbands())
        bits, kind = data[24:26] if picture.format == "PNG" else (8, 0)
        is_read = picture.format in _FORMATS and mode in _MODES and (bits < 16 or kind == 0)
        if not is_read or getattr(picture, "n_frames", 1) > 1:
            found = f"is {picture.format} with pixels of the kind {mode}"
            raise MaskProblemError(f"{found}; expected PNG or TIFF, one frame with one channel")
        # Colours are copied, and put together.
        _check(pictures, picture.size, 4 if mode[0] == "I" or n_bands > 1 else 1, data)
        values, palette = np.asarray(picture), None
        if mode == "P":
            given = picture.getpalette("RGB")
            palette = np.array([*given, *[0] * (768 - len(given))], np.uint8).reshape(-1, 3)
    if mode[-1] == "A":
        if values[..., -1].min() < 255:
            raise MaskProblemError("has transparent pixels; save it without opacity")
        values = values[..., :-1]
    if values.ndim == 3 and all((row == row[:, :1]).all() for row in values):
        values = values[..., 0]
    return values // _STEPS[bits] if mode == "L" and bits in _STEPS else values, palette


class Runs(NamedTuple):
    """The runs of equal values in the rows of a mask, without the background."""

    spans: IndexArray
    """(R, 2) int64. Begin and end among all pixels, row by row."""
    value: NDArray[Any]
    """(R,) The value of each run."""
    piece: IndexArray
    """(R,) int64. The piece of each run: pixels of one value that touch, also at corners."""

    def groups(self, key: NDArray[Any]) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield the runs of each value of a key, in ascending order, and their spans, joined."""
        order = np.argsort(key, kind="stable")
        ends = np.flatnonzero(np.diff(key[order])) + 1
        for rows in np.split(order, ends) if len(order) else ():
            yield rows, joined(self.spans[rows])

    def sizes(self, rows: IndexArray) -> IndexArray:
        """Return the number of pixels of each piece of some runs."""
        _, piece = np.unique(self.piece[rows], return_inverse=True)
        lengths = np.diff(self.spans[rows], axis=1)[:, 0]
        return np.bincount(piece, lengths).astype(np.int64)


def runs_in(values: Values, check: Callable[[int], None] = lambda _: None) -> Runs:
    """Return the runs of a mask."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    height, width = values.shape
    is_start = np.ones(values.shape, np.bool_)
    np.not_equal(values[:, 1:], values[:, :-1], out=is_start[:, 1:])
    # Each row begins a run, also where nothing is drawn.
    check(int(np.count_nonzero(is_start)) - min(height, _MOST_ROWS))
    start = np.flatnonzero(is_start)
    value = values.ravel()[start]
    kept = np.flatnonzero(value)
    stop = np.append(start[1:], height * width)[kept]
    start, value = start[kept], value[kept]
    # Places in rows that are two pixels wider, so that ends of rows do not touch.
    row, below = start // width, width + 2
    first, last = start + 2 * row, stop + 2 * row
    low = np.searchsorted(last, first + below, "left")
    n = np.maximum(np.searchsorted(first, last + below, "right") - low, 0)
    upper = np.repeat(np.arange(len(start)), n)
    lower = np.repeat(low - np.cumsum(n) + n, n) + np.arange(n.sum())
    same = value[upper] == value[lower]
    pairs = (np.ones(same.sum(), np.bool_), (upper[same], lower[same]))
    _, piece = connected_components(coo_array(pairs, (len(start), len(start))), directed=False)
    return Runs(np.stack([start, stop], 1), value, piece.astype(np.int64))


def translate(path: Path, into: Collector) -> None:
    """Translate a folder or archive of masks, as `Choices.mask` says."""
    into.title = "masks"
    members = members_of(path)
    mode = (into.settings.choices.mask or "").partition(":")[0]
    # Masks are pictures without loss outside of folders of pictures.
    masks, others = list[Member](), list[Member]()
    for each in members:
        is_apart = any(map(OF_PICTURES.fullmatch, each.folder.split("/")))
        (others if is_apart or not is_mask_name(each.name) else masks).append(each)
    if not masks:
        problem = f"{path}: has no masks in PNG or TIFF, outside of folders such as images"
        raise DatasetError([problem], "JPEG changes the values of masks: export them as PNG.")
    objects = [each for each in masks if _OBJECTS.lower() in each.folder.lower()]
    classes = [each for each in masks if _CLASSES.lower() in each.folder.lower()]
    class_of = {_image_of(each, ""): each for each in classes}
    if mode != "classes" and objects and {_image_of(each, "") for each in objects} <= {*class_of}:
        mode = "voc"
    own = {"classes": classes, "instances": objects, "voc": objects}.get(mode) or masks
    if n_apart := len(masks) - len(own) - len(class_of) * (mode == "voc"):
        into.notes.append(f"left out: {n_apart:,} pictures outside of {one_line(own[0].folder)}")
    of_image = listed_by((_image_of(each, mode), each) for each in own)
    labels = [each[0]._replace(name=name) for name, each in of_image.items()]
    images = FileImages(path, into, labels, [each for each in others if is_picture(each.name)])
    # The folders of labels may be around those of the image.
    apart = (place for place in images.files if place not in images.pictures)
    ends = {place: next(filter(images.pictures.get, ends_of(place)), None) for place in apart}
    found = {place: images.pictures[end] for place, end in ends.items() if end is not None}
    for end in {*filter(None, ends.values())} - {*images.files}:
        del images.pictures[end]
    images.pictures |= found
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
            contents = [mask._replace(most=_MOST_FILE).read() for mask in both]
            records.add_file(image, each, *contents)
        into.step(number, len(labels))
    records.refuse_values()
    images.done("masks", _NOTES)


def _image_of(member: Member, mode: str) -> str:
    name = _IN_CONTENT.sub(r"\1labels", member.name)
    if mode != "objects":
        return name
    folder = f"/{name}".rpartition("/")[0].removesuffix("/labels")[1:]
    if f"{folder}/" in ("/", member.top):
        problem = f"{member.shown}: is not in the folder of its image"
        raise DatasetError([problem], "If each file is of another image: --mask binary")
    return f"{folder}.png"


def _names_in(path: Path, members: Sequence[Member]) -> tuple[dict[int, str], bool]:
    """Return the names of classes by value, and whether values are colours, each as one number."""
    around = [each for folder, _ in folders_around(path) for each in folder.direct_members]
    named = (each for each in (*members, *around) if each.name.rpartition("/")[2] == NAMES)
    if (found := next(named, None)) is None:
        return {}, False
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
    return of, forms == {3}


class _MaskRecords:
    def __init__(self, into: Collector, mode: str, names: tuple[dict[int, str], bool]) -> None:
        value = (into.settings.choices.mask or "").partition(":")[2]
        self._mode, self._value = mode, int(value) if value else None
        self._is_one = mode in ("binary", "objects")
        self._seen: dict[str, dict[int, list[str]]] = {}
        self._into, self._is_named = into, mode in ("classes", "voc")
        self._names, self._are_colours = names if self._is_named else ({}, False)
        # A folder has thousands of small files, each of which stands for a whole image.
        self._pictures = Allowance("bytes of pixels", 3 << 27, (4096, 4096))
        self._runs = Allowance("runs of pixels", 1 << 20, (2, 32))
        self._objects = Allowance("objects", 20_000, (0, 1))

    def add_file(self, image: Record, member: Member, data: bytes, *classes: bytes) -> None:
        """Add the objects of a mask, whose classes may be in another mask."""
        into, name, where = self._into, member.name, Where(member.name, "")
        with into.refusing(name, where):
            is_rgb = self._are_colours
            # CVAT draws objects, too, in colours, of which each is one object.
            colours = None if _OBJECTS in member.folder and not self._is_one else is_rgb
            values = values_in(data, self._pictures, in_colours=colours)
            runs = runs_in(values, partial(self._runs.take, n_characters=len(data)))
            is_bit = values.dtype == np.bool_
            if self._is_one and self._value is not None and not is_bit:
                kept = runs.value == self._value
                runs = Runs(runs.spans[kept], runs.value[kept], runs.piece[kept])
            elif self._is_one:
                seen = self._seen.setdefault(member.folder, {})
                for value in np.unique(runs.value).tolist():
                    seen.setdefault(255 if is_bit else value, []).append(member.shown)
            key = runs.piece + 1 if self._mode == "classes" else runs.value
            key = np.ones_like(key) if self._is_one else key
            for each in classes:
                of_class = values_in(each, self._pictures, in_colours=is_rgb)
                _, first, number = np.unique(key, return_index=True, return_inverse=True)
                is_whole = of_class.shape == values.shape
                if is_whole:
                    runs = runs._replace(value=of_class.ravel()[runs.spans[first, 0]][number])
                    drawn = np.repeat(runs.value, np.diff(runs.spans)[:, 0])
                    is_whole = bool(runs.value.all() and (drawn == of_class[values != 0]).all())
                if not is_whole:
                    raise MaskProblemError(f"has an object that is not of one value in {_CLASSES}")
            self._objects.take(len(np.unique(key)), len(data))
            height, width = values.shape
            size = image.setdefault("width", width), image.setdefault("height", height)
            if size != (width, height):
                problem = f"{name}: has {width} × {height} pixels, its image {size[0]} × {size[1]}"
                into.defect("T061", problem, where)
                return
            if not len(key) and self._mode == "objects":
                raise EmptyMaskProblemError("has no pixels")
            if not len(key):
                into.defect("T060", f"{name}: has no object; taken as nothing found", where)
            n_bytes = len(data)
            for rows, spans in runs.groups(key):
                mask = RowMask(spans, width, height, n_characters=n_bytes)
                place = "" if self._is_one else f"/{key[rows[0]]}"
                with into.refusing(f"{name}{place}", Where(name, place)):
                    self._add(image["id"], runs, rows, mask, Where(name, place))
                n_bytes = 0

    def refuse_values(self) -> None:
        """Refuse folders of files of one object that have several values, the most usual first."""
        for seen in (each for each in self._seen.values() if len(each) > 1):
            values = sorted(seen, key=lambda value: (-len(seen[value]), value))
            files = [f"{value} ({count(len(seen[value]), 'file')})" for value in values]
            shown = f"its folder has the values {first_few(files, _SHOWN)}, besides 0"
            one = f"If one is that of objects: --mask {self._mode}:{values[0]}"
            raise DatasetError([f"{seen[values[-1]][0]}: {shown}; expected one"], f"{one}\n{_EACH}")

    def _add(self, image: int, runs: Runs, rows: IndexArray, mask: RowMask, where: Where) -> None:
        into, value, is_class = self._into, int(runs.value[rows[0]]), self._mode == "classes"
        shape = into.masks.record(mask, (mask.width, mask.height))
        colour = f"{value >> 16},{value >> 8 & 255},{value & 255}"
        number = f"class {colour if self._are_colours else value}"
        name = self._names.get(value, number) if self._is_named else CATEGORY
        category = into.category(name, where)
        row = into.annotation({"image_id": image, "category_id": category, **shape}, where)
        sizes = runs.sizes(rows)
        n_small = int((sizes < _SPECKLE).sum()) * (is_class or len(sizes) > 1)
        pieces = f"{count(n_small, 'piece')} of fewer than {_SPECKLE} pixels"
        n_large = int((sizes >= _SPECKLE).sum())
        is_unnamed = self._names and value not in self._names
        for code, is_found, problem in (
            ("T020", is_unnamed, f"{name} has no name in {NAMES}"),
            ("T062", n_small, f"has {pieces}, the smallest of {sizes.min()}"),
            ("T063", n_large > 1, f"is in {n_large} pieces"),
        ):
            if is_found:
                into.defect(code, problem, where, row)


_TITLE = "masks"


def _losses(content: Content) -> Iterator[Loss]:
    outlined = [each for each in content.annotations if isinstance(each.get("segmentation"), list)]
    yield from losses_of(outlined, "outline of points", f"{_TITLE} hold whole pixels", "changed")
    boxes = [each for each in content.annotations if not each.get("segmentation")]
    yield from losses_of(boxes, "box without an outline", f"{_TITLE} hold the pixels of objects")
    lost = []
    for place, image in enumerate(content.images):
        # Images without a size are refused.
        works = content.works(place) if image.get("width") and image.get("height") else ()
        for _, drawn in works:
            values, areas = _painted(content, image, drawn)
            left = np.bincount(values.ravel(), minlength=len(drawn) + 1)
            is_lost = [left[number] < areas.get(number, 1) for number in range(1, len(drawn) + 1)]
            lost += [each for each in compress(drawn, is_lost) if each.get("segmentation")]
    why = "a pixel of a mask has one object, the smallest, and lies in the image"
    yield from losses_of(lost, "annotation", why, "changed")


def _as_name(name: str) -> str:
    return " ".join(name.replace(":", " ").split()).lstrip("# ") or "class"


def _painted(
    content: Content, image: Record, drawn: Sequence[Record]
) -> tuple[Values, dict[int, int]]:
    """Return the values of objects, which count from 1, the smallest on top, and their areas."""
    height, width = int(image["height"]), int(image["width"])
    if width * height > MOST_PIXELS or len(drawn) >= 1 << 16:
        problem = f"{image_name(image)}: has {width:,} × {height:,} pixels, {len(drawn):,} objects"
        raise DatasetError([f"{problem}; {_TITLE} hold {MOST_PIXELS:,} and 65,535"])
    values = np.zeros((height, width), np.uint8 if len(drawn) < 1 << 8 else np.uint16)
    found = []
    for number, each in enumerate(drawn, 1):
        is_mask = isinstance(each.get("segmentation"), dict)
        new = each if is_mask else flat_rings(each) and as_mask(each, image)
        # A mask of another size is not that of this image.
        if new and [*new["segmentation"]["size"]] == [height, width]:
            pixels, left, top = content.masks.picture(each | new)
            found.append((int(pixels.sum()), number, pixels, left, top))
    for _, number, pixels, left, top in sorted(found, key=lambda each: (-each[0], *each[3:])):
        values[top : top + pixels.shape[0], left : left + pixels.shape[1]][pixels] = number
    return values, {number: area for area, number, *_ in found}


def _files(content: Content) -> Iterator[Written]:
    value_of = {each["id"]: value for value, each in enumerate(content.categories, 1)}
    lines = (f"{_as_name(name)}:{value_of[key]}\n" for key, name in content.category_names.items())
    table = "".join(lines).encode()
    yield Written((NAMES,), table)
    kind = np.uint8 if len(value_of) < 1 << 8 else np.uint16
    for place, image in enumerate(content.images):
        *folders, last = content.paths[image_name(image)]
        for name, drawn in content.works(place):
            objects, _ = _painted(content, image, drawn)
            classes = np.array([0, *(value_of[each["category_id"]] for each in drawn)], kind)
            for folder, pixels in ((_OBJECTS, objects), (_CLASSES, classes[objects])):
                yield Written(
                    (*content.people[name], folder, *folders, f"{last}.png"), png_of(pixels)
                )


MASKS = Writer(
    _TITLE,
    "folder",
    (".png", ".txt"),
    _files,
    frozenset({"polygon", "mask", "rotation", "corners", "image sizes", "unused categories"}),
    reads={"category": _as_name},
    losses=_losses,
    # Its reader passes over the names of its folders, as others do over this one.
    folder="labels",
    # Files have no suffixes of pictures.
    read_name=lambda _, place: place,
    needs_sizes="all images",
)
