"""Findings about objects, categories and tracks, and about what the data cannot show."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
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
from bboxqa.pipelines.diagnosis.sentences import Finding, above_all, in_percent, said
from bboxqa.pipelines.diagnosis.significance import (
    LEAST_CONFUSED,
    LEAST_DRAWS,
    LEAST_IMAGES,
    LEAST_SHARE,
    above_others,
    bounds,
    category_differences,
    confuser,
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
    Kind.MISSED: ("are", "drawn by some annotators and not by others"),
    Kind.CLASS_CONFLICT: ("have", "different categories"),
    Kind.BADLY_PLACED: ("have", "{} in different places, which overlap too little to match"),
    Kind.SPLIT: ("are", "drawn in parts by some, or together with another object"),
    Kind.TWICE: ("are", "drawn twice by one annotator"),
}
_OF_JOINTS = "key points in different places, which are too far apart to match"
_SINGULAR = {"are": "is", "have": "has"}


def kind_lines(
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    told: Mapping[Kind, Finding],
    *,
    has_alpha: bool,
    named: bool,
) -> tuple[dict[Kind, Line], dict[Kind, Line]]:
    """Return sentences on the costliest kind of disagreement, and on the other kinds.

    The first part also has the second kind if it costs half as much. The second part has the other
    kinds with a significant cost, the highest first, or all of them without intervals. If `named`,
    sentences on badly placed annotations name the annotator. Kinds that one annotator has alone are
    `told` in the sentence on this annotator, with the gain of the kind.
    """
    table = tables["decomposition"]
    figure, column = ("alpha", "alpha_gain") if has_alpha else ("F1", "f1_gain")
    gain, share = bounds(table, column), bounds(table, "share_any")
    order = np.argsort(-np.nan_to_num(gain.value), kind="stable").tolist()
    # With two annotators, there is no majority.
    pairs_only = int(matched.data.assigned.sum(1).max(initial=0)) <= 2
    lead: dict[Kind, Line] = {}
    rest: dict[Kind, Line] = {}
    for rank, place in enumerate(order):
        value = gain.value[place]
        is_lead = rank < _MOST_NAMED and value > (gain.value[order[0]] / 2 if rank else 0)
        if not value > _LEAST_SHOWN_GAIN or not (is_lead or not gain.low[place] <= 0):
            continue
        kind = Kind(KINDS.index(table["kind"][place]))
        own = told.get(kind)
        overlap = f", which overlaps with the gain{'s' * (rank > 1)} above" if rank else ""
        if own is not None and not is_lead:
            # Its place is that of the annotator's sentence.
            overlap = ", which overlaps with other gains"
        values = {"figure": figure, "size": gain.at(place), "overlap": overlap}
        if own is None:
            values |= _words_of(matched, table, place, kind)
            settled = "if both agreed on them"
            values["settled"] = settled if pairs_only else "settled as most annotators drew them"
            if not isnan(share.low[place]):
                # A single image has no intervals.
                values["which"] = f"{share.at(place):%} of the objects"
            who = _misplacer(matched, tables) if named and kind == Kind.BADLY_PLACED else ""
            line = Line(said("kind", **values, above_all=above_all(who, "those of ")))
        else:
            settled = "with all such objects settled as most annotators drew them"
            settled = "if both agreed on all such objects" if pairs_only else settled
            line = own.line._replace(
                text=said("kind of one", **values, text=own.text, settled=settled)
            )
        (lead if is_lead else rest)[kind] = line
    return lead, rest


def _words_of(matched: MatchedUnits, table: Table, place: int, kind: Kind) -> dict[str, str]:
    """Return the number of objects of a kind in words, and what these are."""
    n, n_objects = int(table["n_any"][place]), int(table["n_objects"].sum())
    verb, rest = _KIND[kind]
    if kind == Kind.BADLY_PLACED and matched.compared == "keypoints":
        rest = _OF_JOINTS
    has_interval = not isnan(float(table["share_any_low"][place]))
    if n == 1 and not has_interval:
        verb = _SINGULAR[verb]
    what = f"{verb} {rest.format(in_words(matched.compared))}"
    return {"which": f"{n:,} of {count(n_objects, 'object')}", "what": what}


def confusion_findings(tables: Mapping[str, Table], *, named: bool) -> Iterator[Finding]:
    """Yield the categories whose confusion costs most; if `named`, by whom above all.

    Pairs whose merging significantly raises alpha come first, by gain, then the most frequent ones.
    """
    table = tables["confusions"]
    gain, share = bounds(table, "gain"), bounds(table, "share")
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    significant = np.where(gain.low > 0, gain.value, 0)
    order = np.lexsort([-table["n"][frequent], -significant[frequent]])
    n_objects = max(int(tables["decomposition"]["n_objects"].sum()), 1)
    weight = np.inf
    for place in frequent[order][:_MOST_NAMED].tolist():
        n = int(table["n"][place])
        first, second = table["first"][place], table["second"][place]
        who, more = _confuser(tables, first, second) if named else "", ""
        if gain.low[place] > 0 and gain.value[place] >= _LEAST_SHOWN_GAIN:
            more = f"; as one category, alpha would be {gain.at(place):2} higher"
        # Sentences are sorted by weight: the pair that costs less must not come first.
        weight = min(weight, n / n_objects)
        yield Finding(
            "confusion",
            (),
            share.at(place),
            weight,
            {"first": first, "second": second, "n": n, "above_all": above_all(who), "gain": more},
            cause=Kind.CLASS_CONFLICT if who else None,
            owner=who,
            n_confused=n,
        )


def supercategory_findings(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield what alpha would be with broader categories, if they raise it significantly."""
    table = tables["supercategories"]
    gain = bounds(table, "gain")
    for place in np.flatnonzero(gain.low > _LEAST_GAIN)[:1].tolist():
        name = table["supercategory"][place]
        which = f"the supercategory {name} as one"
        if name == ALL:
            which = "all supercategories as one each"
        values = {"which": which, "merged": table["alpha_merged"][place]}
        yield Finding("supercategory", (), gain.at(place), float(gain.value[place]), values)


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
    """Return whose boxes most of the misplaced ones are, by number and by share; "" if nobody's."""
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


