"""Findings: figures that differ significantly, and the sentence for each kind of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import erfc, isnan, log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.agreement.estimators import t_quantile
from bboxqa.agreement.intervals import n_nonzero
from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, sum_by
from bboxqa.core.text import joined, names_in_words, one_line
from bboxqa.diagnostics import diagnostic
from bboxqa.diagnostics.annotator_pairs import independent
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.diagnostics.object_cells import drawn_figures
from bboxqa.diagnostics.rates import RATES, rate_sums
from bboxqa.diagnostics.strata import CATEGORY, Dependence
from bboxqa.model.diagnosis import Line
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits

_LEVEL = 0.95
# Of annotators who confuse two categories in this share of their pairs, most may be wrong.
_UNSURE = 1 / 3
KINDS_OF_ERRORS = 8
"""The kinds of errors that annotators are named for; each is a chance of a false alarm."""
LEAST_IMAGES = 5
"""Fewest images of an annotator who may be named."""
LEAST_CONFUSED = 5
"""Fewest confused objects of two categories that are worth a sentence."""
LEAST_DRAWS = 200
"""Fewest draws that it takes to name somebody: intervals of fewer draws are too imprecise."""
LEAST_SHARE = 0.01
"""Smaller shares of objects are not worth a sentence."""
# The chance of a false alarm of all pairs of categories; pairs that leave nothing else to compare.
_ALARM, _LEAST_LEFT = 0.05, 1e-9
# Rates of which a lower value is worse.
_AGREEMENT = ("f1", "class_share", "mean_similarity")


def two_digits(value: float) -> str:
    """Return a number with two digits, without decimals from 10 on."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:z.1f}" if value >= 0.05 else "0"


def in_percent(share: float) -> str:
    """Return a share in percent."""
    return f"{two_digits(100 * share)} %"


