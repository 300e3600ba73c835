"""Headlines and notes on a data set for readers of a result."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, compact
from bboxqa.core.text import as_written, count, folded, joined, one_line
from bboxqa.formats.dataset.categories import variant_remark
from bboxqa.formats.dataset.image_names import join_advice, names_of_images
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.document import apart_note
from bboxqa.formats.records import AnnotationFile
from bboxqa.model.annotations import Dataset

_NAMED = 3


def headlines_of(data: Dataset, files: Sequence[AnnotationFile]) -> tuple[str, ...]:
    """Return facts that may make results useless: few common images, variants of names."""
    several = data.assigned.sum(1) >= 2
    few = len(files) > 1 and bool((2 * data.assigned[several].sum(0) < data.assigned.sum(0)).any())
    advice = join_advice(names_of_images(files)) if few else ""
    if advice:
        n_joined = count(int(several.sum()), "image")
        advice = f"only {n_joined} of {len(several):,} joined: {advice}"
    remarks = _spellings(data.annotator_names), advice, variant_remark(_users(data))
    return tuple(filter(None, remarks))


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
        spelled.setdefault(folded(as_written(name)), []).append(f"'{one_line(name)}'")
    groups = [" and ".join(each) for each in spelled.values() if len(each) > 1]
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


def _users(data: Dataset) -> dict[str, set[int]]:
    """Return the annotators who used each category, by category name."""
    n_annotators = len(data.annotator_names)
    pairs = data.annotations.category.astype(np.int64) * n_annotators + data.annotations.annotator
    used = compact(pairs, len(data.category_names) * n_annotators)[0].tolist()
    users: dict[str, set[int]] = {}
    for category, annotator in (divmod(pair, n_annotators) for pair in used):
        users.setdefault(data.category_names[category], set()).add(annotator)
    return users


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
        shown = [*of_note]
        if len(shown) > _NAMED:
            shown[_NAMED - 1 :] = [f"{len(shown) - _NAMED + 1:,} more files"]
        each = "each of " if len(of_note) > 1 else ""
        yield f"{each}{joined(shown)}: {note}" if len(files) > 1 else note


def notes_of(
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    assigned: BoolArray,
    min_annotators: int,
) -> tuple[str, ...]:
    """Return notes on the data for readers of a result."""
    notes = [*file_notes(files, attribution)]
    n_asked = assigned.sum(1)
    single = int((n_asked < 2).sum()) if min_annotators > 1 else 0
    bare = int((n_asked == 0).sum())
    if attribution.numbered:
        notes.append("annotators are numbered image by image, so results per annotator mix people")
    if single:
        unknown = f", of which {bare:,} without annotations or a list of annotators" if bare else ""
        notes.append(f"{count(single, 'image')} with fewer than two annotators left out{unknown}")
    return tuple(notes)
