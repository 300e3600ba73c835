"""Images that are in two splits of one person: copies, or others that have the same names."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, find
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ids_of
from bboxqa.formats.dataset.joined import image_label
from bboxqa.formats.dataset.people.attributed import Attribution
from bboxqa.formats.translation.translated import UNNAMED

_DIGITS = 2
# Boxes that a tool repeats in all images, as of a fixed camera, may be equal in a few others.
_LEAST_SHARE = 0.1


class Shared(NamedTuple):
    """The images of two files that have the same names."""

    names: list[str]
    is_equal: BoolArray
    """(S,). Those of the same size, with the same boxes, of which one does not fill the image."""
    is_other: BoolArray
    """(S,). Those of other sizes, or with other boxes."""


def shared_images(one: AnnotationFile, other: AnnotationFile) -> Shared:
    """Compare the images of two files that have the same names, by their boxes and sizes."""
    sizes_of = [_sizes(file) for file in (one, other)]
    names = sorted(sizes_of[0].keys() & sizes_of[1].keys())
    sizes = np.array([[each[name] for name in names] for each in sizes_of]).reshape(2, -1, 2)
    has_other_size = ((sizes[0] != sizes[1]) & (sizes > 0).all(0)).any(1)
    categories = sorted({clean(each.name) for file in (one, other) for each in file.categories})
    (image, boxes), (image_2, boxes_2) = (_drawn(each, names, categories) for each in (one, other))
    n_boxes = np.array([np.bincount(each, minlength=len(names)) for each in (image, image_2)])
    differs = has_other_size | (n_boxes[0] != n_boxes[1])
    kept, kept_2 = ~differs[image], ~differs[image_2]
    image, boxes = image[kept], boxes[kept]
    differs[image[(boxes != boxes_2[kept_2]).any(1)]] = True
    size = sizes.max(0)[image]
    is_whole = (boxes[:, :2] <= 0).all(1) & (boxes[:, 2:4] >= size).all(1) & (size > 0).all(1)
    is_telling = np.bincount(image[~is_whole], minlength=len(names)) > 0
    return Shared(names, is_telling & ~differs, differs)


def _sizes(file: AnnotationFile) -> dict[str, tuple[int, int]]:
    return {
        image_label(each): (int(each.width or 0), int(each.height or 0)) for each in file.images
    }


def _drawn(
    file: AnnotationFile, names: Sequence[str], categories: Sequence[str]
) -> tuple[IndexArray, FloatArray]:
    """Return the index of the image of each annotation there, and box, category and crowd."""
    number = {name: place for place, name in enumerate(names)}
    of_image = np.array([number.get(image_label(each), -1) for each in file.images], np.int64)
    of_category = np.array([categories.index(clean(each.name)) for each in file.categories], float)
    columns = file.columns
    image = find(ids_of(file.images), columns.image_id)
    category = find(ids_of(file.categories), columns.category_id)
    rows = np.flatnonzero((image >= 0) & (category >= 0))
    rows = rows[of_image[image[rows]] >= 0]
    image = of_image[image[rows]]
    boxes = np.round(columns.bbox[rows], _DIGITS)
    table = np.column_stack([boxes, of_category[category[rows]], columns.iscrowd[rows]])
    order = np.lexsort((*table.T, image))
    return image[order], table[order]


def is_copied(part: AnnotationFile, whole: AnnotationFile) -> bool:
    """Return whether all images of a file are in another, with the same boxes."""
    found = shared_images(part, whole)
    n_images = len(_sizes(part))
    return bool(len(found.names) == n_images and found.is_equal.any() and not found.is_other.any())


def refuse_overlaps(files: Sequence[AnnotationFile], attribution: Attribution) -> None:
    """Refuse splits of one person with copies of images, which would count as other images.

    Raises DatasetError with the first two files that have copies.
    """
    files_of = defaultdict(list)
    # Lists of results at the end are of no split.
    for file, asked, split in zip(files, attribution.asked, attribution.splits, strict=False):
        if split and asked and asked[0] and asked[0] != (UNNAMED,):
            files_of[asked[0][0]].append(file)
    pairs = [pair for inside in files_of.values() for pair in combinations(inside, 2)]
    found = [shared_images(*pair) for pair in pairs]
    n_equal, n_other = (
        sum(int(getattr(each, key).sum()) for each in found) for key in ("is_equal", "is_other")
    )
    if not n_equal or n_equal < _LEAST_SHARE * (n_equal + n_other):
        return
    pair, shared = next(each for each in zip(pairs, found, strict=True) if each[1].is_equal.any())
    first, second = (one_line(each.source.name) for each in pair)
    copies = np.flatnonzero(shared.is_equal)
    some = f"{count(len(copies), 'image')} of the same name, such as {shared.names[copies[0]]}"
    raise DatasetError(
        [f"{first} and {second}: {one_line(some)}, with the same boxes; expected other images"],
        "If splits overlap, delete these images in one of them, or measure one split at a time.\n"
        "If they are different images, give them different names.",
    )
