"""Annotations of one image by one annotator that are in several files, or in several records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, compact, find, run_starts
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.dataset.joined import image_label
from bboxqa.formats.dataset.merge import IndexedAnnotations
from bboxqa.formats.dataset.people import way_by_key
from bboxqa.formats.records import AnnotationFile, ids_of


def refuse_versions(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    image_names: Sequence[str],
    annotator_names: Sequence[str],
    annotator_key: str,
) -> None:
    """Refuse two files with annotations of the same image by the same annotator.

    This annotator would seem to have drawn everything twice. `authors` are, by file, indices into
    `annotator_names`, -1 where none is named. `annotator_key` is the `key` of the attribution.
    Raises DatasetError with the first two such files, an example, and the command that compares
    versions.
    """
    n_annotators = len(annotator_names)
    found = [
        compact(
            (part.image.astype(np.int64) * n_annotators + author)[author >= 0],
            n_annotators * len(image_names),
        )[0]
        for part, author in zip(indexed, authors, strict=True)
    ]
    key = np.concatenate(found)
    owner = np.repeat(np.arange(len(files)), [len(keys) for keys in found])
    order = np.argsort(key, kind="stable")
    repeated = np.flatnonzero(np.diff(key[order]) == 0)
    if not len(repeated):
        return
    place = int(repeated[0])
    image, annotator = divmod(int(key[order[place]]), n_annotators)
    pair = [files[int(owner[order[each]])] for each in (place, place + 1)]
    first, second = (file.source.name for file in pair)
    raise DatasetError(
        [
            f"{first} and {second}: both have annotations of image {one_line(image_names[image])!r}"
            f" by {one_line(annotator_names[annotator])!r}"
            + (f" ({way_by_key(pair, annotator_key)})" if annotator_key else "")
            + (f", and {count(len(repeated) - 1, 'more such case')}" if len(repeated) > 1 else "")
            + "; expected the annotations of one annotator of an image in one file"
        ],
        "Two versions of one data set are compared with: "
        f"bboxqa compare {typed_paths([first, second])}\n"
        "If annotators annotated the images again and each file is a session: "
        "--session-key file\nIf each file is by another person: --attribution files",
    )


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedWork:
    """What annotators drew in several records of one image in a file."""

    equal: IndexArray
    """(R,) int64. The annotations in records in which their annotator drew the same boxes as in the
    first one.
    """
    n_images: int
    """The number of images of `equal`."""
    different: list[tuple[str, int]]
    """Images, and annotators who drew other boxes there than in the first record."""


def repeated_work(file: AnnotationFile, author: IntArray) -> RepeatedWork | None:
    """Return what annotators drew in several records of one image; None if nobody did.

    `author` is (N,) int, the annotator of each annotation of the file; -1 where none is named.
    """
    labels = [image_label(image) for image in file.images]
    number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    if len(number) == len(labels):
        return None
    columns, n_authors = file.columns, int(author.max(initial=0)) + 1
    record = find(ids_of(file.images), columns.image_id)
    known = np.flatnonzero((record >= 0) & (author >= 0))
    record = record[known]
    cell = np.array([number[label] for label in labels])[record] * n_authors + author[known]
    held = np.unique(cell * len(labels) + record) // len(labels)
    among = np.flatnonzero(np.isin(cell, held[1:][held[1:] == held[:-1]]))
    if not len(among):
        return None
    rows, record, cell = known[among], record[among], cell[among]
    drawn = (*columns.bbox[rows].T, columns.category_id[rows], columns.iscrowd[rows])
    order = np.lexsort((*drawn, record, cell))
    rows, cell = rows[order], cell[order]
    starts = run_starts(cell * len(labels) + record[order])
    sizes = np.diff(starts, append=len(rows))
    of_cell, first, place = np.unique(cell[starts], return_index=True, return_inverse=True)
    first = first[place]
    table = np.column_stack(drawn)[order]
    # The annotation at the same place of the first record of its image.
    offset = np.arange(len(rows)) - np.repeat(starts, sizes)
    other = np.repeat(starts[first], sizes) + np.minimum(offset, np.repeat(sizes[first] - 1, sizes))
    are_equal = (sizes == sizes[first]) & np.logical_and.reduceat(
        (table == table[other]).all(1), starts
    )
    is_later = first != np.arange(len(first))
    equal, different = is_later & are_equal, np.unique(place[is_later & ~are_equal])
    names = [*number]
    return RepeatedWork(
        rows[np.repeat(equal, sizes)],
        len(np.unique(of_cell[place[equal]] // n_authors)),
        [(names[each // n_authors], each % n_authors) for each in of_cell[different].tolist()],
    )


def refuse_other_rounds(
    files: Sequence[AnnotationFile],
    authors: Sequence[IntArray],
    annotator_names: Sequence[str],
    advice: str,
) -> None:
    """Refuse a file in which somebody drew different boxes in several records of one image.

    This annotator would seem to have drawn many objects twice. `authors` are as in `Attribution`;
    `advice` ends the error.
    """
    problems = []
    for file, author in zip(files, authors, strict=True):
        found = repeated_work(file, author)
        if found is not None and found.different:
            (image, who), *others = found.different
            problems.append(
                f"{file.source.name}: image {one_line(image)!r} is in the file several times, with "
                f"different boxes by {one_line(annotator_names[who])!r}"
                + (f", and {count(len(others), 'more such case')}" if others else "")
                + "; expected it once"
            )
    if problems:
        key = "session" if all(file.named_by for file in files) else "KEY"
        where = "" if key == "session" else ', where KEY is one of image records: "session": 2'
        raise DatasetError(
            problems,
            f"If annotators annotated the images again: --session-key {key}{where}\n"
            f"If these are different images with one name: rename them.\n{advice}",
        )


def without_repeated(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    of_rows: Sequence[IntArray],
) -> tuple[list[IndexedAnnotations], list[IntArray], list[str]]:
    """Leave out what annotators drew again, equally, in later records of an image; with notes.

    `authors` are those of the indexed annotations. `of_rows` are those of all annotations of each
    file, by session if there are sessions.
    """
    kept, kept_authors, notes = [], [], []
    for file, part, author, of_row in zip(files, indexed, authors, of_rows, strict=True):
        found = repeated_work(file, of_row)
        if found is None:
            kept.append(part)
            kept_authors.append(author)
            continue
        rows = np.flatnonzero(~np.isin(part.place, found.equal))
        kept.append(part.take(rows))
        kept_authors.append(author[rows])
        notes += [
            f"{file.source.name}: {note}" if len(files) > 1 else note for note in notes_on(found)
        ]
    return kept, kept_authors, notes


def notes_on(found: RepeatedWork) -> Iterator[str]:
    """Yield notes on images that are in a file several times."""
    if found.n_images:
        are = "image is" if found.n_images == 1 else "images are"
        yield (
            f"{count(len(found.equal), 'annotation')} left out: {found.n_images:,} {are} in the "
            "file several times, with the same boxes by the same annotators"
        )
    if found.different:
        n_images = len({image for image, _ in found.different})
        are = "image is" if n_images == 1 else "images are"
        yield (
            f"{n_images:,} {are} in the file several times, with different boxes by the same "
            "annotators, and all boxes count"
        )
