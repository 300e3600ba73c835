"""Audit: labels of one annotator against a model, or against themselves."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import count as counter
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray, IndexArray, sum_by
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.files import filled_folder
from bboxqa.core.text import count, first_few, one_line
from bboxqa.diagnostics.audit import (
    CLASS,
    KINDS,
    MISSING,
    PLACE,
    REASONS,
    SHARE,
    Suspects,
    Votes,
    geometric_suspects,
    suspects,
)
from bboxqa.formats.choices import choices_of, given
from bboxqa.formats.coco.reader import COCO, check_scores
from bboxqa.formats.dataset.names import join_name
from bboxqa.formats.dataset.predictions import is_results_list
from bboxqa.formats.dataset.reading import Predictions, Reading
from bboxqa.formats.records import whole_number
from bboxqa.formats.registry import format_of
from bboxqa.formats.scanner import LIST
from bboxqa.formats.source import SourcePath
from bboxqa.formats.writing.names import without_ending
from bboxqa.formats.yolo.reader import class_names
from bboxqa.geometry.boxes import corners
from bboxqa.model.annotations import Annotations, Choices, Dataset, completed
from bboxqa.model.consensus import LINK
from bboxqa.model.diagnosis import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.pipelines.counting import of_images
from bboxqa.pipelines.diagnosis.review import review_document
from bboxqa.pipelines.fusion import consensus_of, votes_of
from bboxqa.pipelines.read import AS_COMPARED, Data, read_for
from bboxqa.pipelines.reference import (
    apart,
    as_one,
    check_sizes,
    file_names,
    in_common,
    joined_sides,
    read_other,
)
from bboxqa.report.audit import WORTH, AuditResult

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
    one = replace(reading, min_annotators=1, by_files="any", scores=True)
    if isinstance(predictions, str | PathLike) and not isinstance(labels, Dataset):
        # The ids of results are those of the labels.
        path = Path(predictions)
        if _is_list(path, reading.choices):
            model = Predictions(path, 0.0)
            data = read_for(labels, settings, replace(one, predictions=model))
            team, own = apart(data, model.annotator)
            team = replace(team, sources=data.sources[:-1])
            return audit_with(team, replace(own, sources=data.sources[-1:], notes=()), settings)
    if not isinstance(labels, Dataset):
        labels = read_for(labels, settings, one)
    if not isinstance(predictions, Dataset | None):
        # Images of YOLO have the size that the labels say.
        size = zip(labels.image_names, map(tuple, labels.image_size.tolist()), strict=True)
        known = choices_of({"image_size": {name: each for name, each in size if all(each)} or None})
        choices = completed(reading.choices, known)
        scored = replace(reading, scores=True, score=0.0, choices=choices)
        predictions = read_other(predictions, settings, scored)
    return audit_with(labels, predictions, settings)


def _is_list(path: Path, choices: Choices) -> bool:
    """Return whether a file is a list of results, maybe one without scores."""
    if not path.is_file() or is_results_list(path, choices):
        return path.is_file()
    return format_of(path, choices) is COCO and LIST.match(SourcePath.at(path).head) is not None


def write_folds(labels: Data, folds: int, folder: Path, reading: Reading) -> dict[Path, int]:
    """Write lists of the images to train on and to predict, for each fold; return their lengths.

    Images of one folder stay together if there are as many folders as folds, since they are mostly
    frames of one video or images of one place; otherwise images are dealt out by name.
    """
    data = read_for(labels, AgreeSettings(), replace(reading, min_annotators=1, by_files="none"))
    names = [data.image_names[each] for each in np.flatnonzero(data.assigned.any(1)).tolist()]
    if folds > len(names):
        raise ConfigError(f"is {folds}; expected at most {len(names)}, the images", "folds")
    groups = [name.rpartition("/")[0] for name in names]
    groups = groups if len({*groups}) >= folds else names
    number = {group: place % folds for place, group in enumerate(sorted({*groups}))}
    written = {}
    with filled_folder(folder) as scratch:
        for fold, part in product(range(folds), ("train", "test")):
            own = [f"{name}\n" for name, group in zip(names, groups, strict=True)
                   if (number[group] == fold) is (part == "test")]  # fmt: skip
            (scratch / f"{part}-{fold + 1}.txt").write_text("".join(own), "utf-8")
            written[folder / f"{part}-{fold + 1}.txt"] = len(own)
    return written


def audit_with(labels: Dataset, model: Dataset | None, settings: AgreeSettings) -> AuditResult:
    """Audit labels with checked settings; see `audit`."""
    _check_one(labels)
    if model is None:
        drawn = both = _with_places(of_images(labels, np.flatnonzero(labels.assigned.any(1))))
        found, sources, notes = geometric_suspects(both), labels.sources, tuple[str, ...]()
        basis = "geometry alone, which shows less than the predictions of a model would"
    else:
        several = bool((_n_people(model) > 1).any())
        one, basis, votes = _consensus(model) if several else (*_scored(model), None)
        one, remarks = _named_alike(labels, one, settings)
        drawn, both, notes = _joined(labels, one)
        notes = (*remarks, *notes)
        crowds = drawn.annotations.take(np.flatnonzero(drawn.annotations.iscrowd))
        found, sources = suspects(both, crowds, votes), (*labels.sources, *model.sources)
    kinds, images = _counted(found, drawn)
    place = np.append(np.asarray(both.annotations.place), -1)
    return AuditResult(
        suspects=_table(drawn, found, both, place), rows=place[found.label], kinds=kinds,
        images=images, labels=drawn, basis=basis, settings=settings, sources=sources,
        n_predictions=None if model is None else len(model.annotations),
        notes=(*notes, *labels.headlines, *labels.notes),
    )  # fmt: skip


def _check_one(labels: Dataset) -> None:
    """Refuse results of a model, and labels of several annotators, with what can be done."""
    results = [each.name for each in labels.sources if each.score is not None]
    if results:
        drawn = [each.name for each in labels.sources if each.score is None] or ["LABELS"]
        typed = shlex.join(["bboxqa", "audit", *drawn, "--predictions", results[0]])
        problem = f"{results[0]}: is a list of results of a model; expected labels"
        raise DatasetError([problem], f"Audit labels with it: {typed}")
    several = np.flatnonzero(_n_people(labels) > 1)
    if not len(several):
        return
    image = one_line(labels.image_names[int(several[0])])
    problem = f"several annotators drew in {count(len(several), 'image')}, such as {image!r}"
    paths = shlex.join(each.name for each in labels.sources) or "FILES"
    advice = (
        f"Compare annotators: bboxqa agree {paths}\n"
        f"Or merge them, then audit that: bboxqa consensus {paths} -o merged.json"
    )
    if "per annotator" in labels.attribution:
        advice += (
            "\nIf some are by a model: --predictions FILE; several, in one folder, are votes: "
            "--predictions DIR\nIf images of equal names are different images: --join none"
        )
    raise DatasetError([f"the labels are not by one annotator: {problem}"], advice)


def _n_people(data: Dataset) -> IndexArray:
    """Return the number of annotators who drew in each image."""
    drawn = np.zeros((len(data.image_names), len(data.annotator_names)), np.bool_)
    drawn[data.annotations.image, data.annotations.annotator] = True
    number: IndexArray = drawn.sum(1)
    return number


def _with_places(data: Dataset, score: FloatArray | None = None) -> Dataset:
    """Return a data set whose annotations have places, their rows by default, and scores."""
    of, rows = data.annotations, np.arange(len(data.annotations))
    place = rows if score is None or of.place is None else of.place
    score = np.zeros(len(rows)) if score is None else score
    return replace(data, annotations=replace(of, place=place, score=score))


def _scored(data: Dataset) -> tuple[Dataset, str]:
    """Return the predictions of one model, which is sure of all without scores."""
    data = as_one(data, name := file_names(data, "predictions"))
    n, score = len(data.annotations), data.annotations.score
    if score is None or np.isnan(score).all():
        return _with_places(data, np.ones(n)), "predictions without scores, each taken as sure"
    if lacking := int(np.isnan(score).sum()):
        problem = f"{lacking:,} of {count(n, 'prediction')} have no score"
        raise DatasetError([f"{name}: {problem}"], "Give all of them a score from 0 to 1, or none.")
    check_scores(name, score, 0)
    return _with_places(data, score), "the scores of a model"


def _consensus(data: Dataset) -> tuple[Dataset, str, Votes]:
    """Return the objects that several annotators drew as predictions, with shares of votes.

    Beside each object are its categories, with the negative share of who gave them. Votes agree on
    a box as far as their mean IoU with it, if one more had none.
    """
    votes = votes_of(data).data
    objects, of = consensus_of(votes, LINK, quorum=1)
    n = len(data.category_names)
    keys, n_votes = np.unique(of * n + votes.annotations.category, return_counts=True)
    rows = np.concatenate([np.arange(len(objects)), keys // n])
    annotations = Annotations(
        id=rows, image=objects.image[rows], annotator=np.zeros(len(rows), np.int32),
        category=np.concatenate([objects.category, keys % n]).astype(np.int32),
        bbox=objects.bbox[rows], iscrowd=np.zeros(len(rows), np.bool_),
        score=np.concatenate([objects.votes, -n_votes]) / objects.asked[rows],
        place=np.full(len(rows), -1),
    )  # fmt: skip
    name = file_names(data, "predictions")
    one = as_one(replace(data, annotations=annotations, repeats=None), name)
    drawn = Votes(
        agreement=objects.overlap * objects.asked / (objects.votes + 1),
        edges=corners(votes.annotations.bbox[np.argsort(of, kind="stable")]),
        stop=np.cumsum(objects.votes),
    )
    return one, f"the votes of {count(len(data.annotator_names), 'annotator')}", drawn


def _named_alike(
    labels: Dataset, model: Dataset, settings: AgreeSettings
) -> tuple[Dataset, list[str]]:
    """Return predictions with the names of images and classes that YOLO leaves to the labels.

    Also return a note on what was joined so.
    """
    notes: list[str] = []
    own, other = labels.image_names, model.image_names
    is_bare = (names == tuple(map(without_ending, names)) for names in (own, other))
    if {*own}.isdisjoint(other) and any(is_bare):
        of = {join_name(name, "stem"): name for name in own}
        stems = [join_name(name, "stem") for name in other]
        if len(of) == len(own) and len({*stems}) == len(other):
            other = tuple(of.get(stem, name) for stem, name in zip(stems, other, strict=True))
            model = replace(model, image_names=other)
            notes.append("images joined by name without folder and suffix, which one side lacks")
    known = {*other}
    lacking = [name for name in own if name not in known]
    if lacking and model.reading.missing_txt == "asked":
        # Where YOLO found nothing, it writes no file.
        more = (0, len(lacking)), (0, 0)
        size = np.pad(model.image_size, more)
        asked = np.pad(model.assigned, more, constant_values=True)
        model = replace(model, image_names=(*other, *lacking), image_size=size, assigned=asked)
    number = [re.fullmatch(r"class (\d+)", name) for name in model.category_names]
    path = Path(labels.sources[0].name if labels.sources else "")
    is_yolo = path.exists() and format_of(path, labels.reading).name == "yolo"
    if all(number) and is_yolo and (named := class_names(path)):
        names = [named.get(int(each[1]), each[0]) for each in number if each]
        names = [settings.category_map.get(each) or each for each in names]
        model = replace(model, category_names=tuple(names))
        notes.append(
            "classes named as those of the labels; if not, put data.yaml beside predictions"
        )
    return model, notes


def _joined(labels: Dataset, model: Dataset) -> tuple[Dataset, Dataset, tuple[str, ...]]:
    """Return the labels in the images that both have, and both in one data set, with notes.

    The places of labels are their rows, those of predictions their positions in the file.
    """
    name = model.annotator_names[0]
    has, its = (_named(each.image_names) for each in (labels, model))
    nothing = f"no image in common: the labels have {has}, {name} has {its}"
    drawn, own = in_common(labels, model, nothing)
    own, notes = _known_categories(drawn, own, name)
    check_sizes(drawn, own, name, file_names(labels, "the record of the labels"))
    if n_left := int(labels.assigned.any(1).sum()) - len(drawn.image_names):
        todo = "if nothing was found there: --missing-txt asked"
        notes = (*notes, f"{count(n_left, 'image')} without predictions left out; {todo}")
    return drawn, joined_sides(as_one(_with_places(drawn), "labels"), own, name), notes


def _named(names: Sequence[str]) -> str:
    return first_few(names, _NAMED, lambda each: repr(one_line(each)))


def _known_categories(
    labels: Dataset, model: Dataset, name: str
) -> tuple[Dataset, tuple[str, ...]]:
    """Return predictions of the categories that labels have, and notes on the others."""
    of = model.annotations
    known = np.array([each in labels.category_names for each in model.category_names], np.bool_)
    kept = np.flatnonzero(known[of.category])
    unknown = [model.category_names[each] for each in np.unique(of.category[~known[of.category]])]
    if not unknown:
        return model, ()
    shown, has = _named(unknown), _named(labels.category_names)
    if not len(kept):
        problem = f"no category in common: the labels have {has}, {name} has {shown}"
        renamed = shlex.quote(f"{unknown[0]}=NAME")
        advice = f"Name each as in the labels: --map {renamed}" if has else "Label something."
        raise DatasetError([problem], advice)
    n = count(len(of) - len(kept), "prediction")
    note = f"{n} of categories that the labels do not have left out: {shown}; --map OLD=NEW renames"
    return replace(model, annotations=of.take(kept)), (note,)


def _counted(found: Suspects, labels: Dataset) -> tuple[Table, Table]:
    """Return how many suspects there are of each kind, and in each image, the worst first."""
    worth, n_images = found.score >= WORTH, len(labels.image_names)
    number = [np.bincount(each, minlength=len(KINDS)) for each in (found.kind[worth], found.kind)]
    shares, labelled = found.other[worth & (found.reason == SHARE)], np.full(len(KINDS), np.nan)
    labelled[MISSING] = shares.mean() if len(shares) else np.nan
    n_worth = np.bincount(found.image[worth], minlength=n_images)
    total = np.bincount(found.image[worth], found.score[worth], n_images)
    images = np.flatnonzero(n_worth)
    images = images[np.lexsort((images, -total[images].round(9)))]
    return Table({
        "kind": Categorical(np.arange(len(KINDS), dtype=np.int32), KINDS),
        "n_worth_a_look": number[0], "n": number[1], "labelled": labelled,
    }), Table({
        "image": Categorical(images.astype(np.int32), labels.image_names),
        "n": n_worth[images], "total": total[images],
    })  # fmt: skip


def _table(labels: Dataset, found: Suspects, both: Dataset, place: IndexArray) -> Table:
    """Return the table of suspects."""
    has_label, of = found.label >= 0, np.append(both.annotations.category, -1)
    ids = np.where(has_label, np.cumsum(has_label) - 1, -1).astype(np.int32)
    shown = labels.annotations.shown_ids(place[found.label[has_label]])
    # Numbers need no quotes, and are written faster as they are.
    are_plain = "".join(shown).isdecimal()
    has_category = np.isin(found.kind, (MISSING, CLASS, PLACE))
    suggested = np.where(has_category, of[found.prediction], -1)
    columns: dict[str, Column] = {
        "rank": np.arange(1, len(found) + 1),
        "kind": Categorical(found.kind.astype(np.int32), KINDS),
        "image": Categorical(found.image.astype(np.int32), labels.image_names),
        "label": np.array([*shown, ""], object)[ids] if are_plain
                 else Categorical(ids, tuple(shown)),
        "prediction": np.ma.masked_less(place[found.prediction], 0),
        **dict(zip(("x", "y", "width", "height"), found.bbox.T, strict=True)),
        "category": Categorical(of[found.label].astype(np.int32), both.category_names),
        "suggested": Categorical(suggested.astype(np.int32), both.category_names),
        "score": found.score.round(6),
        "reason": _reasons(found),
    }  # fmt: skip
    return Table(columns)


def _reasons(found: Suspects) -> Categorical:
    """Return the reasons in words; those with equal figures are put into words once."""
    one, other = (np.nan_to_num(each * 1000).round().clip(0, _MOST - 1).astype(np.int64)
                  for each in (found.one, found.other))  # fmt: skip
    # Shares are shown with two decimals; what lies halfway is left to that.
    one, other = (np.where((each > 1000) | (each % 10 == 5), each, (each + 5) // 10 * 10)
                  for each in (one, other))  # fmt: skip
    keys, code = np.unique((found.reason * _MOST + one) * _MOST + other, return_inverse=True)
    (reason, one), other = np.divmod(keys // _MOST, _MOST), keys % _MOST
    shown = zip(reason.tolist(), (one / 1000).tolist(), (other / 1000).tolist(), strict=True)
    texts = tuple(REASONS[each].format(*figures) for each, *figures in shown)
    return Categorical(code.astype(np.int32), texts)


Record = dict[str, Any]


def review_of(result: AuditResult) -> tuple[Record, list[ReviewItem]]:
    """Return a COCO document of the places worth a look, at most 1,000, and a queue of them.

    The gain is the score. What is missing is an annotation that the model proposes.
    """
    labels, own = result.labels, result.labels.annotations
    kept = np.flatnonzero(np.asarray(result.suspects["score"]) >= WORTH)[:MOST_REVIEWED]
    table, rows = result.suspects.take(kept), result.rows[kept]
    # In the order of the data.
    order = np.argsort(rows)[int((rows < 0).sum()) :]
    number = {name: place for place, name in enumerate(labels.image_names)}
    image = np.array([number[name] for name in table["image"]], np.int64)
    score = np.asarray(table["score"])
    document = review_document(
        labels, rows[order], table["reason"][order], score[order], sum_by(image, score, len(number))
    )
    images, annotations = document["images"], document["annotations"]
    image_ids, new_ids = _new_ids(images), _new_ids(annotations)
    known = {place: n for n, place in enumerate(np.unique(own.image[rows[order]]).tolist())}
    at = {row: n for n, row in enumerate(order.tolist())}
    category_id = {each["name"]: each["id"] for each in document["categories"]}
    sides, items = ("x", "y", "width", "height"), []
    every = zip(rows.tolist(), image.tolist(), table.records(), strict=True)
    for n, (row, place, said) in enumerate(every):
        if place not in known:
            known[place] = len(images)
            size = zip(sides[2:], labels.image_size[place].tolist(), strict=True)
            images.append({"id": next(image_ids), "file_name": said["image"]}
                          | {side: length for side, length in size if length})  # fmt: skip
        drawn, box = at.get(n, -1), [said[side] for side in sides]
        person, id_ = np.flatnonzero(labels.assigned[place])[0], None
        if row >= 0:
            annotations[drawn]["score"] = said["score"]
            person, box = own.annotator[row], own.bbox[row].tolist()
            id_ = int(own.id[row]) if own.own_id is None else said["label"]
        elif said["suggested"]:
            drawn = len(annotations)
            annotations.append({
                "id": next(new_ids), "image_id": images[known[place]]["id"],
                "category_id": category_id[said["suggested"]], "bbox": box,
                "area": box[2] * box[3], "iscrowd": 0, "score": said["score"],
                "reason": said["reason"],
            })  # fmt: skip
        found = ReviewObject(
            annotator=labels.annotator_names[person], image=said["image"], id=id_,
            category=said["category"] or said["suggested"], bbox=tuple(box),
            reason=f"{said['kind']}: {said['reason']}", gain=said["score"],
            proposed=row < 0 <= drawn,
        )  # fmt: skip
        items.append(ReviewItem(found, drawn, known[place]))
    return document, items


def _new_ids(records: list[Record]) -> Iterator[int]:
    return counter(1 + max(filter(None, (whole_number(each["id"]) for each in records)), default=0))
