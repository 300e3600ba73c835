"""Differences between two versions of a data set."""

from functools import partial
from pathlib import Path
from typing import Unpack

import msgspec
import numpy as np

from bboxqa.core.types import AnyPath, Progress
from bboxqa.core.version import __version__
from bboxqa.formats.dataset.people.pseudonymous import without_later_people
from bboxqa.model.annotations import Dataset
from bboxqa.model.comparison import CHANGES, AgreementChange, ComparisonResult, Version
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.pipelines.agree import (
    agree_with,
    check_before_measuring,
    check_dataset,
    settings_of_keywords,
)
from bboxqa.pipelines.read import read_for
from bboxqa.pipelines.results.threshold_results import measure_name
from bboxqa.pipelines.versions.agreement import agreement_changes
from bboxqa.pipelines.versions.aligned import (
    align_annotators,
    align_categories,
    align_images,
)
from bboxqa.pipelines.versions.matched import MatchedVersions, match_versions
from bboxqa.pipelines.versions.notes import (
    agreement_notes,
    check_common_image,
    crowd_notes,
    empty_image_notes,
    name_notes,
)
from bboxqa.pipelines.versions.tables import (
    Names,
    category_counts,
    change_table,
    changes_of,
    counts_by,
    movements,
    rename_table,
)


def compare(
    before: Dataset,
    after: Dataset,
    *,
    progress: Progress | None = None,
    **settings: Unpack[AgreeKeywords],
) -> ComparisonResult:
    """Compare two versions of a data set, or two data sets made by different guidelines.

    Two annotations are the same if they have the same annotator, image and id, and overlap or are
    near, unless ids may be positions. Other annotations are matched by similarity. Agreement is
    compared in the images that are measured in both versions.

    Parameters
    ----------
    before, after : Dataset
        What `read_coco` returns; with its ``min_annotators=1`` also without two annotators.
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
    return compare_with(before, after, checked, progress=progress)


def compare_files(
    before: AnyPath,
    after: AnyPath,
    settings: AgreeSettings,
    *,
    pseudonyms: Path | None = None,
    digest: bool = True,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Read two versions and compare them, with checked settings.

    `before` and `after` are files or folders; the other parameters are those of `compare` and
    `read_coco`. Raises DatasetError if nothing is compared, as no image is in both versions and not
    both of them have agreement.
    """
    read = partial(
        read_for, settings=settings, score=0, min_annotators=1, pseudonyms=pseudonyms,
        digest=digest, progress=progress,
    )  # fmt: skip
    first, second = read(before), read(after)
    # What somebody drew on in one version, annotators were shown in the other as well.
    if not first.unshown_images.isdisjoint(second.shown_images):
        first = read(before, shown=second.shown_images)
    if not second.unshown_images.isdisjoint(first.shown_images):
        second = read(after, shown=first.shown_images)
    if pseudonyms is not None:
        # A file that is alone may be named after a person of the other version.
        first = without_later_people(first, pseudonyms, Path(before))
        second = without_later_people(second, pseudonyms, Path(after))
    result = compare_with(first, second, settings, progress=progress)
    if not result.thresholds:
        check_common_image(first, second, result.images)
    return result


def compare_with(
    before: Dataset, after: Dataset, settings: AgreeSettings, *, progress: Progress | None = None
) -> ComparisonResult:
    """Compare two versions, with checked settings; see `compare`."""
    matched, names = _matched(before, after, settings, progress)
    changes = changes_of(before, after, matched, names)
    versions = [_version(data, settings, progress) for data in (before, after)]
    first, second = (version.agreement for version in versions)
    thresholds: tuple[AgreementChange, ...] = ()
    paired, n_images = False, (0, 0)
    if first is not None and second is not None:
        thresholds, paired, n_images = agreement_changes(first, second, names, settings, progress)
    headlines = _headlines(before, after)
    number = np.bincount(changes.kind, minlength=len(CHANGES)).tolist()
    moved_px, moved_similarity = movements(matched, changes)
    return ComparisonResult(
        before=versions[0],
        after=versions[1],
        unused_ids=matched.unused_ids,
        counts=dict(zip(CHANGES, number, strict=True)),
        measure=measure_name(settings.similarity),
        moved_px=moved_px,
        moved_similarity=moved_similarity,
        changes=change_table(before, after, matched, changes, names),
        images=counts_by(names.images, "image", changes.image, changes.kind),
        categories=category_counts(names.categories, changes),
        annotators=counts_by(names.annotators, "annotator", changes.annotator, changes.kind),
        renames=rename_table(names, changes),
        thresholds=thresholds,
        paired=paired,
        n_measured_images=n_images,
        settings=settings,
        version=__version__,
        notes=(
            *headlines,
            *name_notes(names.images, names.annotators),
            *empty_image_notes(before, after, names.images),
            *crowd_notes(changes),
            *agreement_notes(versions, thresholds, n_images, settings),
        ),
        headlines=headlines,
    )


def n_matched(before: Dataset, after: Dataset, settings: AgreeSettings) -> int:
    """Return the number of annotations that both versions have, with checked settings."""
    return len(_matched(before, after, settings, None)[0])


def _headlines(before: Dataset, after: Dataset) -> tuple[str, ...]:
    """Return the headlines of both versions, each prefixed with its version."""
    return tuple(
        f"{name}: {line}"
        for name, data in (("before", before), ("after", after))
        for line in data.headlines
    )


def _matched(
    before: Dataset, after: Dataset, settings: AgreeSettings, progress: Progress | None
) -> tuple[MatchedVersions, Names]:
    """Return the annotations that both versions have, and the aligned names of both."""
    annotators = align_annotators(before, after)
    images = align_images(before, after, annotators)
    by_name = align_categories(before, after)
    matched = match_versions(
        before, after, images, annotators, by_name, settings, progress=progress
    )
    same = (
        before.annotations.category[matched.before],
        after.annotations.category[matched.after],
    )
    return matched, Names(images, annotators, align_categories(before, after, same))


def _version(data: Dataset, settings: AgreeSettings, progress: Progress | None) -> Version:
    """Return one version, with its agreement if two annotators share an image."""
    agreement = None
    if (data.assigned.sum(1) >= 2).any():
        # Intervals are drawn later, for both versions together.
        plain = msgspec.structs.replace(settings, bootstrap=0)
        agreement = agree_with(data, plain, with_chance=False, progress=progress)
    return Version(
        n_images=len(data.image_names),
        n_annotators=len(data.annotator_names),
        n_annotations=len(data.annotations),
        attribution=data.attribution,
        sources=data.sources,
        reading=data.reading,
        agreement=agreement,
    )
