"""Sentences about objects and categories, and about what the data cannot show."""

from collections.abc import Collection, Iterator, Mapping
from math import isnan

import numpy as np

from bboxqa.core.text import count, joined
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.categories import ALL
from bboxqa.diagnostics.decomposition import KINDS, Kind, n_objects_of
from bboxqa.diagnostics.offsets import MOST_DRAWN, n_sharing
from bboxqa.diagnostics.review import in_words
from bboxqa.model.diagnosis import Line
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.sentences.paired import category_differences
from bboxqa.pipelines.diagnosis.sentences.sentence import (
    LEAST_CONFUSED,
    LEAST_DRAWS,
    LEAST_SHARE,
    Sentence,
    confuser,
)
from bboxqa.pipelines.diagnosis.sentences.significance import (
    LEAST_IMAGES,
    Bounds,
    above_others,
    bounds,
    differ,
    is_first,
    share_bounds,
)

# Smaller gains would be shown as 0.00.
_LEAST_SHOWN_GAIN = 0.005
# Gains of alpha whose interval lies above this are worth a suggestion.
_LEAST_GAIN = 0.01
_LEAST_DRAWN = 20
_MOST_NAMED = 2
_KIND = {
    Kind.MISSED: "are drawn by some annotators and not by others",
    Kind.CLASS_CONFLICT: "have different categories",
    Kind.BADLY_PLACED: "have {} in different places, which overlap too little to match",
    Kind.SPLIT: "are drawn in parts by some, or together with another object",
    Kind.TWICE: "are drawn twice by one annotator",
}
_ELSEWHERE = {
    "keypoints": "have key points in different places, which are too far apart to match",
}


def kind_sentences(
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    told: Mapping[Kind, Sentence],
    *,
    has_alpha: bool,
    named: bool,
    pairs_only: bool,
) -> tuple[dict[Kind, Line], dict[Kind, Line]]:
    """Return sentences on the costliest kind of disagreement, and on the other kinds.

    The first part also has the second kind if it costs half as much. The second part has the other
    kinds with a significant cost, the highest first, or all of them without intervals. If `named`,
    sentences on badly placed annotations name the annotator. With two annotators (`pairs_only`),
    there is no majority. Kinds that one annotator has alone are `told` in the sentence on this
    annotator, with the gain of the kind.
    """
    table = tables["decomposition"]
    what, column = ("alpha", "alpha_gain") if has_alpha else ("F1", "f1_gain")
    gain, share = bounds(table, column), bounds(table, "share_any")
    order = np.argsort(-np.nan_to_num(gain.value), kind="stable").tolist()
    n_objects = int(table["n_objects"].sum())
    settled = "if both agreed on them" if pairs_only else "settled as most annotators drew them"
    lead: dict[Kind, Line] = {}
    rest: dict[Kind, Line] = {}
    for rank, place in enumerate(order):
        value = gain.value[place]
        is_lead = rank < _MOST_NAMED and value > (gain.value[order[0]] / 2 if rank else 0)
        if not value > _LEAST_SHOWN_GAIN or not (is_lead or not gain.low[place] <= 0):
            continue
        # A single image has no intervals: counts are given below.
        which = f"{share.percent(place)} of the objects"
        kind = Kind(KINDS.index(table["kind"][place]))
        what_is = _KIND[kind]
        if kind == Kind.BADLY_PLACED:
            compared = matched.compared
            what_is = _ELSEWHERE.get(compared, what_is.format(in_words(compared)))
        if isnan(share.low[place]):
            n = int(table["n_any"][place])
            which = f"{n:,} of {count(n_objects, 'object')}"
            what_is = _of_one(what_is) if n == 1 else what_is
        who = _misplacer(matched, tables) if named and kind == Kind.BADLY_PLACED else ""
        own = told.get(kind)
        text = f"{which} {what_is}{f', above all those of {who}' if who else ''}: {settled}"
        if own is not None:
            of_all = f"with all such objects {settled}"
            of_all = "if both agreed on all such objects" if pairs_only else of_all
            text = f"{own.text}; {of_all}"
        text += f", {what} would be {_gain(gain, place)} higher"
        above = f", which overlaps with the gain{'s' * (rank > 1)} above" if rank else ""
        if own is not None and not is_lead:
            # Its place is that of the annotator's sentence.
            above = ", which overlaps with other gains"
        about = Line("") if own is None else own.line
        (lead if is_lead else rest)[kind] = about._replace(text=text + above)
    return lead, rest


