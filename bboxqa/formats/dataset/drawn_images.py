"""Images in which nobody drew something, about which people may have been asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, IntArray
from bboxqa.formats.dataset.merge import IndexedAnnotations
from bboxqa.formats.records import AnnotationFile


def with_shown_images(
    files: Sequence[AnnotationFile], elsewhere: AbstractSet[tuple[str, str]] = frozenset()
) -> list[AnnotationFile]:
    """Return files with the images that nobody drew on in one file, but somebody in another.

    They are at the end of `images`, and remain in `unshown`. The other images that nobody drew on
    stay left out, with a note. `elsewhere` are the keys and names of images that are shown in files
    that are not read together with these, such as those of another version.
    """
    times = Counter(image for file in files for image in file.shown_images)
    times.update(elsewhere)
    return [_with_shown(file, times) if file.unshown else file for file in files]


def _with_shown(file: AnnotationFile, times: Mapping[tuple[str, str], int]) -> AnnotationFile:
    """Add the images that somebody drew on; `times` counts the files in which they are shown."""
    images, notes, added = [*file.images], [*file.notes], []
    left: set[tuple[str, str]] = set()
    for key, unshown, note in file.unshown:
        names = {(key, each.file_name) for each in unshown if each.file_name}
        if any(times.get(name, 0) > (name in file.shown_images) for name in names):
            images += unshown
            added.append((key, unshown, note))
        else:
            notes.append(note)
            left |= names
    return replace(file, images=images, unshown=added, left_unshown=left, notes=tuple(notes))


def others_may_be_asked(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    asked: Sequence[Sequence[tuple[str, ...] | None]],
    number: Mapping[str, int],
    assigned: BoolArray,
) -> BoolArray:
    """Return (I,) bool: images that only some annotated, where the others may have been asked.

    A table or folder of label files does not say which other images its author saw, unless one of
    the same format has an image without annotations: their tool writes these.

    Parameters
    ----------
    files, indexed, authors
        The files, their annotations, and the annotator of each.
    asked : sequence
        By file, its annotator, for each image.
    number : mapping of str to int
        The index of each annotator.
    assigned : (I, A) bool
        The annotators in whose files an image is.
    """
    lacking = ~assigned
    if not lacking.any():
        return np.zeros(len(assigned), np.bool_)
    lists = _lists_images(files, indexed)
    ends = np.ones(assigned.shape[1], np.bool_)
    people = [number[records[0][0]] if records and records[0] else -1 for records in asked]
    for person in {*people} - {-1}:
        ends[person] = any(each for each, who in zip(lists, people, strict=True) if who == person)
    drawn = np.zeros_like(assigned)
    for part, author in zip(indexed, authors, strict=True):
        drawn[part.image, author] = True
    is_open = lacking.any(1) & ~(lacking & ends).any(1) & (drawn >= assigned).all(1)
    return np.asarray(is_open)


def _lists_images(
    files: Sequence[AnnotationFile], indexed: Sequence[IndexedAnnotations]
) -> list[bool]:
    """Return, by file, whether images without annotations are known."""
    parts = zip(files, indexed, strict=True)
    known = {
        file.title
        for file, part in parts
        # Shapes without a box are annotations, too.
        if not file.n_apart and _n_images(part.image) < _n_images(part.image_of_record)
    }
    return [file.lists_images or file.title in known for file in files]


def _n_images(image: IntArray) -> int:
    """Return the number of different images, without sorting millions of them."""
    return int(np.count_nonzero(np.bincount(image)))
