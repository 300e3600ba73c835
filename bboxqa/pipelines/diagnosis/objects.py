"""Findings about objects, categories and tracks."""

from collections.abc import Collection, Iterator
from math import erfc, isnan, log, nan, sqrt
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, distinct
from bboxqa.core.text import count
from bboxqa.diagnostics.agreement_groups import assigned_to
from bboxqa.diagnostics.categories import ALL, difficulty
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.pipelines.diagnosis.findings import (
    LEAST_CONFUSED,
    LEAST_SHARE,
    Diagnosed,
    Finding,
    Measure,
    above_all,
    above_others,
    bounds,
    category_differences,
    confuser,
    in_percent,
    shape_word,
)

# Smaller gains would be shown as 0.00.
_LEAST_SHOWN_GAIN = 0.005
# Gains of alpha whose interval lies above this are worth a suggestion.
_LEAST_GAIN = 0.01
_LEAST_DRAWN = 20
_MOST_NAMED = 2
# The chance of a false alarm of all pairs of categories; pairs that leave nothing else to compare.
_ALARM, _LEAST_LEFT = 0.05, 1e-9
_KIND = {
    Kind.MISSED: "are drawn by some annotators and not by others",
    Kind.CLASS_CONFLICT: "have different categories",
    Kind.BADLY_PLACED: "have {} in different places, which are too far apart to match",
    Kind.SPLIT: "are drawn in parts by some, or together with another object",
    Kind.TWICE: "are drawn twice by one annotator",
}


def kind_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield the costliest kind of disagreement, and others with a significant cost."""
    table = of.tables["decomposition"]
    column = "f1_gain" if isnan(of.part.alpha) else "alpha_gain"
    gain, share = bounds(table, column), bounds(table, "share_any")
    compared = of.matched.compared
    drawn = "key points" if compared == "keypoints" else shape_word(compared)
    for rank, place in enumerate(np.argsort(-np.nan_to_num(gain.value), kind="stable").tolist()):
        if gain.value[place] > _LEAST_SHOWN_GAIN and not (rank and gain.low[place] <= 0):
            kind = Kind(KINDS.index(table["kind"][place]))
            values = {"share": format(share.at(place), "%"), "what": _KIND[kind].format(drawn)}
            settled = of.instead("without that", float(gain.value[place]))
            if not settled:
                continue
            weight = float(share.value[place])
            yield Finding("kind", (), gain.at(place), weight, values, kind, gain=settled)


def confusion_findings(of: Diagnosed, *, named: bool) -> Iterator[Finding]:
    """Yield the categories whose confusion costs most; if `named`, by whom above all.

    Only pairs count that are confused more than others are, see `beyond_background`. Pairs whose
    merging significantly raises alpha come first, by gain, then the most frequent ones.
    """
    tables = of.tables
    table = tables["confusions"]
    gain, share = bounds(table, "gain"), bounds(table, "share")
    n_given = np.bincount(of.matched.data.annotations.category)
    first, second = table.codes("first"), table.codes("second")
    beyond = beyond_background(table["n"], first, second, n_given)
    # Of a rare category many objects may be confused that are few of those with either.
    rarer = table["n"] / np.maximum(np.minimum(n_given[first], n_given[second]), 1)
    is_large = np.maximum(share.value, rarer) >= LEAST_SHARE
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & is_large & beyond)
    significant = np.where(gain.low > 0, gain.value, 0)
    order = np.lexsort([-table["n"][frequent], -significant[frequent]])
    n_objects = max(int(tables["decomposition"]["n_objects"].sum()), 1)
    unknown = ", unknown who is right" if len(of.names) == 2 else ""
    for place in frequent[order][:_MOST_NAMED].tolist():
        n, both = int(table["n"][place]), (table["first"][place], table["second"][place])
        who: list[str] = []
        if named:
            # By what most others say, an annotator is not blamed for whom others contradict too.
            matrix, people = tables["confusion_matrix"], tables["annotators"]
            who = confuser(matrix, both, "others", people, "n_most")
        merged = None
        if gain.low[place] > 0 and gain.value[place] >= _LEAST_SHOWN_GAIN:
            merged = of.instead("as one category", float(gain.value[place]))
        if len(who) == 1:
            yield _of_caller(of, who[0], both, n / n_objects)
        else:
            values = {"first": both[0], "second": both[1], "n": n}
            values["above_all"] = above_all(who) or unknown
            # Without the table, nobody may be named.
            shares = {name: _explained(of, name, both) for name in of.names if named}
            values["explained"] = shares
            size, weight = share.at(place), n / n_objects
            yield Finding("confusion", (*who,), size, weight, values, gain=merged)


def _explained(of: Diagnosed, who: str, both: tuple[str, str]) -> float:
    """Return the share of the unequal categories of an annotator that are these two."""
    matrix = of.tables["confusion_matrix"]
    category, others = matrix["category"], matrix["others"]
    unequal = (matrix["annotator"] == who) & (category != others)
    unequal &= (category != NO_BOX) & (others != NO_BOX)
    n = matrix["n"][unequal]
    of_both = (np.isin(category, both) & np.isin(others, both))[unequal]
    return float(n[of_both].sum() / max(n.sum(), 1))


def _of_caller(of: Diagnosed, who: str, both: tuple[str, str], weight: float) -> Finding:
    """Return how often an annotator gives one of two categories where the others give the other."""
    matrix = of.tables["confusion_matrix"]
    own = matrix.take(np.flatnonzero((matrix["annotator"] == who) & (matrix["category"] != NO_BOX)))
    cases = []
    for first, second in (both, both[::-1]):
        there = own["others"] == first
        n = int(own["n"][there & (own["category"] == second)].sum())
        cases.append((n / max(int(own["n"][there].sum()), 1), n, first, second))
    (share, n, first, second), back = sorted(cases, reverse=True)
    values: dict[str, Any] = {"first": first, "second": second, "back": ""}
    values["explained"] = {who: _explained(of, who, both)}
    rest = matrix["n_most"] * ((matrix["annotator"] != who) & (matrix["category"] != NO_BOX))
    rest = rest * (matrix["others"] == first)
    if back[0] >= LEAST_SHARE and back[1] >= LEAST_CONFUSED:
        values["back"] = f", {second} {first} in {in_percent(back[0])}"
    elif rest.any():
        others = rest[matrix["category"] == second].sum() / rest.sum()
        values["back"] = f"; the others: {in_percent(others)}"
    size = Measure(share, nan, nan)
    weight = max(weight, of.as_category(share))
    return Finding("calls", (who,), size, weight, values, Kind.CLASS_CONFLICT)


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


def supercategory_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield what alpha would be with broader categories, if they raise it significantly."""
    table = of.tables["supercategories"]
    gain = bounds(table, "gain")
    for place in np.flatnonzero(gain.low > _LEAST_GAIN)[:1].tolist():
        name = table["supercategory"][place]
        which = "all supercategories" if name == ALL else f"the supercategory {name}"
        values = {"which": f"{which} as one", "merged": table["alpha_merged"][place]}
        values["alpha"] = of.part.alpha
        yield Finding("supercategory", (), gain.at(place), float(gain.value[place]), values)


