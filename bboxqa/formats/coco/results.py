"""Reading lists of COCO results, whose images and categories are in another file."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.annotations.box_numbers import has_angles
from bboxqa.formats.annotations.columns import AnnotationFile, ColumnsBuilder
from bboxqa.formats.annotations.five_numbers import settled
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import (
    Annotation,
    Category,
    Image,
    OutlinedAnnotation,
    Rle,
    extent_of,
    id_number,
    whole_number,
)
from bboxqa.formats.coco.decoding import MalformedError, decode_windows
from bboxqa.formats.coco.fallback import ABSENT, Report, annotation_of, check_text, labelled
from bboxqa.formats.document.content import RESULTS_LIST
from bboxqa.formats.document.tolerant import read_records
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.windows import LIST, Text
from bboxqa.model.annotations import Source
from bboxqa.model.file_places import FilePlaces
from bboxqa.model.shapes.masks import MAX_MASK_PIXELS, decode_counts, run_bounds

# A first result with a box, before values that are nested deeply.
_BOXED = re.compile(rb'\s*\{(?:[^{}]|\{[^{}]*\})*?"bbox"\s*:')
_END = re.compile(rb"\s*\]\s*\Z")


def read_results(
    text: Text, path: Path, options: ReadOptions
) -> Callable[[Source], AnnotationFile]:
    """Read a list of results of at least the lowest score; see `strict.read_text`.

    Images and categories are named by their ids, until those of another file replace them. Results
    without a box have that of their mask, or, where key points are read, that of these. Raises
    DatasetError if the list is empty, if a score is not between 0 and 1, or if none reaches the
    lowest score.
    """
    opening = LIST.match(text)
    first = 0 if opening is None else opening.end()
    turned = has_angles(text, first)
    results = _Results(
        str(path), options, turned=turned, boxed=_BOXED.match(text, first) is not None
    )
    try:
        place = decode_windows(text, first, results.type, results.add, options.progress)
        results.add_rest(text, place)
    except MalformedError:
        results = _Results(str(path), options, turned=turned, boxed=False)
        _read_one_by_one(text, path, results)
    results.check(path)

    def file(source: Source) -> AnnotationFile:
        columns, notes = settled(results.builder.done(), choices().rotated)
        return AnnotationFile(
            replace(source, score=options.score),
            [Image(each, f"image {each}") for each in results.images],
            [Category(each, f"category {each}") for each in results.categories],
            columns,
            notes,
            records="results",
            n_below=results.n_below,
            own_ids=results.places(path.name),
        )

    return file


class _Results:
    """Collects the results that reach the lowest score.

    Parameters
    ----------
    boxed : bool
        Whether all results have a box.
    """

    def __init__(self, name: str, options: ReadOptions, *, turned: bool, boxed: bool) -> None:
        self.builder = ColumnsBuilder(name, options, turned=turned)
        self._least = options.score
        base = self.builder.type
        # Each result is found by its place, so that an id of its own has no use.
        own: list[Any] = [("score", float), ("id", Any, 0)]
        if not boxed:
            bbox: Any = next(each for each in msgspec.structs.fields(base) if each.name == "bbox")
            own.append(("bbox", bbox.type | None, None))
            if not issubclass(base, OutlinedAnnotation):
                own.append(("segmentation", list[list[float]] | Rle | None, None))
        self.type: type[Annotation] = msgspec.defstruct(
            "Result", own, bases=(base,), gc=False, kw_only=True
        )  # type: ignore[assignment]
        self._is_boxed = boxed
        self._n = 0
        self._lowest, self._highest = inf, -inf
        self._rows = [np.zeros(0, np.int64)]
        self._images: dict[int, int | str] = {}
        self._categories: dict[int, int | str] = {}

    def add(self, records: Sequence[Any]) -> None:
        """Add the results of one window; raise MalformedError if one has no box."""
        scores = [record.score for record in records]
        self._lowest = min(self._lowest, *scores, inf)
        self._highest = max(self._highest, *scores, -inf)
        for known, ids in (
            (self._images, {record.image_id for record in records}),
            (self._categories, {record.category_id for record in records}),
        ):
            known.update((id_number(each), each) for each in ids)
        kept = [place for place, score in enumerate(scores) if score >= self._least]
        rows = np.array(kept, np.int64) + self._n
        self._n += len(records)
        chosen = [records[place] for place in kept]
        for record, number in zip(chosen, (rows + 1).tolist(), strict=True):
            record.id = number
            if not self._is_boxed and record.bbox is None:
                record.bbox = _box_of(record)
        self._rows.append(rows)
        self.builder.add(chosen)

    def add_rest(self, text: Text, place: int) -> None:
        """Add the results after the last window; raise MalformedError if they are not results."""
        if _END.match(text, place):
            return
        try:
            self.add(msgspec.json.decode(b"[" + text[place:], type=list[self.type]))  # type: ignore[name-defined]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise MalformedError from None

    def add_record(self, label: str, record: Mapping[str, Any], report: Report) -> None:
        """Add a result that was decoded without types."""
        score = record.get("score", ABSENT)
        if isinstance(score, bool) or not isinstance(score, int | float):
            report.add(label, "score", score, "a number from 0 to 1")
            score = 1.0
        whole = {**record, "id": 0, "score": score}
        if whole.get("bbox") is None and (box := _box_of_record(record)) is not None:
            whole["bbox"] = box
        found = annotation_of(label, whole, report, self.type, self.builder.box_lengths)
        if found is not None:
            self.add([found])

    @property
    def images(self) -> list[int | str]:
        """The ids of all images, also of results that are left out."""
        return _in_order(self._images)

    @property
    def categories(self) -> list[int | str]:
        """The ids of all categories, also of results that are left out."""
        return _in_order(self._categories)

    def check(self, path: Path) -> None:
        """Raise DatasetError with the problems of the results."""
        problems = [*self.builder.problems, *self.builder.author_problems()]
        if problems:
            raise DatasetError(problems, files=[path] * len(problems))
        if not self._n:
            raise DatasetError(
                [f"{path}: the list of results is empty; expected results of a model"]
            )
        if not 0 <= self._lowest <= self._highest <= 1:
            problem = f"scores are from {self._lowest:g} to {self._highest:g}; expected 0 to 1"
            raise DatasetError([f"{path}: {problem}"], "Convert them: percentages, divided by 100.")
        if self._highest < self._least:
            problem = f"none of {count(self._n, 'result')} has a score of {self._least:g} or more"
            raise DatasetError(
                [f"{path}: {problem}; the highest is {self._highest:g}"],
                "Choose a lower --score (in Python: score).",
            )

    @property
    def n_below(self) -> int:
        """The number of results with a lower score, which are left out."""
        return self._n - sum(map(len, self._rows))

    def places(self, file: str) -> FilePlaces:
        """Return the places of the results that are kept."""
        rows = np.concatenate(self._rows)
        width = len(str(int(rows.max(initial=0))))
        at = np.char.add("/", rows.astype(f"U{width}"))
        return FilePlaces((file,), np.zeros(len(rows), np.int32), at)


def _in_order(ids: Mapping[int, int | str]) -> list[int | str]:
    """Return ids as numbers where they are, in order."""
    numbers = {number if whole_number(each) is not None else each for number, each in ids.items()}
    return sorted(numbers, key=lambda each: (isinstance(each, str), each))


def _box_of(record: Any) -> list[float]:
    """Return the box of a result by its key points or mask; raise MalformedError if it has none."""
    points = getattr(record, "keypoints", None)
    box = extent_of(points) if points else None
    if box is None and isinstance(record.segmentation, Rle):
        box = _mask_box(record.segmentation)
    if box is None:
        raise MalformedError
    return box


def _box_of_record(record: Mapping[str, Any]) -> list[float] | None:
    """Return the box of the mask of an undecoded result; None if it has none."""
    try:
        mask = msgspec.convert(record.get("segmentation"), Rle)
    except msgspec.ValidationError:
        return None
    return _mask_box(mask)


def _mask_box(mask: Rle) -> list[float] | None:
    """Return the box of a mask; None if it is empty or no mask."""
    height, width = mask.size
    counts = mask.counts
    if height <= 0 or width <= 0 or height * width >= MAX_MASK_PIXELS:
        return None
    try:
        runs = (
            decode_counts(counts.encode())
            if isinstance(counts, str)
            else np.array(counts, np.int64)
        )
    except (ValueError, OverflowError):
        return None
    if runs.sum() != height * width or (runs < 0).any():
        return None
    left, top, right, bottom = run_bounds(runs, height)
    return None if np.isnan(left) else [left, top, right - left, bottom - top]


def _read_one_by_one(text: Text, path: Path, results: _Results) -> None:
    """Convert the results of a file that cannot be decoded at once."""
    document, records = read_records(text, str(path))
    check_text(document, path)
    if not isinstance(document.top, list):
        problem = f"{path}: expected a list of COCO results"
        raise DatasetError([problem], files=[path])
    report = Report(document.name, results.builder.problems)
    place = 0
    # The document leaves out a list that does not begin with a result.
    listed = records[RESULTS_LIST].windows() if document.is_results else [json.loads(text[:])]
    for window in listed:
        for label, record in labelled(window, place, "results", report):
            results.add_record(label, record, report)
        place += len(window)


def result_records(results: Sequence[Any], file: AnnotationFile) -> dict[str, Any]:
    """Return results, with numbers, and the images and categories of their file as COCO lists."""
    tables = {
        name: [
            {key: value for key, value in msgspec.structs.asdict(each).items() if value is not None}
            for each in records
        ]
        for name, records in (("images", file.images), ("categories", file.categories))
    }
    annotations = []
    for number, result in enumerate(results, start=1):
        box = result.get("bbox") or (None if result.get("keypoints") else _box_of_record(result))
        annotations.append({**result, "id": number, **({"bbox": box} if box else {})})
    return {**tables, "annotations": annotations}
