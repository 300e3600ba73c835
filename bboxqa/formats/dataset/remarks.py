"""Headlines and notes on a data set for readers of a result."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, compact
from bboxqa.core.text import as_written, count, folded, joined, one_line
from bboxqa.formats.dataset.categories import list_notes, variant_remark
from bboxqa.formats.dataset.image_names import case_remark, names_of_images, unjoined_advice
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.document import apart_note
from bboxqa.formats.records import AnnotationFile
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.shapes.rotated_boxes import equal_edges

_NAMED = 3
# Fewer annotations may be equal by chance, or on purpose.
_MANY = 20


def headlines_of(
    data: Dataset, files: Sequence[AnnotationFile], attribution: Attribution
) -> tuple[str, ...]:
    """Return facts that may make results useless: few common images, copies, variants of names."""
    result: list[str] = []
    apart = _apart(data.assigned) if len(files) > 1 else np.zeros(0, np.int64)
    advice = unjoined_advice(files) if len(apart) else ""
    # If files name their annotators, few common images may be intended.
    if len(apart) and (attribution.of_files or advice):
        n_joined = count(int((data.assigned.sum(1) >= 2).sum()), "image")
        names = [one_line(data.annotator_names[place]) for place in apart[:_NAMED]]
        who = " and ".join(names) if len(apart) <= _NAMED else f"{', '.join(names)} and others"
        apart_names = f"few images of {who} are in other files. Images are joined by file_name"
        result.append(f"only {n_joined} of {len(data.assigned):,} joined: {advice or apart_names}")
    if len(files) > 1 and not advice and (differ := case_remark(names_of_images(files))):
        result.append(f"images are joined by file_name: {differ}")
    if attribution.of_files or attribution.n_beside:
        copies = list(_copies(data))
        more = f" ({len(copies) - _NAMED:,} more such pairs)" if len(copies) > _NAMED else ""
        result += [*copies[: _NAMED - 1], *(each + more for each in copies[_NAMED - 1 : _NAMED])]
    spellings = _spellings(data.annotator_names)
    return tuple(filter(None, [spellings, *result, variant_remark(_users(data))]))


def _spellings(names: Sequence[str]) -> str:
    """Return which annotators may be one person, spelled in several ways; empty if none may.

    Examples
    --------
    >>> _spellings(["Ann", "ann ", "bob"])
    "annotators 'Ann' and 'ann ' differ only in case, blanks or invisible characters, \
and count as different people: bboxqa validate shows where (A001)"
    """
    spelled: dict[str, list[str]] = {}
    for name in names:
        spelled.setdefault(folded(as_written(name)), []).append(name)
    groups = [
        " and ".join(f"'{one_line(name)}'" for name in each)
        for each in spelled.values()
        if len(each) > 1
    ]
    if not groups:
        return ""
    more = f" ({len(groups) - _NAMED:,} more such names)" if len(groups) > _NAMED else ""
    return (
        f"annotators {'; '.join(groups[:_NAMED])}{more} differ only in case, blanks or invisible "
        "characters, and count as different people: bboxqa validate shows where (A001)"
    )


def with_machine_remark(
    data: Dataset, files: Sequence[AnnotationFile], n_first: Sequence[int] | None = None
) -> Dataset:
    """Return a data set with a remark on annotations that a machine created first, if any.

    `n_first` is the number of first-session annotations in each file, if there are sessions.
    Agreement between annotators is measured on these: the remark is a note if no file with marks
    has any of them, with a warning in diagnoses, otherwise a headline.
    """
    marks = sum((file.columns.marks for file in files), Counter[str]())
    if not marks:
        return data
    n_annotations = sum(len(file.columns.id) for file in files)
    marked = f"a machine began {marks.total():,} of {count(n_annotations, 'annotation')}"
    marked += "" if n_first is None else " of all sessions"
    keys = f"({', '.join(sorted(marks))})"
    of_marked = zip(n_first or (), files, strict=n_first is not None)
    if n_first is not None and not any(n for n, file in of_marked if file.columns.marks):
        note = (
            f"{marked} {keys}, all of them in later sessions: this concerns how annotators agree "
            "with themselves, and not how they agree with each other"
        )
        return replace(data, notes=(*data.notes, note), cautions=(note,))
    headline = (
        f"{marked} {keys}: annotators who correct the same proposals share their errors, and agree "
        "more than independent ones"
    )
    return replace(data, headlines=(*data.headlines, headline))


def _copies(data: Dataset) -> Iterator[str]:
    """Yield a remark for each two annotators with equal annotations on all common images."""
    each, n_annotators = data.annotations, len(data.annotator_names)
    place = each.image.astype(np.int64) * n_annotators + each.annotator
    number = np.bincount(place, minlength=data.assigned.size).reshape(data.assigned.shape)
    with_many = np.flatnonzero(number.sum(0) >= _MANY).tolist()
    for pair in combinations(with_many, 2):
        both = data.assigned[:, pair[0]] & data.assigned[:, pair[1]]
        of_first, of_second = number[both][:, pair].T
        n_equal = int(of_first.sum())
        if not n_equal or (of_first != of_second).any():
            continue
        if n_equal < _MANY:
            continue
        first, second = (np.flatnonzero((each.annotator == who) & both[each.image]) for who in pair)
        if _are_equal(each, first, second):
            who = " and ".join(one_line(data.annotator_names[place]) for place in pair)
            yield (
                f"{who} have the same {count(n_equal, 'annotation')} on the "
                f"{count(int(both.sum()), 'image')} that both have: "
                "are they copies or splits of one data set?"
            )


def _are_equal(each: Annotations, first: IndexArray, second: IndexArray) -> bool:
    """Return whether two annotators have the same boxes and categories, but for rounding."""
    edges = []
    for own in (first, second):
        box = np.concatenate([each.bbox[own, :2], each.bbox[own, :2] + each.bbox[own, 2:]], 1)
        # Steps that end at no whole or half pixel: rounding changes the order of few boxes.
        keys = (*np.floor(box + 0.43).T, each.category[own], each.image[own])
        order = np.lexsort(keys)
        edges.append((box[order], each.category[own][order]))
    (left, category), (right, other_category) = edges
    return bool((category == other_category).all() and equal_edges(left, right).all())


def _users(data: Dataset) -> dict[str, set[int]]:
    """Return the annotators who used each category, by category name."""
    n_annotators = len(data.annotator_names)
    pairs = data.annotations.category.astype(np.int64) * n_annotators + data.annotations.annotator
    used = compact(pairs, len(data.category_names) * n_annotators)[0].tolist()
    users: dict[str, set[int]] = {}
    for category, annotator in (divmod(pair, n_annotators) for pair in used):
        users.setdefault(data.category_names[category], set()).add(annotator)
    return users


def _apart(assigned: BoolArray) -> IndexArray:
    """Return annotators who share under half of their images and have under half of anyone's."""
    several = assigned.sum(1) >= 2
    total, shared = assigned.sum(0), assigned[several].sum(0)
    found = np.flatnonzero(2 * shared < total)
    return found[[not _holds_another(assigned, place, total) for place in found.tolist()]]


