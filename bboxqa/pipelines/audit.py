"""Audit: labels of one annotator against a model, or against themselves."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.files import filled_folder
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.version import __version__
from bboxqa.diagnostics.audit import (
    KINDS,
    MISSING,
    REASONS,
    Model,
    Suspects,
    suspects,
)
from bboxqa.diagnostics.label_geometry import geometric_suspects
from bboxqa.formats.choices import given
from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.dataset.image_names import join_advice
from bboxqa.formats.dataset.predictions import is_results_list
from bboxqa.formats.dataset.reading import Predictions, Reading
from bboxqa.formats.registry import format_of
from bboxqa.formats.source import head_of
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.audit import WORTH, AuditResult
from bboxqa.model.consensus import LINK
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.pipelines.consensus.rule import consensus_of, votes_of
from bboxqa.pipelines.read import AS_COMPARED, Data, read_for
from bboxqa.pipelines.reference import (
    apart,
    as_one,
    check_sizes,
    joined_sides,
    of_images,
    read_other,
)

_NAMED = 3
# Figures of reasons are rounded to 0.001, and not larger than 100.
_MOST = 100_001


def audit(labels: Data | Dataset, predictions: Data | Dataset | None = None) -> AuditResult:
    """Return labels to look at again, the most suspicious first.

    Parameters
    ----------
    labels : Dataset, or what `read` takes
        The labels of one annotator.
    predictions : Dataset, or what `read` takes, optional
        A file of COCO results, or annotations with a score, in any format; annotations of several
        annotators count as votes, and those of one without scores as a model that is always sure.
        Without predictions, geometry alone is looked at, which shows less.

    Returns
    -------
    AuditResult

    Raises
    ------
    DatasetError
        If the files cannot be read, have no image or no category in common, several annotators drew
        labels in one image, or only some of the predictions have a score.

    See Also
    --------
    bboxqa.diagnostics.audit.suspects : The scores.

    Examples
    --------
    >>> import bboxqa
    >>> box = {"bbox": "60 61 50 50", "category": "truck"}
    >>> drawn = [box | {"image": "a.jpg", "category": "car"}, box | {"image": "b.jpg"}]
    >>> votes = [box | {"image": image, "annotator": who} for image in ("a.jpg", "b.jpg")
    ...          for who in ("ann", "bob")]
    >>> bboxqa.audit(drawn, votes).suspects.records()[0]["reason"]
    'another category has score 1.00, its own 0.00'
    """
    return audit_files(labels, predictions, AgreeSettings(), replace(AS_COMPARED, choices=given()))


def audit_files(
    labels: Data | Dataset,
    predictions: Data | Dataset | None,
    settings: AgreeSettings,
    reading: Reading,
) -> AuditResult:
    """Read labels and predictions, and audit the labels; see `audit`."""
    one = replace(reading, min_annotators=1, by_files="none", scores=True)
    path = Path(predictions) if isinstance(predictions, str | PathLike) else None
    if path is not None and not isinstance(labels, Dataset) and _is_list(path, reading):
        # The ids of results are those of the labels.
        model = Predictions(path, 0.0)
        data = read_for(labels, settings, replace(one, predictions=model))
        team, own = apart(data, model.annotator)
        parts = [tuple(each for each in data.sources if (each.role == "predictions") is of_model)
                 for of_model in (False, True)]  # fmt: skip
        own = replace(own, sources=parts[1], notes=())
        return audit_with(replace(team, sources=parts[0]), own, settings)
    if not isinstance(labels, Dataset):
        labels = read_for(labels, settings, one)
    if not isinstance(predictions, Dataset | None):
        scored = replace(reading, scores=True, score=0.0)
        predictions = read_other(predictions, settings, scored)
    return audit_with(labels, predictions, settings)


def _is_list(path: Path, reading: Reading) -> bool:
    """Return whether a file is a list of results, maybe one without scores."""
    if not path.is_file() or is_results_list(path, reading.choices):
        return path.is_file()
    is_coco = format_of(path, reading.choices) is COCO
    return is_coco and head_of(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def audit_with(labels: Dataset, model: Dataset | None, settings: AgreeSettings) -> AuditResult:
    """Audit labels with checked settings; see `audit`."""
    several = np.flatnonzero(_drawn_by(labels).sum(1) > 1)
    if len(several):
        image = one_line(labels.image_names[int(several[0])])
        problem = f"several annotators drew in {count(len(several), 'image')}, such as {image!r}"
        advice = "Annotators are compared with each other by: bboxqa agree"
        raise DatasetError([f"the labels are not by one annotator: {problem}"], advice)
    if model is None:
        images = np.flatnonzero(labels.assigned.any(1))
        drawn = of_images(labels, images)
        basis = "geometry alone, which shows less than the predictions of a model would"
        return _result(drawn, geometric_suspects(drawn), drawn, basis, settings)
    consensus = _consensus(model) if (_drawn_by(model).sum(1) > 1).any() else _scored(model)
    sides = _sides(labels, consensus)
    found = suspects(sides.both, sides.model, sides.crowd)
    result = _result(sides.labels, found, sides.both, consensus.basis, settings, sides)
    return replace(
        result,
        n_predictions=len(model.annotations),
        sources=(*labels.sources, *model.sources),
        notes=(*labels.headlines, *sides.notes, *consensus.notes, *labels.notes),
    )


def write_folds(labels: Data, folds: int, folder: Path, reading: Reading) -> list[tuple[Path, int]]:
    """Write lists of the images to train on and to predict, for each fold.

    Images of one folder stay together if there are as many folders as folds, as those are mostly
    frames of one video or images of one place; otherwise images are dealt out by their names.
    Return each file with its number of images.
    """
    data = read_for(labels, AgreeSettings(), replace(reading, min_annotators=1, by_files="none"))
    names = [data.image_names[each] for each in np.flatnonzero(data.assigned.any(1)).tolist()]
    groups = [name.rpartition("/")[0] for name in names]
    if len({*groups}) < folds:
        groups = names
    number = {group: place % folds for place, group in enumerate(sorted({*groups}))}
    written = []
    try:
        with filled_folder(folder) as scratch:
            for fold in range(folds):
                for part in ("train", "test"):
                    own = [name for name, group in zip(names, groups, strict=True)
                           if (number[group] == fold) is (part == "test")]  # fmt: skip
                    name = f"{part}-{fold + 1}.txt"
                    text = "".join(f"{each}\n" for each in own)
                    (scratch / name).write_text(text, "utf-8", "surrogateescape")
                    written.append((folder / name, len(own)))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return written


def _drawn_by(data: Dataset) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return (I, A) which annotators drew in which images."""
    drawn = np.zeros((len(data.image_names), max(len(data.annotator_names), 1)), np.bool_)
    drawn[data.annotations.image, data.annotations.annotator] = True
    return drawn


