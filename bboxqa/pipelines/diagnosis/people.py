"""Findings about annotators: who misses, adds, misnames, copies, agrees in groups, or changes."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

import numpy as np

from bboxqa.agreement.uncertainty.estimator import OK
from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.text import count, joined
from bboxqa.diagnostics.agreement_groups import (
    agreement_of_groups,
    all_share_boxes,
    confirmed_groups,
    independent,
)
from bboxqa.diagnostics.categories import Unused
from bboxqa.diagnostics.decomposition import Kind
from bboxqa.diagnostics.rates import asked_with_others
from bboxqa.model.diagnosis import CHANGE_UNITS, NO_BOX
from bboxqa.model.results import ReferenceAgreement, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.places import offset_findings, rotated_findings
from bboxqa.pipelines.diagnosis.sentences import (
    Finding,
    Measure,
    above_all,
    between_others,
    few_names,
    in_percent,
    moved,
    of_others,
    others_in_words,
    said,
)
from bboxqa.pipelines.diagnosis.significance import (
    LEAST_CONFUSED,
    LEAST_SHARE,
    Bounds,
    above_others,
    bounds,
    confuser,
    differ,
    f1_of_others,
    is_first,
    judged,
    most_named,
    share_bounds,
)

MOSTLY = 0.9
"""An annotator who has this share of the objects of a kind, and no others more than the rest, has
the kind alone."""
_ERRORS = {
    "miss_rate": Kind.MISSED,
    "extra_rate": Kind.MISSED,
    "class_share": Kind.CLASS_CONFLICT,
}
_SHAPES = {"twice_rate": Kind.TWICE, "split_rate": Kind.SPLIT, "merge_rate": Kind.SPLIT}
_OF_REFERENCE = ("miss_rate", "extra_rate", "twice_rate", "class_share")
# With two annotators, it is unknown whose agreement changes.
_SEVERAL = 3
# Confusions with a reference, and groups, that are named.
_MOST_CONFUSIONS, _MOST_GROUPS = 2, 2
_two_digits = "{:.2f}".format


def worst_annotator(
    part: ThresholdResult,
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    differences: Mapping[str, Bounds],
) -> Iterator[tuple[Finding, str]]:
    """Yield who matches the others least, of three or more, and alpha without this annotator."""
    table = tables["annotators"]
    f1, vital = bounds(table, "f1"), bounds(table, "vitality")
    error, alpha = f1.of_complement(), part.alpha
    # Annotators who drew nothing have a sentence of their own: `idle_annotators`.
    named = above_others(error, table["n_images"], differences["f1"])
    for place in named[table["n"][named] > 0][:1].tolist():
        name, without = table["annotator"][place], ""
        values = {
            "how": "least" if is_first(error, place) else "less than most do",
            "others": of_others(f1_of_others(matched, place), _two_digits),
        }
        if vital.high[place] < 0:
            without = said(
                "without",
                who=name,
                without=alpha - vital.value[place],
                alpha=alpha,
                low=-vital.high[place],
                high=-vital.low[place],
            )
        yield Finding("worst", (name,), f1.at(place), values=values), without


def idle_annotators(matched: MatchedUnits, table: Table) -> Iterator[Finding]:
    """Yield who drew nothing where others drew objects."""
    of, asked = matched.data.annotations, asked_with_others(matched)
    objects, first = np.unique(matched.objects, return_index=True)
    n_there = np.bincount(of.image[first], minlength=len(asked)) @ asked
    idle = np.flatnonzero((table["n"] == 0) & (n_there > 0)).tolist()
    for place, n_more in most_named(idle):
        images = count(int(asked[:, place].sum()), "image")
        values = {"images": images, "objects": count(int(n_there[place]), "object")}
        yield Finding(
            "idle",
            (table["annotator"][place],),
            weight=float(n_there[place]) / len(objects),
            values=values,
            n_more=n_more,
            table="annotators",
            cause=None if n_more else Kind.MISSED,
            owner="" if n_more else table["annotator"][place],
        )


def erring_annotators(
    tables: Mapping[str, Table],
    differences: Mapping[str, Bounds],
    pairs: Table,
    have_judges: BoolArray,
    unused: Mapping[str, Sequence[str]],
) -> Iterator[Finding]:
    """Yield who misses, adds or misnames significantly more objects than others, of three or more.

    `have_judges` is (A,) bool: annotators with two others who can judge what is missed or added;
    `unused` has the categories that each annotator never draws, by name.
    """
    table, matrix = tables["annotators"], tables["confusion_matrix"]
    names, share = table["annotator"], table["n"] / max(int(table["n"].sum()), 1)
    for rate, cause in _ERRORS.items():
        found = _errors(table, rate)
        places = above_others(found, table["n_images"], differences[rate])
        places = places[(found.value[places] >= LEAST_SHARE) & (table["n"][places] > 0)]
        if rate != "class_share":
            places = places[have_judges[places]]
        for place, n_more in most_named(places.tolist(), found.value * share):
            name = names[place]
            own = matrix.take(np.flatnonzero(matrix["annotator"] == name))
            others, detail = others_in_words(found.value, place), ""
            if rate == "class_share":
                detail = _most_often(own, len(names) - 1)
                others = between_others(pairs, name, rate, lambda each: in_percent(1 - each))
            elif rate == "miss_rate":
                left_out = unused.get(name, ())
                if _misses_only(own, left_out):
                    continue
                detail = f", among them all {joined(left_out)}" if left_out else _missed(own)
            yield Finding(
                rate,
                (name,),
                size=found.at(place),
                weight=found.value[place] * share[place],
                values={"detail": detail, "others": others},
                n_more=n_more,
                table="annotators",
                cause=None if n_more else cause,
                owner="" if n_more else name,
            )


def _errors(table: Table, rate: str) -> Bounds:
    found = bounds(table, rate)
    return found.of_complement() if rate == "class_share" else found


def shape_findings(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield who draws objects twice, splits or merges them significantly more than the others."""
    table, annotators = tables["boxes_per_object"], tables["annotators"]
    share = annotators["n"] / max(int(annotators["n"].sum()), 1)
    for rate, cause in _SHAPES.items():
        found = bounds(table, rate)
        places = above_others(found, annotators["n_images"])
        places = places[found.value[places] >= LEAST_SHARE]
        for place, n_more in most_named(places.tolist(), found.value * share):
            yield Finding(
                rate,
                (table["annotator"][place],),
                size=found.at(place),
                weight=found.value[place] * share[place],
                values={"others": others_in_words(found.value, place)},
                n_more=n_more,
                table="boxes_per_object",
                cause=None if n_more else cause,
                owner="" if n_more else table["annotator"][place],
            )


