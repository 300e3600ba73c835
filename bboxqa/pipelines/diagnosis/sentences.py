"""The sentences of a diagnosis: one template for each kind of finding, filled from its record."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.text import joined
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.model.diagnosis import Line
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.significance import Bounds, Measure, in_percent

# The most annotators named for one kind of error; others are counted.
_MOST_NAMED = 3

# From so many others on, the range of most of them is told; of so few, each figure may be.
_MANY, _FEW = 10, 3

# By kind: what is said. `who` are the annotators, `size` the figure with its interval; the other
# fields are values of the finding. The number of further annotators comes last.
TEMPLATES = {
    # Annotators
    "stranger": (
        "{who} agrees with nobody: F1 {size:2}{others}: perhaps other images, or another task"
    ),
    "worst": "{who} matches the others {how}: F1 {size:2}{others}",
    "idle": "{who} drew nothing in {images} (the others drew {objects} there)",
    "miss_rate": "{who} misses {size:%} of what most others drew{others}",
    "miss_rate of some": ("{who} misses {what}: {inside} {where}, {outside} {elsewhere}{others}"),
    "extra_rate": "most others did not draw {size:%} of what {who} drew{others}",
    "class_share": (
        "{who} and the others gave different categories to {size:%} of the objects that both drew"
        "{others}"
    ),
    "class_share of some": (
        "{who} names {what} otherwise than the others: {inside} {where}, {outside} {elsewhere}"
        "{others}"
    ),
    "calls": "{who} calls {first} {second} in {size:%} of cases{back}",
    "twice_rate": "{who} draws {size:%} of their objects twice{others}",
    "split_rate": "{who} splits {size:%} of their objects into parts{others}",
    "merge_rate": (
        "{who} draws {size:%} of the objects that most others drew in one box with another{others}"
    ),
    "missed": (
        "{who} did not draw {size:%} of what {other} drew, and {other} {back:%} of {who}'s: it is "
        "unknown who is right"
    ),
    "unused": "{who} never draws {categories}: perhaps not asked for",
    "copies": (
        "{who} copied boxes, it is unknown who from whom: {size:%} of those that both drew are "
        "identical{left_out}"
    ),
    "all copy": (
        "all annotators share boxes, at least {size:%} of those that two of them drew: agreement "
        "does not show how far they would agree independently"
    ),
    "groups": (
        "{groups} agree among themselves, and less with each other: F1 of objects with their "
        "category is {size:2} in the groups and {between:2} between them"
    ),
    # Time
    "change": "F1 of {who} with the others {change} {unit}; the others: {others}",
    "change of all": "F1 of all annotators {change} {unit}; it is uncertain whose work changes",
    # Places
    "offset": "{who} draws boxes {words} than {other}{cost}",
    "either offset": ("{who} {draw} boxes {words}, or {other} the reverse (unknown which){cost}"),
    "imprecise": ("{who} places {places} less precisely: mean {what} {size:2}{others}"),
    "across": (
        "{who} draws {size:%} of the boxes that are not nearly square across those of the others, "
        "as if width and height were exchanged and the angle was not"
    ),
    "swapped_share": "{who} exchanges left and right in up to {size:%} of the objects: {joints}",
    "missing_share": (
        "{who} leaves out joints that others label, in up to {size:%} of the objects: {joints}"
    ),
    "moved joint": "{who} places {joint} {words} than the others",
    "tracks": "tracks: IDF1 of {pair}, the lowest, is {size:2}; {switches}{example}",
    # Objects and categories
    "by chance": (
        "boxes overlap no more often than those of different images would: look whether annotators "
        "saw the same images, and had the same task"
    ),
    "kind": "{share} of the objects {what}",
    "confusion": (
        "{first} and {second} are confused in {n:,} objects, {size:%} of those with either"
        "{above_all}"
    ),
    "supercategory": (
        "with the categories of {which}, alpha would be {merged:z.2f} and not {alpha:z.2f}"
    ),
    "difficult": (
        "{category} is found {least}: where one annotator draws it, {size:%} of the others draw "
        "something{others}"
    ),
    "all agree": "all annotators drew the same {objects} with the same category",
    # Reference
    "worst of reference": (
        "{who} agrees {how} with the reference {reference}: F1 {size:2}{others}; {recall:%} of its "
        "objects are matched by {who}, and {precision:%} of what {who} drew match one of them"
    ),
    "reference confusion": (
        "{first} and {second} are confused in {n:,} of the boxes that match objects of "
        "{reference}, {size:%} of those with either{above_all}"
    ),
    "reference miss_rate": "{who} misses {size:%} of the objects of {reference}{others}",
    "reference extra_rate": "{reference} has no object in {size:%} of the boxes of {who}{others}",
    "reference twice_rate": "{who} draws {size:%} of the objects of {reference} twice{others}",
    "reference class_share": (
        "{who} gives another category than {reference} to {size:%} of its objects{others}"
    ),
    # What the data cannot show
    "unjudged": (
        "no image has three annotators: where two differ, it is unknown who is right; "
        "--reference FILE compares each with a reference"
    ),
    "nothing": "there are no annotations of two annotators to compare",
    "few": "with {what} no annotator is named: at least {least} are needed{how}",
    # Warnings
    "large image": "image {image} has {share:.0f} % of the objects{without}",
    "separate groups": (
        "{n} groups of annotators share no image: nothing compares one group with another"
    ),
    "moved by a program": (
        "the boxes of {who} differ by the same amount in {n_alike:,} of {n:,} matched pairs "
        "({edges} for {first}{pairs}): a program moved them, such as one that counts pixels from 1 "
        "and not from 0; if it wrote Pascal VOC, --voc-base sets that"
    ),
}


# By kind of disagreement: what to do about it, and with whom if it is that of one annotator.
ADVICE = {
    "missed by some": "agree{who} on what has to be drawn",
    "class conflict": "clarify categories{who}",
    "badly placed": "settle{who} how close boxes have to be",
    "split or merged": "decide{who} whether groups and parts are one object",
    "drawn twice by one": "agree{who} that an object is drawn once",
}

_NO_SIZE = Measure(float("nan"), float("nan"), float("nan"))


class Gain(NamedTuple):
    """What agreement would gain without a finding, and the end of the sentence that says so."""

    value: float
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosed:
    """What findings are about: a result, its units and objects, and the tables of diagnostics."""

    part: ThresholdResult
    matched: MatchedUnits
    tables: Mapping[str, Table]

    @property
    def names(self) -> Sequence[str]:
        """The annotators."""
        return self.matched.data.annotator_names

    @property
    def share(self) -> FloatArray:
        """About the share of all objects that each annotator was asked about, (A,)."""
        n = self.tables["annotators"]["n_images"]
        return np.asarray(n / max(int((self.matched.data.assigned.sum(1) > 1).sum()), 1))

    def as_category(self, share: float) -> float:
        """Return a share of a category as one of all objects, if all categories had as many."""
        return share / max(len(np.unique(self.matched.data.annotations.category)), 1)

    def instead(self, condition: str, gain: float) -> Gain | None:
        """Return what alpha, or F1 without any, would be; None if it would be shown alike."""
        own, what = self.part.alpha, "alpha"
        if isnan(own):
            own, what = self.part.existence.f1, "F1 about"
        before, after = f"{own:z.2f}", f"{min(own + gain, 1.0):z.2f}"
        if before == after:
            return None
        return Gain(gain, f" ({condition}, {what} {before}→{after})")

    def of_pairs(self, name: str, column: str) -> FloatArray:
        """Return a figure of the pairs of annotators without one of them."""
        pairs = self.part.pairs
        others = (pairs["annotator_1"] != name) & (pairs["annotator_2"] != name)
        return np.asarray(pairs[column][others], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """What a diagnosis found about annotators, objects or categories."""

    kind: str
    """The name of its template."""
    who: tuple[str, ...] = ()
    """The annotators that it is about."""
    size: Measure = _NO_SIZE
    """Its figure."""
    weight: float = 0.0
    """About the share of objects that it concerns, or of those of its category as if all had as
    many; 0 for what is harmless, infinite for what changes the meaning of figures."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The other fields of the template."""
    cause: Kind | None = None
    """The kind of disagreement that it explains, if it does."""
    n_more: int = 0
    table: str = ""
    """How many others stand out, and the table that has them."""
    gain: Gain | None = None

    @property
    def owner(self) -> str:
        """The one annotator whose disagreement it explains, if it is just one."""
        return self.who[0] if len(self.who) == 1 and not self.n_more else ""

    @property
    def line(self) -> Line:
        """The sentence as a line of a story."""
        text = said(self.kind, **{"who": joined(self.who), "size": self.size, **self.values})
        see = f"{self.table}.csv" if self.n_more else ""
        gain = self.gain.text if self.gain else ""
        more = f"; {self.n_more} more: {see}" if see else ""
        cause = "" if self.cause is None else KINDS[self.cause]
        return Line(f"{text}{gain}{more}", self.who, see, cause)


