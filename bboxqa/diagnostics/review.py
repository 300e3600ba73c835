"""Objects and images to review first, with the reason."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, run_starts
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
from bboxqa.model.review import MOST_REVIEWED
from bboxqa.model.table import Categorical, Column, Table, text_column
from bboxqa.model.units import MatchedUnits

# The most annotators that a reason names.
_NAMED = 4


class Described(NamedTuple):
    """An object in words, and its annotations."""

    reasons: list[str]
    """Why annotators disagree, by kind, such as "not drawn by p1"."""
    reason: str
    """All reasons, with what they mean."""
    annotators: str
    categories: str
    annotations: str
    boxes: str
    people: list[str]
    """Those of `annotators`."""
    rows: list[int]


def described_objects(
    matched: MatchedUnits, joined: dict[Kind, IndexArray], place: IndexArray
) -> Iterator[Described]:
    """Yield a description of each object of `place`, with all its kinds of disagreement.

    `joined` has, by kind, the object with which each object is repaired, (O,). Objects that are
    repaired together, such as an object and its repetitions, are described as one.
    """
    of, objects, found = matched.data.annotations, drawn_objects(matched), disagreements(matched)
    names, categories = matched.data.annotator_names, matched.data.category_names
    in_words, said = names_in_words(names), names_in_words(categories)
    members = {at: {at} for at in place.tolist()}
    for root in joined.values():
        others = np.flatnonzero((root != np.arange(len(root))) & np.isin(root, place))
        for each, at in zip(others.tolist(), root[others].tolist(), strict=True):
            members[at].add(each)
    every = np.array([each for group in members.values() for each in group], np.int64)
    drawn_of, entries_of = _grouped(objects.of, every), _grouped(found.object, every)
    named_with = joined[Kind.CLASS_CONFLICT]
    for at in place.tolist():
        drawn, entries = (
            np.array(sorted(row for each in members[at] for row in rows.get(each, ())), np.int64)
            for rows in (drawn_of, entries_of)
        )
        renamed = found.object[entries[found.kind[entries] == Kind.CLASS_CONFLICT]]
        is_named = np.isin(named_with[objects.of[drawn]], named_with[renamed])
        given: dict[str, list[str]] = {}
        for row in drawn[is_named].tolist():
            given.setdefault(said[of.category[row]], []).append(in_words[of.annotator[row]])
        reasons = [*_reasons(matched, entries, given, in_words)]
        authors = [names[code] for code in of.annotator[drawn].tolist()]
        people = [names[code] for code in dict.fromkeys(found.annotator[entries].tolist())]
        boxes = (" ".join(f"{side:.10g}" for side in box) for box in of.bbox[drawn].tolist())
        yield Described(
            reasons=[text for text, _ in reasons],
            reason="; ".join(f"{text}{detail}" for text, detail in reasons),
            annotators=", ".join(people),
            categories=_listed(authors, (categories[code] for code in of.category[drawn].tolist())),
            annotations=_listed(authors, of.shown_ids(drawn.tolist())),
            boxes=_listed(authors, boxes),
            people=people,
            rows=drawn.tolist(),
        )


def _grouped(group: IndexArray, wanted: IndexArray) -> dict[int, list[int]]:
    """Return the places of each wanted group."""
    places = np.flatnonzero(np.isin(group, wanted))
    places = places[np.argsort(group[places], kind="stable")]
    parts = np.split(places, run_starts(group[places])[1:])
    return {int(group[part[0]]): part.tolist() for part in parts if len(part)}


def in_words(compared: str) -> str:
    """Return the word for annotations of the compared shape."""
    return "outlines" if compared in ("polygons", "outlines", "masks") else "boxes"


def _reasons(
    matched: MatchedUnits, entries: IndexArray, given: dict[str, list[str]], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield why annotators disagree, and what it means, for each kind of some entries."""
    objects, found = drawn_objects(matched), disagreements(matched)
    kind, of = found.kind[entries], found.object[entries]
    is_missed, by_most = kind == Kind.MISSED, 2 * objects.n_drawn[of] >= objects.n_asked[of]
    categories = ", ".join(
        f"{category} by {joined_names([*dict.fromkeys(who)])}" for category, who in given.items()
    )
    apart = f": the {in_words(matched.compared)} overlap too little to match"
    if matched.compared == "keypoints":
        apart = ": the key points are too far apart to match"
    for text, concerned, detail in (
        ("not drawn by {}", is_missed & by_most, ""),
        ("drawn by {} only", is_missed & ~by_most, ""),
        ("", kind == Kind.CLASS_CONFLICT, ""),
        ("drawn elsewhere by {}", kind == Kind.BADLY_PLACED, apart),
        ("split or merged by {}", kind == Kind.SPLIT, ""),
        ("drawn twice by {}", kind == Kind.TWICE, ""),
    ):
        who = [names[code] for code in dict.fromkeys(found.annotator[entries[concerned]].tolist())]
        if who:
            yield text.replace("{}", joined_names(who)) or categories, detail