def two_annotators(table: Table, *, has_copies: bool) -> Iterator[Finding]:
    """Yield what each of two annotators drew and the other did not.

    If copies of one of them are left out, only a significant difference is reported.
    """
    found, names = judged(table, bounds(table, "miss_rate")), table["annotator"]
    if len(table) != 2 or not found.low.max() >= LEAST_SHARE:
        return
    if has_copies and not found.low.max() > found.high.min():
        return
    parts = [
        said(
            "missed by one" if found.value[place] else "missed by none",
            who=names[place],
            other=names[1 - place],
            size=found.at(place),
        )
        for place in np.argsort(-found.value, kind="stable").tolist()
    ]
    text = {"text": ", and ".join(parts)}
    yield Finding("as said", (*names,), weight=float(found.value.mean()), values=text)


def unused_findings(matched: MatchedUnits, unused: Sequence[Unused]) -> Iterator[Finding]:
    """Yield which annotators never draw which categories."""
    names, categories = matched.data.annotator_names, matched.data.category_names
    people: dict[int, list[Unused]] = {}
    for each in unused:
        people.setdefault(each.annotator, []).append(each)
    for place, n_more in most_named([*people]):
        parts = [f"{categories[each.category]} ({each.n_objects:,})" for each in people[place]]
        parts[0] = f"{parts[0][:-1]} objects of others)"
        values = {"categories": joined(parts), "were": "it was" if len(parts) == 1 else "they were"}
        yield Finding(
            "unused",
            (names[place],),
            weight=1.0,
            values=values,
            n_more=n_more,
            table="category_use",
            cause=None if n_more else Kind.MISSED,
            owner="" if n_more else names[place],
        )


def unused_by_name(matched: MatchedUnits, unused: Sequence[Unused]) -> dict[str, list[str]]:
    """Return the categories that annotators never draw, by the name of each annotator."""
    found: dict[str, list[str]] = {}
    for each in unused:
        categories = found.setdefault(matched.data.annotator_names[each.annotator], [])
        categories.append(matched.data.category_names[each.category])
    return found


def _misses_only(own: Table, unused: Sequence[str]) -> bool:
    """Return whether nearly all that an annotator misses are categories that are never drawn."""
    missed = own.take(np.flatnonzero(own["category"] == NO_BOX))
    n = missed["n"]
    return bool(n.sum() and n[np.isin(missed["others"], unused)].sum() >= MOSTLY * n.sum())