class Subset(NamedTuple):
    """The words for the objects on which the errors of an annotator depend."""

    what: str
    where: str
    elsewhere: str


# By covariate: the objects below a threshold, and those from it on.
SUBSETS = {
    "size": (
        Subset("small objects", "below {} px²", "above"),
        Subset("large objects", "from {} px² on", "below"),
    ),
    "crowding": (
        Subset("objects that stand alone", "with fewer than {} overlapping others", "with more"),
        Subset("crowded objects", "with {} or more overlapping others", "with fewer"),
    ),
    "border": (
        Subset("objects at the border of the image", "less than {} px from it", "further inside"),
        Subset("objects inside the image", "{} px or more from its border", "nearer to it"),
    ),
    "time": (
        Subset("more at first", "before {}", "later"),
        Subset("more later on", "from {} on", "before"),
    ),
    "category": (Subset("{}", "of them", "of the others"),) * 2,
}


def said(kind: str, **values: Any) -> str:
    """Return a sentence."""
    return TEMPLATES[kind].format(**values)


def findings_of(
    kind: str,
    names: Sequence[str] | NDArray[Any],
    places: Iterable[int] | IndexArray,
    weight: FloatArray,
    values: Callable[[int], Mapping[str, Any] | None],
    *,
    size: Bounds | None = None,
    cause: Kind | None = None,
    table: str = "annotators",
) -> Iterator[Finding]:
    """Yield a finding on each of a few annotators, the largest weight first.

    `values` returns the fields of the sentence on an annotator, or None for no sentence.
    """
    fields = {place: values(place) for place in map(int, places)}
    yield from largest(
        Finding(
            kind,
            (str(names[place]),),
            _NO_SIZE if size is None else size.at(place),
            float(weight[place]),
            own,
            cause,
            table=table,
        )
        for place, own in fields.items()
        if own is not None
    )


