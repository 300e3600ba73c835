"""Joining files to one data set: images by file name, categories by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, find
from bboxqa.core.errors import DatasetError, NothingToCompareError
from bboxqa.core.text import clean, count, first_few, in_natural_order
from bboxqa.formats.choices import as_options, choices
from bboxqa.formats.dataset.categories import (
    map_options,
    supercategories,
)
from bboxqa.formats.dataset.image_names import unjoined_advice
from bboxqa.formats.dataset.joint_names import with_joints
from bboxqa.formats.dataset.merge import (
    IndexedAnnotations,
    Joined,
    add_tables,
    assign_all,
    image_label,
    merge,
)
from bboxqa.formats.dataset.people import Attribution, asked_advice, listed_files
from bboxqa.formats.dataset.remarks import headlines_of, notes_of, with_machine_remark
from bboxqa.formats.dataset.sessions import (
    FileSessions,
    SplitSessions,
    by_session,
    refuse_repeated,
    split_sessions,
    with_repeats,
    without_repeated,
)
from bboxqa.formats.dataset.track_ids import read_tracks
from bboxqa.formats.dataset.wrong_values import (
    bad_boxes,
    bad_outlines,
    repeated_ids,
)
from bboxqa.formats.records import AnnotationFile, Category, Image, ids_of
from bboxqa.formats.translation.collector import UNNAMED
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import Asked

_SHOWN = 3


def join(
    files: Sequence[AnnotationFile],
    paths: Sequence[Path],
    attribution: Attribution,
    min_annotators: int = 2,
    asked: Asked = "authors",
    *,
    left_out: frozenset[str] = frozenset(),
    sessions: FileSessions | None = None,
    seconds: Sequence[FloatArray] | None = None,
    with_tracks: bool = False,
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
    min_annotators : int
        The number of annotators that at least one image must have.
    asked : {"authors", "all"}
        Who was asked about an image that does not list its annotators.
    left_out : frozenset of str
        The categories whose annotations are left out. Who drew them was asked.
    sessions, seconds
        The session and the time of each annotation, if they were read.
    with_tracks : bool
        Whether tracks were read.
    """
    joined = Joined(dict(zip(files, paths, strict=True)))
    annotator_names = tuple(in_natural_order(attribution.names))
    indexed, authors, assigned, listed = _checked(
        joined, files, attribution, annotator_names, sessions
    )
    if asked == "all":
        assigned[~listed] = True
    if min_annotators >= 2 and assigned.sum(1).max(initial=0) < 2:
        raise _nothing_shared(files, attribution, all_listed=bool(listed.all()))
    categories, more = joined.categories, []
    if left_out:
        n_read = sum(map(len, authors))
        files, indexed, authors, categories = without_categories(
            files, indexed, authors, categories, left_out
        )
        more = [*left_out_category_notes(left_out, n_read - sum(map(len, authors)))]
    repeated: list[str] = []
    if attribution.way:
        indexed, authors, repeated = without_repeated(
            files, indexed, authors, by_session(attribution.author, sessions)
        )
    split = None
    if sessions is not None:
        split = split_sessions(indexed, authors, sessions, attribution, annotator_names)
        indexed, authors = split.first, split.first_authors
    images = tuple(joined.images)
    track, tracks = read_tracks(files, indexed, authors, images) if with_tracks else (None, None)
    data = Dataset(
        image_names=images,
        image_size=joined.image_size(),
        category_names=tuple(categories),
        supercategories=supercategories(files, categories),
        annotator_names=annotator_names,
        annotations=merge(files, indexed, authors, seconds, track),
        tracks=tracks,
        assigned=assigned,
        attribution=attribution.way,
        sources=tuple(file.source for file in files),
        reading=as_options(choices()),
        notes=(*notes_of(files, attribution, assigned, min_annotators), *more, *repeated),
        unlisted=~listed if asked == "authors" else None,
        has_text_ids=any(file.columns.text_ids is not None for file in files),
    )
    return _completed(data, files, attribution, split)


def _checked(
    joined: Joined,
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    annotator_names: Sequence[str],
    sessions: FileSessions | None,
) -> tuple[list[IndexedAnnotations], list[IntArray], BoolArray, BoolArray]:
    """Return the annotations of each file with indices, and by whom they are; see `assign_all`.

    Raises DatasetError with all problems of the files.
    """
    labels = [[image_label(image) for image in file.images] for file in files]
    renamed = add_tables(joined, files, labels)
    indexed = [_index(joined, *pair) for pair in zip(files, labels, strict=True)]
    authors, assigned, listed = assign_all(joined, files, indexed, attribution, annotator_names)
    if len(files) > 1 and attribution.names != (UNNAMED,) and not any(joined.origins):
        # Versions of one file contradict each other in many places; this error names the cause.
        images, key = tuple(joined.images), attribution.key
        refuse_repeated(files, indexed, authors, sessions, images, annotator_names, key)
    if joined.problems:
        advice = _advice(renamed, authors, attribution)
        raise DatasetError(joined.problems, advice, files=joined.origins)
    return indexed, authors, assigned, listed


