"""Differences between two versions of a data set, or since a result was saved."""

from collections.abc import Iterator, Mapping
from math import nan
from pathlib import Path
from typing import Any, Unpack

import msgspec
from msgspec.structs import replace

from bboxqa.agreement.resampling import few_images_note, shift_note
from bboxqa.core.arrays import AnyPath, Files, Progress
from bboxqa.core.errors import BboxqaError, ConfigError, DatasetError
from bboxqa.core.pseudonyms import has_pseudonym, hider, pseudonyms_of
from bboxqa.core.text import count, one_line
from bboxqa.core.version import __version__
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.names import join_advice
from bboxqa.formats.dataset.pseudonyms import without_people
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.saved_results import read_saved
from bboxqa.formats.source import is_there
from bboxqa.model.annotations import NO_CHOICES, Choices, Dataset, Source
from bboxqa.model.comparison import AgreementChange, ComparisonResult, SinceRun, Version
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.model.table import Table
from bboxqa.pipelines.agree import agree_with, checked_data
from bboxqa.pipelines.agreement_changes import agreement_changes
from bboxqa.pipelines.read import AS_COMPARED, Data, read_for, settings_of_keywords
from bboxqa.pipelines.threshold_results import measure_name
from bboxqa.pipelines.versions import (
    Aligned,
    changes_of,
    match_versions,
    names_of,
    renamed_categories,
)

# Settings that determine the figures of a result, without those of intervals and display.
_COMPARED = (
    "similarity", "iou_threshold", "matcher", "category_lenient", "missing", "empty_images",
    "all_touched", "sigmas",
)  # fmt: skip
_MOVED = "To see what changed in annotations, keep the former files beside the new ones."
_OF_VERSIONS = replace(AS_COMPARED, min_annotators=1, by_files="any")


def compare(
    before: Dataset | Data,
    after: Dataset | Data,
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
    result = compare_with(first, second, checked, progress=progress)
    if not (result.thresholds or isinstance(before, Dataset) or isinstance(after, Dataset)):
        _check_common_image(first, second, result.images)
    return result


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
) -> ComparisonResult | SinceRun:
    """Read two versions and compare them, with checked settings.

    `before` and `after` are files or folders; the other parameters are those of `compare` and
    `read`. Where `before` is a saved result, `saved` is what `saved_result` returns: then the
    files that were measured are compared, or if these have changed, the saved figures are.

    Raises DatasetError if nothing is compared, as no image is in both versions and not both of them
    have agreement, and ConfigError if saved figures were measured with other settings.
    """
    inputs = [] if saved is None else saved["manifest"]["inputs"]
    scores = [each["score"] for each in inputs if each.get("score") is not None]
    reading = replace(
        _OF_VERSIONS, pseudonyms=pseudonyms, choices=choices, progress=progress,
        digest=digest or saved is not None,
        score=(scores or [AS_COMPARED.score if inputs else 0])[0],
    )  # fmt: skip
    second = read_for(after, settings, reading)
    if saved is None:
        first = read_for(before, settings, reading)
        if pseudonyms is not None:
            # A file that is alone may be named after a person of the other version.
            first, second = (without_people(each, pseudonyms) for each in (first, second))
    else:
        key = {} if pseudonyms is None else pseudonyms_of(pseudonyms, ())
        former, reason = _former(inputs, settings, reading, key)
        if former is None:
            return _since(saved, str(before), second, settings, f"{hider(key)(reason)}. {_MOVED}")
        first = former
    result = compare_with(first, second, settings, progress=progress)
    if not result.thresholds:
        _check_common_image(first, second, result.images)
    return result


def compare_with(
    before: Dataset, after: Dataset, settings: AgreeSettings, *, progress: Progress | None = None
) -> ComparisonResult:
    """Compare two versions, with checked settings; see `compare`."""
    names = names_of(before, after)
    matched = match_versions(before, after, names, settings, progress)
    names = replace(names, categories=renamed_categories(before, after, matched))
    changes = changes_of(before, after, matched, names)
    versions = [_version(data, settings, progress) for data in (before, after)]
    first, second = (version.agreement for version in versions)
    thresholds: tuple[AgreementChange, ...] = ()
    paired, n_images = False, (0, 0)
    if first is not None and second is not None:
        thresholds, paired, n_images = agreement_changes(first, second, names, settings, progress)
    both = (("before", before), ("after", after))
    headlines = tuple(f"{name}: {line}" for name, data in both for line in data.headlines)
    return ComparisonResult(
        before=versions[0],
        after=versions[1],
        unused_ids=matched.unused_ids,
        measure=measure_name(settings.similarity),
        **changes,
        thresholds=thresholds,
        paired=paired,
        n_measured_images=n_images,
        settings=settings,
        version=__version__,
        notes=(
            *headlines,
            *_name_notes(names.images),
            *_crowd_notes(changes["changes"]),
            *_agreement_notes(versions, thresholds, n_images, settings),
        ),
        headlines=headlines,
    )


def _version(data: Dataset, settings: AgreeSettings, progress: Progress | None) -> Version:
    """Return one version, with its agreement if two annotators share an image."""
    agreement = None
    if (data.assigned.sum(1) >= 2).any():
        # Intervals are drawn later, for both versions together.
        plain = replace(settings, bootstrap=0)
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


