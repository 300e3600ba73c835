"""The tables and annotations of several files as those of one data set, and who was asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, TextArray
from bboxqa.core.text import clean
from bboxqa.formats.dataset.categories import (
    joining_map,
    renamed_categories,
)
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.dataset.wrong_values import (
    bad_sizes,
    names_alike,
    unnamed,
)
from bboxqa.formats.records import AnnotationFile, Image
from bboxqa.model.annotations import OF_ANNOTATIONS, Annotations, join_outlines, times_of
from bboxqa.model.file_places import FilePlaces, id_as_name, joined_ids
from bboxqa.model.outlines import Segmentations
from bboxqa.model.shapes.keypoints import Keypoints, join_keypoints

_BITS, _SIGN = np.uint64(64), np.uint64(63)


@dataclass(frozen=True, slots=True, eq=False)
class IndexedAnnotations:
    """The valid annotations of one file, with indices in place of ids."""

    place: IndexArray
    image: IntArray
    category: IntArray
    image_of_record: IntArray

    def take(self, rows: IndexArray) -> "IndexedAnnotations":
        """Return some of the annotations."""
        return replace(
            self, place=self.place[rows], image=self.image[rows], category=self.category[rows]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Concatenated:
    """The concatenated annotation columns of all files."""

    place: IndexArray
    """The row of each valid annotation in the columns."""
    id: IndexArray
    bbox: FloatArray
    iscrowd: BoolArray
    segmentation: Segmentations | None
    keypoints: Keypoints | None
    rotated_box: FloatArray | None


def merge(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    seconds: Sequence[FloatArray] | None = None,
    tracks: Sequence[IntArray] | None = None,
) -> Annotations:
    """Return the annotations of all files, ordered by image, annotator, box, category and id.

    If they were read, `seconds` are the times of all annotations of each file, and `tracks` the
    tracks of the indexed annotations.
    """
    joined = _concatenated(files, indexed)
    place, segmentation = joined.place, joined.segmentation
    keypoints, rotated_box = joined.keypoints, joined.rotated_box
    image = np.concatenate([part.image for part in indexed])
    category = np.concatenate([part.category for part in indexed])
    annotator = np.concatenate(authors).astype(np.int32)
    order = _order(image, annotator, joined.bbox, category, joined.id, place)
    rows = place[order]
    annotator = annotator[order]
    times = None
    if seconds is not None:
        known = [each[part.place] for each, part in zip(seconds, indexed, strict=True)]
        times = times_of(np.concatenate(known)[order], annotator)
    if segmentation is not None:
        segmentation = replace(
            segmentation,
            **{name: getattr(segmentation, name)[rows] for name in OF_ANNOTATIONS},
        )
    return Annotations(
        id=joined.id[rows],
        image=image[order],
        annotator=annotator,
        category=category[order],
        bbox=joined.bbox[rows],
        iscrowd=joined.iscrowd[rows],
        segmentation=segmentation,
        times=times,
        own_id=_own_ids(files, indexed, order),
        keypoints=None if keypoints is None else keypoints.take(rows),
        rotated_box=None if rotated_box is None else rotated_box[rows],
        track=None if tracks is None else np.concatenate(tracks)[order],
    )


def _concatenated(
    files: Sequence[AnnotationFile], indexed: Sequence[IndexedAnnotations]
) -> _Concatenated:
    """Concatenate the columns of all files; the columns of a single file are not copied."""
    columns = [file.columns for file in files]
    if len(files) == 1:
        (only,) = columns
        turned = None if only.rotated is None else only.rotated.box
        return _Concatenated(
            indexed[0].place, only.id, only.bbox, only.iscrowd,
            only.segmentation, only.keypoints, turned,
        )  # fmt: skip
    used = [part.place for part in indexed]
    ids, bbox, iscrowd = (
        np.concatenate([getattr(c, name)[rows] for c, rows in zip(columns, used, strict=True)])
        for name in ("id", "bbox", "iscrowd")
    )
    outlines = [c.segmentation for c in columns if c.segmentation is not None]
    joints = [c.keypoints for c in columns if c.keypoints is not None]
    turned = None
    if rotated := [c.rotated.box for c in columns if c.rotated is not None]:
        turned = np.concatenate([each[rows] for each, rows in zip(rotated, used, strict=True)])
    return _Concatenated(
        np.arange(len(ids)), ids, bbox, iscrowd,
        join_outlines(outlines, used) if outlines else None,
        join_keypoints(joints, used) if joints else None,
        turned,
    )  # fmt: skip


def _own_ids(
    files: Sequence[AnnotationFile], indexed: Sequence[IndexedAnnotations], order: IndexArray
) -> TextArray | FilePlaces | None:
    """Return the ids that tools show, in the given order; None if they are the ids of the files."""
    if all(file.shown_ids is file.columns.id for file in files):
        return None
    parts = [file.shown_ids[part.place] for file, part in zip(files, indexed, strict=True)]
    return joined_ids(parts)[order]


def _order(
    image: IntArray,
    annotator: IntArray,
    bbox: FloatArray,
    category: IntArray,
    ids: IndexArray,
    place: IndexArray,
) -> IndexArray:
    """Return the order by image, annotator, box, category and id; `place` indexes box and id.

    Box and category precede the id, so that renumbering does not change the result.
    """
    n_annotators = int(annotator.max(initial=0)) + 1
    group = image.astype(np.int64) * n_annotators + annotator
    group -= group.min(initial=0)
    x = bbox[place, 0]
    keys = _joint_keys(group, x)
    order = np.argsort(keys)
    # Few annotations of an annotator have nearly equal x; only these are sorted by all keys.
    same = np.diff(keys[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = np.sort(order[tied])
    x, y, width, height = bbox[place[rows]].T
    order[tied] = rows[
        np.lexsort((ids[place[rows]], category[rows], height, width, y, x, group[rows]))
    ]
    return order


def _joint_keys(group: IndexArray, x: FloatArray) -> NDArray[np.uint64]:
    """Return numbers in the order of group and x, equal where x differs in its last bits only.

    One sort of these takes half the time of a sort by each.

    Parameters
    ----------
    group : (N,) int64
        Not negative.
    x : (N,) float64
    """
    # As unsigned integers, floats of positive sign are in order, and the others in reverse order.
    bits = (x + 0.0).view(np.uint64)
    ordered = np.where(bits >> _SIGN, ~bits, bits | np.uint64(1) << _SIGN)
    n_bits = np.uint64(int(group.max(initial=0)).bit_length())
    return group.astype(np.uint64) << _BITS - n_bits | ordered >> n_bits


@dataclass(slots=True)
class Joined:
    """The tables of the data set to which files are added, and the problems found."""

    paths: dict[AnnotationFile, Path]
    images: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    origins: list[Path | None] = field(default_factory=list)

    def add(self, file: AnnotationFile, problems: Iterable[str]) -> None:
        """Add problems in the content of one file."""
        self._add(file, problems, self.paths[file])

    def add_shared(self, file: AnnotationFile, problems: Iterable[str]) -> None:
        """Add problems of a file that show only together with other files."""
        self._add(file, problems, None)

    def image_size(self) -> IntArray:
        """Return width and height of each image, (I, 2) int32; 0 where unknown."""
        sizes = [self.sizes.get(name, (0, 0)) for name in self.images]
        return np.array(sizes, np.int32).reshape(-1, 2)

    def _add(self, file: AnnotationFile, problems: Iterable[str], origin: Path | None) -> None:
        before = len(self.problems)
        self.problems += [f"{file.source.name}: {problem}" for problem in problems]
        self.origins += [origin] * (len(self.problems) - before)


def image_label(image: Image) -> str:
    """Return the name of an image: its file name, or its id if it has no file name."""
    return clean(image.file_name or id_as_name(image.id))


def add_tables(
    joined: Joined, files: Sequence[AnnotationFile], labels: Sequence[Sequence[str]]
) -> dict[str, str]:
    """Add and sort the images and categories of all files; return suggested renamings."""
    for file, image_labels in zip(files, labels, strict=True):
        _add_tables_of(joined, file, image_labels, several=len(files) > 1)
    renamed: list[tuple[str, str]] = []
    for file, other_names, problems in renamed_categories(files):
        joined.add_shared(file, problems)
        renamed += other_names.items()
    joined.add_shared(files[0], names_alike(files))
    joined.images = {name: place for place, name in enumerate(sorted(joined.images))}
    joined.categories = {name: place for place, name in enumerate(sorted(joined.categories))}
    return joining_map(renamed, files)


def _add_tables_of(
    joined: Joined, file: AnnotationFile, labels: Sequence[str], *, several: bool
) -> None:
    """Add the images and categories of one file."""
    joined.add(file, bad_sizes(file.images))
    for image, label in zip(file.images, labels, strict=True):
        if not image.file_name and several:
            problem = f"image {image.id!r} has no file_name; expected one, since images of "
            joined.add(file, [problem + "several files are joined by it"])
        joined.images[label] = 0
        width, height = int(image.width or 0), int(image.height or 0)
        if not width or not height:
            continue
        before = joined.sizes.setdefault(label, (width, height))
        if before != (width, height):
            problem = f"image {label!r} is {width} × {height}"
            other = f"another record of it says {before[0]} × {before[1]}"
            joined.add_shared(file, [f"{problem}; {other}"])
    for category in file.categories:
        joined.categories.setdefault(clean(category.name), 0)


def assign_all(
    joined: Joined,
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    attribution: Attribution,
    annotator_names: Sequence[str],
) -> tuple[list[IntArray], BoolArray, BoolArray]:
    """Return the authors in each file, (I, A) who was asked, and which images list that."""
    number = {name: place for place, name in enumerate(annotator_names)}
    code = np.array([number[name] for name in attribution.names] + [-1], np.int32)
    authors = [
        code[author[part.place]] for author, part in zip(attribution.author, indexed, strict=True)
    ]
    assigned = np.zeros((len(joined.images), len(annotator_names)), np.bool_)
    listed = np.zeros(len(joined.images), np.bool_)
    parts = zip(files, indexed, authors, attribution.asked, strict=True)
    n_listing = len(files) - attribution.n_beside
    for place, (file, part, author, names) in enumerate(parts):
        found = _assign(joined, assigned, file, part, author, names, number)
        if place < n_listing:
            listed |= found
    if attribution.of_files:
        asked = attribution.asked
        listed &= ~others_may_be_asked(files, indexed, authors, asked, number, assigned)
    return authors, assigned, listed


def _assign(
    joined: Joined,
    assigned: BoolArray,
    file: AnnotationFile,
    part: IndexedAnnotations,
    author: IntArray,
    asked: Sequence[tuple[str, ...] | None],
    number: dict[str, int],
) -> BoolArray:
    """Mark in `assigned` who was asked about the images of a file; return which images list it."""
    ids = file.shown_ids[part.place]
    joined.add_shared(file, unnamed(ids[author < 0], len(ids), "annotation"))
    listed = np.zeros(len(assigned), np.bool_)
    lists: dict[tuple[str, ...], list[int]] = {}
    for image, names in zip(part.image_of_record.tolist(), asked, strict=True):
        if names is not None:
            lists.setdefault(names, []).append(image)
    for names, images in lists.items():
        listed[images] = True
        assigned[np.ix_(images, [number[label] for label in names])] = True
    named = author >= 0
    uninvited = named & listed[part.image] & ~assigned[part.image, author]
    labels = {place: label for label, place in number.items()}
    joined.add(
        file,
        (
            f"annotation {ids[row]}: is by {labels[int(author[row])]!r}, who is not in the "
            "list of annotators of its image; add the name there, or correct it"
            for row in np.flatnonzero(uninvited).tolist()
        ),
    )
    free = named & ~listed[part.image]
    assigned[part.image[free], author[free]] = True
    return listed


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
