"""Warnings of a diagnosis: properties of the data that make figures of agreement misleading."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.object_counts import ratio
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.agreement.objects import has_meaning
from bboxqa.core.arrays import IndexArray, component_of_each
from bboxqa.core.text import count, joined
from bboxqa.diagnostics.agreement_groups import assigned_to, copied_groups
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.diagnostics.object_cells import pair_sums
from bboxqa.diagnostics.offsets import pixel_bases
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.matchers import match
from bboxqa.model.annotations import EDGES
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.counting import ImagePart, reliability_of
from bboxqa.pipelines.diagnosis.matched_units import label_warnings, lower_threshold
from bboxqa.pipelines.diagnosis.sentences import Measure, instead, said

# An image with a larger share of the units dominates alpha.
_LARGE_IMAGE = 0.25
# Smaller differences of alpha are not worth a warning.
_LEAST_GAIN = 0.02
_LARGE_CHANGE = 0.1
_STEP = 0.1
_GROUPS_NAMED = 5
# Matchers for any number of annotators; the others take two.
_MATCHERS = ("recursive", "greedy", "average")


def warnings_of(
    part: ThresholdResult,
    images: ImagePart,
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    settings: AgreeSettings,
    repeater: str = "",
) -> tuple[str, ...]:
    """Return warnings, each with its figure: alpha, or F1 where alpha has no meaning.

    `repeater` is an annotator of whom the story says that objects are drawn twice.
    """
    found = _Measured(part, images, matched, settings)
    return (
        *_who_was_asked(part),
        *_large_image(part),
        *_separate_groups(part, matched),
        *_copies(part, matched, tables),
        *_moved_by_a_program(matched),
        *_drawn_twice(part, tables, repeater),
        *label_warnings(images, matched, settings, part.alpha),
        *_moving_threshold(found),
        *_matcher(found),
    )


def _who_was_asked(part: ThresholdResult) -> Iterator[str]:
    if not isnan(part.all_asked_f1):
        figures = f"F1 {part.existence.f1:.2f} would be {part.all_asked_f1:.2f}"
        if not isnan(part.all_asked_alpha):
            usual = (
                "alpha, which is undefined," if isnan(part.alpha) else f"alpha {part.alpha:z.2f}"
            )
            figures = f"{usual} would be {part.all_asked_alpha:z.2f}, {figures}"
        yield said("not listed", figures=figures)


def _large_image(part: ThresholdResult) -> Iterator[str]:
    """Yield the image with a large share of the units, if the figure differs without it."""
    table = part.images
    n_units = table["n_units"]
    if len(table) < 2 or not n_units.sum():
        return
    largest = int(n_units.argmax())
    share = n_units[largest] / n_units.sum()
    if share <= _LARGE_IMAGE:
        return
    name, cost = table["image"][largest], float(table["cost"][largest])
    what, value, _ = _leading(part)
    without = ""
    if not isnan(cost):
        if f"{value + cost:z.2f}" == f"{value:z.2f}":
            return
        without = f": without it, {what} would be {instead(value + cost, value)}"
    yield said("large image", image=name, share=100 * share, without=without)


def _separate_groups(part: ThresholdResult, matched: MatchedUnits) -> Iterator[str]:
    """Yield groups of annotators who share no image, with the alpha or the F1 of each."""
    groups = _groups(matched)
    if len(groups) < 2:
        return
    names = matched.data.annotator_names
    what, _, _ = _leading(part)
    if what == "alpha" and not _all_have_meaning(matched, groups):
        what = "F1"
    of = _alpha_of if what == "alpha" else _f1_of
    parts = []
    for group in groups[:_GROUPS_NAMED]:
        value = of(matched, group)
        who = _listed([repr(names[each]) for each in group.tolist()])
        parts.append(f"{who}: {value:z.2f}" if not isnan(value) else f"{who}: undefined")
    more = "; …" if len(groups) > _GROUPS_NAMED else ""
    yield said("separate groups", n=len(groups), figure=what, parts=f"{'; '.join(parts)}{more}")


def _all_have_meaning(matched: MatchedUnits, groups: list[IndexArray]) -> bool:
    """Return whether alpha of each group alone has a meaning."""
    of = matched.data.annotations
    n_categories = len(matched.data.category_names)
    if matched.missing == "ignore":
        return True
    drawn = (
        np.bincount(of.category[np.isin(of.annotator, group)], minlength=n_categories)
        for group in groups
    )
    return all(has_meaning(each.astype(np.float64)) for each in drawn)


def _alpha_of(matched: MatchedUnits, group: IndexArray) -> float:
    """Return alpha of some annotators."""
    data = matched.reliability
    cells = np.flatnonzero(np.isin(data.annotator, group))
    return alpha(unit_counts(data.take(cells), matched.missing)).value


def _f1_of(matched: MatchedUnits, group: IndexArray) -> float:
    """Return the F1 of some annotators."""
    sums, inside = pair_sums(matched), np.ix_(group, group)
    possible = sums.possible[inside]
    n_possible = float(possible.sum() - np.trace(possible))
    return float(sums.matched[inside].sum()) / n_possible if n_possible else nan


def _groups(matched: MatchedUnits) -> list[IndexArray]:
    """Return groups of annotators who are connected by shared images."""
    assigned = matched.data.assigned
    shared = assigned[assigned.sum(1) > 1].astype(np.float64)
    first, second = np.nonzero(np.triu(shared.T @ shared, 1))
    group = component_of_each(len(shared.T), first, second)
    return [np.flatnonzero(group == each) for each in np.unique(group[first]).tolist()]


def _copies(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> Iterator[str]:
    """Yield annotators with many identical boxes, and alpha or F1 with only the first of them."""
    table, names = tables["copies"], matched.data.annotator_names
    what, value, _ = _leading(part)
    vitality = tables["annotators"]["vitality"]
    for group in copied_groups(table, names):
        who = [names[place] for place in group.tolist()]
        pairs = [
            row for row in table.records() if {row["annotator_1"], row["annotator_2"]} <= set(who)
        ]
        shares = sorted(100 * row["identical_share"] for row in pairs)
        low, high = f"{shares[0]:.0f}", f"{shares[-1]:.0f}"
        values = {"share": low if low == high else f"{low} to {high}"}
        if len(group) == 2:
            kind, reduced = "two copy", f"without {who[1]}"
            values |= {"who": joined(who), "n": pairs[0]["n_identical"]}
            without = value - float(vitality[group[1]])
        else:
            kind, reduced = "several copy", f"with {who[0]} as the only one of them"
            values["who"] = _listed(who)
        if len(group) > 2 or what == "F1":
            without = _without(matched, group[1:], what)
        end = ""
        if not isnan(without):
            end = f": {reduced}, {what} would be {instead(without, value)}"
        elif len(group) == len(names):
            end = said("all copy", figure=what, value=value)
        yield said(kind, **values, without=end)


def _listed(names: list[str]) -> str:
    """Return a few names, or the first one and the number of others."""
    if len(names) > _GROUPS_NAMED:
        return f"{names[0]} and {len(names) - 1} more"
    return joined(names)


def _without(matched: MatchedUnits, left_out: IndexArray, what: str) -> float:
    """Return alpha or F1 without some annotators."""
    if what == "F1":
        kept = np.delete(np.arange(len(matched.data.annotator_names)), left_out)
        return _f1_of(matched, kept)
    assigned = matched.data.assigned.copy()
    assigned[:, left_out] = False
    data = assigned_to(matched, assigned).reliability
    return alpha(unit_counts(data, matched.missing)).value


def _drawn_twice(part: ThresholdResult, tables: Mapping[str, Table], told: str) -> Iterator[str]:
    """Yield who draws objects twice, where that costs agreement, but for who is `told`."""
    table = tables["decomposition_by_annotator"]
    what, value, _ = _leading(part)
    gain = table["f1_gain" if what == "F1" else "alpha_gain"]
    twice = (table["kind"] == KINDS[Kind.TWICE]) & (gain >= _LEAST_GAIN)
    # Only boxes that annotators did not copy from each other are counted.
    boxes = {row["annotator"]: row for row in tables["boxes_per_object"].records()}
    for place in np.flatnonzero(twice).tolist():
        name = table["annotator"][place]
        n_twice, n = boxes[name]["n_twice"], boxes[name]["n"]
        if n_twice and name != told:
            yield said(
                "drawn twice",
                who=name,
                n=n_twice,
                objects=count(n, "object"),
                figure=what,
                instead=instead(value + gain[place], value),
            )


def _moved_by_a_program(matched: MatchedUnits) -> Iterator[str]:
    """Yield annotators whose boxes differ by the same half or whole pixel."""
    names, found = matched.data.annotator_names, pixel_bases(matched)
    for base in found[:1]:
        first, second = names[base.first], names[base.second]
        shifts = zip(EDGES, base.shift, strict=True)
        yield said(
            "moved by a program",
            who=f"{first} and {second}",
            n_alike=base.n_alike,
            n=base.n,
            edges=", ".join(f"{edge} {shift:+g} px" for edge, shift in shifts if shift),
            first=first,
            pairs=f"; {count(len(found) - 1, 'more such pair')}" if len(found) > 1 else "",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """A result, with the data to measure it again with another threshold or matcher."""

    part: ThresholdResult
    images: ImagePart
    matched: MatchedUnits
    settings: AgreeSettings

    def at(self, threshold: float, matcher: str) -> float:
        """Return alpha, or F1 where alpha has no meaning, from the pairs that were compared."""
        settings, of = self.settings, self.matched.data
        near = self.matched.near
        pairs = near.take(near.similarity >= threshold - TOLERANCE)
        lenient = settings.category_lenient
        units = match(of.annotations, pairs, matcher, threshold, category_lenient=lenient)
        if not isnan(self.part.alpha):
            data = reliability_of(self.images, units, settings)
            return alpha(unit_counts(data, settings.missing)).value
        size = np.bincount(units.unit, minlength=len(units))
        others = of.assigned.sum(1)[of.annotations.image] - 1
        return float(ratio(np.array([(size * (size - 1)).sum()]), np.array([others.sum()]))[0])


def _leading(part: ThresholdResult) -> tuple[str, float, tuple[float, float]]:
    """Return alpha with its interval, or F1 where alpha has no meaning."""
    if isnan(part.alpha):
        return "F1", part.existence.f1, part.existence.interval
    return "alpha", part.alpha, part.interval


def _moving_threshold(found: _Measured) -> Iterator[str]:
    """Yield alpha or F1 at neighbouring thresholds, where it differs much."""
    part, own = found.part, found.part.iou_threshold
    what, value, _ = _leading(part)
    values = {own: value}
    for threshold in (round(own - _STEP, 10), round(own + _STEP, 10)):
        if lower_threshold(own) <= threshold <= 1:
            values[threshold] = found.at(threshold, found.settings.matcher)
    if any(abs(each - value) > _LARGE_CHANGE for each in values.values()):
        thresholds = sorted(values)
        of_each = " / ".join(f"{values[each]:z.2f}" for each in thresholds)
        at = " / ".join(f"{each:g}" for each in thresholds)
        yield said("threshold", figure=what, values=of_each, measure=part.measure, thresholds=at)


def _matcher(found: _Measured) -> Iterator[str]:
    """Yield alpha or F1 of other matchers, if one lies outside the interval."""
    what, value, (low, high) = _leading(found.part)
    if isnan(low) or not (found.matched.data.assigned.sum(1) > 2).any():
        return
    own = found.settings.matcher
    # With three annotators and more, auto is greedy; with two, all are the same.
    others = [name for name in _MATCHERS if name not in (own, "greedy" if own == "auto" else "")]
    figures = {name: found.at(found.part.iou_threshold, name) for name in others}
    outside = [
        f"{name} gives {other:z.2f}"
        for name, other in figures.items()
        if not low <= other <= high and abs(other - value) >= _LEAST_GAIN
    ]
    if outside:
        size = Measure(value, low, high)
        yield said("matcher", figure=what, own=own, size=size, others=" and ".join(outside))
