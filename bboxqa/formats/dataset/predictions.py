"""Predictions of a model as a further annotator."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.annotations.box_numbers import has_angles
from bboxqa.formats.annotations.columns import AnnotationFile, ColumnsBuilder
from bboxqa.formats.annotations.five_numbers import settled
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import Category, Id, Image, Rle, extent_of
from bboxqa.formats.dataset.attribution import Attribution
from bboxqa.formats.opening import named_errors, read_whole
from bboxqa.formats.translation.choices import choices
from bboxqa.model.annotations import Source

_Record = TypeVar("_Record", Image, Category)


@dataclass(frozen=True, slots=True)
class Predictions:
    """A file of results, and the minimum score of results that count as annotations."""

    path: Path
    score: float

    @property
    def annotator(self) -> str:
        """The name of the model among the annotators."""
        return self.path.stem


class _Result(msgspec.Struct, gc=False):
    image_id: Id
    category_id: Id
    bbox: tuple[float, float, float, float]
    score: float


class _OutlinedResult(_Result, gc=False):
    segmentation: list[list[float]] | Rle | None = None


class _JointedResult(_Result, gc=False, kw_only=True):
    # Key point results in COCO's format have no box.
    bbox: tuple[float, float, float, float] | None = None  # type: ignore[assignment]
    keypoints: list[float]


class _TurnedResult(_OutlinedResult, gc=False, kw_only=True):
    bbox: list[float]  # type: ignore[assignment]


def read_predictions(
    predictions: Predictions,
    files: Sequence[AnnotationFile],
    options: ReadOptions,
) -> AnnotationFile:
    """Return results of at least the minimum score, with images and categories of annotated files.

    Raises DatasetError if the file is not a list of results, if a score is missing or not between 0
    and 1, if no result reaches the minimum score, or if the annotated files use the same id for
    different things.
    """
    path = predictions.path
    with named_errors(path, "a JSON file of results"):
        content = read_whole(path)
    turned = has_angles(content)
    kind: type[_Result] = _OutlinedResult if options.outlines or options.rotated else _Result
    if options.keypoints:
        kind = _JointedResult
    elif turned:
        kind = _TurnedResult
    results = _decoded(path, content, kind)
    kept = _kept(predictions, results)
    builder = ColumnsBuilder(str(path), options, turned=turned and not options.keypoints)
    builder.add([builder.type(id=row, **_fields(results[row])) for row in kept])
    if builder.problems:
        raise DatasetError(builder.problems, files=[path] * len(builder.problems))
    columns, notes = settled(builder.done(), choices().rotated, options.memory)
    return AnnotationFile(
        Source(
            str(path),
            len(content),
            blake2b(content).hexdigest() if options.digest else None,
            role="predictions",
            annotator=predictions.annotator,
            score=predictions.score,
        ),
        _by_id("images", [(file, file.images) for file in files]),
        _by_id("categories", [(file, file.categories) for file in files]),
        columns,
        notes,
    )


def _decoded(path: Path, content: bytes, kind: type[_Result]) -> list[_Result]:
    """Return the results in a file."""
    try:
        results: list[_Result] = msgspec.json.decode(content, type=list[kind])  # type: ignore[valid-type]
    except msgspec.DecodeError as error:
        raise DatasetError([f"{path}: {error}"], files=[path]) from None
    return results


def _kept(predictions: Predictions, results: Sequence[_Result]) -> list[int]:
    """Return the indices of the results that reach the minimum score."""
    path, lowest = predictions.path, predictions.score
    if not results:
        raise DatasetError([f"{path}: the list of results is empty; expected results of a model"])
    scores = [result.score for result in results]
    if not 0 <= min(scores) <= max(scores) <= 1:
        problem = f"scores are from {min(scores):g} to {max(scores):g}; expected 0 to 1"
        raise DatasetError([f"{path}: {problem}"], "Convert them: percentages, divided by 100.")
    kept = [row for row, score in enumerate(scores) if score >= lowest]
    if not kept:
        problem = f"none of {count(len(results), 'result')} has a score of {lowest:g} or more"
        raise DatasetError(
            [f"{path}: {problem}; the highest is {max(scores):g}"],
            "Choose a lower --score (in Python: score).",
        )
    return kept


def _fields(result: _Result) -> dict[str, Any]:
    fields = msgspec.structs.asdict(result)
    del fields["score"]
    if fields["bbox"] is None:
        fields["bbox"] = extent_of(fields["keypoints"]) or (0.0, 0.0, 0.0, 0.0)
    return fields


def _by_id(name: str, lists: Sequence[tuple[AnnotationFile, Sequence[_Record]]]) -> list[_Record]:
    """Return the records of all files, each id once; refuse ids with several meanings."""
    known: dict[object, tuple[AnnotationFile, _Record]] = {}
    for file, records in lists:
        for record in records:
            first, other = known.setdefault(record.id, (file, record))
            if _label(other) != _label(record):
                names = [one_line(str(_label(each))) for each in (other, record)]
                here = f"{names[0]!r} in {first.source.name}"
                there = f"{names[1]!r} in {file.source.name}"
                raise DatasetError(
                    [f"{name}: {record.id} is {here}, but {there}: the results can mean either"],
                    "Name one annotated file with --predictions, the one the model was run on.",
                )
    return [record for _, record in known.values()]


def _label(record: Image | Category) -> str | None:
    return record.file_name if isinstance(record, Image) else record.name


def with_model(attribution: Attribution, file: AnnotationFile, name: str) -> Attribution:
    """Return an attribution with a further file, of a model that was asked about all its images.

    Raises DatasetError if an annotator has the name of the model.
    """
    if name in attribution.names:
        raise DatasetError(
            [f"{file.source.name}: an annotator is named {one_line(name)!r} as well"],
            "A model is named after its file: rename the file.",
        )
    model = np.full(len(file.columns.id), len(attribution.names), np.int32)
    said = f"{one_line(name)} is a model"
    way = f"{attribution.way}; {said}"
    if not attribution.way:
        way = f"one file per annotator: {said}, the other is not named"
    return replace(
        attribution,
        way=way,
        author=[*attribution.author, model],
        asked=[*attribution.asked, [(name,)] * len(file.images)],
        names=(*attribution.names, name),
        has_model=True,
    )


def prediction_note(predictions: Predictions, file: AnnotationFile) -> str:
    """Return a note on the number of results that count as annotations of the model."""
    return (
        f"{one_line(predictions.annotator)}: {count(len(file.columns.id), 'result')} of "
        f"{predictions.path.name} with a score of {predictions.score:g} or more; the model was "
        "asked about all images"
    )