def category_findings(
    of: Diagnosed, unused: Collection[int], blamed: Collection[str]
) -> Iterator[Finding]:
    """Yield the category that is found significantly less than the others.

    Categories that an annotator never draws, `unused`, have a sentence of their own. Annotators who
    are `blamed` for misses or extras are left out.
    """
    matched, table = of.matched, of.tables["difficulty"]
    if blamed:
        matched = assigned_to(matched, matched.data.assigned & ~np.isin(of.names, [*blamed]))
        table = difficulty(matched)
    data = matched.data
    names, n_files = data.category_names, len(data.image_names)
    others = ~np.isin(table.codes("category"), [*unused])
    table = table.take(np.flatnonzero((table["n"] >= _LEAST_DRAWN) & others))
    if len(table) < 2:
        return
    found = bounds(table, "found_share")
    error, share = found.of_complement(), table["n"] / max(int(table["n"].sum()), 1)
    drawn = data.annotations
    pairs = distinct(drawn.category.astype(np.int64) * n_files + drawn.image)
    in_images = np.bincount(pairs // n_files, minlength=len(names))
    codes = table.codes("category")
    apart = category_differences(matched, np.searchsorted(distinct(drawn.category), codes))
    for place in above_others(error, in_images[codes], apart, n_kinds=1)[:1].tolist():
        values: dict[str, Any] = {
            "category": table["category"][place],
            "others": found.others(place, in_percent, "of other categories"),
        }
        weight = (1 - found.value[place]) * share[place]
        yield Finding("difficult", (), found.at(place), float(weight), values)


def agreement_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield that all agree, if they do."""
    n = len(of.matched.units)
    if n and of.part.n_complete_units == n and of.part.class_agreement.share == 1:
        yield Finding("all agree", values={"objects": count(n, "object")})


def track_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield how well annotators agree on tracks; nothing without tracks."""
    table = of.tables.get("tracks")
    if table is None or not len(table):
        return
    idf1, switches = bounds(table, "idf1"), of.tables["track_switches"]
    lowest = int(np.argmin(idf1.value))
    example = "".join(
        "; {annotator_1}'s track {track} is {annotator_2}'s {before} until {until}, and {after} "
        "from {since} on".format(**row)
        for row in switches.head(1).records()
    )
    pair = " and ".join(table[f"annotator_{number}"][lowest] for number in (1, 2))
    values = {
        "pair": f"{pair}, the lowest," if len(table) > 1 else pair,
        "switches": count(len(switches), "identity switch", "identity switches"),
        "example": example,
    }
    size = idf1.at(lowest)
    yield Finding("tracks", (), size, 1 - size.value, values)
