"""The sentences of a diagnosis: one template for each kind of finding, filled from its record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import first_few, joined
from bboxqa.diagnostics.decomposition import Kind
from bboxqa.model.diagnosis import Line
from bboxqa.model.table import Table

MORE = "the tables of --diagnose"
"""Where the findings are that a story has no room for."""

# By kind: what is said. `who` are the annotators, `size` the figure with its interval, `more` the
# number of further annotators; the other fields are values of the finding.
TEMPLATES = {
    "as said": "{text}{more}",
    # Annotators
    "worst": "{who} matches the others {how}: F1 {size:2}{others}",
    "without": (
        "; without {who}, alpha would be {without:z.2f} and not {alpha:z.2f} ({low:z.2f} to "
        "{high:z.2f} higher)"
    ),
    "idle": "{who} drew nothing in {images} (the others drew {objects} there){more}",
    "miss_rate": "{who} misses {size:%} of the objects that most others drew{detail}{others}{more}",
    "extra_rate": "most others did not draw {size:%} of what {who} drew{others}{more}",
    "class_share": (
        "{who} and the others gave different categories to {size:%} of the objects that both drew"
        "{detail}{others}{more}"
    ),
    "twice_rate": "{who} draws {size:%} of their objects twice{others}{more}",
    "split_rate": (
        "{who} splits objects: {size:%} of those that they drew are drawn in parts{others}{more}"
    ),
    "merge_rate": (
        "{who} merges objects: {size:%} of those that most others drew are in one box with another "
        "one{others}{more}"
    ),
    "missed by one": "{who} did not draw {size:%} of what {other} drew",
    "missed by none": "{who} drew all that {other} drew",
    "unused": "{who} never draws {categories}: perhaps {were} not asked for{more}",
    "copies": ("{who} share boxes: {size:%} of those that both drew are identical{left_out}{more}"),
    "copies left out": (
        "; {what} are left out of the figures of annotators, where they would count double"
    ),
    "copied images left out": (
        "; {images} with half or more identical boxes are left out of the figures of annotators, "
        "as too few others are left there to judge them"
    ),
    "groups": (
        "{groups} agree among themselves, and less with each other: F1 of objects with their "
        "category is {size:2} in the groups and {between:2} between them"
    ),
    # Time
    "change": (
        "F1 of {who} with the others {size:change} {unit}; that of the others {others} (median)"
    ),
    "change of all": "F1 of all annotators together {size:change} {unit}{unknown}",
    "no change": "F1 of all annotators together does not change significantly: {changes}",
    "unknown change": "how F1 changes {units} is unknown: {reason}",
    # Places
    "offset": "{who} draws boxes {words} than {other}{more}",
    "turned": "{who} turns boxes {words} from those of {other}{more}",
    "imprecise": (
        "{who} places {places} less precisely: their mean {what} of the others is {size:2}{others}"
        "; {nothing}{more}"
    ),
    "renamed sides": (
        "{who} calls the other side the width in {size:%} of the boxes that are not nearly square: "
        "the angle is a quarter turn off, the rectangle is the same, and agreement is not lowered; "
        "agree on which side is the width{more}"
    ),
    "exchanged sides": (
        "{who} draws {size:%} of the boxes that are not nearly square across those of the others, "
        "as if width and height were exchanged and the angle was not{more}"
    ),
    "swapped by one of two": (
        "left and right are exchanged by one of the two annotators in up to {size:%} of the "
        "objects: {joints}"
    ),
    "swapped_share": (
        "{who} exchanges left and right in up to {size:%} of the objects{others}: {joints}{more}"
    ),
    "missing_share": (
        "{who} leaves out joints that others label, in up to {size:%} of the objects{others}: "
        "{joints}{more}"
    ),
    "moved joint": "{who} places {joint} {words} than {other}{also}{more}",
    "tracks of two": "tracks: IDF1 of {people} is {size:2}; {switches}",
    "tracks": (
        "tracks: IDF1 is lowest of {people}, {size:2}, and highest of {best}, {highest:2}; "
        "{switches}"
    ),
    "switches": (
        "{n}, such as track {track} of {annotator_1}, which is {before} of {annotator_2} until "
        "{until}, and {after} from {since} on"
    ),
    # Objects and categories
    "kind": "{which} {what}{above_all}: {settled}, {figure} would be {size:2} higher{overlap}",
    "kind of one": "{text}; {settled}, {figure} would be {size:2} higher{overlap}",
    "confusion": (
        "{first} and {second} are confused in {n:,} objects, {size:%} of the objects with either"
        "{above_all}{gain}"
    ),
    "supercategory": (
        "with the categories of {which}, alpha would be {merged:z.2f}, {size:2} higher"
    ),
    "difficult": (
        "{category} is found {least}: where one annotator draws it, {size:%} of the others draw "
        "something; {others}"
    ),
    "all agree": "all annotators drew the {same} with the same category",
    # Reference
    "worst of reference": (
        "{who} agrees {how} with the reference {reference}: F1 {size:2}{others}; {recall:%} of its "
        "objects are matched by {who}, and {precision:%} of what {who} drew match one of them"
    ),
    "reference confusion": (
        "{first} and {second} are confused in {n:,} of the boxes that match objects of "
        "{reference}, {size:%} of those with either{above_all}"
    ),
    "reference miss_rate": "{who} misses {size:%} of the objects of {reference}{others}{more}",
    "reference extra_rate": (
        "{reference} has no object in {size:%} of the boxes of {who}{others}{more}"
    ),
    "reference twice_rate": (
        "{who} draws objects twice: {size:%} of those of {reference} that they drew{others}{more}"
    ),
    "reference class_share": (
        "{who} gives another category than {reference} to {size:%} of its objects{others}{more}"
    ),
    # What the data cannot show
    "nobody": (
        "no annotator misses, adds, misnames, misplaces, splits, merges or repeats objects "
        "significantly more than the others (95 % intervals, corrected for the number of "
        "annotators and kinds of errors)"
    ),
    "one against one": (
        "no image has three annotators: where two differ, it is unknown who is right, and nobody "
        "is named; --reference FILE compares each with a reference"
    ),
    "nothing": "there are no annotations to compare",
    "no pairs": (
        "no image with annotations has two annotators: their agreement cannot be measured"
    ),
    "no match": (
        "no two annotations match at {threshold}: categories and places can hardly be compared"
    ),
    "no draws": "without draws (bootstrap 0) nobody is named: intervals are missing",
    "few draws": "with {draws} nobody is named: it takes {least} (--bootstrap {least})",
    "one image": (
        "one image does not show how figures vary between images: they have no intervals, and "
        "nobody is named, which takes {least} images"
    ),
    "few images": "with {images} nobody is named: it takes {least}",
    "many pairs": (
        "{n:,} pairs of annotators share objects: where each places edges has no interval, and "
        "nobody is named for it"
    ),
    "two annotators": (
        "with two annotators{left} it is unknown who is right: what one misses is what the other "
        "adds"
    ),
    "one category": "with one category, agreement on categories cannot be measured",
    "room": "{findings}: " + MORE + " have {them}",
    # Warnings
    "not listed": (
        "some images do not list who was asked, and only some annotators drew there: if all were "
        "asked, {figures} (--asked all)"
    ),
    "large image": "image {image} holds {share:.0f} % of the units{without}",
    "separate groups": (
        "{n} groups of annotators share no image, and {figure} pools them ({parts}): nothing "
        "compares one group with another"
    ),
    "two copy": "{who} have {n:,} identical boxes, {share} % of those that both drew{without}",
    "several copy": (
        "{who} have identical boxes, {share} % of those that any two of them both drew{without}"
    ),
    "all copy": (
        ": they copied each other or kept the same proposed boxes, and {figure} {value:z.2f} does "
        "not show how far they would agree independently"
    ),
    "moved by a program": (
        "the boxes of {who} differ by the same amount in {n_alike:,} of {n:,} matched pairs "
        "({edges} for {first}{pairs}): a program moved them, such as one that counts pixels from 1 "
        "and not from 0; if it wrote Pascal VOC, --voc-base sets that"
    ),
    "drawn twice": "{who} drew {n:,} of {objects} twice: drawn once, {figure} would be {instead}",
    "two labels": (
        "{places} overlapping boxes of two categories by the same annotators{where} {most}: alpha "
        "matches boxes by place alone and may pair one category with the other; --category-lenient "
        "prefers equal categories and gives {by_label:z.2f} and not {value:z.2f}, and the tables "
        "of the diagnosis match so there"
    ),
    "threshold": "{figure} depends on the threshold: {values} at {measure} {thresholds}",
    "matcher": "{figure} depends on the matcher: {own} gives {figure} {size:2}, {others}",
}


class Measure(NamedTuple):
    """A figure with the bounds of its 95 % interval, NaN where there is none."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        if spec == "%":
            return self.text(1, " %", 100)
        if spec == "change":
            low, high = sorted((abs(self.low), abs(self.high)))
            return f"{moved(self.value)} [{low:z.3f}, {high:z.3f}]"
        return self.text(int(spec))

    def text(self, digits: int, unit: str = "", factor: float = 1.0) -> str:
        """Return the figure times a factor, with its unit and its interval in brackets."""
        value, low, high = (f"{factor * each:z.{digits}f}" for each in self)
        return f"{value}{unit}" if isnan(self.low) else f"{value}{unit} [{low}, {high}]"

    def size(self, unit: str) -> str:
        """Return the size of an offset, whose direction is in words, with its interval."""
        low, high = (self.low, self.high) if self.value >= 0 else (-self.high, -self.low)
        return f"{abs(self.value):.1f}{unit} [{low:z.1f}, {high:z.1f}]"


