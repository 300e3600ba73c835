"""Findings about annotators and objects: misses, extras, categories, copies, groups, changes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isnan, nan
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, distinct
from bboxqa.core.text import count, first_few, joined
from bboxqa.diagnostics.agreement_groups import (
    agreement_of_groups,
    all_share_boxes,
    assigned_to,
    confirmed_groups,
    independent,
)
from bboxqa.diagnostics.categories import ALL, Unused, difficulty
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
# With two annotators, it is unknown whose agreement changes.
_SEVERAL = 3
# Confusions with a reference, and annotators of a group, that are named.
_MOST_CONFUSIONS, _MOST_MEMBERS = 2, 4
_PAIR = ("annotator_1", "annotator_2")
_two_digits = "{:.2f}".format
# Smaller gains would be shown as 0.00.
_LEAST_SHOWN_GAIN = 0.005
# Gains of alpha whose interval lies above this are worth a suggestion.
_LEAST_GAIN = 0.01
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
    idle = np.flatnonzero((of.tables["annotators"]["n"] == 0) & (n_there > 0))
    yield from largest(
        Finding(
            "idle",
            (of.names[place],),
            weight=int(n_there[place]) / max(len(objects), 1),
            values={
                "images": count(int(asked[:, place].sum()), "image"),
                "objects": count(int(n_there[place]), "object"),
            },
            cause=Kind.MISSED,
            table="annotators",
        )
        for place in idle.tolist()
    )


def erring_annotators(
    of: Diagnosed, differences: Mapping[str, Bounds], have_judges: BoolArray,
    unused: Mapping[str, Sequence[str]],
) -> Iterator[Finding]:  # fmt: skip
    """Yield who misses, adds, misnames, repeats, splits or merges objects more than others do.

    There are three annotators or more. `have_judges` is (A,) bool: annotators with two others who
    can judge what is missed or added; `unused` has the categories that each annotator never draws.
    """
    annotators = of.tables["annotators"]
    names = annotators["annotator"]
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
            values: dict[str, Any] = {"others": others}
            kind, left_out = rate, unused.get(names[place], ())
            if rate == "miss_rate" and left_out:
                # Most that is missed may be of categories that are never drawn.
                matrix = of.tables["confusion_matrix"]
                missed = (matrix["annotator"] == names[place]) & (matrix["category"] == NO_BOX)
                n, of_others_ = matrix["n"][missed], matrix["others"][missed].astype(str)
                if 2 * n[np.isin(of_others_, left_out)].sum() >= n.sum():
                    continue
            if rate in ("miss_rate", "class_share"):
                more = _of_some(of, rate, place, left_out)
                kind, values = f"{rate} of some" if more else rate, values | more
            size, who, share = found.at(place), (str(names[place]),), float(of.share[place])
            lifted, weight = values.pop("of_category", 0.0) * share, size.value * share
            told.append(
                Finding(kind, who, size, weight, values, cause, table=name, of_category=lifted)
            )
        yield from largest(told)


def _of_some(of: Diagnosed, rate: str, place: int, left_out: Sequence[str]) -> dict[str, Any]:
    """Return on which objects the errors of an annotator depend, in words; empty if on none."""
    matched = independent(of.matched)
    cells, (among, number, number_of) = object_cells(matched), error_cells(matched)[rate]
    own = np.flatnonzero(among & (cells.annotator == place))
    failed = number[own] if rate == "miss_rate" else 2 * number[own] < number_of[own]
    values = {name: value[cells.object[own]] for name, value in covariates(matched).items()}
    drawn = matched.data.annotations
    if drawn.times is not None:
        by_place = np.flatnonzero(drawn.annotator == place)
        by_place = by_place[~np.isnan(drawn.times.seconds[by_place])]
        image, n_images = drawn.image[by_place].astype(np.int64), len(matched.data.image_names)
        time = medians(drawn.times.seconds[by_place], image, n_images)
        values["time"] = time[cells.image[own]]
    names = matched.data.category_names
    kept = ~np.isin([names[int(each)] for each in values[CATEGORY]], left_out or [""])
    values = {name: value[kept] for name, value in values.items()}
    found = dependence(values, failed[kept].astype(np.bool_), 2 * len(values) * len(of.names))
    if found is None:
        return {}
    is_of_category = found.name == CATEGORY
    cut = names[int(found.threshold)] if is_of_category else f"{found.threshold:,.0f}"
    if found.name == "time":
        cut = f"{datetime.fromtimestamp(found.threshold, UTC):%Y-%m-%d %H:%M}"
    subset = SUBSETS[found.name][not found.below]
    words = {name: text.format(cut) for name, text in subset._asdict().items()}
    rates = {"inside": in_percent(found.inside), "outside": in_percent(found.outside)}
    words |= {name: "none" if text == "0 %" else text for name, text in rates.items()}
    if is_of_category:
        words["of_category"] = of.as_category(found.inside, found.n_inside)
    return words


def _errors(table: Table, rate: str) -> Bounds:
    found = bounds(table, rate)
    return found.of_complement() if rate == "class_share" else found


def two_annotators(table: Table, *, has_copies: bool) -> Iterator[Finding]:
    """Yield what each of two annotators drew and the other did not.

    If copies of one of them are left out, only a significant difference is reported.
    """
    found, names = judged(table, bounds(table, "miss_rate")), table["annotator"]
    if len(table) != 2 or not found.low.max() >= LEAST_SHARE:
        return
    if has_copies and not found.low.max() > found.high.min() + LEAST_SHARE:
        return
    first, second = np.argsort(-found.value, kind="stable").tolist()
    values = {"who": names[first], "other": names[second], "back": found.at(second)}
    weight = float(found.value.mean())
    yield Finding("missed", (*names,), found.at(first), weight, values)


def unused_findings(of: Diagnosed, unused: Sequence[Unused]) -> Iterator[Finding]:
    """Yield which annotators never draw which categories."""
    names, n_objects = of.matched.data.category_names, max(len(distinct(of.matched.objects)), 1)
    people: dict[int, list[Unused]] = {}
    for each in unused:
        people.setdefault(each.annotator, []).append(each)
    told = []
    for place, own in people.items():
        words = [f"{names[o.category]} ({count(o.n_objects, 'object')} of others)" for o in own]
        values, who = {"categories": joined(words)}, (of.names[place],)
        n = sum(each.n_objects for each in own)
        told.append(
            Finding(
                "unused", who, weight=n / n_objects, values=values, cause=Kind.MISSED,
                table="category_use", of_category=of.as_category(1.0, n),
            )
        )  # fmt: skip
    yield from largest(told)


def copy_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield pairs of annotators who share boxes, and what is left out for that reason."""
    table = of.tables["copies"]
    found = bounds(table, "identical_share")
    copied = np.flatnonzero(table["copied"])
    if all_share_boxes(table, [*of.names]):
        least = found.at(int(copied[found.value[copied].argmin()]))
        share = f"{in_percent(least.value)} or more of the"
        if share.startswith("100 "):
            share = "all" if least.value == 1 else "nearly all"
        yield Finding("all copy", (), least, 1.0, {"share": share})
        return

    told = []
    for place in copied.tolist():
        pair = [str(table[column][place]) for column in _PAIR]
        more, name = _apart(of, pair, int(table["n"][place])), pair[1]
        before, after = (
            asked_with_others(each)[:, of.names.index(name)]
            for each in (of.matched, independent(of.matched))
        )
        if (before & ~after).any():
            boxes = "the copied boxes" if after.any() else "the boxes"
            more = f"; figures of annotators count them once, without {boxes} of {name}{more}"
        values = {"who": joined(pair), "left_out": more}
        # Other figures depend on them.
        told.append(Finding("copies", (pair[0],), found.at(place), np.inf, values, table="copies"))
    yield from largest(told)


