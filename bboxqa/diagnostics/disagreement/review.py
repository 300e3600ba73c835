"""The objects to review first, by how much agreement would gain."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.agreement.objects.meaning import has_meaning
from bboxqa.core.arrays import FloatArray, IndexArray, run_starts
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects, drawn_objects
from bboxqa.diagnostics.disagreement.gains import agreement_sums, gains, whole_sums
from bboxqa.diagnostics.disagreement.kinds import KINDS, Disagreements, Kind, disagreements
from bboxqa.diagnostics.disagreement.repairs import drawn_cells, repair
from bboxqa.model.table import Categorical, Table
from bboxqa.model.units import MatchedUnits

# Nobody reviews more at once.
_MOST = 1000
# People that a reason names.
_NAMED = 4


@dataclass(frozen=True, slots=True, eq=False)
class ReviewQueue:
    """Objects to review first.

    Attributes
    ----------
    objects : Table
        A row for each.
    images : Table
        The images with such objects, by what all of their objects would gain.
    annotations : (R,) int64
        The annotations of the objects, in the order of the data.
    reasons : tuple of str
        Of each of these annotations.
    """

    objects: Table
    images: Table
    annotations: IndexArray
    reasons: tuple[str, ...]


def review_queue(matched: MatchedUnits, most: int = _MOST) -> ReviewQueue:
    """Return the objects whose repair would raise agreement most, and the images that hold them.

    A review is expected to settle an object as most annotators drew it: by the kind of disagreement
    whose repair gains most, in this object alone (see `repair`). The gain is that of pooled
    alpha, or of F1 where alpha has no meaning or no object would raise it.

    The columns of objects: image; gain; kind; reason, in words; annotators, those whom it concerns;
    categories, annotations (ids) and boxes (x, y, width, height), each by annotator. The columns of
    images: image, gain, the sum over its objects, and n_objects.
    """
    objects = drawn_objects(matched)
    found = disagreements(matched, objects)
    best = _gains(matched, objects, found)
    place, kind, gain = best.place, best.kind, best.gain
    n_images = len(matched.data.image_names)
    of_image = np.bincount(objects.image[place], gain, n_images)
    n_objects = np.bincount(objects.image[place], minlength=n_images)
    # Equal gains: the image with more to gain first, then the order of the data.
    order = np.lexsort((place, -of_image[objects.image[place]], -gain.round(12)))[:most]
    place, kind, gain = place[order], kind[order], gain[order]
    words = [*_words(matched, objects, found, best.root, place, kind)]
    images = np.flatnonzero(n_objects)
    images = images[np.lexsort((images, -of_image[images]))]
    names = matched.data.image_names
    texts = {
        column: _texts([getattr(row, column) for row in words])
        for column in ("reason", "annotators", "categories", "annotations", "boxes")
    }
    annotations, first = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(row.rows for row in words)]), return_index=True
    )
    reasons = [row.reason for row in words for _ in row.rows]
    return ReviewQueue(
        objects=Table(
            {
                "image": Categorical(objects.image[place].astype(np.int32), names),
                best.column: gain,
                "kind": Categorical(kind.astype(np.int32), KINDS),
                **texts,
            }
        ),
        images=Table(
            {
                "image": Categorical(images.astype(np.int32), names),
                best.column: of_image[images],
                "n_objects": n_objects[images],
            }
        ),
        annotations=annotations,
        reasons=tuple(reasons[each] for each in first.tolist()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Gains:
    """What would rise if each of P objects were settled."""

    place: IndexArray
    kind: IndexArray
    gain: FloatArray
    """(P,). The objects, the kind of disagreement whose repair gains most, and the gain."""
    column: str
    """What the gain is called."""
    root: dict[Kind, IndexArray]
    """By kind, the object that each object is repaired together with, (O,)."""


def _gains(matched: MatchedUnits, objects: DrawnObjects, found: Disagreements) -> _Gains:
    """Return the objects that would gain."""
    from scipy.sparse import csr_array

    of_alpha = matched.missing == "ignore" or has_meaning(
        np.bincount(matched.data.annotations.category).astype(np.float64)
    )
    whole = whole_sums(matched, drawn_cells(matched, objects), objects.n_asked)
    both, root = np.zeros((2, len(Kind), len(objects))), {}
    for kind in Kind:
        change = repair(matched, objects, found, kind)
        root[kind] = change.root
        own = np.unique(change.root[found.has[:, kind]])
        chosen = csr_array(
            (np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), len(objects))
        )
        before, after = (
            agreement_sums(matched, cells, objects.n_asked)
            for cells in (change.before, change.after)
        )
        alpha, f1 = gains(whole, before, after, chosen)
        both[:, kind, own] = np.nan_to_num(alpha), np.nan_to_num(f1)
    if not (both[0] > 0).any():
        of_alpha = False
    gain = both[0 if of_alpha else 1]
    best = gain.argmax(0)
    gain = gain[best, np.arange(len(objects))]
    place = np.flatnonzero(gain > 0)
    column = "alpha_gain" if of_alpha else "f1_gain"
    return _Gains(place, best[place], gain[place], column, root)


@dataclass(frozen=True, slots=True)
class _Words:
    """What the table says about an object, and the annotations of it."""

    reason: str
    annotators: str
    categories: str
    annotations: str
    boxes: str
    rows: tuple[int, ...]


def _words(
    matched: MatchedUnits,
    objects: DrawnObjects,
    found: Disagreements,
    joined: dict[Kind, IndexArray],
    place: IndexArray,
    kind: IndexArray,
) -> Iterator[_Words]:
    """Yield what the table says about each object."""
    of = matched.data.annotations
    names, categories = matched.data.annotator_names, matched.data.category_names
    members = {each: _grouped(root[objects.of], place) for each, root in joined.items()}
    whom = {each: np.flatnonzero(found.kind == each) for each in Kind}
    concerned = {
        each: _grouped(joined[each][found.object[entries]], place, found.annotator[entries])
        for each, entries in whom.items()
    }
    for at, number in zip(place.tolist(), kind.tolist(), strict=True):
        each = Kind(number)
        drawn = members[each][at]
        authors = [names[code] for code in of.annotator[drawn].tolist()]
        given = [categories[code] for code in of.category[drawn].tolist()]
        people = [names[code] for code in dict.fromkeys(concerned[each].get(at, []))]
        yield _Words(
            reason=_reason(each, authors, given, people),
            annotators=", ".join(people),
            categories=_listed(authors, given),
            annotations=_listed(authors, map(str, of.id[drawn].tolist())),
            boxes=_listed(authors, [_box(box) for box in of.bbox[drawn].tolist()]),
            rows=tuple(drawn),
        )


def _grouped(
    group: IndexArray, wanted: IndexArray, values: IndexArray | None = None
) -> dict[int, list[int]]:
    """Return the values of each wanted group, by default their places."""
    places = np.flatnonzero(np.isin(group, wanted))
    places = places[np.argsort(group[places], kind="stable")]
    starts = run_starts(group[places])
    found = places if values is None else values[places]
    bounds = zip(starts.tolist(), [*starts[1:].tolist(), len(places)], strict=False)
    return {int(group[places[one]]): found[one:other].tolist() for one, other in bounds}


def _reason(kind: Kind, authors: list[str], given: list[str], people: list[str]) -> str:
    """Return why the annotators disagree about an object."""
    who = joined_names(people)
    match kind:
        case Kind.MISSED:
            missed = not set(people) <= set(authors)
            return f"not drawn by {who}" if missed else f"drawn by {who} only"
        case Kind.CLASS_CONFLICT:
            values = dict.fromkeys(given)
            return ", ".join(
                f"{value} by "
                + joined_names(
                    [one for one, said in zip(authors, given, strict=True) if said == value]
                )
                for value in values
            )
        case Kind.BADLY_PLACED:
            return f"drawn elsewhere by {who}: the boxes overlap too little to match"
        case Kind.SPLIT:
            return f"split or merged by {who}"
        case Kind.TWICE:
            return f"drawn twice by {who}"


def joined_names(names: list[str]) -> str:
    """Return names as words of a sentence, at most four of them.

    Examples
    --------
    >>> joined_names(["ann", "bob", "cid"]), joined_names(["ann"])
    ('ann, bob and cid', 'ann')
    >>> joined_names(["ann", "bob", "cid", "dan", "eve"])
    'ann, bob, cid and 2 others'
    """
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others"
    return " and ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


def _listed(names: list[str], values: Iterable[str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))


def _box(box: list[float]) -> str:
    return " ".join(f"{side:.10g}" for side in box)


def _texts(values: list[str]) -> Categorical:
    names, code = np.unique(np.array(values, object).astype(str), return_inverse=True)
    return Categorical(code.astype(np.int32), tuple(names.tolist()))
