"""Why annotators disagree about an object, in words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import IndexArray, run_starts
from bboxqa.core.text import joined, names_in_words
from bboxqa.diagnostics.disagreement.drawn_objects import DrawnObjects
from bboxqa.diagnostics.disagreement.kinds import Disagreements, Kind
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
    """Return the word for annotations of the compared shape.

    Examples
    --------
    >>> in_words("masks"), in_words("rotated boxes")
    ('outlines', 'boxes')
    """
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
    """Yield why annotators disagree, for each kind of some entries of `found`.

    `given` has, by category, who gave it.
    """
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
    return joined(names)


def _listed(names: list[str], values: Iterable[str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))


def _box(box: list[float]) -> str:
    return " ".join(f"{side:.10g}" for side in box)
