"""Findings about annotators and objects: misses, extras, categories, copies, references."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from math import isnan, nan
from typing import Any

import numpy as np

from bboxqa.core.arrays import distinct
from bboxqa.core.text import count
from bboxqa.diagnostics.agreement_groups import all_share_boxes, assigned_to, independent
from bboxqa.diagnostics.categories import difficulty
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.diagnostics.object_cells import medians, object_cells
from bboxqa.diagnostics.rates import asked_with_others, error_cells
from bboxqa.diagnostics.strata import CATEGORY, covariates, dependence, explained_extras
from bboxqa.model.diagnosis import CHANGE_UNITS, NO_BOX
from bboxqa.model.results import ReferenceAgreement
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.findings import (
    LEAST_CONFUSED,
    LEAST_SHARE,
    SUBSETS,
    Bounds,
    Diagnosed,
    Finding,
    Measure,
    above_all,
    above_others,
    beyond_background,
    bounds,
    category_differences,
    confuser,
    in_percent,
    judged,
    largest,
    of_others,
    shape_word,
)
from bboxqa.pipelines.diagnosis.places import offset_findings
from bboxqa.report.agreement_summary import LEVELS

MOSTLY = 0.9
"""An annotator who has this share of the objects of a kind, and no others more than the rest, has
the kind alone."""
# The rates of each table with the kind of disagreement that they explain.
_RATES = {
    "miss_rate": ("annotators", Kind.MISSED),
    "extra_rate": ("annotators", Kind.MISSED),
    "class_share": ("annotators", Kind.CLASS_CONFLICT),
    "twice_rate": ("boxes_per_object", Kind.TWICE),
    "split_rate": ("boxes_per_object", Kind.SPLIT),
    "merge_rate": ("boxes_per_object", Kind.SPLIT),
}
_OF_REFERENCE = ("miss_rate", "extra_rate", "twice_rate", "class_share")
# An annotator with a lower F1, and more misses, hardly does the same task.
_STRANGE, _STRANGE_MISSES = 0.2, 0.5
# Standard errors that extras must differ by from those that the misses of others explain.
_FAR = 3.0
_two_digits = "{:.2f}".format
# Smaller gains would be shown as 0.00.
_LEAST_SHOWN_GAIN = 0.005
_LEAST_DRAWN = 20
_MOST_PAIRS = 2
_KIND = {
    Kind.MISSED: "are drawn by some annotators and not by others",
    Kind.CLASS_CONFLICT: "have different categories",
    Kind.BADLY_PLACED: "have {} in different places, which are too far apart to match",
    Kind.SPLIT: "are drawn in parts by some, or together with another object",
    Kind.TWICE: "are drawn twice by one annotator",
}


def worst_annotator(of: Diagnosed, differences: Mapping[str, Bounds]) -> Iterator[Finding]:
    """Yield who matches the others least, of three or more, with alpha without this annotator."""
    table = of.tables["annotators"]
    f1, vital = bounds(table, "f1"), bounds(table, "vitality")
    # Annotators who drew nothing have a sentence of their own: `idle_annotators`.
    named = above_others(f1.of_complement(), table["n_images"], differences["f1"])
    for place in named[table["n"][named] > 0][:1].tolist():
        name, without = table["annotator"][place], None
        pairs = of.of_pairs(name, "f1")
        others = of_others(pairs, f1.value[place], _two_digits, "the others with each other")
        if vital.high[place] < 0:
            without = of.instead(f"without {name}", -float(vital.value[place]))
        # Boxes that are only badly placed are not missed.
        is_far = f1.value[place] < min(_STRANGE, np.nanmedian(pairs) / 2)
        is_far &= table["miss_rate"][place] > _STRANGE_MISSES
        kind = "stranger" if is_far else "worst"
        cause = Kind.MISSED if is_far else None
        weight = float(of.share[place])
        yield Finding(kind, (name,), f1.at(place), weight, {"others": others}, cause, gain=without)


def idle_annotators(of: Diagnosed) -> Iterator[Finding]:
    """Yield who drew nothing where others drew objects."""
    asked, matched = asked_with_others(of.matched), of.matched
    objects, first = np.unique(matched.objects, return_index=True)
    image = matched.data.annotations.image[first]
    n_there = np.bincount(image, minlength=len(asked)) @ asked
    told = []
    for place in np.flatnonzero((of.tables["annotators"]["n"] == 0) & (n_there > 0)).tolist():
        images, n = count(int(asked[:, place].sum()), "image"), int(n_there[place])
        values, weight = {"images": images, "objects": count(n, "object")}, n / len(objects)
        told.append(
            Finding(
                "idle", (of.names[place],), weight=weight, values=values, cause=Kind.MISSED,
                table="annotators",
            )
        )  # fmt: skip
    yield from largest(told)


def erring_annotators(of: Diagnosed, differences: Mapping[str, Bounds]) -> Iterator[Finding]:
    """Yield who of three or more misses, adds, misnames, repeats, splits or merges more objects."""
    annotators = of.tables["annotators"]
    names = annotators["annotator"]
    # Annotators with an image that two others, not models, were asked about.
    assigned = of.matched.data.assigned
    votes = assigned & ~of.matched.is_model
    have_judges = (assigned & (votes.sum(1)[:, None] - votes > 1)).any(0)
    for rate, (name, cause) in _RATES.items():
        found = _errors(of.tables[name], rate)
        places = above_others(found, annotators["n_images"], differences.get(rate))
        places = places[(found.value[places] >= LEAST_SHARE) & (annotators["n"][places] > 0)]
        if cause == Kind.MISSED:
            places = places[have_judges[places]]
        if rate == "extra_rate" and len(places):
            explained = explained_extras(independent(of.matched))
            far = _FAR * np.sqrt(np.maximum(explained, 1))
            places = places[(annotators["n_extra"] > explained + far)[places]]
        told = []
        for place in places.tolist():
            others = found.others(place)
            if rate == "class_share":
                others = of_others(1 - of.of_pairs(names[place], rate), found.value[place])
            more = _of_some(of, rate, place) if rate in ("miss_rate", "class_share") else {}
            kind, values = f"{rate} of some" if more else rate, {"others": others} | more
            size, who, share = found.at(place), (str(names[place]),), float(of.share[place])
            lifted, weight = values.pop("of_category", 0.0) * share, size.value * share
            told.append(
                Finding(kind, who, size, weight, values, cause, table=name, of_category=lifted)
            )
        yield from largest(told)


def _of_some(of: Diagnosed, rate: str, place: int) -> dict[str, Any]:
    """Return on which objects the errors of an annotator depend, in words; empty if on none."""
    matched = independent(of.matched)
    cells, (among, number, number_of) = object_cells(matched), error_cells(matched)[rate]
    own = np.flatnonzero(among & (cells.annotator == place))
    failed = number[own] if rate == "miss_rate" else 2 * number[own] < number_of[own]
    values = {name: value[cells.object[own]] for name, value in covariates(matched).items()}
    drawn = matched.data.annotations
    if drawn.times is not None:
        by_place = np.flatnonzero((drawn.annotator == place) & ~np.isnan(drawn.times.seconds))
        image, n_images = drawn.image[by_place].astype(np.int64), len(matched.data.image_names)
        time = medians(drawn.times.seconds[by_place], image, n_images)
        values["time"] = time[cells.image[own]]
    found = dependence(values, failed.astype(np.bool_), 2 * len(values) * len(of.names))
    if found is None:
        return {}
    is_of_category, cut = found.name == CATEGORY, f"{found.threshold:,.0f}"
    if is_of_category:
        cut = matched.data.category_names[int(found.threshold)]
    if found.name == "time":
        cut = f"{datetime.fromtimestamp(found.threshold, UTC):%Y-%m-%d %H:%M}"
    subset = SUBSETS[found.name][not found.below]
    words: dict[str, Any] = {name: text.format(cut) for name, text in subset._asdict().items()}
    rates = {"inside": in_percent(found.inside), "outside": in_percent(found.outside)}
    words |= {name: "none" if text == "0 %" else text for name, text in rates.items()}
    if is_of_category:
        words["of_category"] = of.as_category(found.inside, found.n_inside)
    return words


def _errors(table: Table, rate: str) -> Bounds:
    found = bounds(table, rate)
    return found.of_complement() if rate == "class_share" else found


def two_annotators(table: Table) -> Iterator[Finding]:
    """Yield what each of two annotators drew and the other did not."""
    found, names = judged(table, bounds(table, "miss_rate")), table["annotator"]
    if len(table) != 2 or not found.low.max() >= LEAST_SHARE:
        return
    first, second = np.argsort(-found.value, kind="stable").tolist()
    values = {"who": names[first], "other": names[second], "back": found.at(second)}
    weight = float(found.value.mean())
    yield Finding("missed", (*names,), found.at(first), weight, values)


def copy_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield pairs of annotators who share boxes."""
    table = of.tables["copies"]
    found = bounds(table, "identical_share")
    copied = np.flatnonzero(table["copied"])
    if all_share_boxes(table, [*of.names]):
        least = found.at(int(copied[found.value[copied].argmin()]))
        share = "all" if least.value == 1 else f"{in_percent(least.value)} or more of the"
        yield Finding("all copy", (), least, 1.0, {"share": share})
        return
    is_left_out = independent(of.matched) is not of.matched
    once = "; figures of annotators count them once" if is_left_out else ""
    told = []
    for place in copied.tolist():
        first, second = (str(table[f"annotator_{number}"][place]) for number in (1, 2))
        values = {"who": f"{first} and {second}", "once": once}
        # Other figures depend on them.
        told.append(Finding("copies", (first,), found.at(place), np.inf, values, table="copies"))
    yield from largest(told)


