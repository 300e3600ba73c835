"""Audit: labels of one annotator against a model, or against themselves."""

import shlex
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import IndexArray, Progress, distinct, distinct_rows, sum_by
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.files import filled_folder, writing
from bboxqa.core.text import count, first_few
from bboxqa.diagnostics import audit as places
from bboxqa.formats.choices import given
from bboxqa.formats.coco.reader import COCO, check_scores
from bboxqa.formats.records import ReadSettings
from bboxqa.formats.registry import format_of
from bboxqa.formats.scanner import LIST
from bboxqa.formats.source import SourcePath
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.consensus import LINK
from bboxqa.model.diagnosis import MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Categorical, Table
from bboxqa.pipelines import reference
from bboxqa.pipelines.counting import of_images, with_images
from bboxqa.pipelines.diagnosis import review
from bboxqa.pipelines.fusion import consensus_of, votes_of
from bboxqa.pipelines.read import AS_COMPARED, Data, read_for
from bboxqa.report import pages
from bboxqa.report.audit import KINDS, WORTH, AuditResult, title
from bboxqa.report.reproduction import inputs_table, settings_table
from bboxqa.report.result_files import manifest

_NAMED = 3
_SIDES = ("x", "y", "width", "height")
# What labels that are not suspicious are called on a page.
_OTHERS = "other labels"


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
    reading: ReadSettings,
) -> AuditResult:
    """Read labels and predictions, and audit the labels; see `audit`."""
    one = replace(reading, min_annotators=1, by_files="any", scores=True, score=0.0)
    if not isinstance(labels, Dataset):
        path = Path(predictions) if isinstance(predictions, str | PathLike) else Path()
        is_coco = path.is_file() and format_of(path, reading.choices) is COCO
        # Maybe without scores, which is refused.
        own_ids = is_coco and LIST.match(SourcePath.at(path).text_head[1])
        labels = read_for(labels, settings, replace(one, predictions=path if own_ids else None))
        if own_ids:
            # The ids of results are those of the labels.
            team, own = reference.apart(labels, own_name(path))
            predictions = replace(own, sources=labels.sources[-1:])
            labels = replace(team, sources=labels.sources[:-1])
    if not isinstance(predictions, Dataset | None):
        predictions = reference.read_other(predictions, labels, settings, one)
    _check_one(labels)
    sources, n_predictions = labels.sources, None
    if predictions is None:
        drawn = both = of_images(labels, np.flatnonzero(labels.assigned.any(1)))
        found, place = places.geometric_suspects(both), np.arange(len(both.annotations))
        basis = "geometry alone, which shows less than the predictions of a model would"
    else:
        predictions = reference.named_alike(labels, predictions, settings.category_map)
        asked, known = {*labels.image_names}, {*predictions.image_names}
        # Where YOLO found nothing, it writes no file.
        if predictions.reading.missing_txt == "asked" and asked & known:
            predictions = with_images(predictions, sorted(asked - known))
        of_model = _consensus if reference.several_drew(predictions) else _scored
        of_one, basis, votes = of_model(predictions)
        drawn, both = _joined(labels, of_one)
        crowds = drawn.annotations.take(np.flatnonzero(drawn.annotations.iscrowd))
        found, place = places.suspects(both, crowds, votes), np.asarray(both.annotations.place)
        sources, n_predictions = (*sources, *predictions.sources), len(predictions.annotations)
    suspects, kinds, images = _tables(found, drawn, both, place)
    return AuditResult(
        suspects=suspects, kinds=kinds, images=images, labels=drawn, n_predictions=n_predictions,
        basis=basis, settings=settings, sources=sources, notes=(*drawn.headlines, *drawn.notes),
    )  # fmt: skip


