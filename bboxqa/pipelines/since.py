"""Changes since a result was saved, such as those of a review."""

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.errors import BboxqaError, ConfigError
from bboxqa.core.pseudonyms import has_pseudonym, pseudonyms_of, spellings, without_names
from bboxqa.core.text import one_line
from bboxqa.core.types import AnyPath, Files, Progress
from bboxqa.formats.dataset.reader import Reading
from bboxqa.formats.saved_results import read_saved
from bboxqa.formats.source import is_there
from bboxqa.model.annotations import Dataset, Source
from bboxqa.model.comparison import ComparisonResult, SinceRun
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.compare import compare_with
from bboxqa.pipelines.read import AS_COMPARED, read_for
from bboxqa.pipelines.threshold_results import measure_name
from bboxqa.pipelines.versions.matched import COUNTED, count_up, given_ids

# Settings that determine the figures of a result, without those of intervals and display.
_COMPARED = (
    "similarity", "iou_threshold", "matcher", "category_lenient", "missing", "empty_images",
    "all_touched", "sigmas",
)  # fmt: skip
_MOVED = "To see whether boxes moved, keep the former files beside the new ones."
_Keys = dict[tuple[str, str, str], str]


def is_saved_result(path: Path) -> bool:
    """Return whether a path is the folder of a result of `agree --out`."""
    return (path / "manifest.json").is_file() and (path / "summary.json").is_file()


