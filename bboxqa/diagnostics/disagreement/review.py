"""The review queue: objects whose review would raise agreement most."""

from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects
from bboxqa.diagnostics.disagreement.gains import (
    RepairSums,
    gains,
    repair_sums,
    settled_sums,
    whole_sums,
)
from bboxqa.diagnostics.disagreement.kinds import KINDS, Disagreements, Kind, disagreements
from bboxqa.diagnostics.disagreement.reasons import Described, described_objects
from bboxqa.diagnostics.meaning import alpha_has_meaning
from bboxqa.model.table import Categorical, Column, Table, text_column
from bboxqa.model.units import MatchedUnits

# The most objects in a queue.
_MOST = 1000
# The most objects of an image that its row describes.
_OF_IMAGE = 3
_TEXTS = ("reason", "annotators", "categories", "annotations", "boxes")


@dataclass(frozen=True, slots=True, eq=False)
class ReviewQueue:
    """Objects to review first.

    Attributes
    ----------
    objects : Table
        A row for each object.
    images : Table
        The images with such objects, by the total gain of their objects.
    annotations : (R,) int64
        The annotations of the objects, in the order of the data.
    reasons : tuple of str
        The reason for each of these annotations.
    gains : (R,) float64
        The gain of settling the object of each annotation.
    gain_of_image : (I,) float64
        The total gain of the objects of each image.
    """

    objects: Table
    images: Table
    annotations: IndexArray
    reasons: tuple[str, ...]
    gains: FloatArray
    gain_of_image: FloatArray


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
    for kind, change in repair_sums(matched).items():
        root[kind] = change.root
        own = np.unique(change.root[found.has[:, kind]])
        both[:, kind, own] = _of_each(matched, change, own)
    kinds = both.argmax(1)
    whole = both.max(1)
    change = settled_sums(matched)
    own = np.flatnonzero(change.before.possible)
    # Repetitions are settled with the object that they repeat.
    whole[:, np.isin(change.root, own)] = 0
    whole[:, own] = _of_each(matched, change, own)
    if not (whole[0] > 0).any():
        of_alpha = False
    best, gain = (each[0 if of_alpha else 1] for each in (kinds, whole))
    place = np.flatnonzero(gain > 0)
    column = "alpha_gain" if of_alpha else "f1_gain"
    return _Gains(place, best[place], gain[place], column, root)


def _of_each(matched: MatchedUnits, change: RepairSums, own: IndexArray) -> FloatArray:
    """Return the gains of alpha and F1 if each object of `own` alone changes, (2, K)."""
    from scipy.sparse import csr_array

    shape = len(own), len(change.root)
    chosen = csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=shape)
    return np.nan_to_num(gains(whole_sums(matched), change.before, change.after, chosen))
