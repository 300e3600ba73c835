"""Writing masks as Pascal VOC does: PNG of objects and of their classes, a folder a person."""

import io
from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.image_opening import opened
from bboxqa.formats.masks.reader import NAMES, Values
from bboxqa.formats.translation.masks import MOST_PIXELS
from bboxqa.formats.writing.content import Content, Loss, Noun, Options, Writer, Written, image_name
from bboxqa.formats.writing.losses import ANNOTATIONS, losses_of
from bboxqa.formats.writing.names import people_paths, safe_paths
from bboxqa.formats.writing.outlines import Record, flat_rings
from bboxqa.formats.writing.preparation import as_mask

_TITLE = "masks"
_OBJECTS, _CLASSES = "SegmentationObject", "SegmentationClass"


def _losses(content: Content, _options: Options) -> Iterator[Loss]:
    outlined = [each for each in content.annotations if isinstance(each.get("segmentation"), list)]
    noun = Noun("outline of points", "outlines of points")
    yield from losses_of(outlined, noun, f"{_TITLE} hold whole pixels", "changed")
    boxes = [each for each in content.annotations if not each.get("segmentation")]
    noun = Noun("box without an outline", "boxes without an outline")
    yield from losses_of(boxes, noun, f"{_TITLE} hold the pixels of objects")
    lost = []
    for place, image in enumerate(content.images):
        # Images without a size are refused.
        works = content.works(place) if image.get("width") and image.get("height") else ()
        for name, drawn in works:
            values, areas = _painted(content, image, drawn)
            content.pictures[image["id"], name] = _png(values)
            left = np.bincount(values.ravel(), minlength=len(drawn) + 1)
            is_lost = [left[number] < areas.get(number, 1) for number in range(1, len(drawn) + 1)]
            lost += [each for each in compress(drawn, is_lost) if each.get("segmentation")]
    why = "a pixel of a mask has one object, the smallest, and lies in the image"
    yield from losses_of(lost, ANNOTATIONS, why, "changed")


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


def _files(content: Content, _options: Options) -> Iterator[Written]:
    paths = safe_paths(image_name(each) for each in content.images)
    people = people_paths(content.annotators)
    value_of = {each["id"]: value for value, each in enumerate(content.categories, 1)}
    lines = (f"{_as_name(name)}:{value_of[key]}\n" for key, name in content.category_names.items())
    table = "".join(lines).encode()
    yield Written((NAMES,), table)
    kind = np.uint8 if len(value_of) < 1 << 8 else np.uint16
    for place, image in enumerate(content.images):
        *folders, last = paths[image_name(image)]
        for name, drawn in content.works(place):
            objects = content.pictures.pop((image["id"], name), b"")
            objects = objects or _png(_painted(content, image, drawn)[0])
            classes = np.array([0, *(value_of[each["category_id"]] for each in drawn)], kind)
            with opened(io.BytesIO(objects)) as picture:
                of_class = _png(classes[np.asarray(picture)])
            for folder, data in ((_OBJECTS, objects), (_CLASSES, of_class)):
                yield Written((*people[name], folder, *folders, f"{last}.png"), data)


def _png(pixels: Values) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


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
"""A value an object, and a value a class."""