def _name_notes(images: Aligned) -> Iterator[str]:
    """Yield a note if few images have the same name in both versions."""
    names = set(images.before_names), set(images.after_names)
    if 2 * len(names[0] & names[1]) < min(map(len, names)):
        if advice := join_advice(names):
            yield f"images are compared by file name: {advice}"
        elif not names[0] & names[1] and all(names):
            yield (
                "no image has the same name in both, with any --join: are these versions of one "
                "data set?"
            )


def _check_common_image(before: Dataset, after: Dataset, images: Table) -> None:
    """Raise DatasetError if both versions have images, but none is in both."""
    names = before.image_names, after.image_names
    if "both" in images["status"].tolist() or not all(names):
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


def _crowd_notes(changes: Table) -> Iterator[str]:
    """Yield the number of changed crowd flags, which change the annotations that are measured."""
    n_set, n_cleared = (int((changes["crowd_flag"] == each).sum()) for each in ("set", "cleared"))
    if n_set or n_cleared:
        yield (
            f"iscrowd was set on {count(n_set, 'annotation')} and cleared on {n_cleared:,}; "
            "agreement leaves out crowds"
        )


def _agreement_notes(
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


def saved_result(path: Path) -> dict[str, dict[str, Any]] | None:
    """Return the documents of a result of `agree --out`; None where a path is no such folder."""
    names = ("manifest.json", "summary.json")
    return read_saved(path) if all((path / name).is_file() for name in names) else None


def _since(
    saved: Mapping[str, Any], folder: str, present: Dataset, settings: AgreeSettings, reason: str
) -> SinceRun:
    """Compare saved figures; refuse settings other than those of the saved result."""
    own, then = msgspec.to_builtins(settings), saved["manifest"]["settings"]
    for key in _COMPARED:
        pair = [list(v) if isinstance(v, tuple) else v for v in (own[key], then.get(key, own[key]))]
        if pair[0] != pair[1]:
            now, before = (", ".join(map(str, v)) if isinstance(v, list) else v for v in pair)
            name = "iou" if key == "iou_threshold" else key.replace("_", "-")
            raise ConfigError(
                f"--{name} is {now}, but {before} in the result to compare with; leave it out"
            )
    plain = replace(settings, bootstrap=0)
    result = agree_with(present, plain, with_chance=False)
    figures = tuple(_figures_since(saved["summary"]["thresholds"], result))
    numbers = saved["summary"]["n_annotations"], len(present.annotations)
    return SinceRun(folder, figures, numbers, reason)


def _figures_since(
    saved: list[dict[str, Any]], result: MeasuredAgreement
) -> Iterator[tuple[str, float, float]]:
    """Yield figures with their names and their saved and present values."""
    for old, new in zip(saved, result.thresholds, strict=True):
        pairs = {
            "alpha, pooled": (old["alpha"], new.alpha),
            "alpha, mean over images": (old["mean_image_alpha"], new.mean_image_alpha),
            "existence, F1": (old["existence"]["f1"], new.existence.f1),
        }
        for name, (was, now) in pairs.items():
            yield f"{name}, {new.threshold_label}", nan if was is None else was, now


def _former(
    saved: list[dict[str, Any]], settings: AgreeSettings, reading: Reading, key: Mapping[str, str]
) -> tuple[Dataset | None, str]:
    """Return the data that were measured, or None and why they cannot be read again."""
    inputs = msgspec.convert(saved, list[Source])
    inputs = [replace(each, name=_own_file(each.name, key)) for each in inputs]
    sources = [each for each in inputs if each.role == "annotations"]
    if any(each.role == "predictions" for each in inputs):
        return None, "the result has predictions of a model"
    missing = next((each for each in sources if not is_there(Path(each.name))), None)
    if missing is not None and not key and has_pseudonym(missing.name):
        found = f"{one_line(missing.name)}, which was measured, is not found by this name"
        return None, f"{found}: if it is a pseudonym, --pseudonyms KEY finds the file"
    if missing is not None:
        return None, f"{one_line(missing.name)}, which was measured, no longer exists"
    files: Files = [each.name for each in sources]
    if all(each.annotator is not None for each in sources):
        of_people: dict[str, list[AnyPath]] = {}
        for each in sources:
            of_people.setdefault(str(each.annotator), []).append(each.name)
        files = of_people
    try:
        data = read_for(files, settings, reading)
    except BboxqaError:
        return None, "the files that were measured can no longer be read"
    now = {each.blake2b for each in data.sources}
    changed = [each.name for each in sources if each.blake2b not in now]
    if changed or len(sources) != len(data.sources):
        name = one_line((changed or [sources[0].name])[0])
        return None, f"{name} has changed since it was measured"
    return data, ""


def _own_file(name: str, key: Mapping[str, str]) -> str:
    """Return the name of a measured file, which a result with pseudonyms calls by another."""
    people = {pseudonym: person for person, pseudonym in key.items()}
    own: str = hider(people)(name)
    return own if not is_there(Path(name)) and is_there(Path(own)) else name