def joined_names(names: list[str]) -> str:
    """Return names as words of a sentence, at most four of them."""
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others"
    return joined(names)


def _listed(names: list[str], values: Iterable[str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))


# The most objects of an image that its row describes.
_OF_IMAGE = 3
_TEXTS = ("reason", "annotators", "categories", "annotations", "boxes")


@dataclass(frozen=True, slots=True, eq=False)
class ReviewQueue:
    """Objects to review first."""

    objects: Table
    """A row for each object."""
    images: Table
    """The images with such objects, by the total gain of their objects."""
    annotations: IndexArray
    """(R,) int64. The annotations of the objects, in the order of the data."""
    reasons: tuple[str, ...]
    """The reason for each of these annotations."""
    gains: FloatArray
    """(R,) float64. The gain of settling the object of each annotation."""
    gain_of_image: FloatArray
    """(I,) float64. The total gain of the objects of each image."""
    rows: tuple[tuple[int, ...], ...]
    """The annotations of each object."""
    people: tuple[tuple[str, ...], ...]
    """The annotators whom each object concerns: those who differ from most."""


def review_queue(matched: MatchedUnits) -> ReviewQueue:
    """Return the objects whose repair would raise agreement most, and their images.

    A review is expected to settle an object as most annotators drew it (see `settled`). The gain is
    the rise of pooled alpha if this object alone were settled, or of F1 where alpha has no meaning
    or no object would raise it. Of objects with parts, it is that of repairing the kind of
    disagreement that gains most (see `repair`).

    Columns of objects: image; gain; kind, whose repair gains most; reason, which describes all
    kinds of the object in words; annotators, whom they concern; categories, annotations (ids) and
    boxes (x, y, width, height), each by annotator. Columns of images: image; gain, the sum over its
    objects; n_objects; and for the first 1,000 images the reasons and annotators of the three
    objects with the largest gain.
    """
    objects, names = drawn_objects(matched), matched.data.image_names
    place, kind, gain, column, root = _gains(matched)
    image = objects.image[place]
    of_image = np.bincount(image, gain, len(names)).astype(np.float64)
    n_objects = np.bincount(image, minlength=len(names))
    # In a tie, the image with the larger total gain comes first, then the order of the data.
    order = np.lexsort((place, -of_image[image], -gain.round(12)))
    images = np.flatnonzero(n_objects)
    images = images[np.lexsort((images, -of_image[images]))]
    first = {
        where: order[rows[:_OF_IMAGE]]
        for where, rows in _grouped(image[order], images[:MOST_REVIEWED]).items()
    }
    order = order[:MOST_REVIEWED]
    shown = np.unique(np.concatenate([order, *first.values()]))
    of_object = dict(
        zip(shown.tolist(), described_objects(matched, root, place[shown]), strict=True)
    )
    words = [of_object[each] for each in order.tolist()]
    # The annotations of the objects, in the order of the data.
    n_rows = [len(row.rows) for row in words]
    rows_of = np.concatenate([np.zeros(0, np.int64), *(np.array(row.rows) for row in words)])
    annotations, at = np.unique(rows_of.astype(np.int64), return_index=True)
    owner = np.repeat(np.arange(len(words)), n_rows)[at]
    reasons, people = [], []
    for where, n in zip(images.tolist(), n_objects[images].tolist(), strict=True):
        own = [of_object[each] for each in first.get(where, order[:0]).tolist()]
        more = [f"{n - len(own):,} more"] if own and n > len(own) else []
        said = dict.fromkeys(reason for each in own for reason in each.reasons)
        reasons.append("; ".join([*said, *more]))
        people.append(", ".join(dict.fromkeys(name for each in own for name in each.people)))
    columns: dict[str, Column] = {
        "image": Categorical(image[order].astype(np.int32), names),
        column: gain[order],
        "kind": Categorical(kind[order].astype(np.int32), KINDS),
    }
    columns |= {name: text_column([getattr(row, name) for row in words]) for name in _TEXTS}
    of_images: dict[str, Column] = {
        "image": Categorical(images.astype(np.int32), names),
        column: of_image[images],
        "n_objects": n_objects[images],
        "reason": text_column(reasons),
        "annotators": text_column(people),
    }
    return ReviewQueue(
        objects=Table(columns),
        images=Table(of_images),
        annotations=annotations,
        reasons=tuple(words[each].reason for each in owner.tolist()),
        gains=gain[order][owner],
        gain_of_image=of_image,
        rows=tuple(tuple(row.rows) for row in words),
        people=tuple(tuple(row.people) for row in words),
    )