def saved_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a saved result, as those of a file, without those that have no value.

    Raises DatasetError if the folder holds no result.
    """
    settings = read_saved(folder)["manifest"]["settings"]
    return {key: value for key, value in settings.items() if value is not None}


def saved_reading(folder: Path) -> dict[str, str]:
    """Return what was said about the files of a saved result, by option."""
    found: dict[str, str] = read_saved(folder)["manifest"].get("reading", {})
    return found


def compare_result(
    folder: Path,
    after: AnyPath,
    settings: AgreeSettings,
    *,
    pseudonyms: Path | None = None,
    progress: Progress | None = None,
) -> ComparisonResult | SinceRun:
    """Return the changes since a result was saved in the folder of `agree --out`.

    If the measured files are still there, both versions are compared as by `compare`. Otherwise
    the saved figures are, and annotations by their ids, unless these may be positions.

    Raises
    ------
    DatasetError
        If the folder holds no result.
    ConfigError
        If saved figures are compared that were measured with other settings.
    """
    saved = read_saved(folder)
    reading = replace(
        AS_COMPARED, min_annotators=1, by_files="any", pseudonyms=pseudonyms, progress=progress
    )
    scores = (each.get("score") for each in saved["manifest"]["inputs"])
    if (score := next((each for each in scores if each is not None), None)) is not None:
        reading = replace(reading, score=score)
    present = read_for(after, settings, reading)
    key = {} if pseudonyms is None else pseudonyms_of(pseudonyms, ())
    before, reason = _former(saved["manifest"], settings, reading, key)
    if before is not None:
        return compare_with(before, present, settings, progress=progress)
    reason = without_names(reason, spellings(key))
    _check_settings(saved["manifest"]["settings"], settings)
    plain = msgspec.structs.replace(settings, bootstrap=0)
    result = agree_with(present, plain, with_chance=False, progress=progress)
    figures = _figures(saved["summary"]["thresholds"], result)
    numbers = saved["summary"]["n_annotations"], len(present.annotations)
    units = _saved_units(folder)
    unused = _unused_ids(units, numbers[0], present)
    counts = {} if unused else _by_id(units, _units(result.thresholds[0]))
    reason = f"{reason}; {unused}" if unused else f"{reason}. {_MOVED}"
    return SinceRun(str(folder), figures, counts, numbers, reason)


def _check_settings(saved: Mapping[str, Any], settings: AgreeSettings) -> None:
    """Refuse settings other than those of the saved result, with the first that differs."""
    own = msgspec.json.decode(msgspec.json.encode(settings))
    for key in _COMPARED:
        if key in saved and own[key] != saved[key]:
            name = "iou" if key == "iou_threshold" else key.replace("_", "-")
            raise ConfigError(
                f"--{name} is {_value(own[key])}, but {_value(saved[key])} in the result to "
                "compare with; leave it out"
            )


def _value(setting: object) -> str:
    return ", ".join(map(str, setting)) if isinstance(setting, list) else str(setting)


def _figures(
    saved: list[dict[str, Any]], result: MeasuredAgreement
) -> tuple[tuple[str, float | None, float], ...]:
    """Return figures with their names and their saved and present values."""
    found = []
    for old, new in zip(saved, result.thresholds, strict=True):
        label = f"{measure_name(result.settings.similarity)} {new.iou_threshold:g}"
        found.append((f"alpha, pooled, {label}", old["alpha"], new.alpha))
        found.append(
            (f"alpha, mean over images, {label}", old["mean_image_alpha"], new.mean_image_alpha)
        )
        found.append((f"existence, F1, {label}", old["existence"]["f1"], new.existence.f1))
    return tuple(found)


def _former(
    manifest: Mapping[str, Any],
    settings: AgreeSettings,
    reading: Reading,
    key: Mapping[str, str],
) -> tuple[Dataset | None, str]:
    """Return the data that were measured, or None and why they cannot be read again."""
    inputs = msgspec.convert(manifest["inputs"], list[Source])
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
    for old, new in zip(sources, data.sources, strict=True):
        if old.blake2b != new.blake2b:
            return None, f"{one_line(old.name)} has changed since it was measured"
    return data, ""


def _own_file(name: str, key: Mapping[str, str]) -> str:
    """Return the name of a measured file, which a result with pseudonyms calls by another."""
    people = {pseudonym: person for person, pseudonym in key.items()}
    own: str = without_names(name, people)
    return own if not is_there(Path(name)) and is_there(Path(own)) else name


def _unused_ids(saved: _Keys, n_saved: int, present: Dataset) -> str:
    """Return why ids do not tell annotations apart; empty if they do."""
    ids = given_ids(present)
    if ids is None:
        return "annotations have no ids of their own, only numbers by position"
    numbers = [number for _, _, number in saved]
    are_counted = all(each.isdecimal() and int(each) <= n_saved for each in numbers)
    is_counted = count_up(ids, present.annotations.annotator)
    return COUNTED if are_counted and is_counted else ""


def _saved_units(folder: Path) -> _Keys:
    """Return the category of each annotation of a saved result, by image, annotator and id."""
    with (folder / "units.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        first = None
        found: _Keys = {}
        for row in rows:
            first = first or row["iou_threshold"]
            if row["iou_threshold"] == first and row["annotation"]:
                # An apostrophe keeps spreadsheets from running a name as a formula.
                image, who, number, category = (
                    row[key].removeprefix("'")
                    for key in ("image", "annotator", "annotation", "category")
                )
                found[image, who, number] = category
    return found


def _units(result: ThresholdResult) -> _Keys:
    """Return the category of each annotation of a result, by image, annotator and id."""
    units = result.units
    ids = np.ma.asarray(units["annotation"])
    columns = (units[key].tolist() for key in ("image", "annotator", "category"))
    rows = zip(*columns, ids.tolist(), strict=True)
    return {
        (_shown(image), _shown(who), _shown(str(number))): _shown(category)
        for image, who, category, number in rows
        if number not in (None, "")
    }


def _shown(name: str) -> str:
    return one_line(name).removeprefix("'")


def _by_id(before: _Keys, after: _Keys) -> dict[str, int]:
    both = before.keys() & after.keys()
    pairs = Counter((before[key], after[key]) for key in both)
    old, new = {*before.values()}, {*after.values()}
    totals = Counter(before[key] for key in both)
    # An annotation does not count as renamed if its whole category was renamed.
    same = {
        (left, right)
        for (left, right), number in pairs.items()
        if left == right or (left not in new and right not in old and 2 * number > totals[left])
    }
    renamed = sum(number for pair, number in pairs.items() if pair not in same)
    return {
        "unchanged or moved": len(both) - renamed,
        "renamed": renamed,
        "removed": len(before.keys() - after.keys()),
        "added": len(after.keys() - before.keys()),
    }
