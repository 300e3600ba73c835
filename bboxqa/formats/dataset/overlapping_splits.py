"""Images that are in two files of one person: copies, or others that have the same names."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import find
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

    files: tuple[int, int]
    """The places of both files."""
    equal: list[str]
    """The names of those of the same size, with the same boxes, which show that they are copies."""
    n_other: int
    """The number of those of other sizes, or with other boxes."""
    copy: tuple[int, int] | None
    """The file all images of which are in the other one, with the same boxes, and that one."""


class _Drawn(NamedTuple):
    """What is drawn in an image of a file."""

    size: tuple[int, int]
    """Width and height; 0 where unknown."""
    boxes: bytes
    """The boxes with their categories and crowds, in order."""
    is_telling: bool
    """Whether equal boxes in another file show that the images are the same: if one does not fill
    the image, and no other image of this file has the same boxes, as those of a fixed camera have.
    """


def shared_images(files: Mapping[int, AnnotationFile]) -> Iterator[Shared]:
    """Yield the images of each two files that have images of the same names.

    Images are compared by their boxes and sizes. Files are called by their keys.
    """
    names = {place: {image_label(each) for each in file.images} for place, file in files.items()}
    categories: dict[str, int] = {}
    drawn: dict[int, dict[str, _Drawn]] = {}
    for pair in _pairs(names):
        for place in pair:
            if place not in drawn:
                drawn[place] = _drawn(files[place], categories)
        yield _compared(pair, [drawn[place] for place in pair])


def _pairs(names_of: Mapping[int, Iterable[str]]) -> list[tuple[int, int]]:
    """Return each two files that have the name of an image in common, in order."""
    files_of = defaultdict(list)
    for place, names in names_of.items():
        for name in names:
            files_of[name].append(place)
    return sorted({pair for places in files_of.values() for pair in combinations(places, 2)})


def _compared(files: tuple[int, int], drawn: Sequence[Mapping[str, _Drawn]]) -> Shared:
    first, second = drawn
    names = sorted(first.keys() & second.keys())
    same = [name for name in names if _are_same(first[name], second[name])]
    equal = [name for name in same if first[name].is_telling and second[name].is_telling]
    copy = None
    if equal and len(same) == len(names):
        pairs = ((*files[::-1], second), (*files, first))
        copy = next(((part, other) for part, other, of in pairs if len(of) == len(names)), None)
    return Shared(files, equal, len(names) - len(same), copy)


def _are_same(one: _Drawn, other: _Drawn) -> bool:
    is_other_size = any(
        0 < side != side_2 > 0 for side, side_2 in zip(one.size, other.size, strict=True)
    )
    return one.boxes == other.boxes and not is_other_size


def _drawn(file: AnnotationFile, categories: dict[str, int]) -> dict[str, _Drawn]:
    """Return what is drawn in each image, by its name; new categories get numbers."""
    size_of = {
        image_label(each): (int(each.width or 0), int(each.height or 0)) for each in file.images
    }
    number = {name: place for place, name in enumerate(size_of)}
    of_image = np.array([number[image_label(each)] for each in file.images], np.int64)
    of_category = np.array(
        [categories.setdefault(clean(each.name), len(categories)) for each in file.categories],
        float,
    )
    columns = file.columns
    image = find(ids_of(file.images), columns.image_id)
    category = find(ids_of(file.categories), columns.category_id)
    rows = np.flatnonzero((image >= 0) & (category >= 0))
    image = of_image[image[rows]]
    # Bytes of -0 and 0 are different.
    boxes = np.round(columns.bbox[rows], _DIGITS) + 0.0
    table = np.column_stack([boxes, of_category[category[rows]], columns.iscrowd[rows]])
    order = np.lexsort((*table.T, image))
    image, table = image[order], table[order]
    size = np.array([*size_of.values()]).reshape(-1, 2)[image]
    is_whole = (table[:, :2] <= 0) & (table[:, 2:4] >= size) & (size > 0)
    n_partial = np.bincount(image[~is_whole.all(1)], minlength=len(number)).tolist()
    ends = np.searchsorted(image, np.arange(len(number) + 1)).tolist()
    boxes_of = [table[begin:end].tobytes() for begin, end in pairwise(ends)]
    times = Counter(boxes_of)
    return {
        name: _Drawn(size_of[name], boxes, n > 0 and times[boxes] == 1)
        for name, boxes, n in zip(number, boxes_of, n_partial, strict=True)
    }


def refuse_overlaps(files: Sequence[AnnotationFile], attribution: Attribution) -> None:
    """Refuse splits of one person with copies of images, which would count as other images.

    Raises DatasetError with the first two files that have copies.
    """
    files_of: dict[str, dict[int, AnnotationFile]] = defaultdict(dict)
    # Lists of results at the end are of no split.
    places = zip(files, attribution.asked, attribution.splits, strict=False)
    for place, (file, asked, split) in enumerate(places):
        if split and asked and asked[0] and asked[0] != (UNNAMED,):
            files_of[asked[0][0]][place] = file
    found = [each for inside in files_of.values() for each in shared_images(inside)]
    n_equal = sum(len(each.equal) for each in found)
    if not n_equal or n_equal < _LEAST_SHARE * (n_equal + sum(each.n_other for each in found)):
        return
    shared = next(each for each in found if each.equal)
    first, second = (one_line(files[place].source.name) for place in shared.files)
    some = f"{count(len(shared.equal), 'image')} of the same name, such as {shared.equal[0]}"
    raise DatasetError(
        [f"{first} and {second}: {one_line(some)}, with the same boxes; expected other images"],
        "If splits overlap, delete these images in one of them, or measure one split at a time.\n"
        "If they are different images, give them different names.",
    )
