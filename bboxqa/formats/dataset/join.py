"""Joining files to one data set: images by file name, categories by name; and who was asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IntArray, find
from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.core.text import alike, clean, count, first_few, in_natural_order
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.dataset.categories import (
    left_out_by,
    map_options,
    renamed_categories,
    supercategories,
)
from bboxqa.formats.dataset.image_names import image_label, join_advice, names_of_images
from bboxqa.formats.dataset.joint_names import with_joints
from bboxqa.formats.dataset.merge import IndexedAnnotations, merge
from bboxqa.formats.dataset.people import Attribution, listed_files
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.dataset.remarks import headlines_of, notes_of, with_machine_remark
from bboxqa.formats.dataset.sessions import (
    FileSessions,
    by_session,
    refuse_versions,
    split_sessions,
    with_repeats,
    without_repeated,
)
from bboxqa.formats.dataset.times import read_tracks
from bboxqa.formats.dataset.wrong_values import (
    bad_boxes,
    bad_outlines,
    bad_sizes,
    repeated_ids,
    unnamed,
)
from bboxqa.formats.records import AnnotationFile, ids_of
from bboxqa.formats.translation.collector import UNNAMED
from bboxqa.model.annotations import Dataset

_SHOWN = 3


@dataclass(slots=True)
class _Joined:
    """The tables of the data set to which files are added, and the problems found."""

    paths: dict[AnnotationFile, Path]
    labels: list[list[str]]
    """By file, the name of the image of each record."""
    images: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    origins: list[Path | None] = field(default_factory=list)

    def add(self, file: AnnotationFile, problems: Iterable[str], *, shared: bool = False) -> None:
        """Add problems of a file; those that show only with other files are `shared`."""
        before = len(self.problems)
        self.problems += [f"{file.source.name}: {problem}" for problem in problems]
        origin = None if shared else self.paths[file]
        self.origins += [origin] * (len(self.problems) - before)


def join(
    files: Sequence[AnnotationFile],
    paths: Sequence[Path],
    attribution: Attribution,
    reading: Reading,
    sessions: FileSessions | None = None,
    seconds: Sequence[FloatArray] | None = None,
) -> Dataset:
    """Join all files to one data set.

    Raises DatasetError with every reference to an unknown id, duplicate id, negative size,
    annotation by an annotator who was not asked, and contradiction between files. Two files with
    annotations of the same image by the same annotator are a contradiction.

    Parameters
    ----------
    files : sequence of AnnotationFile
        At least one.
    paths : sequence of Path
        The path of each file, for errors.
    attribution : Attribution
        The annotators of the annotations in the files.
    reading : Reading
    sessions, seconds
        The session and the time of each annotation, if they were read.
    """
    names = tuple(in_natural_order(attribution.names))
    joined = _Joined(
        dict(zip(files, paths, strict=True)), [[*map(image_label, file.images)] for file in files]
    )
    renamed = _add_tables(joined, files)
    parts = [_index(joined, *each) for each in zip(files, joined.labels, strict=True)]
    authors, assigned, listed = _assign_all(joined, files, parts, attribution, names)
    images = tuple(joined.images)
    if len(files) > 1 and attribution.names != (UNNAMED,) and not any(joined.origins):
        # Versions of one file contradict each other in many places; this error names the cause.
        refuse_versions(files, parts, authors, sessions, images, names, attribution.key)
    if joined.problems:
        advice = _advice(renamed, authors, attribution, files)
        raise DatasetError(joined.problems, advice, files=joined.origins)
    if reading.asked == "all":
        assigned[~listed] = True
    if reading.min_annotators >= 2 and assigned.sum(1).max(initial=0) < 2:
        raise _nothing_shared(files, attribution, all_listed=bool(listed.all()))
    notes: list[str] = []
    left_out, categories = left_out_by(reading.category_map), joined.categories
    if left_out:
        n_read = sum(map(len, authors))
        parts, authors, categories = _without(parts, authors, categories, left_out)
        notes += left_out_category_notes(left_out, n_read - sum(map(len, authors)))
        files = [
            replace(file, categories=[c for c in file.categories if clean(c.name) in categories])
            for file in files
        ]
    notes = [*notes_of(files, attribution, assigned, reading.min_annotators), *notes]
    if attribution.way:
        of_rows = by_session(attribution.author, sessions)
        parts, authors, more = without_repeated(files, parts, authors, of_rows)
        notes += more
    split = None
    if sessions is not None:
        split = split_sessions(parts, authors, sessions, attribution, names)
        parts, authors = split.first, split.first_authors
    track, tracks = None, None
    if reading.tracks:
        track, tracks = read_tracks(files, parts, authors, images)
    sizes = [joined.sizes.get(name, (0, 0)) for name in images]
    data = Dataset(
        image_names=images,
        image_size=np.array(sizes, np.int32).reshape(-1, 2),
        category_names=tuple(categories),
        supercategories=supercategories(files, categories),
        annotator_names=names,
        annotations=merge(files, parts, authors, seconds, track),
        tracks=tracks,
        assigned=assigned,
        attribution=attribution.way,
        sources=tuple(file.source for file in files),
        reading=reading.choices,
        notes=tuple(notes),
        unlisted=~listed if reading.asked == "authors" else None,
        has_text_ids=any(file.columns.text_ids is not None for file in files),
    )
    if split is not None:
        data = with_repeats(data, files, split)
    data = with_joints(data, files)
    if data.assigned.sum(1).max(initial=0) >= 2:
        data = replace(data, headlines=headlines_of(data, files))
    n_first = None if split is None else [len(part.image) for part in split.first]
    return with_machine_remark(data, files, n_first)


def _add_tables(joined: _Joined, files: Sequence[AnnotationFile]) -> dict[str, str]:
    """Add and sort the images and categories of all files; return suggested renamings."""
    for file, labels in zip(files, joined.labels, strict=True):
        joined.add(file, bad_sizes(file.images))
        for image, label in zip(file.images, labels, strict=True):
            if not image.file_name and len(files) > 1:
                problem = f"image {image.id!r} has no file_name; expected one, since images of "
                joined.add(file, [problem + "several files are joined by it"])
            joined.images[label] = 0
            size = int(image.width or 0), int(image.height or 0)
            before = joined.sizes.setdefault(label, size) if all(size) else size
            if before != size:
                problem = f"image {label!r} is {size[0]} × {size[1]}; another record of it says "
                joined.add(file, [f"{problem}{before[0]} × {before[1]}"], shared=True)
        joined.categories |= dict.fromkeys((clean(each.name) for each in file.categories), 0)
    renamed: dict[str, str] = {}
    for file, other_names, problems in renamed_categories(files):
        joined.add(file, problems, shared=True)
        for name, other in other_names.items():
            renamed.setdefault(name, renamed.get(other, other))
    for noun, names in (
        ("images", (image.file_name or "" for file in files for image in file.images)),
        ("categories", (category.name for file in files for category in file.categories)),
    ):
        joined.add(files[0], (f"{noun} {each}" for each in alike(names)), shared=True)
    joined.images = {name: place for place, name in enumerate(sorted(joined.images))}
    joined.categories = {name: place for place, name in enumerate(sorted(joined.categories))}
    return {name: kept for name, kept in renamed.items() if name != kept}


def _index(joined: _Joined, file: AnnotationFile, labels: Sequence[str]) -> IndexedAnnotations:
    """Replace ids by indices, and report references to unknown ids."""
    columns, shown = file.columns, file.shown_ids
    image_ids, category_ids = ids_of(file.images), ids_of(file.categories)
    for key, ids in (
        ("images", image_ids), ("categories", category_ids), ("annotations", columns.id),
    ):  # fmt: skip
        joined.add(file, repeated_ids(key, ids))
    image, category = find(image_ids, columns.image_id), find(category_ids, columns.category_id)
    for key, what, place, values in (
        ("image_id", "an image", image, columns.image_id),
        ("category_id", "a category", category, columns.category_id),
    ):
        joined.add(
            file,
            (
                f"annotation {shown[row]}: {key} is {values[row]}; expected the id of {what}"
                for row in np.flatnonzero(place < 0).tolist()
            ),
        )
    joined.add(file, bad_boxes(shown, columns.bbox))
    if columns.segmentation is not None:
        joined.add(file, bad_outlines(shown, columns.segmentation))
    of_image = np.array([joined.images[label] for label in labels], np.int32)
    of_category = np.array([joined.categories[clean(c.name)] for c in file.categories], np.int32)
    usable = np.flatnonzero((image >= 0) & (category >= 0))
    return IndexedAnnotations(
        usable, of_image[image[usable]], of_category[category[usable]], of_image
    )


def _assign_all(
    joined: _Joined,
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
    n_listing = len(files) - attribution.n_beside
    parts = zip(files, indexed, authors, attribution.asked, strict=True)
    for place, (file, part, author, asked) in enumerate(parts):
        ids, own = file.shown_ids[part.place], np.zeros(len(listed), np.bool_)
        joined.add(file, unnamed(ids[author < 0], len(ids), "annotation"), shared=True)
        lists: dict[tuple[str, ...], list[int]] = {}
        for image, names in zip(part.image_of_record.tolist(), asked, strict=True):
            if names is not None:
                lists.setdefault(names, []).append(image)
        for names, images in lists.items():
            own[images] = True
            assigned[np.ix_(images, [number[name] for name in names])] = True
        named = author >= 0
        uninvited = named & own[part.image] & ~assigned[part.image, author]
        joined.add(
            file,
            (
                f"annotation {ids[row]}: is by {annotator_names[author[row]]!r}, who is not in the "
                "list of annotators of its image; add the name there, or correct it"
                for row in np.flatnonzero(uninvited).tolist()
            ),
        )
        free = named & ~own[part.image]
        assigned[part.image[free], author[free]] = True
        if place < n_listing:
            listed |= own
    if attribution.of_files and not assigned.all():
        people = [number[asked[0][0]] if asked and asked[0] else -1 for asked in attribution.asked]
        listed &= ~_may_be_asked(files, indexed, authors, people, assigned)
    return authors, assigned, listed


def _may_be_asked(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    people: Sequence[int],
    assigned: BoolArray,
) -> BoolArray:
    """Return (I,) bool: images that only some annotated, where the others may have been asked.

    A table or folder of label files does not say which other images its author saw, unless one of
    the same format has an image without annotations: their tool writes these. `people` are the
    annotators of the files, -1 for none.
    """
    known = {
        file.title
        for file, part in zip(files, indexed, strict=True)
        # Shapes without a box are annotations, too.
        if not file.n_apart and _n_images(part.image) < _n_images(part.image_of_record)
    }
    ends = np.ones(assigned.shape[1], np.bool_)
    ends[[each for each in people if each >= 0]] = False
    for file, person in zip(files, people, strict=True):
        if person >= 0:
            ends[person] |= file.lists_images or file.title in known
    drawn = np.zeros_like(assigned)
    for part, author in zip(indexed, authors, strict=True):
        drawn[part.image, author] = True
    lacking = ~assigned
    open_ = lacking.any(1) & ~(lacking & ends).any(1) & (drawn >= assigned).all(1)
    return np.asarray(open_)


def _n_images(image: IntArray) -> int:
    """Return the number of different images, without sorting millions of them."""
    return int(np.count_nonzero(np.bincount(image)))


def _nothing_shared(
    files: Sequence[AnnotationFile], attribution: Attribution, *, all_listed: bool
) -> NothingToCompareError:
    """Return the error for files in which no image has two annotators."""
    problem = (
        f"{listed_files(files)}: {len(attribution.names)} annotators by {attribution.way}, "
        "but no image has two of them"
    )
    if len(files) > 1:
        found = join_advice(names_of_images(files))
        how = f": {found}" if found else "; check that the names are the same in all files."
        advice = f"Images are joined by file_name{how}"
    elif all_listed:
        advice = "All images list who was asked; expected two annotators in one of the lists."
    else:
        advice = (
            "Images may list who was asked about them under the key `annotators`. If all were "
            "asked about all images: --asked all"
        )
    return NothingToCompareError([problem], advice)


def _advice(
    renamed: Mapping[str, str],
    authors: Sequence[IntArray],
    attribution: Attribution,
    files: Sequence[AnnotationFile],
) -> str:
    """Return advice for problems that no single file shows."""
    lines = [f"If they are one category: {map_options(renamed)}"] if renamed else []
    if lists := [file.source.name for file in files if file.records == "results"]:
        truth = next((f.source.name for f in files if f.records != "results"), "ANNOTATIONS")
        typed = typed_paths([lists[0], "--ground-truth", truth])
        lines.append(f"For all findings: bboxqa validate {typed}")
    if any((author < 0).any() for author in authors):
        lines.append(
            f"Annotators are named by {attribution.way}: name who drew these annotations there, "
            "or delete them."
        )
    return "\n".join(lines)


def _without(
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    categories: Mapping[str, int],
    names: frozenset[str],
) -> tuple[list[IndexedAnnotations], list[IntArray], dict[str, int]]:
    """Leave out categories and their annotations; images and annotators stay."""
    kept = {name: place for place, name in enumerate(sorted({*categories} - names))}
    new = np.full(len(categories), -1, np.int32)
    new[[categories[name] for name in kept]] = [*kept.values()]
    rows = [np.flatnonzero(new[part.category] >= 0) for part in indexed]
    people = [author[each] for author, each in zip(authors, rows, strict=True)]
    if any(map(len, authors)) and not any(map(len, people)):
        shown = first_few(sorted(names & {*categories}), _SHOWN, repr)
        problem = f"--map leaves out the categories of all annotations: {shown}"
        raise NothingToCompareError([problem], "Keep a category that is to be measured.")
    parts = [part.take(each) for part, each in zip(indexed, rows, strict=True)]
    return [replace(part, category=new[part.category]) for part in parts], people, kept


def left_out_category_notes(names: frozenset[str], n: int) -> Iterator[str]:
    """Yield a note on the number of annotations that were left out.

    Examples
    --------
    >>> [*left_out_category_notes(frozenset({"shadow"}), 2)]
    ["2 annotations of 'shadow' left out, as --map says"]
    """
    if n:
        shown = first_few(sorted(names), _SHOWN, repr)
        yield f"{count(n, 'annotation')} of {shown} left out, as --map says"