def _missed(own: Table) -> str:
    """Return the category that an annotator misses significantly more often than all objects."""
    # Labels that at most half of the others gave to any object have none to miss.
    drawn = (own["others"] != NO_BOX) & (own["n_most"] > 0)
    labels, place = np.unique(own["others"][drawn].astype(str), return_inverse=True)
    if len(labels) < 2:
        return ""
    # An object that several others saw counts once.
    n = np.bincount(place, own["n_most"][drawn]).astype(np.float64)
    missed = np.bincount(place, (own["n_most"] * (own["category"] == NO_BOX))[drawn])
    low = share_bounds(missed / n, n, len(labels)).low
    best = int(np.argmax(missed))
    return above_all(labels[best], "") if low[best] > missed.sum() / n.sum() else ""


def _most_often(own: Table, n_others: int) -> str:
    """Return the most frequent confusion of an annotator with the others, in words."""
    differs = (own["category"] != NO_BOX) & (own["others"] != NO_BOX)
    rows = np.flatnonzero(differs & (own["category"] != own["others"]))
    if not len(rows):
        return ""
    # An object that several others saw counts once.
    order = rows[np.argsort(-own["n"][rows], kind="stable")]
    first, second = (np.append(own["n"][order], 0)[:2] / n_others).tolist()
    how = "most often" if differ(first, second) else "for example"
    return f", {how} {own['category'][order[0]]} where they say {own['others'][order[0]]}"


