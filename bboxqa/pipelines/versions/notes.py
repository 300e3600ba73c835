"""Notes on the comparison of two versions."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.dataset.image_names import join_advice
from bboxqa.model.annotations import Dataset
from bboxqa.model.comparison import CROWD_FLAGS, AgreementChange, Version
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.pipelines.notes import few_images_note, shift_note
from bboxqa.pipelines.versions.aligned import STATUS, Aligned, empty_images
from bboxqa.pipelines.versions.tables import Changes

_NAMED = 3


def name_notes(images: Aligned, annotators: Aligned) -> Iterator[str]:
    """Yield the names that only one version has."""
    names = set(images.before_names), set(images.after_names)
    if 2 * len(names[0] & names[1]) < min(map(len, names)):
        if join_advice(names):
            # Renamed images are compared already.
            if advice := join_advice(_without_renamed(images)):
                yield f"images are compared by file name: {advice}"
        elif not names[0] & names[1] and all(names):
            yield (
                "no image has the same name in both, with any --join: are these versions of one "
                "data set?"
            )
    for status, where in (("removed", "before"), ("added", "after")):
        found = [name for name, each in _named(annotators) if each == status]
        if found:
            shown = first_few(found, _NAMED, one_line)
            yield f"{count(len(found), 'annotator')} {where} only: {shown}"


def check_common_image(before: Dataset, after: Dataset, images: Table) -> None:
    """Raise DatasetError if both versions have images, but none is in both.

    `images` are those of a `ComparisonResult`.
    """
    names = before.image_names, after.image_names
    if {"both", "renamed"} & set(images["status"].tolist()) or not all(names):
        return
    advice = join_advice([set(each) for each in names])
    problem = (
        f"no image is in both versions: the first is {one_line(names[0][0])!r} before and "
        f"{one_line(names[1][0])!r} after; and not both have images of two annotators"
    )
    raise DatasetError(
        [problem],
        f"Images are compared by file name: {advice}."
        if advice
        else "Name two versions of one data set.",
    )


def _without_renamed(images: Aligned) -> tuple[set[str], set[str]]:
    """Return the names of the images of each version that were not renamed."""
    places = np.flatnonzero(images.status == STATUS.index("renamed"))
    return (
        set(images.before_names) - {images.before_names[at] for at in images.before[places]},
        set(images.after_names) - {images.after_names[at] for at in images.after[places]},
    )


def empty_image_notes(before: Dataset, after: Dataset, images: Aligned) -> Iterator[str]:
    """Yield that images without annotations may be the same under another name."""
    n_removed, n_added = (
        len(empty_images(data, places[other < 0]))
        for data, places, other in (
            (before, images.before, images.after),
            (after, images.after, images.before),
        )
    )
    if n_removed and n_added:
        yield (
            f"{n_removed:,} of the removed images and {n_added:,} of the added have no "
            "annotations, by which the same image is found under another name"
        )


def crowd_notes(changes: Changes) -> Iterator[str]:
    """Yield the number of changed crowd flags, which change the annotations that are measured."""
    _, n_set, n_cleared = np.bincount(changes.crowd_flag, minlength=len(CROWD_FLAGS)).tolist()
    if n_set or n_cleared:
        yield (
            f"iscrowd was set on {count(n_set, 'annotation')} and cleared on {n_cleared:,}; "
            "agreement leaves out crowds"
        )


def _named(annotators: Aligned) -> Iterator[tuple[str, str]]:
    names, status = annotators.names, annotators.status.tolist()
    return ((name, STATUS[code]) for name, code in zip(names, status, strict=True))


def agreement_notes(
    versions: list[Version],
    thresholds: tuple[AgreementChange, ...],
    n_images: tuple[int, int],
    settings: AgreeSettings,
) -> Iterator[str]:
    """Yield notes on alpha before and after."""
    alone = []
    for name, version in zip(("before", "after"), versions, strict=True):
        if version.agreement is None:
            alone.append(name)
        else:
            # Warnings on a version stand on their own.
            notes = version.agreement.notes[len(version.agreement.headlines) :]
            yield from (f"{name}: {note}" for note in notes)
    if alone:
        which = f"{alone[0]}, " if len(alone) == 1 else ""
        yield f"{which}no image has two annotators, so agreement is not compared"
    if thresholds and settings.bootstrap:
        yield from few_images_note(min(n_images))
    for part in thresholds:
        if part.pooled.interval_shift:
            what = f"the difference of alpha at {part.threshold_label}"
            yield shift_note(what, part.pooled.interval_shift)
