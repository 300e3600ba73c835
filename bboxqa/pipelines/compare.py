"""From two versions of a data set to what differs between them."""

from collections.abc import Iterator
from itertools import chain
from typing import Unpack

import msgspec
import numpy as np

from bboxqa.core.text import count, one_line
from bboxqa.core.types import AnyPath, Progress
from bboxqa.core.version import __version__
from bboxqa.formats.dataset.image_names import join_advice
from bboxqa.model.annotations import Dataset
from bboxqa.model.comparison import CHANGES, CROWD_FLAGS, AgreementChange, ComparisonResult, Version
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.pipelines.agree import (
    agree_with,
    check_before_measuring,
    check_dataset,
    settings_of_keywords,
)
from bboxqa.pipelines.notes import FEW_CLUSTERS, shift_note
from bboxqa.pipelines.read import read_for
from bboxqa.pipelines.threshold_results import measure_name
from bboxqa.pipelines.versions.agreement import agreement_changes
from bboxqa.pipelines.versions.aligned import (
    STATUS,
    Aligned,
    align_annotators,
    align_categories,
    align_images,
    empty_images,
)
from bboxqa.pipelines.versions.matched import match_versions
from bboxqa.pipelines.versions.tables import (
    Changes,
    Names,
    category_counts,
    change_table,
    changes_of,
    counts_by,
    movements,
    rename_table,
)

_NAMED = 3


def compare(
    before: Dataset,
    after: Dataset,
    *,
    memory: int | None = None,
    progress: Progress | None = None,
    **settings: Unpack[AgreeKeywords],
) -> ComparisonResult:
    """Compare two versions of a data set, or two data sets made by different guidelines.

    Annotations are the same if they are by one annotator, of one image, and have one id and
    overlap; where ids have changed, they are matched by similarity. Agreement is compared in the
    images that both versions measure.

    Parameters
    ----------
    before, after : Dataset
        What `read_coco` returns; with its ``min_annotators=1`` also without two annotators.
    memory : int, optional
        Limits the bytes that comparing takes. The result is the same.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    **settings
        As for `agree`. The similarity, its lowest threshold and the matcher also decide which
        annotations are the same.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    ConfigError
        If a setting is not known, has a wrong type, or contradicts another.
    DatasetError
        If the annotations do not have what the similarity compares, or their boxes are in another
        layout.
    TypeError
        If `before` or `after` is not a `Dataset`.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read_coco(example_file("fruits"))
    >>> result = bboxqa.compare(data, data)
    >>> result.counts["unchanged"], result.thresholds[0].pooled.difference
    (9, 0.0)
    """
    check_dataset(before, "before")
    check_dataset(after, "after")
    checked = settings_of_keywords(settings)
    before, after = (check_before_measuring(data, checked) for data in (before, after))
    return compare_with(before, after, checked, memory=memory, progress=progress)