def copy_findings(matched: MatchedUnits, tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield pairs of annotators who share boxes, and what is left out for that reason.

    If all annotators share boxes, a warning says so instead.
    """
    table = tables["copies"]
    if all_share_boxes(table, tables["annotators"]["annotator"].tolist()):
        return
    found = bounds(table, "identical_share")
    for place, n_more in most_named(np.flatnonzero(table["copied"]).tolist()):
        first, second = table["annotator_1"][place], table["annotator_2"][place]
        values = {"left_out": _left_out(matched, second)}
        yield Finding(
            "copies", (first, second), found.at(place), 1.0, values, n_more, table="copies"
        )


def _left_out(matched: MatchedUnits, name: str) -> str:
    """Return what the figures of annotators leave out because of shared boxes; "" for nothing."""
    place = matched.data.annotator_names.index(name)
    before, after = (asked_with_others(each) for each in (matched, independent(matched)))
    lost = before[:, place] & ~after[:, place]
    n_lost, n_asked = int(lost.sum()), int(before[:, place].sum())
    if not n_lost:
        return ""
    images = f"{n_lost:,} of {count(n_asked, 'image')}"
    if not after[lost].any():
        return said("copied images left out", images=images)
    what = f"boxes of {name} in {images}, with half or more identical boxes,"
    return said("copies left out", what=f"all boxes of {name}" if n_lost == n_asked else what)


def group_findings(matched: MatchedUnits, tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield which annotators agree among themselves, and less with the others.

    Copies are no group: they have a sentence of their own.
    """
    group = confirmed_groups(matched)
    if not group.any() or tables["copies"]["copied"].any():
        return
    names = tables["annotators"]["annotator"]
    members = [names[group == each].tolist() for each in range(int(group.max()) + 1)]
    shown = " and ".join(f"group {n} ({few_names(each)})" for n, each in enumerate(members, 1))
    see = "agreement_groups.csv" if len(members) > _MOST_GROUPS else ""
    if see:
        shown = f"{len(members)} groups of annotators (see {see})"
    within, between = (Measure(*each) for each in agreement_of_groups(matched).tolist())
    values = {"groups": shown, "between": between, "see": see}
    yield Finding("groups", (), within, within.value - between.value, values)


def reference_worst(part: ThresholdResult) -> Iterator[Finding]:
    """Yield who agrees significantly less with the reference than the others do, if anybody.

    With two annotators, their intervals must not overlap.
    """
    if part.reference is None:
        return
    table = part.reference.annotators
    f1, precision, recall = (bounds(table, name) for name in ("f1", "precision", "recall"))
    error = judged(table, f1.of_complement())
    worst = above_others(error, table["n_images"])[:1].tolist()
    if len(table) == 2 and not error.low.max() > error.high.min():
        worst = []
    for place in worst:
        values = {
            "how": "least" if is_first(error, place) else "less than most do",
            "reference": part.reference.name,
            "others": others_in_words(f1.value, place, _two_digits),
            "recall": recall.at(place),
            "precision": precision.at(place),
        }
        who = (table["annotator"][place],)
        yield Finding("worst of reference", who, f1.at(place), values=values)


def reference_confusions(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield the categories that are most often confused with those of the reference, and by whom.

    With a reference, these replace the confusions of annotators with each other.
    """
    table, matrix = found.confusions, found.confusion_matrix
    share, n_matched = bounds(table, "share"), max(int(matrix["n"].sum()), 1)
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    for place in frequent[:_MOST_CONFUSIONS].tolist():
        both = table["first"][place], table["second"][place]
        is_of_both = np.isin(matrix["category"], both) & np.isin(matrix["reference"], both)
        own = matrix.take(np.flatnonzero(is_of_both))
        n = int(table["n"][place])
        values = {
            "first": both[0],
            "second": both[1],
            "n": n,
            "reference": found.name,
            "above_all": above_all(
                confuser(own, own["category"] != own["reference"], found.annotators)
            ),
        }
        yield Finding("reference confusion", (), share.at(place), n / n_matched, values)


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
        for place, n_more in most_named(named.tolist(), figures.value * share):
            others = others_in_words(figures.value, place) if len(table) > 1 else ""
            yield Finding(
                f"reference {error}",
                (table["annotator"][place],),
                figures.at(place),
                figures.value[place] * share[place],
                {"others": others, "reference": found.name},
                n_more,
                "reference",
            )
    if "measure" in found.offsets.columns:
        yield from rotated_findings(found.offsets, table, found.name)
    elif len(found.offsets):
        yield from offset_findings(found.offsets, table, found.name)


def work_findings(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield whose F1 changes significantly more than the others', or that F1 of all changes.

    Without times, there are none.
    """
    table = tables.get("work")
    if table is None:
        return
    people = table.take(np.arange(1, len(table)))
    share = people["n"] / max(int(people["n"].sum()), 1)
    hours = people["hours"] / np.maximum(people["n_sessions"], 1)
    length = {"drift": people["n_sessions"] - 1.0, "fatigue": hours}
    for name, unit in CHANGE_UNITS.items():
        found, everyone = bounds(people, name), bounds(table.head(1), name)
        named = []
        if len(people) >= _SEVERAL:
            n_images = tables["annotators"]["n_images"]
            named = [place for sign in (-1, 1) for place in _changing(found, sign, n_images)]
        for place in named:
            others = float(np.nanmedian(np.delete(found.value, place)))
            weight = abs(found.value[place]) * length[name][place] * share[place]
            values = {"unit": unit, "others": moved(others)}
            who = (people["annotator"][place],)
            yield Finding("change", who, found.at(place), weight, values)
        if not named and _is_significant(everyone):
            weight = abs(everyone.value[0]) * float(np.nanmean(length[name]))
            unknown = "; it is uncertain whose work changes" * (len(people) > 1)
            values = {"unit": unit, "unknown": unknown}
            yield Finding("change of all", (), everyone.at(0), weight, values)


def work_limits(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield which changes are not significant, and which are unknown and why."""
    table = tables.get("work")
    if table is None:
        return
    everyone = table.head(1)
    insignificant: list[str] = []
    unknown: dict[str, list[str]] = {}
    for name, unit in CHANGE_UNITS.items():
        found, reason = bounds(everyone, name), everyone[f"{name}_status"][0]
        if reason != OK:
            unknown.setdefault(reason, []).append(unit)
        elif not _is_significant(found):
            value, low, high = (f"{float(each[0]):+z.3f}" for each in found)
            interval = "without an interval" if isnan(found.low[0]) else f"[{low}, {high}]"
            insignificant.append(f"by {value} {interval} {unit}")
    if insignificant:
        yield Finding("no change", values={"changes": " and ".join(insignificant)})
    for reason, units in unknown.items():
        yield Finding("unknown change", values={"units": " and ".join(units), "reason": reason})


def _changing(found: Bounds, sign: int, n_images: IndexArray) -> list[int]:
    """Return whose figures significantly rise (1) or fall (-1), and more than the others'."""
    ends = np.stack([sign * found.low, sign * found.high])
    turned = Bounds(sign * found.value, ends.min(0), ends.max(0))
    return [place for place in above_others(turned, n_images).tolist() if turned.low[place] > 0]


def _is_significant(found: Bounds) -> bool:
    return bool(found.low[0] > 0 or found.high[0] < 0)