def _of_one(words: str) -> str:
    """Return a predicate in the singular.

    Examples
    --------
    >>> _of_one("are drawn twice"), _of_one("have different categories")
    ('is drawn twice', 'has different categories')
    """
    verb, _, rest = words.partition(" ")
    return f"{'is' if verb == 'are' else 'has'} {rest}"


def confusion_sentences(tables: Mapping[str, Table], *, named: bool) -> Iterator[Sentence]:
    """Yield the categories whose confusion costs most; if `named`, by whom above all.

    Pairs whose merging significantly raises alpha come first, by gain, then the most frequent ones.
    """
    table = tables["confusions"]
    gain, share = bounds(table, "gain"), bounds(table, "share")
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    significant = np.where(gain.low > 0, gain.value, 0)
    order = np.lexsort([-table["n"][frequent], -significant[frequent]])
    costly = frequent[order][:_MOST_NAMED]
    n_objects = max(int(tables["decomposition"]["n_objects"].sum()), 1)
    weight = np.inf
    for place in costly.tolist():
        n = int(table["n"][place])
        first, second = table["first"][place], table["second"][place]
        percent = f"{100 * share.value[place]:.1f} %"
        if not isnan(share.low[place]):
            percent = share.percent(place)
        text = (
            f"{first} and {second} are confused in {n:,} objects, {percent} of the objects with "
            "either"
        )
        who = _confuser(tables, first, second) if named else ""
        text += f", above all by {who}" if who else ""
        if gain.low[place] > 0 and gain.value[place] >= _LEAST_SHOWN_GAIN:
            text += f"; as one category, alpha would be {_gain(gain, place)} higher"
        # Sentences are sorted by weight: the pair that costs less must not come first.
        weight = min(weight, n / n_objects)
        kind = Kind.CLASS_CONFLICT if who else None
        yield Sentence(weight, text, kind, who, n)