class _Predicted(NamedTuple):
    """A model as one annotator."""

    data: Dataset
    score: FloatArray
    class_score: FloatArray
    """(M,). See `Model`."""
    votes: bool
    basis: str
    notes: tuple[str, ...] = ()


def _scored(data: Dataset) -> _Predicted:
    """Return the predictions of one model; without scores, it is sure of all."""
    name = "predictions" if not data.sources else Path(data.sources[0].name).name
    data = as_one(data, name)
    n = len(data.annotations)
    score = data.annotations.score
    lacking = np.ones(n, np.bool_) if score is None else np.isnan(score)
    if score is None or lacking.all():
        basis = "predictions without scores, each taken as sure"
        return _Predicted(data, np.ones(n), np.ones(n), votes=False, basis=basis)
    if lacking.any():
        problem = f"{lacking.sum():,} of {count(n, 'prediction')} have no score"
        raise DatasetError([f"{name}: {problem}"], "Give all of them a score from 0 to 1, or none.")
    if not 0 <= score.min() <= score.max() <= 1:
        problem = f"scores are from {score.min():g} to {score.max():g}; expected 0 to 1"
        raise DatasetError([f"{name}: {problem}"], "Convert them: percentages, divided by 100.")
    return _Predicted(data, score, score, votes=False, basis="the scores of a model")