class Bounds(NamedTuple):
    """K figures with their 95 % intervals; NaN where there is none."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def others(self, place: int, *how: Any) -> str:
        """Return the figures of the others in words; see `of_others`."""
        return of_others(np.delete(self.value, place), self.value[place], *how)


def bounds(table: Table, name: str) -> Bounds:
    """Return a column of a table with its interval."""
    return Bounds(table[name], table[f"{name}_low"], table[f"{name}_high"])


def errors(table: Table, rate: str) -> Bounds:
    """Return a rate of errors, or 1 − a rate of agreement, of a table with its interval."""
    value, low, high = bounds(table, rate)
    return Bounds(1 - value, 1 - high, 1 - low) if rate in _AGREEMENT else Bounds(value, low, high)


def above_others(
    found: Bounds,
    n_images: NDArray[Any],
    difference: Bounds | None = None,
    n_kinds: int = KINDS_OF_ERRORS,
) -> IndexArray:
    """Return the figures significantly above the median of the others, the largest first.

    If annotators err alike, the chance that any of the K figures of any of `n_kinds` is named is 5
    % at most, by Bonferroni's correction of Student's t. Figures of fewer than `LEAST_IMAGES`
    images are not judged, nor are equal figures of all draws if a sign test could not be
    significant. Without `difference`, from the median of the others, this median counts as known.
    """
    if difference is None:
        median = median_of_others(found.value[:, None])[:, 0]
        difference = Bounds(*(each - median for each in found))
    length = difference.value - difference.low
    known = ~np.isnan(length) & (n_images >= LEAST_IMAGES)
    n_judged = int(known.sum())
    if n_judged < 2:
        return np.flatnonzero(known)[:0]
    level = (1 - _LEVEL) / (2 * n_judged * n_kinds)
    known &= (length > 0) | (0.5**n_images <= level)
    freedom = np.maximum(n_images, 2) - 1.0
    factor = t_quantile(freedom, 1 - level) / t_quantile(freedom, (1 + _LEVEL) / 2)
    above = np.flatnonzero(known & (difference.value > factor * length))
    return above[np.argsort(-found.value[above], kind="stable")]


def median_of_others(values: FloatArray) -> FloatArray:
    """Return the median of all other known values of a column, (…, K, B) both."""
    known, n_values = ~np.isnan(values), values.shape[-2]
    order = np.argsort(values, axis=-2, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n_values)[:, None], axis=-2)
    # Unknown values are sorted last; the others of an unknown value are all known values.
    n = known.sum(-2, keepdims=True) - known
    ordered = np.take_along_axis(values, order, axis=-2)
    # The two middle places among the others, moved over the own place.
    middle = (np.where(place >= rank, place + 1, place) for place in ((n - 1) // 2, n // 2))
    low, high = (
        np.take_along_axis(ordered, np.clip(place, 0, n_values - 1), axis=-2) for place in middle
    )
    return np.where(n > 0, (low + high) / 2, np.nan)


def judged(table: Table, found: Bounds) -> Bounds:
    """Return figures, with the intervals of annotators with few images set to NaN."""
    few = table["n_images"] < LEAST_IMAGES
    return Bounds(found.value, *(np.where(few, np.nan, each) for each in (found.low, found.high)))


def confuser(
    matrix: Table, both: tuple[str, str], other: str, annotators: Table, column: str = "n"
) -> list[str]:
    """Return who of three or more confuse two categories significantly more, if anybody.

    These are the one with most confusions and others with at least half as many, with enough images
    to be named. The matrix has a row per annotator and pair of categories, and counts in `column`.
    Shares have Wilson's 95 % intervals (1927, doi:10.1080/01621459.1927.10502953).
    """
    is_of_both = np.isin(matrix["category"], both) & np.isin(matrix[other], both)
    cells = matrix.take(np.flatnonzero(is_of_both))
    who, n_annotators = cells.codes("annotator"), len(annotators)
    is_confused = cells["category"] != cells[other]
    n_confused = sum_by(who, cells[column] * is_confused, n_annotators)
    n = sum_by(who, cells[column], n_annotators)
    # Where one of three exchanges both always, the others have no majority: their pairs count.
    agreeing = sum_by(who, cells["n"] * ~is_confused, n_annotators) / max(n_annotators - 1, 1)
    n = np.where(n > 0, n, agreeing)
    if np.count_nonzero(n) < 3:
        return []
    z, share = NormalDist().inv_cdf((1 + _LEVEL) / 2), ratio(n_confused, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    found = above_others(Bounds(share, middle - half, middle + half), n)
    found = found[annotators["n_images"][found] >= LEAST_IMAGES]
    first = int(n_confused.argmax())
    if first not in found:
        return []
    if column == "n_most":
        # The pairs without this one.
        pairs = np.stack(
            [sum_by(who, cells["n"] * each, n_annotators) for each in (is_confused, 1)]
        )
        n_left, n_of = pairs.sum(1) / 2 - pairs[:, first]
        if n_left >= _UNSURE * n_of:
            return []
    many = found[n_confused[found] >= n_confused.max() / 2]
    many = many[np.argsort(-n_confused[many], kind="stable")]
    return [str(name) for name in annotators["annotator"][many]]


def beyond_background(
    n: IndexArray, first: IndexArray, second: IndexArray, n_given: IndexArray
) -> BoolArray:
    """Return (P,) bool: pairs of categories that are confused more often than others are.

    Without special confusions, pairs are confused as often as both occur. A likelihood-ratio test
    of each pair against those that are not yet beyond it is corrected for the number of pairs. Two
    categories alone have no others to compare with.
    """
    found = np.zeros(len(n), np.bool_)
    product = n_given[first] * n_given[second].astype(np.float64)
    whole, total = (
        (float(n_given.sum()) ** 2 - float((n_given.astype(float) ** 2).sum())) / 2,
        n.sum(),
    )
    n_drawn = int((n_given > 0).sum())
    for place in np.argsort(-n / np.maximum(product, 1), kind="stable").tolist():
        if n[place] < LEAST_CONFUSED:
            continue
        observed, expected = n[place] / total, product[place] / whole
        left = max(1 - expected, 0.0)
        if left > _LEAST_LEFT and observed > expected:
            rest = (total - n[place]) * log((1 - observed) / left) if observed < 1 else 0.0
            ratio = 2 * (n[place] * log(observed / expected) + rest)
            sure = erfc(sqrt(max(ratio, 0) / 2)) / 2 * n_drawn * (n_drawn - 1) / 2 <= _ALARM
        else:
            sure = left <= _LEAST_LEFT
        if sure:
            found[place] = True
            total, whole = total - n[place], whole - product[place]
    return found


def differences(matched: MatchedUnits) -> Mapping[str, Bounds]:
    """Return by how much each annotator is worse than the median of the others, by `RATES`.

    Images that are hard for all do not widen the intervals, as both sides share the draws.
    """
    sign = np.array([-1.0 if rate in _AGREEMENT else 1.0 for rate in RATES])[:, None, None]
    tables = rate_sums(independent(matched)).tables

    def evaluate(above: FloatArray, below: FloatArray) -> FloatArray:
        rates = ratio(above, below).reshape(len(RATES), -1, above.shape[-1])
        return np.asarray(sign * (rates - median_of_others(rates))).reshape(above.shape)

    drawn = np.column_stack(drawn_figures(matched, tables, evaluate, n_nonzero(tables[1])))
    found = drawn.reshape(len(RATES), -1, 3)
    return {rate: Bounds(*found[place].T) for place, rate in enumerate(RATES)}


# The most annotators named for one kind of error; others are counted.
_MOST_NAMED = 3

# From so many others on, the range of most of them is told; of so few, that of all.
_MANY, _FEW = 10, 3

_MISSED = (
    "{who} did not draw {share} of what {other} drew{part}, and {other} {back} of {who}'s, unknown "
    "who is right"
)
# By kind: what is said. `who` are the annotators, `size` and `share` the figure as a number and in
# percent; the other fields are values of the finding. The number of further ones comes last.
TEMPLATES = {
    "stranger": (
        "{who} agrees with nobody (perhaps other images, or another task): F1 {size:z.2f}{others}"
    ),
    "worst": "{who} matches the others less than they match each other: F1 {size:z.2f}{others}",
    "idle": "{who} drew nothing in {images} where {others} drew something{unknown}",
    "miss_rate": "{who} misses {share} of what most others drew{others}",
    "miss_rate of empty": (
        "{who} misses {share} of what most others drew, most in {images} left empty{others}"
    ),
    "miss_rate of some": "{who} misses {what}: {inside} {where}, {outside} {elsewhere}{others}",
    "extra_rate": "{who} drew objects that most others did not draw: {share} of {who}'s{others}",
    "class_share": "{who} names {share} of the objects otherwise than the others{others}",
    "class_share of some": (
        "{who} names {what} otherwise than the others: {inside} {where}, {outside} {elsewhere}"
        "{others}"
    ),
    "calls": "{who} calls {first} {second} in {share} of cases{back}",
    "twice_rate": "{who} draws {share} of their objects twice{others}",
    "split_rate": "{who} splits {share} of their objects into parts{others}",
    "merge_rate": "{who} draws two objects in one box: {share} of what most others drew{others}",
    "missed": _MISSED,
    "missed of empty": _MISSED,
    "copies": (
        "{who} copied boxes, it is unknown who from whom: {share} of those that both drew are "
        "identical, so agreement seems higher than it is"
    ),
    "all copy": (
        "{share} boxes that {who} drew are identical, perhaps copies or kept proposals: they do "
        "not show how far annotators agree"
    ),
    "offset": "{who} draws {drawn} {words} than {other}{cost}",
    "either offset": ("{who} {draw} {drawn} {words}, or {other} the reverse (unknown which){cost}"),
    "imprecise": ("{who} places {places} less precisely: mean {what} {size:z.2f}{others}"),
    "swapped_share": "{who} exchanges left and right in up to {share} of the objects: {joints}",
    "missing_share": (
        "{who} leaves out joints that others label, in up to {share} of the objects: {joints}"
    ),
    "by chance": (
        "boxes overlap no more often than those of different images would: look whether annotators "
        "saw the same images, and had the same task"
    ),
    "kind": "{share} of the objects {what}",
    "confusion": (
        "{first} and {second} are confused in {n:,} objects, {share} of those with either"
        "{above_all}"
    ),
    "all agree": "all annotators drew the same {objects} with the same category{rest}",
    "worst of reference": (
        "{who} agrees less with the reference {reference} than others do: F1 {size:z.2f}{others}"
    ),
    "reference confusion": (
        "{first} and {second} are confused in {n:,} of the boxes that match objects of "
        "{reference}, {share} of those with either{above_all}"
    ),
    "reference miss_rate": "{who} misses {share} of the objects of {reference}{others}",
    "reference extra_rate": "{reference} has no object in {share} of the boxes of {who}{others}",
    "reference twice_rate": "{who} draws {share} of the objects of {reference} twice{others}",
    "reference class_share": (
        "{who} gives another category than {reference} to {share} of its objects{others}"
    ),
    "unjudged": (
        "no image has three annotators: where two differ, it is unknown who is right; "
        "--reference FILE compares each with a reference"
    ),
    "nothing": "there are no annotations of two annotators to compare",
    "few": "with {what} nobody is named: it takes {least} or more",
    "large image": "image {image} has {share:.0f} % of the objects{without}",
    "separate groups": (
        "{n} groups of annotators share no image: nothing compares one group with another"
    ),
}


# By kind of disagreement: what is said of the objects.
KIND_WORDS = {
    Kind.MISSED: "were not drawn by everyone",
    Kind.CLASS_CONFLICT: "have different categories",
    Kind.BADLY_PLACED: "have {} too far apart to match",
    Kind.SPLIT: "are drawn in parts by some, or together with another object",
    Kind.TWICE: "are drawn twice by {}",
}

# By measure of rotated boxes: its unit, and the words for figures below and above 0.
DIRECTIONS = {
    "centre x": (" px", "further left", "further right"),
    "centre y": (" px", "further up", "further down"),
    "long side": (" px", "shorter", "longer"),
    "short side": (" px", "narrower", "wider"),
    "angle": ("°", "further counter-clockwise", "further clockwise"),
}

# By axis: the names of its two edges, and the words for boxes whose figures are below and above 0.
AXES = (
    (("left", "right"), ("left", "right"), ("narrower", "wider")),
    (("top", "bottom"), ("up", "down"), ("shorter", "taller")),
)

# By kind of disagreement: what to do about it, and with whom if it is that of one annotator.
ADVICE = {
    "missed by some": "agree{who} on what must be drawn",
    "class conflict": "clarify categories{who}",
    "badly placed": "settle{who} how close {what} must be",
    "split or merged": "decide{who} whether groups and parts are one object",
    "drawn twice by one": "agree{who} that an object is drawn once",
}
_LEFT_EMPTY = "look{who} at the images left empty"
# What to do about findings that their kind of disagreement does not describe.
_OWN_ADVICE = {
    "idle": _LEFT_EMPTY,
    "miss_rate of empty": _LEFT_EMPTY,
    "missed of empty": _LEFT_EMPTY,
    "stranger": "look{who} at the images and the task",
    "swapped_share": "agree{who} on which side is left",
}


class Diagnosed(msgspec.Struct, frozen=True, eq=False):
    """What findings are about: a result, its units and objects, and tables of diagnostics."""

    part: ThresholdResult
    matched: MatchedUnits
    available: tuple[str, ...]
    tables: dict[str, Table] = msgspec.field(default_factory=dict)
    """The names of the diagnostics that the data allow, and the tables that were asked for."""

    def table(self, name: str) -> Table:
        """Return a table, which is computed when it is first asked for."""
        if name not in self.tables:
            self.tables[name] = diagnostic(name)(self.matched)
        return self.tables[name]

    @property
    def names(self) -> Sequence[str]:
        """The annotators."""
        return self.matched.data.annotator_names

    @property
    def unknown(self) -> str:
        """The end of a sentence on what differs between two annotators without a reference."""
        is_open = len(self.names) == 2 and self.part.reference is None
        return ", unknown who is right" if is_open else ""

    @property
    def share(self) -> FloatArray:
        """About the share of all objects that each annotator was asked about, (A,)."""
        n = self.table("annotators")["n_images"]
        return np.asarray(n / max(int((self.matched.data.assigned.sum(1) > 1).sum()), 1))

    def instead(self, condition: str, gain: float, more: str = "") -> tuple[float, str] | None:
        """Return a gain and what alpha, or F1, would be; None if it would be shown alike."""
        own, what = self.part.alpha, "alpha"
        if isnan(own):
            own, what = self.part.existence.f1, "F1 about"
        before, after = f"{own:z.2f}", f"{min(own + gain, 1.0):z.2f}"
        if before == after:
            return None
        return gain, f" ({condition}, {what} {before}→{after}{more})"

    def of_pairs(self, name: str, column: str, *, own: bool = False) -> FloatArray:
        """Return a figure of the pairs of annotators without one of them, or of theirs."""
        pairs = self.part.pairs
        is_own = (pairs["annotator_1"] == name) | (pairs["annotator_2"] == name)
        return np.asarray(pairs[column][is_own == own], np.float64)


class Finding(msgspec.Struct, frozen=True, eq=False):
    """What a diagnosis found about annotators, objects or categories."""

    kind: str
    """The name of its template."""
    who: tuple[str, ...] = ()
    """The annotators that it is about."""
    size: float = 0.0
    """Its figure."""
    weight: float = 0.0
    """About the share of objects that it concerns; 0 for what is harmless, infinite for what
    changes the meaning of figures."""
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The other fields of the template."""
    cause: Kind | None = None
    """The kind of disagreement that it explains, if it does."""
    n_more: int = 0
    table: str = ""
    """How many others stand out, and the table that has them."""
    gain: tuple[float, str] | None = None
    """What agreement would gain without it, and the end of the sentence that says so."""
    about: tuple[str, ...] = ()
    """Whom the sentence is about, if not `who` alone: it is unknown which of them errs."""

    @property
    def owner(self) -> str:
        """The one annotator whose disagreement it explains, if it is just one."""
        return self.who[0] if len(self.who) == 1 and not self.n_more else ""

    @property
    def error(self) -> str:
        """The kind without on which objects it depends, and whether it is known who errs."""
        return self.kind.removeprefix("either ").partition(" of ")[0]

    @property
    def line(self) -> Line:
        """The sentence as a line of a story."""
        figure = {"size": self.size, "share": in_percent(self.size)}
        values = {"who": joined(names_in_words(self.who)), **figure, **self.values}
        text = TEMPLATES[self.kind].format(**values)
        see = f"{self.table}.csv of --details --out DIR" if self.n_more else ""
        gain = self.gain[1] if self.gain else ""
        more = f"; {self.n_more} more: {see}" if see else ""
        # Nobody is advised alone where it is unknown who is right.
        is_unknown = self.cause is None or self.kind == "either offset"
        cause = "" if self.cause is None or is_unknown else KINDS[self.cause]
        advice = _OWN_ADVICE.get(self.kind, ADVICE.get(cause, ""))
        return Line(one_line(f"{text}{gain}{more}"), self.about or self.who, see, cause, advice)