def supercategory_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield what alpha would be with broader categories, if they raise it significantly."""
    table = tables["supercategories"]
    gain = bounds(table, "gain")
    for place in np.flatnonzero(gain.low > _LEAST_GAIN)[:1].tolist():
        name = table["supercategory"][place]
        which = "all supercategories" if name == ALL else f"the supercategory {name}"
        yield Sentence(
            float(gain.value[place]),
            f"with the categories of {which} as one{' each' * (name == ALL)}, alpha would be "
            f"{table['alpha_merged'][place]:z.2f}, {_gain(gain, place)} higher",
        )


def _gain(found: Bounds, place: int) -> str:
    """Return a gain with its interval, if there is one."""
    text = f"{found.value[place]:z.2f}"
    if isnan(found.low[place]):
        return text
    return f"{text} [{found.low[place]:z.2f}, {found.high[place]:z.2f}]"


def _confuser(tables: Mapping[str, Table], first: str, second: str) -> str:
    """Return who confuses two categories significantly more often than the others; "" if nobody."""
    matrix, both = tables["confusion_matrix"], (first, second)
    own = matrix.take(
        np.flatnonzero(np.isin(matrix["category"], both) & np.isin(matrix["others"], both))
    )
    # An object that several others saw counts once.
    n_others = len(np.unique(own["annotator"].astype(str))) - 1
    return confuser(own, own["category"] != own["others"], tables["annotators"], n_others)


def _misplacer(matched: MatchedUnits, tables: Mapping[str, Table]) -> str:
    """Return whose boxes most of the misplaced ones are, by number and by share; "" if nobody's.

    A sign test compares the number with the next one's. Copies are left out, as the majority that
    two equal boxes make would put those of everyone else in the wrong.
    """
    annotators, judged = tables["annotators"], independent(matched)
    n_objects = n_objects_of(judged, Kind.BADLY_PLACED).tolist()
    apart = dict(zip(judged.data.annotator_names, n_objects, strict=True))
    drew = np.flatnonzero(annotators["n"])
    names, n = annotators["annotator"][drew], annotators["n"][drew].astype(np.float64)
    n_apart = np.array([apart.get(name, 0) for name in names.tolist()], np.float64)
    share = np.minimum(n_apart / n, 1.0)
    places = above_others(share_bounds(share, n), annotators["n_images"][drew]).tolist()
    most = places and max(places, key=n_apart.__getitem__)
    next_one = np.delete(n_apart, most).max(initial=0)
    return str(names[most]) if places and differ(n_apart[most], next_one) else ""


def category_sentences(
    matched: MatchedUnits, tables: Mapping[str, Table], unused: Collection[int]
) -> Iterator[Sentence]:
    """Yield the category that is found significantly less than the others.

    Categories that an annotator never draws, `unused`, have a sentence of their own.
    """
    table, of = tables["difficulty"], matched.data.annotations
    explained = np.array([matched.data.category_names[each] for each in unused], np.str_)
    others = ~np.isin(table["category"].astype(np.str_), explained)
    table = table.take(np.flatnonzero((table["n"] >= _LEAST_DRAWN) & others))
    found = bounds(table, "found_share")
    share = table["n"] / max(int(table["n"].sum()), 1)
    names = matched.data.category_names
    pairs = np.unique(of.category.astype(np.int64) * len(matched.data.image_names) + of.image)
    in_images = np.bincount(pairs // len(matched.data.image_names), minlength=len(names))
    if len(table) < 2:
        return
    place_of = {name: code for code, name in enumerate(names)}
    codes = np.array([place_of[name] for name in table["category"]], np.int64)
    n_images, drawn = in_images[codes], np.unique(of.category)
    apart = category_differences(matched, np.searchsorted(drawn, codes))
    for place in above_others(found.of_complement(), n_images, apart, n_kinds=1)[:1].tolist():
        value, error = found.value[place], found.of_complement()
        others = np.delete(np.arange(len(table)), place)
        least = "least" if is_first(error, place) else "less than most"
        if len(others) == 1:
            least = f"less often than {table['category'][others[0]]}"
        figure = f"{100 * float(np.nanmedian(found.value[others])):.1f} %"
        of_others = f"the median of the other categories is {figure}"
        if len(others) <= _MOST_NAMED:
            each = [f"of {table['category'][k]} {100 * found.value[k]:.1f} %" for k in others]
            of_others = joined(each)
        yield Sentence(
            (1 - value) * share[place],
            f"{table['category'][place]} is found {least}: where one annotator draws it, "
            f"{found.percent(place)} of the others draw something; {of_others}",
        )


def limit_sentences(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> Iterator[str]:
    """Yield what these data cannot show."""
    annotators = tables["annotators"]
    if len(matched.pairs) == 0:
        yield (
            f"no two annotations match at {part.threshold_label}: categories and places can hardly "
            "be compared"
        )
    n_images = int((matched.data.assigned.sum(1) >= 2).sum())
    if not matched.bootstrap:
        yield "without draws (bootstrap 0) nobody is named: intervals are missing"
    elif matched.bootstrap < LEAST_DRAWS:
        yield (
            f"with {count(matched.bootstrap, 'draw')} nobody is named: it takes {LEAST_DRAWS} "
            f"(--bootstrap {LEAST_DRAWS})"
        )
    elif n_images == 1:
        yield (
            "one image does not show how figures vary between images: they have no intervals, "
            f"and nobody is named, which takes {LEAST_IMAGES} images"
        )
    elif n_images < LEAST_IMAGES:
        yield f"with {count(n_images, 'image')} nobody is named: it takes {LEAST_IMAGES}"
    elif (n_pairs := n_sharing(tables)) > MOST_DRAWN:
        yield (
            f"{n_pairs // 2:,} pairs of annotators share objects: where each places edges has no "
            "interval, and nobody is named for it"
        )
    all_drawn = part.n_complete_units == len(matched.units)
    if int((annotators["n_images"] > 0).sum()) == 2 and part.reference is None and not all_drawn:
        left = "" if len(annotators) == 2 else " who can be compared"
        yield (
            f"with two annotators{left} it is unknown who is right: what one misses is what "
            "the other adds"
        )
    n_categories = len(np.unique(matched.data.annotations.category))
    if n_categories == 1:
        yield "with one category, agreement on categories cannot be measured"


def agreement_sentence(part: ThresholdResult, matched: MatchedUnits) -> Iterator[str]:
    """Yield that all agree, if they do."""
    n = len(matched.units)
    if n and part.n_complete_units == n and part.class_agreement.share == 1:
        same = "same object" if n == 1 else f"same {n:,} objects, each"
        yield f"all annotators drew the {same} with the same category"
