"""Differences between two versions of a data set, or since a result was saved."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import OK, Resampled, SumTable
from bboxqa.agreement.nominal import alpha_per_category, image_estimators, pooled_alpha, value_sums
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.objects import (
    ONE_CATEGORY,
    ThresholdSums,
    has_meaning,
    mean_of,
    values_without_meaning,
)
from bboxqa.agreement.resampling import (
    FEW_CLUSTERS,
    covering_intervals,
    few_images_note,
    replicates_of_all,
)
from bboxqa.core.arrays import (
    AnyPath,
    Files,
    FloatArray,
    IndexArray,
    IntArray,
    Progress,
    distinct,
    listed_by,
)
from bboxqa.core.errors import BboxqaError, ConfigError, DatasetError
from bboxqa.core.machine import one_blas_thread
from bboxqa.core.text import one_line
from bboxqa.core.version import __version__
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.names import join_advice
from bboxqa.formats.records import ReadSettings
from bboxqa.model.annotations import NO_CHOICES, Choices, Dataset, Source
from bboxqa.model.comparison import AgreementChange, Change, ComparisonResult, Version
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import Coincidences
from bboxqa.pipelines.agree import AgreementResult, agree_with, checked_data, of_groups
from bboxqa.pipelines.read import AS_COMPARED, Data, read_for, settings_of_keywords
from bboxqa.pipelines.threshold_results import measure_name
from bboxqa.pipelines.versions import (
    Names,
    changes_of,
    match_versions,
    names_of,
    renamed_categories,
)
from bboxqa.report.numbers import json_value

# Settings that determine the figures of a result, without those of intervals and display.
_COMPARED = (
    "similarity", "iou_threshold", "matcher", "category_lenient", "missing", "empty_images",
    "all_touched", "sigmas",
)  # fmt: skip
_MOVED = (
    "the measured files are gone or have changed, or predictions were measured with them; to see "
    "what changed in annotations, keep the former files beside the new ones"
)
_OF_VERSIONS = replace(AS_COMPARED, min_annotators=1, by_files="any")


def compare(
    before: Dataset | Data,
    after: Dataset | Data,
    *,
    progress: Progress | None = None,
    **settings: Unpack[AgreeKeywords],
) -> ComparisonResult:
    """Compare two versions of a data set, or two data sets made by different guidelines.

    Two annotations are the same if they have the same annotator, image and id, and overlap, unless
    ids may be positions. Other annotations are matched by similarity. Agreement is
    compared in the images that are measured in both versions.

    Parameters
    ----------
    before, after : Dataset, or what `read` takes
        What `read` returns, or what it reads; with its ``min_annotators=1`` also without two
        annotators.
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
        If `before` or `after` is neither a `Dataset` nor paths, a document or a table.

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> data = bboxqa.read(example_file("fruits"))
    >>> result = bboxqa.compare(data, data)
    >>> result.counts["unchanged"], result.thresholds[0].pooled.difference
    (9, 0.0)
    """
    checked = settings_of_keywords(settings)
    reading = replace(_OF_VERSIONS, score=0, choices=given(), progress=progress)
    first, second = (
        checked_data(each, checked, "data")
        if isinstance(each, Dataset)
        else read_for(each, checked, reading)
        for each in (before, after)
    )
    return compare_with(first, second, checked, progress=progress)


def compare_files(
    before: AnyPath,
    after: AnyPath,
    settings: AgreeSettings,
    *,
    saved: Mapping[str, Any] | None = None,
    pseudonyms: Path | None = None,
    digest: bool = True,
    choices: Choices = NO_CHOICES,
    progress: Progress | None = None,
) -> ComparisonResult | dict[str, Any]:
    """Read two versions and compare them, with checked settings.

    Where `before` is a saved result, `saved` is what `read_saved` returns: then the files that were
    measured are compared, or if these have changed, the saved figures are.
    """
    inputs = [] if saved is None else saved["manifest"]["inputs"]
    scores = [each["score"] for each in inputs if each.get("score") is not None]
    reading = replace(
        _OF_VERSIONS, pseudonyms=pseudonyms, choices=choices, progress=progress,
        digest=digest or saved is not None,
        score=(scores or [AS_COMPARED.score if inputs else 0])[0],
    )  # fmt: skip
    second = read_for(after, settings, reading)
    if saved is not None:
        if (first := _former(inputs, settings, reading)) is None:
            return _since(saved, str(before), second, settings)
    else:
        first = read_for(before, settings, reading)
        if pseudonyms is not None:
            # A file may be named after a person of the other version, who was not known then.
            second = read_for(after, settings, reading)
    return compare_with(first, second, settings, progress=progress)


def compare_with(
    before: Dataset, after: Dataset, settings: AgreeSettings, *, progress: Progress | None = None
) -> ComparisonResult:
    """Compare two versions, with checked settings; see `compare`."""
    names = names_of(before, after)
    images = {*before.image_names}, {*after.image_names}
    n_common = len(images[0] & images[1])
    join = join_advice(images) if 2 * n_common < min(map(len, images)) else ""
    if not n_common and all(images):
        one, other = (one_line(each.image_names[0]) for each in (before, after))
        raise DatasetError(
            [f"no image is in both versions: the first is {one!r} before and {other!r} after"],
            f"Images are compared by file name: {join or 'name two versions of one data set'}.",
        )
    matched = match_versions(before, after, names, settings, progress)
    names = {**names, "category": renamed_categories(before, after, matched)}
    # Intervals are drawn later, for both versions together.
    plain = replace(settings, bootstrap=0)
    measured = [
        agree_with(data, plain, with_chance=False, progress=progress)
        if (data.assigned.sum(1) >= 2).any() else None
        for data in (before, after)
    ]  # fmt: skip
    versions = [
        Version(
            n_images=len(data.image_names), n_annotators=len(data.annotator_names),
            n_annotations=len(data.annotations), attribution=data.attribution,
            sources=data.sources, reading=data.reading, agreement=agreement,
        )
        for data, agreement in zip((before, after), measured, strict=True)
    ]  # fmt: skip
    results = [each for each in measured if each is not None]
    thresholds, n_images = tuple[AgreementChange, ...](), 0
    if len(results) == 2:
        thresholds, n_images = _agreement_changes(results, names, settings, progress)
    both = (("before", before), ("after", after))
    headlines = tuple(f"{name}: {line}" for name, data in both for line in data.headlines)
    notes = [
        *headlines,
        *[f"images are compared by file name: {join}"] * bool(join),
        *_agreement_notes(versions, thresholds, n_images, settings),
    ]
    return ComparisonResult(
        before=versions[0], after=versions[1], unused_ids=matched.unused_ids,
        measure=measure_name(settings.similarity), **changes_of(before, after, matched, names),
        thresholds=thresholds, paired=n_images > 0, n_measured_images=(n_images, n_images),
        settings=settings, version=__version__, notes=tuple(notes), headlines=headlines,
    )  # fmt: skip


def _agreement_notes(
    versions: list[Version],
    thresholds: tuple[AgreementChange, ...],
    n_images: int,
    settings: AgreeSettings,
) -> Iterator[str]:
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
    elif not n_images:
        yield "no image has two annotators in both versions, so agreement is not compared"
    n_people = [version.n_annotators for version in versions]
    if thresholds and n_people[0] != n_people[1]:
        yield (
            f"alpha is that of {n_people[0]} and of {n_people[1]} annotators, and may rise with "
            "their number alone: compare F1"
        )
    if thresholds and settings.bootstrap and n_images < FEW_CLUSTERS:
        yield few_images_note(n_images)


class _Side(NamedTuple):
    """One version at one threshold, numbered by the images and categories of both."""

    counted: Coincidences
    alpha: FloatArray
    """(I,) float64. Alpha of each image that is drawn, NaN where it has none."""
    objects: FloatArray
    """(2, I) float64. Pairs of annotators that match in each image, and that could match."""
    status: str
    """Why the pooled alpha is undefined or has no meaning; else "ok"."""
    figures: FloatArray
    n_images: IndexArray
    """(3 + K,) each. Pooled alpha, its mean over images, F1, and alpha of each of K values, NaN
    where it has no meaning; and of how many images each is made."""


def _agreement_changes(
    results: Sequence[AgreementResult],
    names: Names,
    settings: AgreeSettings,
    progress: Progress | None,
) -> tuple[tuple[AgreementChange, ...], int]:
    """Return the change at each threshold in the images that both measure, and their number.

    Images of both together are drawn with replacement (Efron and Tibshirani 1993, ch. 8,
    doi:10.1201/9780429246593).
    """
    places = zip(names["image"].places, names["category"].places, strict=True)
    versions, images = [*zip(results, places, strict=True)], []
    for result, (image, _) in versions:
        table = result.thresholds[0].images
        counts = (table["n_annotations"] > 0) | (settings.empty_images != "skip")
        images.append(image[table.codes("image")[counts]])
    drawn = np.intersect1d(images[0], images[1])
    if not len(drawn):
        return (), 0
    sides = [
        [
            _side(part, sums, settings.missing, place, names, drawn)
            for part, sums in zip(result.thresholds, result.sums, strict=True)
        ]
        for result, place in versions
    ]
    values = distinct(np.concatenate([each.counted.value for side in sides for each in side]))
    replicates: list[list[FloatArray]] = []
    if settings.bootstrap and len(drawn) > 1:
        steps = None if progress is None else partial(progress, "resampling")
        for side in sides:
            counted, alphas = [each.counted for each in side], [each.alpha for each in side]
            estimators = image_estimators(counted, alphas, drawn, values)
            for index, each in enumerate(side):
                pairs = SumTable(partial(each.objects.take, drawn, axis=1))
                everyone = np.arange(len(drawn))
                estimators[index, "f1"] = Resampled(pairs, lambda of: ratio(*of), everyone)
            with one_blas_thread():
                again = replicates_of_all(estimators, settings.bootstrap, settings.seed, steps)
            kinds = ("pooled", "mean", "f1", "categories")
            replicates.append(
                [np.vstack([again[index, kind] for kind in kinds]) for index in range(len(side))]
            )
    changes = [
        _change(part, pair, [each[index] for each in replicates], values, names)
        for index, (part, *pair) in enumerate(zip(results[1].thresholds, *sides, strict=True))
    ]
    return tuple(changes), len(drawn)


def _side(
    part: ThresholdResult,
    sums: ThresholdSums,
    missing: str,
    places: tuple[IndexArray, IndexArray],
    names: Names,
    drawn: IndexArray,
) -> _Side:
    """Return a version in the drawn images; `places` are its images and categories among both."""
    (image, category), n_images = places, len(names["image"])
    inside = np.isin(image, drawn)
    # A missing annotation is the last value.
    values = np.append(category, len(names["category"]))
    counted = of_groups(sums.coincidences, np.where(inside, image, -1), n_images, values)
    alpha, objects = np.full(n_images, nan), np.zeros((2, n_images))
    if not isnan(part.mean_image_alpha):
        alpha[image[inside]] = sums.image_alpha[inside]
    objects[:, image[inside]] = sums.objects.alone[inside], sums.objects.possible[inside]
    pooled, (marginal, _) = pooled_alpha(counted, one_group=len(drawn) == 1), value_sums(counted)
    status = pooled.status if isnan(pooled.value) else OK
    per_category, _, in_images = alpha_per_category(counted)
    if missing == "category":
        status = ONE_CATEGORY if status == OK and not has_meaning(marginal[:-1]) else status
        per_category[values_without_meaning(marginal)] = nan
    f1 = ratio(*objects.sum(1)[:, None])[0]
    figures = [pooled.value if status == OK else nan, mean_of(alpha), f1, *per_category]
    made_of = [len(np.unique(counted.group)), (~np.isnan(alpha)).sum(), (objects[1] > 0).sum()]
    n_made = np.append(np.array(made_of, np.int64), in_images)
    return _Side(counted, alpha, objects, status, np.array(figures), n_made)


def _change(
    part: ThresholdResult,
    sides: Sequence[_Side],
    replicates: Sequence[FloatArray],
    values: IntArray,
    names: Names,
) -> AgreementChange:
    """Return the change at one threshold; `values` are the categories that occur."""
    rows = np.append(np.arange(3), 3 + values)
    (old, n_old), (new, n_new) = ((side.figures[rows], side.n_images[rows]) for side in sides)
    figures = np.stack([old, new, new - old])
    ends = np.full((*figures.shape, 2), nan)
    if replicates:
        first, last = replicates
        of_all = (
            (first, n_old, 1.0),
            (last, n_new, 1.0),
            (last - first, np.minimum(n_old, n_new), 2.0),
        )
        for place, (each, fewest, highest) in enumerate(of_all):
            ends[place] = covering_intervals(figures[place], each, fewest, highest)
        ends[np.isnan(figures)] = nan
    every = zip(("before", "after"), sides, strict=True)
    why = "; ".join(f"{name}: {side.status}" for name, side in every if side.status != OK)

    def change(row: int, status: str = OK) -> Change:
        first, last, both = ((low, high) for low, high in ends[:, row].tolist())
        old, new, more = figures[:, row].tolist()
        return Change(old, new, more, first, last, both, status)

    shown = np.flatnonzero(values < len(names["category"]))
    old, new, difference = figures[:, 3 + shown]
    low, high = ends[2, 3 + shown].T
    before, after = (side.alpha for side in sides)
    images = np.flatnonzero(~(np.isnan(before) & np.isnan(after)))
    category = Categorical(values[shown], names["category"].names)
    image = Categorical(images.astype(np.int32), names["image"].names)
    return AgreementChange(
        measure=part.measure, iou_threshold=part.iou_threshold,
        pooled=change(0, why or OK), mean=change(1), f1=change(2),
        categories=Table({
            "category": category, "alpha_before": old, "alpha_after": new,
            "difference": difference, "low": low, "high": high,
        }),
        images=Table({
            "image": image, "alpha_before": before[images], "alpha_after": after[images],
            "difference": (after - before)[images],
        }),
    )  # fmt: skip


def _former(
    saved: Sequence[Mapping[str, Any]], settings: AgreeSettings, reading: ReadSettings
) -> Dataset | None:
    """Return the data that were measured; None if the files are not as they were."""
    sources = [each for each in msgspec.convert(saved, list[Source]) if each.role == "annotations"]
    files: Files = [each.name for each in sources]
    if all(each.annotator is not None for each in sources):
        files = listed_by((str(each.annotator), each.name) for each in sources)
    try:
        data = read_for(files, settings, reading)
    except BboxqaError:
        return None
    digests = [sorted(str(each.blake2b) for each in of) for of in (sources, data.sources)]
    has_model = any(each["role"] == "predictions" for each in saved)
    return None if has_model or digests[0] != digests[1] else data


def _since(
    saved: Mapping[str, Any], folder: str, present: Dataset, settings: AgreeSettings
) -> dict[str, Any]:
    """Compare saved figures; refuse settings other than those of the saved result."""
    then = saved["manifest"]["settings"]
    for key, value in msgspec.json.decode(msgspec.json.encode(settings)).items():
        if key in _COMPARED and value != then.get(key, value):
            one, other = (f"{each}".strip("[]") for each in (value, then[key]))
            problem = f"is {one}, but {other} in the result to compare with; leave it out"
            raise ConfigError(problem, key)
    result = agree_with(present, replace(settings, bootstrap=0), with_chance=False)
    figures = []
    for old, part in zip(saved["summary"]["thresholds"], result.thresholds, strict=True):
        for name, was, value in (
            ("alpha, pooled", old["alpha"], part.alpha),
            ("alpha, mean over images", old["mean_image_alpha"], part.mean_image_alpha),
            ("existence, F1", old["existence"]["f1"], part.existence.f1),
        ):
            change = None if was is None else json_value(value - was)
            figure = {"before": was, "now": json_value(value), "difference": change}
            figures.append({"name": f"{name}, {part.threshold_label}", **figure})
    n_before, n_now = saved["summary"]["n_annotations"], len(present.annotations)
    return {
        "folder": folder, "figures": figures, "annotations_by_id": None,
        "n_annotations": {"before": n_before, "now": n_now}, "reason": _MOVED,
    }  # fmt: skip
