"""Warnings of a diagnosis: what may make the figures of agreement mean something else."""

from collections.abc import Iterator, Mapping
from math import isnan

import msgspec
import numpy as np

from bboxqa.agreement.alpha.levels import alpha
from bboxqa.agreement.counts.unit_counts import unit_counts
from bboxqa.core.arrays import IndexArray
from bboxqa.diagnostics.disagreement.kinds import KINDS, Kind
from bboxqa.geometry.candidates import TOLERANCE
from bboxqa.matching.match import match
from bboxqa.model.settings import AgreeSettings
from bboxqa.model.table import Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.counting import ImagePart, reliability_of
from bboxqa.pipelines.diagnosis.matched_units import lower_threshold

# An image with a larger share of the units decides alpha.
_LARGE_IMAGE = 0.25
# Smaller differences of alpha are not worth a warning.
_LEAST_GAIN = 0.02
_LARGE_CHANGE = 0.1
_STEP = 0.1
_GROUPS_NAMED = 5
# Matchers that do not depend on the order of annotators.
_MATCHERS = ("greedy", "average")


def warnings_of(
    part: ThresholdResult,
    images: ImagePart,
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    settings: AgreeSettings,
) -> tuple[str, ...]:
    """Return warnings, each with its figure."""
    return (
        *_who_was_asked(part),
        *_large_image(part),
        *_separate_groups(matched),
        *_copies(part, tables),
        *_drawn_twice(part, tables),
        *_moving_threshold(part, images, matched, settings),
        *_matcher(part, images, matched, settings),
    )


def _who_was_asked(part: ThresholdResult) -> Iterator[str]:
    if not isnan(part.all_asked_f1):
        figures = f"F1 {part.existence.f1:.2f} would be {part.all_asked_f1:.2f}"
        if not isnan(part.all_asked_alpha):
            figures = f"alpha {part.alpha:.2f} would be {part.all_asked_alpha:.2f}, {figures}"
        yield (
            "some images do not list who was asked, and only some annotators drew there: if all "
            f"were asked, {figures} (--asked all)"
        )


def _large_image(part: ThresholdResult) -> Iterator[str]:
    """Yield the image that holds much of all units."""
    table = part.images
    n_units = table["n_units"]
    if len(table) < 2 or not n_units.sum():
        return
    largest = int(n_units.argmax())
    share = n_units[largest] / n_units.sum()
    if share <= _LARGE_IMAGE:
        return
    name, cost = table["image"][largest], float(table["cost"][largest])
    what, value = ("F1", part.existence.f1) if isnan(part.alpha) else ("alpha", part.alpha)
    text = f"image {name} holds {100 * share:.0f} % of the objects"
    if not isnan(cost):
        text += f": without it, {what} would be {value + cost:.2f} and not {value:.2f}"
    yield text


def _separate_groups(matched: MatchedUnits) -> Iterator[str]:
    """Yield groups of annotators who share no image, with the alpha of each."""
    groups = _groups(matched)
    if len(groups) < 2:
        return
    names, data = matched.data.annotator_names, matched.reliability
    parts = []
    for group in groups[:_GROUPS_NAMED]:
        cells = np.flatnonzero(np.isin(data.annotator, group))
        value = alpha(unit_counts(data.take(cells), matched.missing)).value
        who = names[group[0]] if len(group) == 1 else f"{names[group[0]]} and {len(group) - 1} more"
        parts.append(f"{who}: {value:.2f}" if not isnan(value) else f"{who}: undefined")
    more = ", …" if len(groups) > _GROUPS_NAMED else ""
    yield (
        f"{len(groups)} groups of annotators share no image, and alpha pools them "
        f"({', '.join(parts)}{more}): nothing compares one group with another"
    )