_NO_SIZE = Measure(float("nan"), float("nan"), float("nan"))


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
    """About the share of objects that it concerns."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The other fields of the template."""
    n_more: int = 0
    table: str = ""
    """How many others stand out, and the table that has them."""
    cause: Kind | None = None
    """The kind of disagreement that it explains, if it does."""
    owner: str = ""
    """The one annotator whose disagreement it explains, if it is just one."""
    n_confused: int = 0
    """The objects of a confusion of two categories."""

    @property
    def see(self) -> str:
        """The words that name the file with more; "" without."""
        return f"{self.table}.csv" if self.n_more else str(self.values.get("see", ""))

    @property
    def text(self) -> str:
        """The sentence."""
        stand = "stands" if self.n_more == 1 else "stand"
        more = f"; {self.n_more} more {stand} out: {self.see}" if self.n_more else ""
        who = joined(self.who) if self.who else ""
        return said(self.kind, **{"who": who, "size": self.size, "more": more, **self.values})

    @property
    def line(self) -> Line:
        """The sentence as a line of a story."""
        return Line(self.text, self.who, self.see)


def said(kind: str, **values: Any) -> str:
    """Return a sentence, or a part of one."""
    return TEMPLATES[kind].format(**values)


def of_others(figures: FloatArray, shown: Callable[[float], str]) -> str:
    """Return the median of the figures of pairs of others, in words; "" if none is known."""
    figures = figures[~np.isnan(figures)]
    if not len(figures):
        return ""
    figure = shown(float(np.median(figures)))
    if len(figures) == 1:
        return f"; the other two with each other: {figure}"
    return f"; the others with each other: {figure} (median)"