# By covariate: the words for the objects below a threshold, and for those from it on: what they
# are, where the errors are, and where fewer are.
_SUBSETS = {
    "size": (
        ("small objects", "below {} px²", "above"),
        ("large objects", "from {} px² on", "below"),
    ),
    "crowding": (
        ("objects that stand alone", "with fewer than {} overlapping others", "with more"),
        ("crowded objects", "with {} or more overlapping others", "with fewer"),
    ),
    "number": (
        ("objects in images with few others", "with fewer than {} objects", "with more"),
        ("objects in full images", "with {} or more objects", "with fewer"),
    ),
    "border": (
        ("objects at the border of the image", "less than {} px from it", "further inside"),
        ("objects inside the image", "{} px or more from its border", "nearer to it"),
    ),
    "time": (("more at first", "before {}", "later"), ("more later on", "from {} on", "before")),
    "category": (("{}", "of them", "of other categories"),) * 2,
}


OF_SOME = "{what}: {inside} {where}, {outside} {elsewhere}"
"""What is said of objects on which errors depend; see `words_of_some`."""


def words_of_some(found: Dependence, categories: Sequence[str]) -> dict[str, str]:
    """Return the words for the objects on which errors depend, and the rates of errors."""
    cut = f"{found.threshold:,.0f}"
    if found.covariate == CATEGORY:
        cut = names_in_words([categories[int(found.threshold)]])[0]
    if found.covariate == "time":
        cut = f"{datetime.fromtimestamp(found.threshold, UTC):%Y-%m-%d %H:%M}"
    words = [text.format(cut) for text in _SUBSETS[found.covariate][not found.below]]
    words = [text.replace("fewer than 1 overlapping", "no overlapping") for text in words]
    names = ("what", "where", "elsewhere", "inside", "outside")
    rates = map(in_percent, (found.inside, found.outside))
    words += ["none" if rate == "0 %" else rate for rate in rates]
    return dict(zip(names, words, strict=True))