def _groups(matched: MatchedUnits) -> list[IndexArray]:
    """Return annotators who are connected by images that they share, group by group."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    assigned = matched.data.assigned
    shared = assigned[assigned.sum(1) > 1].astype(np.float64)
    n_groups, group = connected_components(csr_array(shared.T @ shared), directed=False)
    found = [np.flatnonzero(group == each) for each in range(n_groups)]
    return [each for each in found if len(each) > 1]


def _copies(part: ThresholdResult, tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield annotators with many identical boxes, and alpha without the second of them."""
    table, annotators = tables["copies"], tables["annotators"]
    vitality = dict(zip(annotators["annotator"], annotators["vitality"].tolist(), strict=True))
    for row in table.take(np.flatnonzero(table["copied"])).records():
        first, second = row["annotator_1"], row["annotator_2"]
        text = (
            f"{first} and {second} have {row['n_identical']:,} identical boxes, "
            f"{100 * row['identical_share']:.0f} % of those that both drew"
        )
        without = part.alpha - vitality[second]
        if not isnan(without):
            text += f": without {second}, alpha would be {without:.2f} and not {part.alpha:.2f}"
        yield text


def _drawn_twice(part: ThresholdResult, tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield who draws objects twice, where that costs agreement."""
    table = tables["decomposition_by_annotator"]
    what, value = ("F1", part.existence.f1) if isnan(part.alpha) else ("alpha", part.alpha)
    gain = table["f1_gain" if what == "F1" else "alpha_gain"]
    twice = (table["kind"] == KINDS[Kind.TWICE]) & (gain >= _LEAST_GAIN)
    for place in np.flatnonzero(twice).tolist():
        yield (
            f"{table['annotator'][place]} drew {int(table['n_objects'][place]):,} objects twice: "
            f"drawn once, {what} would be {value + gain[place]:.2f} and not {value:.2f}"
        )


def _moving_threshold(
    part: ThresholdResult, images: ImagePart, matched: MatchedUnits, settings: AgreeSettings
) -> Iterator[str]:
    """Yield alpha at neighbouring thresholds, where it differs much."""
    own = part.iou_threshold
    found = {own: part.alpha}
    for threshold in (round(own - _STEP, 10), round(own + _STEP, 10)):
        if lower_threshold(own) <= threshold <= 1:
            found[threshold] = _alpha_at(threshold, images, matched, settings)
    if any(abs(value - part.alpha) > _LARGE_CHANGE for value in found.values()):
        thresholds = sorted(found)
        values = " / ".join(f"{found[each]:.2f}" for each in thresholds)
        at = " / ".join(f"{each:g}" for each in thresholds)
        yield f"alpha depends on the threshold: {values} at {part.measure} {at}"


def _alpha_at(
    threshold: float, images: ImagePart, matched: MatchedUnits, settings: AgreeSettings
) -> float:
    """Return alpha at another threshold or with another matcher, from the pairs that are known."""
    pairs = matched.near.take(matched.near.similarity >= threshold - TOLERANCE)
    units = match(
        matched.data.annotations,
        pairs,
        settings.matcher,
        threshold,
        category_lenient=settings.category_lenient,
    )
    data = reliability_of(images, units, settings)
    return alpha(unit_counts(data, settings.missing)).value


def _matcher(
    part: ThresholdResult, images: ImagePart, matched: MatchedUnits, settings: AgreeSettings
) -> Iterator[str]:
    """Yield alpha of another matcher, where it lies outside of the interval."""
    low, high = part.interval
    if isnan(low) or not (matched.data.assigned.sum(1) > 2).any():
        return
    for name in _MATCHERS:
        if name == settings.matcher:
            continue
        other = msgspec.structs.replace(settings, matcher=name)
        found = _alpha_at(part.iou_threshold, images, matched, other)
        if not low <= found <= high and abs(found - part.alpha) >= _LEAST_GAIN:
            yield (
                f"the matcher matters more than the draw of images: {settings.matcher} gives "
                f"alpha {part.alpha:.2f} [{low:.2f}, {high:.2f}], {name} gives {found:.2f}"
            )