def _apart(of: Diagnosed, pair: Sequence[str], n_both: int) -> str:
    """Return in what two annotators with copied boxes differ, in images that both were asked of."""
    data, pairs = of.matched.data, of.part.pairs
    places = [of.names.index(name) for name in pair]
    of_both = np.asarray(data.assigned[:, places].all(1))
    there = data.annotations.annotator[of_both[data.annotations.image]]
    more = [max(int((there == place).sum()) - n_both, 0) for place in places]
    of_pair = np.isin(pairs[_PAIR[0]], pair) & np.isin(pairs[_PAIR[1]], pair)
    unequal = 1 - float(pairs["class_share"][of_pair].max(initial=0))
    if max(*more, unequal * n_both) < LEAST_SHARE * n_both:
        return ""
    parts = [f"{name} drew {n:,} more" for name, n in zip(pair, more, strict=True) if n]
    parts += [f"{in_percent(unequal)} have different categories"] * bool(unequal)
    return "".join(f"; {part}" for part in parts)


def group_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield which annotators agree among themselves, and less with the others.

    Copies are no group: they have a sentence of their own. Looking for groups takes longer than the
    figures: they are told where their table was asked for.
    """
    if "agreement_groups" not in of.tables:
        return
    group = confirmed_groups(of.matched)
    if not group.any() or of.tables["copies"]["copied"].any():
        return
    names = np.array(of.names, object)
    members = [first_few(names[group == each], _MOST_MEMBERS) for each in np.unique(group)]
    within, between = (Measure(*each) for each in agreement_of_groups(of.matched).tolist())
    shown = joined([f"group {number} ({each})" for number, each in enumerate(members, 1)])
    values = {"groups": shown, "between": between}
    yield Finding("groups", (), within, within.value - between.value, values)


def reference_worst(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield who agrees significantly less with the reference than the others do, if anybody.

    With two annotators, their intervals must not overlap.
    """
    table = found.annotators
    f1, precision, recall = (bounds(table, name) for name in ("f1", "precision", "recall"))
    error = judged(table, f1.of_complement())
    worst = above_others(error, table["n_images"])[:1].tolist()
    if len(table) == 2 and not error.low.max() > error.high.min():
        worst = []
    for place in worst:
        values = {
            "reference": found.name,
            "others": f1.others(place, _two_digits),
            "recall": recall.at(place),
            "precision": precision.at(place),
        }
        yield Finding("worst of reference", (table["annotator"][place],), f1.at(place), 0.0, values)