def reference_worst(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield who agrees significantly less with the reference than the others do, if anybody."""
    table = found.annotators
    f1 = bounds(table, "f1")
    error = judged(table, f1.of_complement())
    for place in above_others(error, table["n_images"])[:1].tolist():
        if len(table) > 2 or error.low.max() > error.high.min():
            values = {"reference": found.name, "others": f1.others(place, _two_digits)}
            yield Finding(
                "worst of reference", (table["annotator"][place],), f1.at(place), 1, values
            )


def reference_confusions(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield the categories that are most often confused with those of the reference, and by whom.

    With a reference, these replace the confusions of annotators with each other.
    """
    table, matrix = found.confusions, found.confusion_matrix
    share, n_matched = bounds(table, "share"), max(int(matrix["n"].sum()), 1)
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    for place in frequent[:_MOST_PAIRS].tolist():
        both, n = (table["first"][place], table["second"][place]), int(table["n"][place])
        who = confuser(matrix, both, "reference", found.annotators)
        values = {"first": both[0], "second": both[1], "n": n, "reference": found.name}
        values["above_all"] = above_all(who)
        yield Finding("reference confusion", (*who,), share.at(place), n / n_matched, values)


def reference_errors(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield who significantly misses, adds, misnames or misplaces, against the reference.

    Of three annotators or more, those who do so more than the others; of fewer, everyone who does.
    """
    table = found.annotators
    share = table["n"] / max(int(table["n"].sum()), 1)
    for error in _OF_REFERENCE:
        figures = judged(table, _errors(table, error))
        named = np.flatnonzero(figures.low >= LEAST_SHARE)
        if len(table) > 2:
            named = above_others(figures, table["n_images"])
            named = named[figures.value[named] >= LEAST_SHARE]
        told = []
        for place in named.tolist():
            size, who = figures.at(place), (str(table["annotator"][place]),)
            values = {"others": figures.others(place), "reference": found.name}
            weight = float(size.value * share[place])
            kind = f"reference {error}"
            told.append(Finding(kind, who, size, weight, values, table="reference"))
        yield from largest(told)
    if len(found.offsets):
        yield from offset_findings(table, found.offsets, "reference_offsets", reference=found.name)


def work_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield whose F1, of three or more, changes significantly more than that of the others."""
    table = of.tables.get("work")
    if table is None or len(of.names) <= 2:
        return
    people = table.take(np.arange(1, len(table)))
    share = people["n"] / max(int(people["n"].sum()), 1)
    hours = people["hours"] / np.maximum(people["n_sessions"], 1)
    length = {"drift": people["n_sessions"] - 1.0, "fatigue": hours}
    for name, unit in CHANGE_UNITS.items():
        found, told = bounds(people, name), []
        for sign, way in ((-1, "falls"), (1, "rises")):
            # Who rises or falls significantly, and more than the others.
            turned = found.times(sign)
            for place in above_others(turned, of.tables["annotators"]["n_images"]).tolist():
                value, low, high = turned.at(place)
                if low > 0:
                    change = f"{way} by {value:.3f} [{low:z.3f}, {high:z.3f}]"
                    others = found.others(place, "{:+z.3f}".format)
                    values = {"unit": unit, "change": change, "others": others}
                    weight = float(value * length[name][place] * share[place])
                    who = (str(people["annotator"][place]),)
                    told.append(Finding("change", who, weight=weight, values=values, table="work"))
        yield from largest(told)


def kind_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield the costliest kind of disagreement, and others with a significant cost."""
    table = of.tables["decomposition"]
    column = "f1_gain" if isnan(of.part.alpha) else "alpha_gain"
    gain, share = bounds(table, column), bounds(table, "share_any")
    drawn = shape_word(of.matched.compared)
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
    for place in frequent[order][:_MOST_PAIRS].tolist():
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
            values["explained"] = {name: _explained(of, name, both) for name in of.names if named}
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
    if back[0] >= LEAST_SHARE and back[1] >= LEAST_CONFUSED:
        values["back"] = f", {second} {first} in {in_percent(back[0])}"
    of_category = of.as_category(share, round(n / share)) if n else 0.0
    size, cause = Measure(share, nan, nan), Kind.CLASS_CONFLICT
    return Finding("calls", (who,), size, weight, values, cause, of_category=of_category)


def category_findings(of: Diagnosed, blamed: Collection[str]) -> Iterator[Finding]:
    """Yield the category that is found significantly less than the others.

    Annotators who are `blamed` for misses or extras are left out.
    """
    matched, table = of.matched, of.tables["difficulty"]
    if blamed:
        matched = assigned_to(matched, matched.data.assigned & ~np.isin(of.names, [*blamed]))
        table = difficulty(matched)
    data = matched.data
    drawn, n_files = data.annotations, len(data.image_names)
    table = table.take(np.flatnonzero(table["n"] >= _LEAST_DRAWN))
    if len(table) < 2:
        return
    found, codes = bounds(table, "found_share"), table.codes("category")
    error, share = found.of_complement(), table["n"] / max(int(table["n"].sum()), 1)
    pairs = distinct(drawn.category.astype(np.int64) * n_files + drawn.image)
    in_images = np.bincount(pairs // n_files, minlength=len(data.category_names))
    apart = category_differences(matched, np.searchsorted(distinct(drawn.category), codes))
    for place in above_others(error, in_images[codes], apart, n_kinds=1)[:1].tolist():
        others = found.others(place, in_percent, "of other categories")
        values = {"category": table["category"][place], "others": others}
        weight = float((1 - found.value[place]) * share[place])
        yield Finding("difficult", (), found.at(place), weight, values)


def agreement_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield that all agree, if they do, and that nothing has to be done if in places as well."""
    if of.part.is_unanimous:
        is_apart = of.part.place.mean_iou < LEVELS["place"][0]
        rest = "" if is_apart else ": nothing has to be looked at again"
        values = {"objects": count(of.part.n_units, "object"), "rest": rest}
        yield Finding("all agree", values=values)


def track_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield how well annotators agree on tracks; nothing without tracks."""
    table = of.tables.get("tracks")
    if table is None or not len(table):
        return
    idf1, n = bounds(table, "idf1"), len(of.tables["track_switches"])
    lowest = int(np.argmin(idf1.value))
    pair = " and ".join(table[f"annotator_{number}"][lowest] for number in (1, 2))
    values = {
        "pair": f"{pair}, the lowest," if len(table) > 1 else pair,
        "switches": count(n, "identity switch", "identity switches"),
    }
    size = idf1.at(lowest)
    yield Finding("tracks", (), size, 1 - size.value, values)