def largest(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the few findings of the largest weight; the last has the number of the others."""
    ordered = sorted(found, key=lambda each: -each.weight)
    n_more = max(len(ordered) - _MOST_NAMED, 0)
    for rank, each in enumerate(ordered[:_MOST_NAMED], 1):
        yield replace(each, n_more=n_more if rank == _MOST_NAMED else 0)


def of_others(
    values: FloatArray, own: float, shown: Callable[[float], str] = in_percent,
    who: str = "the others",
) -> str:  # fmt: skip
    """Return the range of the figures of the others as the end of a sentence; "" if unknown.

    Of many others, it is the range of the middle 80 %. A range around the `own` figure, as others
    err too, is narrowed to the middle half or the median; of a few others, each figure is told.
    """
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return ""
    widest = ("most of ", 0.1, 0.9) if len(values) >= _MANY else ("", 0.0, 1.0)
    for part, *ends in (widest, ("half of ", 0.25, 0.75), ("the median of ", 0.5, 0.5)):
        low, high = np.quantile(values, ends).tolist()
        whose, first, last = f"{part}{who}", shown(low), shown(high)
        if not low <= own <= high and shown(own) not in (first, last):
            break
        if len(values) <= _FEW:
            texts = [shown(each).removesuffix(" %") for each in values.tolist()]
            return f"; {who}: {joined([*texts[:-1], last])}"
    return f"; {whose}: " + (last if last == first else f"{first.removesuffix(' %')} to {last}")


def above_all(who: Sequence[str]) -> str:
    """Return who does so above all, as a part of a sentence; "" for nobody."""
    return f", above all by {joined(who)}" if who else ""


def shape_word(compared: str) -> str:
    """Return the word for annotations of the compared shape."""
    return "outlines" if compared in ("polygons", "outlines", "masks") else "boxes"