def write_folds(labels: Data, folds: int, folder: Path, reading: ReadSettings) -> None:
    """Write lists of images to train on and to predict; images of one folder stay together."""
    data = read_for(labels, AgreeSettings(), replace(reading, min_annotators=1, by_files="none"))
    names = [data.image_names[each] for each in np.flatnonzero(data.assigned.any(1)).tolist()]
    if folds > len(names):
        raise ConfigError(f"is {folds}; expected at most {len(names)}, the images", "folds")
    folders = [name.rpartition("/")[0] for name in names]
    group = np.unique(folders if len({*folders}) >= folds else names, return_inverse=True)[1]
    with writing(folder), filled_folder(folder) as scratch:
        for fold in range(folds):
            for part, chosen in (("train", group % folds != fold), ("test", group % folds == fold)):
                listed = "".join(f"{names[each]}\n" for each in np.flatnonzero(chosen))
                (scratch / f"{part}-{fold + 1}.txt").write_text(listed, "utf-8")


def _check_one(labels: Dataset) -> None:
    """Refuse results of a model, and labels of several annotators, with what can be done."""
    for name in (each.name for each in labels.sources if each.score is not None):
        problem = f"{name}: is a list of results of a model; expected labels"
        typed = f"bboxqa audit LABELS --predictions {shlex.quote(name)}"
        raise DatasetError([problem], f"Audit labels with it: {typed}")
    if several := reference.several_drew(labels):
        paths = shlex.join(each.name for each in labels.sources) or "FILES"
        raise DatasetError(
            [f"the labels are not by one annotator: {several}"],
            f"Compare them: bboxqa agree {paths}\nOr merge them, then audit that: bboxqa consensus "
            f"{paths} -o merged.json\nIf some are by a model: --predictions FILE; several, in one "
            "folder, are votes: --predictions DIR",
        )


def _scored(data: Dataset) -> tuple[Dataset, str, None]:
    """Return the predictions of one model, which is sure of all without scores."""
    of, n, basis = data.annotations, len(data.annotations), "the scores of a model"
    name = reference.file_names(data, "predictions")
    place = np.arange(n) if of.place is None else of.place
    score = np.full(n, np.nan) if of.score is None else of.score
    if (lacking := np.isnan(score)).all():
        score, basis = np.ones(n), "predictions without scores, each taken as sure"
    elif lacking.any():
        problem = f"{name}: {lacking.sum():,} of {count(n, 'prediction')} have no score"
        raise DatasetError([problem], "Give all of them a score from 0 to 1, or none.")
    else:
        check_scores(name, score, 0)
    return replace(data, annotations=replace(of, score=score, place=place)), basis, None


def _consensus(data: Dataset) -> tuple[Dataset, str, Annotations]:
    """Return the objects that several annotators drew as predictions, and the votes for them."""
    objects, of = consensus_of(votes := votes_of(data), LINK, quorum=1)
    (home, category), _, n_votes = distinct_rows(of, votes.data.annotations.category)
    rows = np.append(np.arange(len(objects)), home)
    annotations = Annotations(
        id=rows, image=objects.image[rows], annotator=np.zeros(len(rows), np.int32),
        category=np.append(objects.category, category.astype(np.int32)),
        bbox=objects.bbox[rows], iscrowd=np.zeros(len(rows), np.bool_),
        score=np.append(objects.votes, -n_votes) / objects.asked[rows],
        place=np.full(len(rows), -1),
    )  # fmt: skip
    agreement = objects.overlap * objects.asked / (objects.votes + 1)
    drawn = replace(votes.data.annotations, id=of, score=agreement[of])
    basis = f"the votes of {count(len(data.annotator_names), 'annotator')}"
    by_object = drawn.take(np.argsort(of, kind="stable"))
    return replace(data, annotations=annotations, repeats=None), basis, by_object