def category_findings(
    matched: MatchedUnits, tables: Mapping[str, Table], unused: Collection[int]
) -> Iterator[Finding]:
    """Yield the category that is found significantly less than the others.

    Categories that an annotator never draws, `unused`, have a sentence of their own.
    """
    table, of = tables["difficulty"], matched.data.annotations
    names, n_files = matched.data.category_names, len(matched.data.image_names)
    explained = np.array([names[each] for each in unused], np.str_)
    others = ~np.isin(table["category"].astype(np.str_), explained)
    table = table.take(np.flatnonzero((table["n"] >= _LEAST_DRAWN) & others))
    if len(table) < 2:
        return
    found = bounds(table, "found_share")
    error, share = found.of_complement(), table["n"] / max(int(table["n"].sum()), 1)
    pairs = np.unique(of.category.astype(np.int64) * n_files + of.image)
    in_images = np.bincount(pairs // n_files, minlength=len(names))
    place_of = {name: code for code, name in enumerate(names)}
    codes = np.array([place_of[name] for name in table["category"]], np.int64)
    apart = category_differences(matched, np.searchsorted(np.unique(of.category), codes))
    for place in above_others(error, in_images[codes], apart, n_kinds=1)[:1].tolist():
        rest = np.delete(np.arange(len(table)), place).tolist()
        least = "least" if is_first(error, place) else "less than most"
        if len(rest) == 1:
            least = f"less often than {table['category'][rest[0]]}"
        median = in_percent(float(np.nanmedian(found.value[rest])))
        of_others = f"the median of the other categories is {median}"
        if len(rest) <= _MOST_NAMED:
            of_others = joined(
                [f"of {table['category'][k]} {in_percent(found.value[k])}" for k in rest]
            )
        values = {"category": table["category"][place], "least": least, "others": of_others}
        weight = (1 - found.value[place]) * share[place]
        yield Finding("difficult", (), found.at(place), weight, values)


def limits(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> Iterator[Finding]:
    """Yield what these data cannot show."""
    annotators = tables["annotators"]
    if len(matched.pairs) == 0:
        yield Finding("no match", values={"threshold": part.threshold_label})
    n_images = int((matched.data.assigned.sum(1) >= 2).sum())
    if not matched.bootstrap:
        yield Finding("no draws")
    elif matched.bootstrap < LEAST_DRAWS:
        draws = count(matched.bootstrap, "draw")
        yield Finding("few draws", values={"draws": draws, "least": LEAST_DRAWS})
    elif n_images == 1:
        yield Finding("one image", values={"least": LEAST_IMAGES})
    elif n_images < LEAST_IMAGES:
        images = count(n_images, "image")
        yield Finding("few images", values={"images": images, "least": LEAST_IMAGES})
    elif (n_pairs := n_sharing(tables)) > MOST_DRAWN:
        yield Finding("many pairs", values={"n": n_pairs // 2})
    all_drawn = part.n_complete_units == len(matched.units)
    if int((annotators["n_images"] > 0).sum()) == 2 and part.reference is None and not all_drawn:
        left = "" if len(annotators) == 2 else " who can be compared"
        yield Finding("two annotators", values={"left": left})
    if len(np.unique(matched.data.annotations.category)) == 1:
        yield Finding("one category")


def agreement_findings(part: ThresholdResult, matched: MatchedUnits) -> Iterator[Finding]:
    """Yield that all agree, if they do."""
    n = len(matched.units)
    if n and part.n_complete_units == n and part.class_agreement.share == 1:
        same = "same object" if n == 1 else f"same {n:,} objects, each"
        yield Finding("all agree", values={"same": same})


def track_findings(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield how well annotators agree on tracks; nothing without tracks."""
    table = tables.get("tracks")
    if table is None or not len(table):
        return

    def people(place: int) -> str:
        return f"{table['annotator_1'][place]} and {table['annotator_2'][place]}"

    idf1 = bounds(table, "idf1")
    lowest, highest = int(np.argmin(idf1.value)), int(np.argmax(idf1.value))
    found = Finding(
        "tracks of two",
        (),
        idf1.at(lowest),
        1 - float(idf1.value[lowest]),
        {"people": people(lowest), "switches": _switches(tables["track_switches"])},
    )
    if len(table) > 1:
        best = {"best": people(highest), "highest": idf1.at(highest)}
        found = replace(found, kind="tracks", values={**found.values, **best})
    yield found


def _switches(found: Table) -> str:
    """Return the number of identity switches, and the first as an example."""
    if not len(found):
        return "no identity switches"
    n = count(len(found), "identity switch", "identity switches")
    return said("switches", **found.head(1).records()[0], n=n)