def _gains(
    matched: MatchedUnits,
) -> tuple[IndexArray, IndexArray, FloatArray, str, dict[Kind, IndexArray]]:
    """Return the objects with a gain of settling them.

    Also return the kind of disagreement of each whose repair gains most, the gain of all kinds and
    its name, and by kind the object with which each object is repaired, (O,).
    """
    found = disagreements(matched)
    both = np.full((2, len(Kind), len(found.root)), -np.inf)
    for kind, change in repairs(matched).items():
        own = np.unique(change.root[found.has[:, kind]])
        both[:, kind, own] = np.nan_to_num(
            gains(matched, change, np.arange(len(own)), own, len(own))
        )
    whole, change = both.max(1), settled(matched)
    own = np.flatnonzero(change.before.of_object[2])
    # Repetitions are settled with the object that they repeat.
    whole[:, np.isin(change.root, own)] = 0
    whole[:, own] = np.nan_to_num(gains(matched, change, np.arange(len(own)), own, len(own)))
    figure = 0 if alpha_has_meaning(matched) and (whole[0] > 0).any() else 1
    place = np.flatnonzero(whole[figure] > 0)
    best = both[figure].argmax(0)[place]
    root = {kind: each.root for kind, each in repairs(matched).items()}
    return place, best, whole[figure, place], ("alpha_gain", "f1_gain")[figure], root


@frozen_arrays
class ObjectList:
    """L objects of chosen images, in the order of images."""

    object: IndexArray
    """(L,) int64. The number of each object."""
    image: IndexArray
    """(L,) int64."""
    category: IndexArray
    """(L,) int64. The category of the majority."""
    kind: IndexArray
    """(L,) int64. The primary `Kind`, or -1 where all agree."""
    has: BoolArray
    """(L, 5) bool. All kinds of each object; the columns are those of `Kind`."""
    reason: tuple[str, ...]
    """(L,). Why annotators disagree; empty if they agree."""
    similarity: FloatArray
    """(L,) float64. The mean of the pairs that match; NaN where none does."""
    of: IndexArray
    """(N,) int64. The object of each annotation of the data."""


def object_list(matched: MatchedUnits, images: IndexArray) -> ObjectList:
    """Return the objects of some images, as tables count them.

    A part or a second box has no row: it belongs to the object that it is counted as.
    """
    objects = drawn_objects(matched)
    found = disagreements(matched)
    chosen = found.counted[np.isin(objects.image[found.counted], images)]
    has = found.has_counted[chosen]
    kind = np.where(has.any(1), has.shape[1] - 1 - has[:, ::-1].argmax(1), -1)
    joined = {each: joined_objects(found, each) for each in Kind}
    differs = np.flatnonzero(kind >= 0)
    words = described_objects(matched, joined, chosen[differs])
    reason = np.full(len(chosen), "", object)
    reason[differs] = [row.reason for row in words]
    pairs = matched.pairs
    of = found.home[objects.of]
    of_pairs = of[pairs.left]
    n_pairs = np.bincount(of_pairs, minlength=len(objects))[chosen]
    total = np.bincount(of_pairs, pairs.similarity, len(objects))[chosen]
    return ObjectList(
        object=chosen,
        image=objects.image[chosen],
        category=objects.category[chosen],
        kind=kind,
        has=has,
        reason=tuple(reason.tolist()),
        similarity=np.where(n_pairs > 0, total / np.maximum(n_pairs, 1), np.nan),
        of=of,
    )