def between_others(pairs: Table, name: str, column: str, shown: Callable[[float], str]) -> str:
    """Return the median figure of pairs without an annotator, in words; "" if it is unknown.

    An annotator who errs lowers the mean agreement of the others, but not that with each other.
    """
    others = (pairs["annotator_1"] != name) & (pairs["annotator_2"] != name)
    return of_others(pairs[column][others], shown)


def in_percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.1f} %"


def others_in_words(
    values: FloatArray, place: int, shown: Callable[[float], str] = in_percent
) -> str:
    """Return the figure of the others in words, by default in percent: the median of several."""
    others = np.delete(values, place)
    figure = shown(float(np.nanmedian(others)))
    if len(others) == 1:
        return f"; the other one: {figure}"
    alike = len({shown(each) for each in others[~np.isnan(others)].tolist()}) == 1
    return f"; {'all ' if alike else ''}the others: {figure}{'' if alike else ' (median)'}"


def moved(value: float) -> str:
    """Return in which direction a figure changes, and by how much."""
    return f"{'rises' if value > 0 else 'falls'} by {abs(value):.3f}"


def instead(other: float, value: float) -> str:
    """Return the hypothetical figure and the present one in words."""
    shown, own = f"{other:z.2f}", f"{value:z.2f}"
    return f"{shown} as well" if shown == own else f"{shown} and not {own}"


def few_names(names: Sequence[str], most: int = 4) -> str:
    """Return names in words; of more than a few, the first ones and the number of others."""
    return joined(names) if len(names) <= most else first_few(names, most)


def above_all(who: str, words: str = "by ") -> str:
    """Return who does so above all, as a part of a sentence; "" for nobody."""
    return f", above all {words}{who}" if who else ""
