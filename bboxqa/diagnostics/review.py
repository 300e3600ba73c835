"""Objects and images to review first, with the reason."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, frozen_arrays, run_starts
from bboxqa.core.text import joined, names_in_words
from bboxqa.diagnostics.decomposition import (
    KINDS,
    Disagreements,
    Kind,
    Repair,
    disagreements,
    gains,
    joined_objects,
    repairs,
    settled,
)
from bboxqa.diagnostics.object_cells import alpha_has_meaning
from bboxqa.diagnostics.parts import DrawnObjects, drawn_objects
from bboxqa.model.table import Categorical, Column, Table, text_column
from bboxqa.model.units import MatchedUnits

_TOO_LITTLE = "the {} overlap too little to match"
_TOO_FAR = "the key points are too far apart to match"

# The most annotators that a reason names.
_NAMED = 4


class Reason(NamedTuple):
    """A kind of disagreement, with the annotators."""

    text: str
    detail: str = ""
    """What the kind means; the same for all objects."""

    def __str__(self) -> str:
        return f"{self.text}: {self.detail}" if self.detail else self.text


@dataclass(frozen=True, slots=True)
class Described:
    """An object in words, and the annotations of it."""

    reasons: tuple[Reason, ...]
    """The reasons of all its kinds of disagreement."""
    annotators: str
    categories: str
    annotations: str
    boxes: str
    rows: tuple[int, ...]
    people: tuple[str, ...]
    """Those of `annotators`."""

    @property
    def reason(self) -> str:
        """All reasons as one text."""
        return "; ".join(map(str, self.reasons))


def described_objects(
    matched: MatchedUnits,
    objects: DrawnObjects,
    found: Disagreements,
    joined: dict[Kind, IndexArray],
    place: IndexArray,
) -> Iterator[Described]:
    """Yield a description of each object of `place`, with all its kinds of disagreement.

    `joined` has, by kind, the object with which each object is repaired, (O,). Objects that are
    repaired together, such as an object and its repetitions, are described as one.
    """
    of = matched.data.annotations
    names, categories = matched.data.annotator_names, matched.data.category_names
    in_words, said = names_in_words(names), names_in_words(categories)
    members = _members(joined, place)
    every = np.array([each for group in members.values() for each in group], np.int64)
    drawn_of, entries_of = _grouped(objects.of, every), _grouped(found.object, every)
    named_with = joined[Kind.CLASS_CONFLICT]
    for at in place.tolist():
        drawn = sorted(row for each in members[at] for row in drawn_of.get(each, ()))
        entries = np.array(
            sorted(entry for each in members[at] for entry in entries_of.get(each, ())), np.int64
        )
        renamed = found.object[entries[found.kind[entries] == Kind.CLASS_CONFLICT]]
        is_named = np.isin(named_with[objects.of[drawn]], named_with[renamed])
        given: dict[str, list[str]] = {}
        for row in np.array(drawn, np.int64)[is_named].tolist():
            given.setdefault(said[of.category[row]], []).append(in_words[of.annotator[row]])
        authors = [names[code] for code in of.annotator[drawn].tolist()]
        shown = [categories[code] for code in of.category[drawn].tolist()]
        reasons = _reasons(objects, found, entries, given, in_words, matched.compared)
        people = tuple(names[code] for code in dict.fromkeys(found.annotator[entries].tolist()))
        yield Described(
            reasons=tuple(reasons),
            annotators=", ".join(people),
            categories=_listed(authors, shown),
            annotations=_listed(authors, of.shown_ids(drawn)),
            boxes=_listed(authors, [_box(box) for box in of.bbox[drawn].tolist()]),
            rows=tuple(drawn),
            people=people,
        )


def _members(joined: dict[Kind, IndexArray], place: IndexArray) -> dict[int, list[int]]:
    """Return the objects that are repaired together with each one of `place`, and itself."""
    members = {at: {at} for at in place.tolist()}
    for root in joined.values():
        others = np.flatnonzero((root != np.arange(len(root))) & np.isin(root, place))
        for each, at in zip(others.tolist(), root[others].tolist(), strict=True):
            members[at].add(each)
    return {at: sorted(group) for at, group in members.items()}


def _grouped(group: IndexArray, wanted: IndexArray) -> dict[int, list[int]]:
    """Return the places of each wanted group."""
    places = np.flatnonzero(np.isin(group, wanted))
    places = places[np.argsort(group[places], kind="stable")]
    starts = run_starts(group[places])
    bounds = zip(starts.tolist(), [*starts[1:].tolist(), len(places)], strict=False)
    return {int(group[places[one]]): places[one:other].tolist() for one, other in bounds}


def in_words(compared: str) -> str:
    """Return the word for annotations of the compared shape."""
    return "outlines" if compared in ("polygons", "outlines", "masks") else "boxes"


def _too_little(compared: str) -> str:
    """Return why badly placed annotations do not match."""
    return _TOO_FAR if compared == "keypoints" else _TOO_LITTLE.format(in_words(compared))


def _reasons(
    objects: DrawnObjects,
    found: Disagreements,
    entries: IndexArray,
    given: dict[str, list[str]],
    names: Sequence[str],
    compared: str,
) -> Iterator[Reason]:
    """Yield why annotators disagree, for each kind of some entries of `found`."""
    kind, of = found.kind[entries], found.object[entries]
    is_missed, by_most = kind == Kind.MISSED, 2 * objects.n_drawn[of] >= objects.n_asked[of]
    categories = ", ".join(
        f"{category} by {joined_names([*dict.fromkeys(who)])}" for category, who in given.items()
    )
    for before, concerned, after, detail in (
        ("not drawn by ", is_missed & by_most, "", ""),
        ("drawn by ", is_missed & ~by_most, " only", ""),
        (categories, kind == Kind.CLASS_CONFLICT, None, ""),
        ("drawn elsewhere by ", kind == Kind.BADLY_PLACED, "", _too_little(compared)),
        ("split or merged by ", kind == Kind.SPLIT, "", ""),
        ("drawn twice by ", kind == Kind.TWICE, "", ""),
    ):
        who = [names[code] for code in dict.fromkeys(found.annotator[entries[concerned]].tolist())]
        if who:
            text = before if after is None else f"{before}{joined_names(who)}{after}"
            yield Reason(text, detail)


def joined_names(names: list[str]) -> str:
    """Return names as words of a sentence, at most four of them."""
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others"
    return joined(names)


def _listed(names: list[str], values: Iterable[str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))


def _box(box: list[float]) -> str:
    return " ".join(f"{side:.10g}" for side in box)


# The most objects in a queue.
_MOST = 1000
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


def review_queue(matched: MatchedUnits, most: int = _MOST) -> ReviewQueue:
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
    objects = drawn_objects(matched)
    found = disagreements(matched)
    best = _gains(matched, objects, found)
    place, kind, gain = best.place, best.kind, best.gain
    n_images = len(matched.data.image_names)
    of_image = np.bincount(objects.image[place], gain, n_images).astype(np.float64)
    n_objects = np.bincount(objects.image[place], minlength=n_images)
    # In a tie, the image with the larger total gain comes first, then the order of the data.
    order = np.lexsort((place, -of_image[objects.image[place]], -gain.round(12)))
    images = np.flatnonzero(n_objects)
    images = images[np.lexsort((images, -of_image[images]))]
    in_images = _first_of(objects.image[place[order]], images[:most])
    order, in_images = order[:most], order[in_images]
    shown = np.union1d(order, in_images)
    described = described_objects(matched, objects, found, best.root, place[shown])
    of_object = dict(zip(shown.tolist(), described, strict=True))
    words = [of_object[each] for each in order.tolist()]
    of_images = _grouped_words(objects.image[place[in_images]], in_images, of_object)
    place, kind, gain = place[order], kind[order], gain[order]
    names = matched.data.image_names
    annotations, reasons, gains_of = _annotations(words, gain)
    columns: dict[str, Column] = {
        "image": Categorical(images.astype(np.int32), names),
        best.column: of_image[images],
        "n_objects": n_objects[images],
    }
    return ReviewQueue(
        objects=Table(
            {
                "image": Categorical(objects.image[place].astype(np.int32), names),
                best.column: gain,
                "kind": Categorical(kind.astype(np.int32), KINDS),
                **{name: text_column([getattr(row, name) for row in words]) for name in _TEXTS},
            }
        ),
        images=Table(columns | _image_texts(images, n_objects, of_images)),
        annotations=annotations,
        reasons=reasons,
        gains=gains_of,
        gain_of_image=of_image,
    )


def _annotations(
    words: list[Described], gain: FloatArray
) -> tuple[IndexArray, tuple[str, ...], FloatArray]:
    """Return the annotations of objects, in the order of the data, with reason and gain of each."""
    annotations, first = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(row.rows for row in words)]), return_index=True
    )
    reasons = [row.reason for row in words for _ in row.rows]
    gains = np.repeat(gain, [len(row.rows) for row in words])
    return annotations, tuple(reasons[each] for each in first.tolist()), gains[first]


def _first_of(image: IndexArray, wanted: IndexArray) -> IndexArray:
    """Return the indices of the first objects of each wanted image, in their order."""
    places = np.flatnonzero(np.isin(image, wanted))
    places = places[np.argsort(image[places], kind="stable")]
    starts = run_starts(image[places])
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(starts, append=len(places)))
    return places[rank < _OF_IMAGE]


def _grouped_words(
    image: IndexArray, objects: IndexArray, of_object: dict[int, Described]
) -> dict[int, list[Described]]:
    """Return the descriptions of the objects of each image."""
    found: dict[int, list[Described]] = {}
    for where, each in zip(image.tolist(), objects.tolist(), strict=True):
        found.setdefault(where, []).append(of_object[each])
    return found


def _image_texts(
    images: IndexArray, n_objects: IndexArray, of_images: dict[int, list[Described]]
) -> dict[str, Column]:
    """Return reasons and annotators of images; empty for images without descriptions."""
    reasons, people = [], []
    for image, n in zip(images.tolist(), n_objects[images].tolist(), strict=True):
        words = of_images.get(image, [])
        more = [f"{n - len(words):,} more"] if words and n > len(words) else []
        said = dict.fromkeys(reason.text for each in words for reason in each.reasons)
        reasons.append("; ".join([*said, *more]))
        names = (name for each in words for name in each.people)
        people.append(", ".join(dict.fromkeys(names)))
    return {"reason": text_column(reasons), "annotators": text_column(people)}


@dataclass(frozen=True, slots=True, eq=False)
class _Gains:
    """Gains of settling each of P objects."""

    place: IndexArray
    kind: IndexArray
    gain: FloatArray
    """(P,). The objects, the kind of disagreement whose repair gains most, and the gain of all."""
    column: str
    """The name of the gain."""
    root: dict[Kind, IndexArray]
    """By kind, the object with which each object is repaired, (O,)."""


def _gains(matched: MatchedUnits, objects: DrawnObjects, found: Disagreements) -> _Gains:
    """Return the objects with a gain."""
    of_alpha = alpha_has_meaning(matched)
    both, root = np.full((2, len(Kind), len(objects)), -np.inf), {}
    for kind, change in repairs(matched).items():
        root[kind] = change.root
        own = np.unique(change.root[found.has[:, kind]])
        both[:, kind, own] = _of_each(matched, change, own)
    kinds = both.argmax(1)
    whole = both.max(1)
    change = settled(matched)
    own = np.flatnonzero(change.before.of_object[2])
    # Repetitions are settled with the object that they repeat.
    whole[:, np.isin(change.root, own)] = 0
    whole[:, own] = _of_each(matched, change, own)
    if not (whole[0] > 0).any():
        of_alpha = False
    best, gain = (each[0 if of_alpha else 1] for each in (kinds, whole))
    place = np.flatnonzero(gain > 0)
    column = "alpha_gain" if of_alpha else "f1_gain"
    return _Gains(place, best[place], gain[place], column, root)


def _of_each(matched: MatchedUnits, change: Repair, own: IndexArray) -> FloatArray:
    """Return the gains of alpha and F1 if each object of `own` alone changes, (2, K)."""
    return np.nan_to_num(gains(matched, change, np.arange(len(own)), own, len(own)))


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
    words = described_objects(matched, objects, found, joined, chosen[differs])
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