def _consensus(data: Dataset) -> _Predicted:
    """Return the objects that several annotators drew as predictions, with shares of votes.

    Each object has a row for each category that somebody gave; the first one stands for the object.
    """
    votes = votes_of(data).data
    found = consensus_of(votes, LINK, quorum=1)
    objects, n = found.objects, len(data.category_names)
    keys, n_votes = np.unique(found.of * n + votes.annotations.category, return_counts=True)
    rows, category = np.divmod(keys, n)
    leads = category == objects.category[rows]
    annotations = Annotations(
        id=np.arange(len(rows)),
        image=objects.image[rows],
        annotator=np.zeros(len(rows), np.int32),
        category=category.astype(np.int32),
        bbox=objects.bbox[rows],
        iscrowd=np.zeros(len(rows), np.bool_),
    )
    one = replace(
        data, annotations=annotations, annotator_names=("consensus",), unlisted=None, repeats=None,
        assigned=np.ones((len(data.image_names), 1), np.bool_),
    )  # fmt: skip
    share = n_votes / objects.asked[rows]
    score = np.where(leads, objects.votes[rows] / objects.asked[rows], 0.0)
    people = count(len(data.annotator_names), "annotator")
    return _Predicted(one, score, share, votes=True, basis=f"the votes of {people}")


class _Sides(NamedTuple):
    """Labels and a model in the images that both have."""

    both: Dataset
    model: Model
    crowd: tuple[IntArray, FloatArray]
    labels: Dataset
    """The labels with their annotators."""
    row: IndexArray
    """(N,) int64. The row of each label of `both` among the labels."""
    place: IndexArray
    """(N,) int64. The position of each prediction in its file."""
    notes: list[str]


def _sides(labels: Dataset, model: _Predicted) -> _Sides:
    """Return labels and a model in their common images, with common categories."""
    name = model.data.annotator_names[0]
    place = {image: number for number, image in enumerate(labels.image_names)}
    at = np.array([place.get(image, -1) for image in model.data.image_names], np.int64)
    known = np.flatnonzero(at >= 0)
    known = known[labels.assigned[at[known]].any(1)]
    known = known[np.argsort(at[known], kind="stable")]
    if not len(known):
        found = join_advice([set(labels.image_names), set(model.data.image_names)])
        advice = f"Images are joined by file_name: {found or 'check the names.'}"
        raise DatasetError([f"labels and predictions ({name}) have no image in common"], advice)
    drawn = of_images(labels, at[known])
    row = np.arange(len(model.score))
    own = replace(model.data, annotations=_numbered(model.data.annotations, row))
    own, notes = _known_categories(drawn, of_images(own, known), name)
    check_sizes(drawn, own, name)
    n_left = int(labels.assigned.any(1).sum()) - len(known)
    if n_left:
        notes.append(f"{count(n_left, 'image')} without predictions left out")
    numbered = _numbered(drawn.annotations, np.arange(len(drawn.annotations)))
    team = replace(
        drawn, annotator_names=("labels",), assigned=np.ones((len(known), 1), np.bool_),
        annotations=replace(numbered, annotator=np.zeros(len(numbered), np.int32)),
    )  # fmt: skip
    both = joined_sides(team, own, name)
    of, row = both.annotations, np.asarray(both.annotations.place)
    is_model = of.annotator == 1
    score, class_score = np.zeros((2, len(of)))
    score[is_model], class_score[is_model] = (
        each[row[is_model]] for each in (model.score, model.class_score)
    )
    positions = model.data.annotations.place
    file_place = np.arange(len(model.score)) if positions is None else positions
    at_file = np.full(len(of), -1)
    at_file[is_model] = file_place[row[is_model]]
    crowds = np.flatnonzero(drawn.annotations.iscrowd)
    crowd = drawn.annotations.image[crowds], drawn.annotations.bbox[crowds]
    return _Sides(both, Model(score, class_score, model.votes), crowd, drawn, row, at_file, notes)


def _numbered(of: Annotations, row: IndexArray) -> Annotations:
    """Return annotations with their rows as places, which a join keeps."""
    return replace(of, place=row, score=np.zeros(len(row)))