def _completed(
    data: Dataset,
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    split: SplitSessions | None,
) -> Dataset:
    """Return a data set with its repeats, joints and headlines."""
    if split is not None:
        data = with_repeats(data, files, split)
    data = with_joints(data, files)
    if data.assigned.sum(1).max(initial=0) >= 2:
        data = replace(data, headlines=headlines_of(data, files, attribution))
    n_first = None if split is None else [len(part.image) for part in split.first]
    return with_machine_remark(data, files, n_first)


def _nothing_shared(
    files: Sequence[AnnotationFile], attribution: Attribution, *, all_listed: bool
) -> NothingToCompareError:
    """Return the error for files in which no image has two annotators."""
    problem = (
        f"{listed_files(files)}: {len(attribution.names)} annotators by {attribution.way}, "
        "but no image has two of them"
    )
    if len(files) == 1:
        return NothingToCompareError([problem], asked_advice(files[0], all_listed=all_listed))
    found = unjoined_advice(files)
    advice = f": {found}" if found else "; check that the names are the same in all files."
    return NothingToCompareError([problem], f"Images are joined by file_name{advice}")


def _ids(
    joined: Joined, file: AnnotationFile, key: str, records: Sequence[Image | Category]
) -> IndexArray:
    """Return the ids of images or categories, and report duplicates."""
    result = ids_of(records)
    joined.add(file, repeated_ids(key, result))
    return result


def _index(joined: Joined, file: AnnotationFile, labels: Sequence[str]) -> IndexedAnnotations:
    """Replace ids by indices, and report references to unknown ids."""
    columns, shown = file.columns, file.shown_ids
    image_ids = _ids(joined, file, "images", file.images)
    category_ids = _ids(joined, file, "categories", file.categories)
    joined.add(file, repeated_ids("annotations", columns.id))
    image = find(image_ids, columns.image_id)
    category = find(category_ids, columns.category_id)
    for column, place, values in (
        ("image_id", image, columns.image_id),
        ("category_id", category, columns.category_id),
    ):
        what = "an image" if column == "image_id" else "a category"
        orphans = np.flatnonzero(place < 0).tolist()
        joined.add(
            file,
            (
                f"annotation {shown[row]}: {column} is {values[row]}; expected the id of {what}"
                for row in orphans
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


def _advice(
    renamed: Mapping[str, str], authors: Sequence[IntArray], attribution: Attribution
) -> str:
    """Return advice for problems that no single file shows."""
    lines = [f"If they are one category: {map_options(renamed)}"] if renamed else []
    if any((author < 0).any() for author in authors):
        lines.append(
            f"Annotators are named by {attribution.way}: name who drew these annotations there, "
            "or delete them."
        )
    return "\n".join(lines)


def without_categories(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    categories: Mapping[str, int],
    names: frozenset[str],
) -> tuple[list[AnnotationFile], list[IndexedAnnotations], list[IntArray], dict[str, int]]:
    """Leave out categories and their annotations, of which images and annotators stay.

    Parameters
    ----------
    files, indexed, authors
        The files, their annotations, and who drew these.
    categories : mapping of str to int
        The index of each category.
    names : frozenset of str
        The categories to leave out.

    Returns
    -------
    tuple
        The same without these categories, which have new indices.

    Raises
    ------
    NothingToCompareError
        If there are annotations, and none is left.
    """
    kept = {name: place for place, name in enumerate(sorted({*categories} - names))}
    new = np.full(len(categories), -1, np.int32)
    new[[categories[name] for name in kept]] = [*kept.values()]
    parts, people = [], []
    for part, author in zip(indexed, authors, strict=True):
        category = new[part.category]
        rows = np.flatnonzero(category >= 0)
        parts.append(replace(part.take(rows), category=category[rows]))
        people.append(author[rows])
    if any(map(len, authors)) and not any(map(len, people)):
        shown = first_few(sorted(names & {*categories}), _SHOWN, repr)
        problem = f"--map leaves out the categories of all annotations: {shown}"
        raise NothingToCompareError([problem], "Keep a category that is to be measured.")
    listing = [
        replace(file, categories=[each for each in file.categories if clean(each.name) in kept])
        for file in files
    ]
    return listing, parts, people, kept


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