def largest(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, of a kind with a table only the few of the largest weight.

    The last of a kind has the number of the others. Those of one kind are adjacent.
    """
    for (table, _), of_kind in groupby(found, lambda each: (each.table, each.error)):
        ordered = sorted(of_kind, key=lambda each: -each.weight if table else 0.0)
        n_more = len(ordered[_MOST_NAMED:]) if table else 0
        yield from ordered[: -n_more - 1]
        yield replace(ordered[-n_more - 1], n_more=n_more)


def of_others(
    values: FloatArray, own: float, shown: Callable[[float], str] = in_percent,
    who: str = "the others",
) -> str:  # fmt: skip
    """Return the range of the figures of the others as the end of a sentence; "" if unknown.

    Of many others, it is the range of the middle 80 %. A range around the `own` figure, as others
    err too, is narrowed to the middle half or the median of them.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return ""
    ranges = [("most of ", 0.1, 0.9) if len(values) >= _MANY else ("", 0.0, 1.0)]
    ranges += [("half of ", 0.25, 0.75), ("the median of ", 0.5, 0.5)] * (len(values) > _FEW)
    for part, *ends in ranges:
        first, last = np.quantile(values, ends).tolist()
        if first < last:
            # Somebody has each end of a range.
            first, last = values[values <= first].max(), values[values >= last].min()
        low, high = shown(first), shown(last)
        told = f"; {part}{who}: " + (high if high == low else f"{low.removesuffix(' %')} to {high}")
        if not first <= own <= last and shown(own) not in (low, high):
            break
    return told


def above_all(who: Sequence[str]) -> str:
    """Return who does so above all, as a part of a sentence; "" for nobody."""
    return f", above all by {joined(who)}" if who else ""


def shape_word(compared: str) -> str:
    """Return the word for annotations of the compared shape."""
    if compared == "keypoints":
        return "key points"
    return "outlines" if compared in ("polygons", "outlines", "masks") else "boxes"