def _holds_another(assigned: BoolArray, place: int, total: IndexArray) -> bool:
    """Return whether an annotator has at least half of the images of another annotator."""
    common = assigned[assigned[:, place]].sum(0)
    common[place] = -1
    return bool((2 * common >= np.maximum(total, 1)).any())


def file_notes(
    files: Sequence[AnnotationFile], attribution: Attribution, *, with_losses: bool = True
) -> Iterator[str]:
    """Yield each note on files once, with the files that it applies to.

    Without `with_losses`, there are no notes on what a conversion lists as losses: annotations that
    are kept apart, and images that someone annotated again.
    """
    names: dict[str, dict[str, None]] = {}
    for file in files:
        losses = [*file.repeat_notes, *([apart_note(file.n_apart)] if file.n_apart else [])]
        nobody = () if attribution.of_files else file.nobody_notes
        for note in (*file.notes, *nobody, *(losses if with_losses else ())):
            names.setdefault(note, {})[file.source.name] = None
    for note, of_note in names.items():
        each = "each of " if len(of_note) > 1 else ""
        yield f"{each}{_named([*of_note])}: {note}" if len(files) > 1 else note


def _named(names: list[str]) -> str:
    """Return a list of names for a sentence: the first names, and the number of the others."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1:,} more files"]
    return joined(names)


def notes_of(
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    assigned: BoolArray,
    min_annotators: int,
) -> tuple[str, ...]:
    """Return notes on the data for readers of a result."""
    notes = [*file_notes(files, attribution), *list_notes(files)]
    n_asked = assigned.sum(1)
    single = int((n_asked < 2).sum()) if min_annotators > 1 else 0
    bare = int((n_asked == 0).sum())
    if attribution.numbered:
        notes.append("annotators are numbered image by image, so results per annotator mix people")
    if single:
        unknown = f", of which {bare:,} without annotations or a list of annotators" if bare else ""
        notes.append(f"{count(single, 'image')} with fewer than two annotators left out{unknown}")
    return tuple(notes)
