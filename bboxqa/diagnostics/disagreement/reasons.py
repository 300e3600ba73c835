"""Why annotators disagree about an object, in words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import IndexArray, run_starts
from bboxqa.core.text import names_in_words
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects
from bboxqa.diagnostics.disagreement.kinds import Disagreements, Kind
from bboxqa.model.units import MatchedUnits

_TOO_LITTLE = ": the {} overlap too little to match"
_TOO_FAR = ": the key points are too far apart to match"

# People that a reason names.
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Described:
    """An object in words, and the annotations of it."""

    reason: str
    annotators: str
    categories: str
    annotations: str
    boxes: str
    rows: tuple[int, ...]
    people: tuple[str, ...]
    """Those of `annotators`."""


def described_objects(
    matched: MatchedUnits,
    objects: DrawnObjects,
    found: Disagreements,
    joined: dict[Kind, IndexArray],
    place: IndexArray,
    kind: IndexArray,
) -> Iterator[Described]:
    """Yield what is to be said about each object of `place`, which disagrees in the way of `kind`.

    `joined` has, by kind, the object that each object is repaired together with, (O,).
    """
    of = matched.data.annotations
    names, categories = matched.data.annotator_names, matched.data.category_names
    in_words, said = names_in_words(names), names_in_words(categories)
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
        people = [*dict.fromkeys(concerned[each].get(at, []))]
        yield Described(
            reason=_reason(
                each,
                [in_words[code] for code in of.annotator[drawn].tolist()],
                [said[code] for code in of.category[drawn].tolist()],
                [in_words[code] for code in people],
                matched.compared,
            ),
            annotators=", ".join(names[code] for code in people),
            categories=_listed(authors, given),
            annotations=_listed(authors, of.shown_ids(drawn)),
            boxes=_listed(authors, [_box(box) for box in of.bbox[drawn].tolist()]),
            rows=tuple(drawn),
            people=tuple(names[code] for code in people),
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


def in_words(compared: str) -> str:
    """Return what annotators drew, as what is compared of it calls it.

    Examples
    --------
    >>> in_words("masks"), in_words("rotated boxes")
    ('outlines', 'boxes')
    """
    return "outlines" if compared in ("polygons", "outlines", "masks") else "boxes"


def too_little(compared: str) -> str:
    """Return what follows the people who drew an object elsewhere."""
    return _TOO_FAR if compared == "keypoints" else _TOO_LITTLE.format(in_words(compared))


def _reason(
    kind: Kind, authors: list[str], given: list[str], people: list[str], compared: str
) -> str:
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
            return f"drawn elsewhere by {who}{too_little(compared)}"
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
