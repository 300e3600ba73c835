"""Objects and images to review first, with the reason, and the images that cost most."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, compress, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, distinct, listed_by, run_starts
from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.machine import gc_paused
from bboxqa.core.text import joined, names_in_words
from bboxqa.diagnostics.decomposition import (
    KINDS,
    Kind,
    disagreements,
    gains,
    joined_objects,
    repairs,
    settled,
)
from bboxqa.diagnostics.object_cells import alpha_has_meaning
from bboxqa.diagnostics.parts import drawn_objects
from bboxqa.formats.positions import Locator
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    ASKED_KEYS,
    annotator_name,
    id_number,
    whole_number,
)
from bboxqa.formats.registry import document_of
from bboxqa.formats.source import size_and_digest
from bboxqa.geometry.rasters import outline_rings
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.diagnosis import ALL_AGREE, MOST_REVIEWED, ReviewItem, ReviewObject
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Categorical, Column, Table, text_column
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.findings import shape_word
from bboxqa.report.numbers import json_value

# The most annotators that a reason names, and the most objects that the row of an image describes.
_NAMED, _OF_IMAGE = 4, 3


class Described(NamedTuple):
    """Why annotators disagree about an object, with its annotations."""

    reasons: list[str]
    """By kind, such as "not drawn by p1"."""
    people: list[str]
    """Whom it concerns: those who differ from most."""
    rows: list[int]

    @property
    def reason(self) -> str:
        """All reasons."""
        return "; ".join(self.reasons)


def described_objects(matched: MatchedUnits, place: IndexArray) -> dict[int, Described]:
    """Return a description of each object of `place`, with all its kinds of disagreement."""
    of, objects, found = matched.data.annotations, drawn_objects(matched), disagreements(matched)
    names = matched.data.annotator_names
    in_words, said = names_in_words(names), names_in_words(matched.data.category_names)
    root = {kind: joined_objects(found, kind) for kind in Kind}
    members = {at: {at} for at in place.tolist()}
    for one in root.values():
        others = np.flatnonzero((one != np.arange(len(one))) & np.isin(one, place))
        for each, at in zip(others.tolist(), one[others].tolist(), strict=True):
            members[at].add(each)
    every = np.array([each for group in members.values() for each in group], np.int64)
    drawn_of, entries_of = _grouped(objects.of, every), _grouped(found.object, every)
    named_with = root[Kind.CLASS_CONFLICT]
    described = {}
    for at in place.tolist():
        drawn, entries = (
            np.array(sorted(row for each in members[at] for row in rows.get(each, ())), np.int64)
            for rows in (drawn_of, entries_of)
        )
        renamed = found.object[entries[found.kind[entries] == Kind.CLASS_CONFLICT]]
        is_named = np.isin(named_with[objects.of[drawn]], named_with[renamed])
        given = listed_by(
            (said[of.category[row]], in_words[of.annotator[row]])
            for row in drawn[is_named].tolist()
        )
        described[at] = Described(
            reasons=_reasons(matched, entries, given, in_words),
            people=[names[code] for code in dict.fromkeys(found.annotator[entries].tolist())],
            rows=drawn.tolist(),
        )
    return described


def _grouped(group: IndexArray, wanted: IndexArray) -> dict[int, list[int]]:
    """Return the places of each wanted group."""
    places = np.flatnonzero(np.isin(group, wanted))
    places = places[np.argsort(group[places], kind="stable")]
    parts = np.split(places, run_starts(group[places])[1:])
    return {int(group[part[0]]): part.tolist() for part in parts if len(part)}


def _reasons(
    matched: MatchedUnits, entries: IndexArray, given: dict[str, list[str]], names: Sequence[str]
) -> list[str]:
    """Return why annotators disagree for each kind of some entries."""
    objects, found = drawn_objects(matched), disagreements(matched)
    kind, of = found.kind[entries], found.object[entries]
    is_missed, by_most = kind == Kind.MISSED, 2 * objects.n_drawn[of] >= objects.n_asked[of]
    is_apart, drawn = kind == Kind.BADLY_PLACED, shape_word(matched.compared)
    categories = ", ".join(
        f"{category} by {_joined_names([*dict.fromkeys(who)])}" for category, who in given.items()
    )
    reasons = []
    for text, concerned in (
        ("not drawn by {}", is_missed & by_most),
        ("drawn by {} only", is_missed & ~by_most),
        (categories.replace("{", "{{").replace("}", "}}"), kind == Kind.CLASS_CONFLICT),
        (f"drawn elsewhere by {{}}: the {drawn} overlap too little to match", is_apart),
        ("split or merged by {}", kind == Kind.SPLIT),
        ("drawn twice by {}", kind == Kind.TWICE),
    ):
        who = [names[code] for code in dict.fromkeys(found.annotator[entries[concerned]].tolist())]
        if who:
            reasons.append(text.format(_joined_names(who)))
    return reasons


def _joined_names(names: list[str]) -> str:
    """Return names as words of a sentence, at most four of them."""
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others"
    return joined(names)


def review_of(matched: MatchedUnits) -> tuple[Table, dict[str, Any]]:
    """Return the images of the objects whose repair would raise agreement most, and the objects.

    These are fields of a diagnosis. The gain is the rise of pooled alpha if the object alone were
    settled as most annotators drew it (see `settled`), or of F1 where no object would raise alpha.
    Of objects with parts, it is that of repairing the kind that gains most. An image has the
    reasons and annotators of its first three objects in the queue.
    """
    data = matched.data
    place, kind, gain, column = _gains(matched)
    image, n_images = drawn_objects(matched).image[place], len(data.image_names)
    of_image = np.bincount(image, gain, n_images).astype(np.float64)
    n_objects = np.bincount(image, minlength=n_images)
    # In a tie, the image with the larger total gain comes first, then the order of the data.
    order = np.lexsort((place, -of_image[image], -gain.round(12)))
    images = np.flatnonzero(n_objects)
    images = images[np.lexsort((images, -of_image[images]))]
    order = order[:MOST_REVIEWED]
    described = described_objects(matched, place[order])
    words = [described[at] for at in place[order].tolist()]
    rows_of = _grouped(image[order], images)
    reasons, people = [], []
    for where, n in zip(images.tolist(), n_objects[images].tolist(), strict=True):
        own = [words[row] for row in rows_of.get(where, ())[:_OF_IMAGE]]
        more = [f"{n - len(own):,} more"] if own and n > len(own) else []
        said = dict.fromkeys(reason for each in own for reason in each.reasons)
        reasons.append("; ".join([*said, *more]))
        people.append(", ".join(dict.fromkeys(name for each in own for name in each.people)))
    of = data.annotations

    def by_annotator(said: Callable[[int], str]) -> Categorical:
        names = data.annotator_names
        drawn = (
            [f"{names[of.annotator[row]]}: {said(row)}" for row in each.rows] for each in words
        )
        return text_column([*map("; ".join, drawn)])

    of_objects: dict[str, Column] = {
        "image": Categorical(image[order].astype(np.int32), data.image_names),
        column: gain[order],
        "kind": Categorical(kind[order].astype(np.int32), KINDS),
        "reason": text_column([each.reason for each in words]),
        "annotators": text_column([", ".join(each.people) for each in words]),
        "categories": by_annotator(lambda row: data.category_names[of.category[row]]),
        "annotations": by_annotator(lambda row: of.shown_ids([row])[0]),
        "boxes": by_annotator(lambda row: " ".join(f"{side:.10g}" for side in of.bbox[row])),
    }
    of_images: dict[str, Column] = {
        "image": Categorical(images.astype(np.int32), data.image_names),
        column: of_image[images],
        "n_objects": n_objects[images],
        "reason": text_column(reasons),
        "annotators": text_column(people),
    }
    owner = {row: n for n in reversed(range(len(words))) for row in words[n].rows}
    rows = np.array(sorted(owner), np.int64)
    whose = [owner[row] for row in rows.tolist()]
    document = review_document(
        data, rows, [words[n].reason for n in whose], gain[order][whose], of_image
    )
    return Table(of_images), {
        "review": Table(of_objects),
        "review_document": document,
        "to_review": _items(data, words, gain[order], rows),
    }


def _gains(matched: MatchedUnits) -> tuple[IndexArray, IndexArray, FloatArray, str]:
    """Return the objects with a gain of settling them, the best kind, the gain and its name."""
    found = disagreements(matched)
    both = np.full((2, len(Kind), len(found.root)), -np.inf)
    for kind, (change, root) in repairs(matched).items():
        own = distinct(root[found.has[:, kind]])
        both[:, kind, own] = np.nan_to_num(
            gains(matched, change, np.arange(len(own)), own, len(own))
        )
    whole, (change, root, own) = both.max(1), settled(matched)
    # Repetitions are settled with the object that they repeat.
    whole[:, np.isin(root, own)] = 0
    whole[:, own] = np.nan_to_num(gains(matched, change, np.arange(len(own)), own, len(own)))
    figure = 0 if alpha_has_meaning(matched) and (whole[0] > 0).any() else 1
    place = np.flatnonzero(whole[figure] > 0)
    best = both[figure].argmax(0)[place]
    return place, best, whole[figure, place], ("alpha_gain", "f1_gain")[figure]


def _items(
    data: Dataset, words: Sequence[Described], gain: FloatArray, annotations: IndexArray
) -> tuple[ReviewItem, ...]:
    """Return who should look at which objects again, in the order of the queue."""
    of, categories = data.annotations, data.category_names
    ids: Sequence[Any] = of.id.tolist() if of.own_id is None else of.own_id.tolist()
    at = {row: number for number, row in enumerate(annotations.tolist())}
    places = {image: n for n, image in enumerate(distinct(of.image[annotations]).tolist())}
    items: list[ReviewItem] = []
    seen: set[int] = set()
    for said, gained in zip(words, gain.tolist(), strict=True):
        author = [data.annotator_names[code] for code in of.annotator[said.rows].tolist()]
        image = int(of.image[said.rows[0]])
        drawn = dict.fromkeys(author)
        # If half of those who were asked drew it, it is unknown who is right.
        is_open = 2 * len(drawn) == int(data.assigned[image].sum())
        for name in dict.fromkeys((*said.people, *(drawn if is_open else ()))):
            own = [row for row, by in zip(said.rows, author, strict=True) if by == name]
            new = [row for row in own if row not in seen] if own else said.rows[:1]
            seen.update(own)
            for row in new:
                found = ReviewObject(
                    annotator=name,
                    image=data.image_names[image],
                    id=ids[row] if own else None,
                    category=categories[of.category[row]],
                    bbox=tuple(of.bbox[row].tolist()),
                    reason=said.reason,
                    gain=gained,
                )
                items.append(ReviewItem(found, at[row] if own else -1, places[image]))
    return tuple(items)


_MOST_SHAPES = 200_000


def worst_images(part: ThresholdResult, matched: MatchedUnits, n_images: int) -> dict[str, Any]:
    """Return the images that cost most agreement, the worst first, and what was drawn in them.

    Objects are numbered within an image, as tables count them: a part or a second box belongs to
    another object.
    """
    data, unit, table = matched.data, matched.units.unit, part.images
    cost = np.nan_to_num(np.asarray(table["cost"], np.float64), nan=-np.inf)
    worst = np.lexsort((-np.asarray(table["n_units"]), -cost))[:n_images]
    images = table.codes("image")[worst]
    n_shapes = np.bincount(data.annotations.image, minlength=len(data.image_names))[images]
    kept = np.cumsum(n_shapes) - n_shapes[:1].sum() <= _MOST_SHAPES
    rows, images = table.take(worst[kept]).records(), images[kept]
    objects, found = drawn_objects(matched), disagreements(matched)
    of = found.home[objects.of]
    chosen = found.counted[np.isin(objects.image[found.counted], images)]
    said = described_objects(matched, chosen[found.has_counted[chosen].any(1)])
    of_pairs = of[matched.pairs.left]
    n_pairs = np.bincount(of_pairs, minlength=len(objects.image))
    with np.errstate(invalid="ignore"):
        similarity = np.bincount(of_pairs, matched.pairs.similarity, len(objects.image)) / n_pairs
    number = np.zeros(len(objects.image), np.int64)

    listed = []
    places = _grouped(objects.image[chosen], images)
    shapes = _grouped(data.annotations.image.astype(np.int64), images)
    for row, image in zip(rows, images.tolist(), strict=True):
        own, drawn = chosen[places.get(image, [])], shapes.get(image, [])
        number[own] = np.arange(1, len(own) + 1)
        described = []
        for at in own.tolist():
            kinds = [KINDS[each] for each in np.flatnonzero(found.has_counted[at]).tolist()]
            described.append(
                {
                    "object": int(number[at]),
                    "category": data.category_names[objects.category[at]],
                    "kind": kinds[-1] if kinds else ALL_AGREE,
                    "kinds": kinds,
                    "reason": said[at].reason if kinds else "",
                    "similarity": json_value(float(similarity[at])),
                }
            )
        listed.append(
            {
                **shown_image(data, image),
                "cost": row["cost"],
                "alpha": row["alpha"],
                "alpha_status": row["status"],
                "f1": row["f1"],
                "objects": described,
                "shapes": [
                    drawn_shape(data, int(number[of[each]]), each) | {"unit": int(unit[each])}
                    for each in drawn
                ],
            }
        )
    return {
        "threshold": part.threshold_label,
        "measure": part.measure,
        "n_images": len(table),
        "images": listed,
    }


Record = dict[str, Any]


@gc_paused()
def _file_records(
    data: Dataset, of: Annotations
) -> tuple[list[tuple[Record, Record]], list[Record]] | None:
    """Return the records of annotations and their images, and the categories of all files."""
    keys = [*zip(of.id.tolist(), map(tuple, of.bbox.tolist()), strict=True)]
    found: dict[Any, list[tuple[str, Record, Record]]] = {key: [] for key in keys}
    categories: list[Record] = []
    for source in data.sources:
        path, document = Path(source.name), None
        with suppress(DatasetError, OSError):
            if size_and_digest(path, digest=False)[0] == source.size:
                document = document_of(path, data.reading)
        if document is None or document.stopped or not isinstance(document.top, dict):
            return None
        if not all(isinstance(each, dict) for each in (*document.images, *document.categories)):
            return None
        categories += document.categories
        images = {id_number(image.get("id")): image for image in document.images}
        columns, locator = document.annotations, Locator(document)
        for row in np.flatnonzero(np.isin(columns.id, of.id)).tolist():
            of_key = found.get((int(columns.id[row]), tuple(columns.bbox[row].tolist())))
            image = images.get(int(columns.image_id[row]))
            if of_key is not None and image is not None:
                of_key.append((own_name(path), locator.value("annotations", row), image))
    if not all(found.values()):
        return None
    records = []
    for key, code in zip(keys, of.annotator.tolist(), strict=True):
        name = data.annotator_names[code]
        own = next((each for each in found[key] if each[0] == name), found[key][0])
        records.append(own[1:])
    return records, categories


def review_document(
    data: Dataset,
    annotations: IndexArray,
    reasons: Iterable[str],
    gains: FloatArray,
    gain_of_image: FloatArray,
    more: Sequence[int] = (),
) -> dict[str, Any]:
    """Return a COCO document of the annotations to review, in their order, and their images.

    `more` are further images, in which nothing is drawn that is to be reviewed. Records keep all
    keys of the files. Added are "reason", "gain", and "annotator", "area" and "iscrowd" where they
    are missing. Records of a single file keep their ids. Where the files cannot be read again, or
    annotators have pseudonyms, there are only boxes.
    """
    of = data.annotations.take(annotations)
    found = None if data.is_pseudonymous else _file_records(data, of)
    boxes = zip(of.id.tolist(), of.bbox.tolist(), strict=True)
    records, categories = found or ([({"id": id_, "bbox": box}, {}) for id_, box in boxes], [])
    keeps_ids = len(data.sources) == 1 and bool(categories)
    if not keeps_ids:
        names = enumerate(data.category_names, 1)
        categories = [{"id": number, "name": name} for number, name in names]
    places = of.image.tolist()
    # Reversed, so that the first record of each image wins.
    own = {
        place: image for place, (_, image) in zip(reversed(places), reversed(records), strict=True)
    }
    new = count(new_number(own.values()) if keeps_ids else 1)
    images = {
        place: _image(
            data, place, own.get(place, {}),
            own[place]["id"] if keeps_ids and place in own else next(new),
        )
        for place in sorted({*own, *more})
    }  # fmt: skip
    ids = [record["id"] for record, _ in records]
    if len({*map(str, ids)}) < len(ids):
        ids = [*range(1, len(ids) + 1)]
    authors = np.array(data.annotator_names, object)[of.annotator].tolist()
    why = zip(reasons, gains.tolist(), strict=True)
    rows = zip(records, ids, places, of.category.tolist(), authors, why, strict=True)
    drawn = []
    for (record, _), id_, place, category, author, (reason, gain) in rows:
        # With the keys that other tools need.
        result = {"iscrowd": 0, **record}
        named = [annotator_name(record[key]) for key in ANNOTATOR_KEYS if key in record]
        if author not in named:
            result["annotator"] = author
        if "segmentation" not in record:
            result.setdefault("area", record["bbox"][2] * record["bbox"][3])
        result |= {"id": id_, "image_id": images[place]["id"]}
        result["category_id"] = record["category_id"] if keeps_ids else category + 1
        drawn.append(result | {"reason": reason, "gain": gain})
    return {
        "images": [each | {"gain": float(gain_of_image[place])} for place, each in images.items()],
        "categories": categories,
        "annotations": drawn,
    }


def new_number(records: Iterable[Record]) -> int:
    """Return the first number after the ids of records."""
    return 1 + max(filter(None, (whole_number(each["id"]) for each in records)), default=0)


def _image(data: Dataset, place: int, record: Record, id_: object) -> Record:
    """Return the record of an image, with its size where it is known, and who was asked."""
    width, height = data.image_size[place].tolist()
    size = {"width": width, "height": height} if width > 0 and height > 0 else {}
    # Where each annotator has a record of the image, one stands for all.
    known = {key: value for key, value in record.items() if key != "annotator"}
    result = {"file_name": data.image_names[place], **size, **known, "id": id_}
    asked = [*compress(data.annotator_names, data.assigned[place])]
    named = [result[key] for key in ASKED_KEYS if isinstance(result.get(key), list)]
    # A file may name its owner, where each file is taken as one annotator.
    if {*map(annotator_name, chain(*named))} != {*asked}:
        for key in ASKED_KEYS:
            result.pop(key, None)
        result["annotators"] = asked
    return result


def shown_image(data: Dataset, image: int) -> dict[str, Any]:
    """Return what pages say of an image: its name, its size if known, and who was asked."""
    width, height = data.image_size[image].tolist()
    return {
        "file_name": data.image_names[image],
        "width": width or None,
        "height": height or None,
        "asked": [*compress(data.annotator_names, data.assigned[image])],
    }


def drawn_shape(data: Dataset, number: int, row: int) -> dict[str, Any]:
    """Return what pages draw of an annotation, with the number of its object."""
    of, rings, points = data.annotations, outline_rings(data.annotations, row), {}
    if of.keypoints is not None:
        # Labelled key points, and the lines between them.
        part = slice(int(of.keypoints.start[row]), int(of.keypoints.stop[row]))
        xy, seen = of.keypoints.xy[part].round(2), of.keypoints.visibility[part]
        limbs = data.limbs[of.category[row]] if data.limbs else ()
        lines = [xy[[*ends]] for ends in limbs if max(ends) < len(seen) and seen[[*ends]].all()]
        points = {
            "visible_points": xy[seen > 1].tolist(),
            "hidden_points": xy[seen == 1].tolist(),
            "lines": [line.ravel().tolist() for line in lines],
        }
    return {
        "annotation": int(of.id[row]) if of.own_id is None else of.shown_ids([row])[0],
        "annotator": data.annotator_names[of.annotator[row]],
        "category": data.category_names[of.category[row]],
        "object": number,
        "bbox": of.bbox[row].tolist(),
        **({"rings": [ring.round(2).ravel().tolist() for ring in rings]} if rings else {}),
        **points,
    }
