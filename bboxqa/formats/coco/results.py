"""Lists of COCO results, whose images and categories are in another file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.choices import choices
from bboxqa.formats.coco.reader import check_text, decoded, record_problems
from bboxqa.formats.columns import Columns, Kind
from bboxqa.formats.document import RawDocument
from bboxqa.formats.measured import author_problems, measured, taken
from bboxqa.formats.raw_values import mask_of
from bboxqa.formats.records import AnnotationFile, Category, Image, ReadSettings, whole_number
from bboxqa.formats.scanner import read_bytes
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import FilePlaces


def results_file(
    document: RawDocument, path: Path, options: ReadSettings, source: Source
) -> AnnotationFile:
    """Return the results of at least the lowest score.

    Images and categories are named by their ids, until those of another file replace them. Results
    without a box have that of their mask, or, where key points are read, that of these. Raises
    DatasetError if the list is empty, if a score is not between 0 and 1, or if none reaches the
    lowest score.
    """
    check_text(document, path)
    if not isinstance(document.top, list):
        raise DatasetError([f"{path}: expected a list of COCO results"], files=[path])
    lacks_boxes = np.isin(document.annotations.kind["bbox"], (Kind.MISSING, Kind.NULL)).any()
    if lacks_boxes and not options.outlines:
        document = read_bytes(document.text, document.name, replace(options, outlines=True))
    columns = _with_boxes_of_masks(document.annotations)
    document.annotations = columns
    found = measured(columns, options, said=choices().rotated)
    score = _scores(columns)
    problems = [*record_problems(document, found, options)]
    problems += [
        f"{document.name}: results[{row}]: score is missing, or no number; expected one from 0 to 1"
        for row in np.flatnonzero(np.isnan(score)).tolist()
    ]
    problems += [f"{document.name}: {problem}" for problem in author_problems(columns)]
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    _check_scores(path, score, options.score)
    kept = np.flatnonzero(score[found.rows] >= options.score)
    rows = found.rows[kept]
    kept_columns = replace(taken(found.columns, kept), id=rows + 1, text_ids=None)
    images = [Image(each, f"image {each}") for each in _ids(document, "image_id")]
    categories = [Category(each, f"category {each}") for each in _ids(document, "category_id")]
    return AnnotationFile(
        replace(source, score=options.score),
        images,
        categories,
        kept_columns,
        found.notes,
        records="results",
        n_below=len(columns) - len(rows),
        own_ids=_places(path.name, rows),
        # Images and categories follow from another file.
        lists={"annotations": _annotations(decoded(document))} if options.records else None,
    )


def _with_boxes_of_masks(columns: Columns) -> Columns:
    """Return columns with valid ids, and with the bounds of masks as boxes where there are none."""
    bbox = columns.bbox.copy()
    rles = columns.rles
    sound = (rles.problem == 0) & (rles.total == rles.size.prod(axis=1))
    missing = sound & np.isin(columns.kind["bbox"][rles.row], (Kind.MISSING, Kind.NULL))
    bounds = rles.bounds[missing]
    bbox[rles.row[missing]] = np.concatenate([bounds[:, :2], bounds[:, 2:] - bounds[:, :2]], axis=1)
    # Each result is found by its place, so that an id of its own has no use.
    valid = {**columns.valid, "id": np.ones(len(columns), np.bool_)}
    return replace(columns, bbox=bbox, valid=valid)


def _scores(columns: Columns) -> FloatArray:
    score = np.full(len(columns), np.nan)
    score[columns.scores.row] = columns.scores.value
    return score


def _check_scores(path: Path, score: FloatArray, least: float) -> None:
    if not len(score):
        raise DatasetError([f"{path}: the list of results is empty; expected results of a model"])
    lowest, highest = float(score.min()), float(score.max())
    if not 0 <= lowest <= highest <= 1:
        problem = f"scores are from {lowest:g} to {highest:g}; expected 0 to 1"
        raise DatasetError([f"{path}: {problem}"], "Convert them: percentages, divided by 100.")
    if highest < least:
        problem = f"none of {count(len(score), 'result')} has a score of {least:g} or more"
        raise DatasetError(
            [f"{path}: {problem}; the highest is {highest:g}"],
            "Choose a lower --score (in Python: score).",
        )


def _ids(document: RawDocument, key: str) -> list[int | str]:
    """Return the ids under a key, also of results that are left out, in order."""
    numbers, first = np.unique(getattr(document.annotations, key), return_index=True)
    if (document.annotations.whole[key][first]).all():
        return list(map(int, numbers.tolist()))
    found: set[int | str] = set()
    for row in first.tolist():
        value = document.record(row)[key]
        number = whole_number(value)
        found.add(value if number is None else number)
    return sorted(found, key=lambda each: (isinstance(each, str), each))


def _places(file: str, rows: IndexArray) -> FilePlaces:
    """Return the places of results in their file."""
    width = len(str(int(rows.max(initial=0))))
    at = np.char.add("/", rows.astype(f"U{width}"))
    return FilePlaces((file,), np.zeros(len(rows), np.int32), at)


def _annotations(results: Sequence[Any]) -> list[dict[str, Any]]:
    """Return results with numbers, and with the boxes of their masks."""
    annotations = []
    for number, result in enumerate(results, start=1):
        box = result.get("bbox") or (None if result.get("keypoints") else _mask_box(result))
        annotations.append({**result, "id": number, **({"bbox": box} if box else {})})
    return annotations


def _mask_box(result: Mapping[str, Any]) -> list[float] | None:
    """Return the box of the mask of a result; None if it has none."""
    outline = result.get("segmentation")
    if not isinstance(outline, dict):
        return None
    left, top, right, bottom = mask_of(outline).bounds
    return None if np.isnan(left) else [left, top, right - left, bottom - top]