def _joined(labels: Dataset, model: Dataset) -> tuple[Dataset, Dataset]:
    """Return the labels in the images that both have, with notes, and both in one data set."""
    name = reference.file_names(model, "predictions")
    model, notes = reference.as_one(model, name), [*model.notes]
    drawn, own = reference.in_common(labels, model, name)
    of, names = own.annotations, own.category_names
    known = np.array([each in drawn.category_names for each in names], np.bool_)[of.category]
    if not known.all():
        unknown = [names[each] for each in distinct(of.category[~known]).tolist()]
        if not known.any():
            problem = reference.nothing_in_common("category", drawn.category_names, name, unknown)
            raise DatasetError([problem], f"Name each as in the labels: --map '{unknown[0]}=NAME'")
        left = f"{count(int((~known).sum()), 'prediction')} of categories that the labels do not"
        notes.append(f"{left} have left out: {reference.in_quotes(unknown)}; --map OLD=NEW renames")
        own = replace(own, annotations=of.take(np.flatnonzero(known)))
    reference.check_sizes(drawn, own, name)
    if n := int(labels.assigned.any(1).sum()) - len(drawn.image_names):
        todo = "if nothing was found there: --missing-txt asked"
        notes.append(f"{count(n, 'image')} without predictions left out; {todo}")
    drawn, place = replace(drawn, notes=(*notes, *drawn.notes)), np.arange(len(drawn.annotations))
    placed = replace(drawn.annotations, place=place, score=np.zeros(len(place)))
    team = reference.as_one(replace(drawn, annotations=placed), "labels")
    return drawn, reference.joined_sides(team, own, name)


def _tables(
    found: Table, labels: Dataset, both: Dataset, place: IndexArray
) -> tuple[Table, Table, Table]:
    """Return the table of places, and how many are of each kind, and in each image, worst first."""
    drawn, place, n_images = labels.annotations, np.append(place, -1), len(labels.image_names)
    of = np.append(both.annotations.category, -1).astype(np.int32)
    suggested = np.where(found["kind"] == places.SPURIOUS, np.int32(-1), of[found["prediction"]])
    ids = tuple(drawn.shown_ids(np.arange(len(drawn))))
    why = zip(*(found[each].tolist() for each in ("reason", "one", "other")), strict=True)
    predicted = place[found["prediction"]]
    suspects = Table({
        "rank": np.arange(1, len(found) + 1),
        "kind": Categorical(found["kind"].astype(np.int32), (*KINDS,)),
        "image": Categorical(found["image"].astype(np.int32), labels.image_names),
        "label": Categorical(place[found["label"]].astype(np.int32), ids),
        "prediction": np.where(predicted < 0, np.array(None), predicted),
        **dict(zip(_SIDES, found["bbox"].T, strict=True)),
        "category": Categorical(of[found["label"]], both.category_names),
        "suggested": Categorical(suggested, both.category_names),
        "score": found["score"].round(6),
        "reason": np.array([places.REASONS[each].format(*pair) for each, *pair in why], object),
    })  # fmt: skip
    worth = found.take(np.flatnonzero(found["score"] >= WORTH))
    n_worth, n = (np.bincount(each["kind"], minlength=len(KINDS)) for each in (worth, found))
    labelled, shares = np.full(len(KINDS), np.nan), worth["other"][worth["reason"] == places.SHARE]
    labelled[places.MISSING] = shares.mean() if len(shares) else np.nan
    kind = Categorical(np.arange(len(KINDS), dtype=np.int32), (*KINDS,))
    kinds = Table({"kind": kind, "n_worth_a_look": n_worth, "n": n, "labelled": labelled})
    number = np.bincount(worth["image"], minlength=n_images)
    total = sum_by(worth["image"], worth["score"], n_images)
    order = np.argsort(-total.round(9), kind="stable")[: np.count_nonzero(number)]
    image = Categorical(order.astype(np.int32), labels.image_names)
    return suspects, kinds, Table({"image": image, "n": number[order], "total": total[order]})