def compare_files(
    before: AnyPath,
    after: AnyPath,
    settings: AgreeSettings,
    *,
    memory: int | None = None,
    digest: bool = True,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Read two versions and compare them, with checked settings.

    `before` and `after` are files or folders; the other parameters are those of `compare` and
    `read_coco`.
    """
    first, second = (
        read_for(path, settings, memory=memory, digest=digest, min_annotators=1, progress=progress)
        for path in (before, after)
    )
    return compare_with(first, second, settings, memory=memory, progress=progress)


def compare_with(
    before: Dataset,
    after: Dataset,
    settings: AgreeSettings,
    *,
    memory: int | None = None,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Compare two versions, with checked settings; see `compare`."""
    annotators = align_annotators(before, after)
    images = align_images(before, after, annotators)
    matched = match_versions(
        before,
        after,
        images,
        annotators,
        align_categories(before, after),
        settings,
        memory=memory,
        progress=progress,
    )
    categories = align_categories(
        before,
        after,
        (
            before.annotations.category[matched.before],
            after.annotations.category[matched.after],
        ),
    )
    names = Names(images, annotators, categories)
    changes = changes_of(before, after, matched, names)
    versions = [_version(data, settings, memory, progress) for data in (before, after)]
    first, second = (version.agreement for version in versions)
    thresholds: tuple[AgreementChange, ...] = ()
    paired, n_images = False, (0, 0)
    if first is not None and second is not None:
        thresholds, paired, n_images = agreement_changes(first, second, names, settings, progress)
    headlines = tuple(
        f"{name}: {line}"
        for name, data in (("before", before), ("after", after))
        for line in data.headlines
    )
    number = np.bincount(changes.kind, minlength=len(CHANGES)).tolist()
    moved_px, moved_similarity = movements(matched, changes)
    return ComparisonResult(
        before=versions[0],
        after=versions[1],
        by_id=matched.by_id,
        counts=dict(zip(CHANGES, number, strict=True)),
        measure=measure_name(settings.similarity),
        moved_px=moved_px,
        moved_similarity=moved_similarity,
        changes=change_table(before, after, matched, changes, names),
        images=counts_by(images, "image", changes.image, changes.kind),
        categories=category_counts(categories, changes),
        annotators=counts_by(annotators, "annotator", changes.annotator, changes.kind),
        renames=rename_table(names, changes),
        thresholds=thresholds,
        paired=paired,
        n_measured_images=n_images,
        settings=settings,
        version=__version__,
        notes=tuple(
            chain(
                headlines,
                _name_notes(images, annotators),
                _empty_image_notes(before, after, images),
                _crowd_notes(changes),
                _agreement_notes(versions, thresholds, n_images, settings),
            )
        ),
        headlines=headlines,
    )


def _version(
    data: Dataset, settings: AgreeSettings, memory: int | None, progress: Progress | None
) -> Version:
    """Return one version, with its agreement where there is some to measure."""
    agreement = None
    if (data.assigned.sum(1) >= 2).any():
        # Intervals are drawn later, for both versions together.
        plain = msgspec.structs.replace(settings, bootstrap=0)
        agreement = agree_with(data, plain, memory=memory, progress=progress)
    return Version(
        n_images=len(data.image_names),
        n_annotators=len(data.annotator_names),
        n_annotations=len(data.annotations),
        attribution=data.attribution,
        sources=data.sources,
        agreement=agreement,
    )


def _name_notes(images: Aligned, annotators: Aligned) -> Iterator[str]:
    """Yield which names one version only has."""
    names = set(images.before_names), set(images.after_names)
    if 2 * len(names[0] & names[1]) < min(map(len, names)):
        advice = join_advice(names)
        if advice:
            yield f"images are compared by file name: {advice}"
        elif not names[0] & names[1] and all(names):
            yield (
                "no image has the same name in both, with any --join: are these versions of one "
                "data set?"
            )
    for status, where in (("removed", "before"), ("added", "after")):
        found = [name for name, each in _named(annotators) if each == status]
        if found:
            shown = ", ".join(map(one_line, found[:_NAMED]))
            more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
            yield f"{count(len(found), 'annotator')} {where} only: {shown}{more}"


def _empty_image_notes(before: Dataset, after: Dataset, images: Aligned) -> Iterator[str]:
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


def _crowd_notes(changes: Changes) -> Iterator[str]:
    """Yield how many crowd flags changed, which takes annotations into agreement or out of it."""
    _, n_set, n_cleared = np.bincount(changes.crowd_flag, minlength=len(CROWD_FLAGS)).tolist()
    if n_set or n_cleared:
        yield (
            f"iscrowd was set on {count(n_set, 'annotation')} and cleared on {n_cleared:,}; "
            "agreement leaves out crowds"
        )


def _named(annotators: Aligned) -> Iterator[tuple[str, str]]:
    names, status = annotators.names, annotators.status.tolist()
    return ((name, STATUS[code]) for name, code in zip(names, status, strict=True))


def _agreement_notes(
    versions: list[Version],
    thresholds: tuple[AgreementChange, ...],
    n_images: tuple[int, int],
    settings: AgreeSettings,
) -> Iterator[str]:
    """Yield what a reader of alpha before and after has to know."""
    alone = []
    for name, version in zip(("before", "after"), versions, strict=True):
        if version.agreement is None:
            alone.append(name)
        else:
            yield from (f"{name}: {note}" for note in version.agreement.notes)
    if alone:
        which = f"{alone[0]}, " if len(alone) == 1 else ""
        yield f"{which}no image has two annotators, so agreement is not compared"
    if thresholds and settings.bootstrap and min(n_images) < FEW_CLUSTERS:
        yield (
            f"{count(min(n_images), 'image')}: intervals come from resampling images, and are "
            + ("too narrow with so few" if min(n_images) > 1 else "not possible with one")
        )
    for part in thresholds:
        if part.pooled.interval_shift:
            what = f"the difference of alpha at {part.threshold_label}"
            yield shift_note(what, part.pooled.interval_shift)