def _known_categories(labels: Dataset, model: Dataset, name: str) -> tuple[Dataset, list[str]]:
    """Return predictions of the categories that labels have, and notes on the others."""
    of = model.annotations
    known = np.isin(np.array(model.category_names, object), np.array(labels.category_names, object))
    kept = np.flatnonzero(known[of.category])
    unknown = [model.category_names[each] for each in np.unique(of.category[~known[of.category]])]
    if not unknown:
        return model, []
    shown, has = (
        first_few(each, _NAMED, lambda one: repr(one_line(one)))
        for each in (unknown, labels.category_names)
    )
    advice = f"--map {unknown[0]}={labels.category_names[0]}" if labels.category_names else ""
    if not len(kept):
        problem = f"no category in common: the labels have {has}, {name} has {shown}"
        raise DatasetError([problem], f"If some are the same, type for instance: {advice}")
    n = count(len(of) - len(kept), "prediction")
    note = f"{n} of categories that the labels do not have left out: {shown}; --map OLD=NEW renames"
    return replace(model, annotations=of.take(kept)), [note]


def _result(
    labels: Dataset,
    found: Suspects,
    both: Dataset,
    basis: str,
    settings: AgreeSettings,
    sides: _Sides | None = None,
) -> AuditResult:
    """Return suspects as the tables of a result."""
    worth = found.score >= WORTH
    number = [np.bincount(found.kind[rows], minlength=len(KINDS)) for rows in (worth, slice(None))]
    expected = np.full(len(KINDS), np.nan)
    shares = found.figures[worth & (found.kind == MISSING), 1]
    if sides is not None and len(shares) and not np.isnan(shares).any():
        expected[MISSING] = shares.sum()
    kinds = {"kind": Categorical(np.arange(len(KINDS), dtype=np.int32), KINDS)}
    n_images = len(labels.image_names)
    n_worth, total = (
        np.bincount(found.image[worth], weights, n_images) for weights in (None, found.score[worth])
    )
    images = np.flatnonzero(n_worth)
    images = images[np.lexsort((images, -total[images].round(9)))]
    of_images: dict[str, Column] = {
        "image": Categorical(images.astype(np.int32), labels.image_names),
        "n": n_worth[images].astype(np.int64),
        "total": total[images],
    }
    rows = found.label if sides is None else np.append(sides.row, -1)[found.label]
    return AuditResult(
        suspects=_table(labels, found, both, sides, rows),
        rows=rows,
        kinds=Table({**kinds, "n_worth_a_look": number[0], "n": number[1], "expected": expected}),
        images=Table(of_images),
        labels=labels,
        n_predictions=None,
        basis=basis,
        settings=settings,
        sources=labels.sources,
        version=__version__,
        notes=(*labels.headlines, *labels.notes),
        reading=labels.reading,
    )


def _table(
    labels: Dataset, found: Suspects, both: Dataset, sides: _Sides | None, row: IndexArray
) -> Table:
    """Return the table of suspects."""
    n = len(found)
    place = np.full(n, -1) if sides is None else np.append(sides.place, -1)[found.prediction]
    code, ids = np.full(n, -1, np.int32), np.flatnonzero(row >= 0)
    code[ids] = np.arange(len(ids))
    category = np.full(n, -1, np.int32)
    category[ids] = labels.annotations.category[row[ids]]
    x, y, width, height = found.bbox.T
    columns: dict[str, Column] = {
        "rank": np.arange(1, n + 1),
        "kind": Categorical(found.kind, KINDS),
        "image": Categorical(found.image, labels.image_names),
        "label": Categorical(code, tuple(labels.annotations.shown_ids(row[ids]))),
        "prediction": np.ma.masked_less(place, 0),
        "x": x, "y": y, "width": width, "height": height,
        "category": Categorical(category, labels.category_names),
        "suggested": Categorical(found.suggested, both.category_names),
        "score": found.score.round(6),
        "reason": _reasons(found),
    }  # fmt: skip
    return Table(columns, {"score": ".2f"})


def _reasons(found: Suspects) -> Categorical:
    """Return the reasons in words; those with equal figures are put into words once."""
    one, other = (np.nan_to_num(found.figures * 1000).round().clip(0, _MOST - 1).astype(np.int64)).T
    keys, code = np.unique((found.reason * _MOST + one) * _MOST + other, return_inverse=True)
    (reason, one), other = np.divmod(keys // _MOST, _MOST), keys % _MOST
    shown = zip(reason.tolist(), (one / 1000).tolist(), (other / 1000).tolist(), strict=True)
    texts = tuple(REASONS[each].format(*figures) for each, *figures in shown)
    return Categorical(code.astype(np.int32), texts)