def reference_confusions(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield the categories that are most often confused with those of the reference, and by whom.

    With a reference, these replace the confusions of annotators with each other.
    """
    table, matrix = found.confusions, found.confusion_matrix
    share, n_matched = bounds(table, "share"), max(int(matrix["n"].sum()), 1)
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    for place in frequent[:_MOST_CONFUSIONS].tolist():
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
        yield from largest(
            Finding(
                f"reference {error}",
                (str(table["annotator"][place]),),
                figures.at(place),
                float(figures.value[place] * share[place]),
                {"others": figures.others(place), "reference": found.name},
                table="reference",
            )
            for place in named.tolist()
        )
    if len(found.offsets):
        yield from offset_findings(table, found.offsets, "reference_offsets", reference=found.name)


def work_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield whose F1 changes significantly more than the others', or that F1 of all changes."""
    if "work" not in of.tables:
        return
    table = of.tables["work"]
    people = table.take(np.arange(1, len(table)))
    share = people["n"] / max(int(people["n"].sum()), 1)
    hours = people["hours"] / np.maximum(people["n_sessions"], 1)
    length = {"drift": people["n_sessions"] - 1.0, "fatigue": hours}
    for name, unit in CHANGE_UNITS.items():
        found, everyone = bounds(people, name), bounds(table.head(1), name)
        named: list[int] = []
        if len(people) >= _SEVERAL:
            n_images = of.tables["annotators"]["n_images"]
            for sign in (-1, 1):
                # Who rises or falls significantly, and more than the others.
                above = above_others(found.times(sign), n_images)
                named += above[found.times(sign).low[above] > 0].tolist()
        told = []
        for place in named:
            others = found.others(place, "{:+z.3f}".format, "").removeprefix("; : ")
            values = {"unit": unit, "change": _change(found.at(place)), "others": others}
            weight = abs(found.value[place]) * length[name][place] * share[place]
            who = (str(people["annotator"][place]),)
            told.append(Finding("change", who, weight=float(weight), values=values, table="work"))
        yield from largest(told)
        if not named and (everyone.low[0] > 0 or everyone.high[0] < 0):
            whole = abs(everyone.value[0]) * float(np.nanmean(length[name]))
            change = {"unit": unit, "change": _change(everyone.at(0))}
            yield Finding("change of all", (), everyone.at(0), whole, change)


def _change(found: Measure) -> str:
    low, high = sorted((abs(found.low), abs(found.high)))
    way = "rises" if found.value > 0 else "falls"
    return f"{way} by {abs(found.value):.3f} [{low:z.3f}, {high:z.3f}]"


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
    of_category = of.as_category(share, round(n / share)) if n else 0.0
    size = Measure(share, nan, nan)
    cause = Kind.CLASS_CONFLICT
    return Finding("calls", (who,), size, weight, values, cause, of_category=of_category)


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