def review_of(result: AuditResult) -> tuple[dict[str, Any], list[ReviewItem]]:
    """Return a COCO document of the places worth a look, at most 1,000, and a queue of them."""
    labels, own = result.labels, result.labels.annotations
    table = result.suspects.take(result.worth[:MOST_REVIEWED])
    rows, image, score = table.codes("label"), table.codes("image"), table["score"]
    at, seen = np.flatnonzero(rows >= 0), distinct(image).tolist()
    gains = sum_by(image, score, len(labels.image_names))
    document = review.review_document(labels, rows[at], table["reason"][at], score[at], gains, seen)
    annotations, items, number = document["annotations"], [], iter(range(len(at)))
    renamed, first = result.settings.category_map, review.new_number(annotations)
    category_id = {renamed.get(e["name"], e["name"]): e["id"] for e in document["categories"]}
    for row, place, said in zip(rows.tolist(), image.tolist(), table.records(), strict=True):
        box, in_document, drawn = [said[side] for side in _SIDES], seen.index(place), -1
        if row >= 0:
            drawn, box = next(number), own.bbox[row].tolist()
            annotations[drawn]["score"] = said["score"]
        elif said["suggested"]:
            drawn = len(annotations)
            annotations.append({
                "id": first + drawn - len(at), "image_id": document["images"][in_document]["id"],
                "category_id": category_id[said["suggested"]], "bbox": box, "iscrowd": 0,
                "area": box[2] * box[3], "score": said["score"], "reason": said["reason"],
            })  # fmt: skip
        person = own.annotator[row] if row >= 0 else labels.assigned[place].argmax()
        found = ReviewObject(
            annotator=labels.annotator_names[person], image=said["image"],
            id=int(own.id[row]) if row >= 0 and own.own_id is None else said["label"] or None,
            category=said["category"] or said["suggested"], bbox=tuple(box), gain=said["score"],
            reason=f"{said['kind']}: {said['reason']}", proposed=row < 0 <= drawn,
        )  # fmt: skip
        items.append(ReviewItem(found, drawn, in_document))
    return document, items


def write_audit_page(
    result: AuditResult, target: pages.PageTarget, command: str, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write the page of an audit, which a command has made; return notes on its images."""
    from bboxqa.pipelines.pictures import write_images_page

    data, table, pictures = result.labels, result.suspects.take(result.worth), []
    image_of, worst = table.codes("image"), result.images.codes("image")
    for image in worst[np.isin(worst, image_of)][: target.top].tolist():
        drawn, objects = np.flatnonzero(data.annotations.image == image).tolist(), []
        shapes = [review.drawn_shape(data, 0, row) | {"annotator": _OTHERS} for row in drawn]
        for row in table.take(np.flatnonzero(image_of == image)).records():
            kind, of = row["kind"], f"label {row['label']}: " if row["label"] else ""
            named = " or ".join(dict.fromkeys(filter(None, (row["category"], row["suggested"]))))
            said = {"object": row["rank"], "kind": kind, "kinds": [kind]}
            objects.append(said | {"category": f"{kind} {named}", "reason": f"{of}{row['reason']}"})
            shapes.append(said | {
                "annotation": row["label"] or "predicted", "annotator": kind, "category": named,
                "bbox": [row[side] for side in _SIDES],
            })  # fmt: skip
        more = {"asked": [], "cost": len(objects), "alpha": None, "objects": objects}
        pictures.append(review.shown_image(data, image) | more | {"shapes": shapes})
    made = manifest(result.settings, result.sources, data.reading)
    names = [each.name for each in result.sources]
    return write_images_page(
        "audit", target, pictures, len(result.images), names, progress, [*KINDS, _OTHERS],
        {_OTHERS: "stroke-dim thin"},
        title=title(result), basis=result.basis, labels=first_few(names, _NAMED),
        kinds=pages.Data("Kinds", ["kind", "what", "look at", "of"], [
            [kind, KINDS[kind], n_worth, n] for kind, n_worth, n, _ in result.kinds.rows()
        ]),
        notes=result.notes, command=command, settings=settings_table(made),
        inputs=inputs_table(made["inputs"]),
    )  # fmt: skip
