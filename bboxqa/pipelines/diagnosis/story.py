"""The story and the diagnosis of a result: a few sentences, what concerns most objects first."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa import diagnostics
from bboxqa.core.arrays import Progress, component_of_each, distinct, distinct_rows
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, joined, names_in_words, one_line
from bboxqa.diagnostics.annotator_pairs import copies, independent
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.diagnostics.decomposition import disagreements as kinds_of_objects
from bboxqa.diagnostics.object_cells import object_cells
from bboxqa.diagnostics.rates import vitality
from bboxqa.model.diagnosis import REPEATS, Diagnosis, Line
from bboxqa.model.results import MeasuredAgreement
from bboxqa.pipelines.counting import ImagePart, too_crowded
from bboxqa.pipelines.diagnosis import disagreements
from bboxqa.pipelines.diagnosis.findings import (
    ADVICE,
    LEAST_DRAWS,
    LEAST_IMAGES,
    LEAST_SHARE,
    TEMPLATES,
    Bounds,
    Diagnosed,
    Finding,
    differences,
    largest,
    shape_word,
)
from bboxqa.pipelines.diagnosis.matched_units import matched_units
from bboxqa.report.agreement_summary import LEVELS, figures_at, weakest

_MOST = 9
_MORE = "the tables of --details"
# What explains this share of disagreements of a kind is told instead of the kind.
_MOSTLY = 0.5
# An annotator with this share of the objects of a kind has it alone.
_ALONE = 0.9
# The kinds of disagreement that lower each figure of the verdict.
_LOWERS = {
    "existence": [name for name in ADVICE if name != KINDS[Kind.CLASS_CONFLICT]],
    "class": [KINDS[Kind.CLASS_CONFLICT]],
    "place": [KINDS[Kind.BADLY_PLACED]],
}
# The gain of a kind of disagreement below which it needs no new guideline, and how many have one.
_LEAST_GAIN, _MOST_ADVICE = 0.01, 2
# Of one annotator, the second follow from the first.
_FOLLOWS = {
    ("calls", "confusion"): ("class_share", "class_share of some"),
    ("swapped_share", "missing_share"): ("imprecise",),
    ("reference confusion",): ("reference class_share",),
}
# A higher F1 that is not above chance comes from objects in the same places of all images.
_BY_CHANCE = 0.5


def story_of(of: Diagnosed) -> tuple[Line, ...]:
    """Return at most nine sentences, each on a figure or a count.

    What the data cannot show is first. Findings are sorted by the share of objects that they
    concern, with the kinds of disagreement that they do not explain.
    """
    existence, reference = of.part.existence, of.part.reference
    if not len(of.matched.data.annotations) and reference is None:
        return (Line(TEMPLATES["nothing"]),)
    is_low = existence.alpha_interval[0] <= 0 and existence.f1 < _BY_CHANCE
    found = [*disagreements.idle_annotators(of)]
    if reference is None and is_low:
        # Nobody and nothing stands out where boxes agree no more than by chance.
        n_drew = len(distinct(of.matched.data.annotations.annotator))
        chance = [Line(TEMPLATES["by chance"])] * (n_drew > 1)
        return (*(each.line for each in largest(found)), *chance)
    # What others share, each made from those before it.
    for shared in (object_cells, copies, kinds_of_objects):
        shared(of.matched)
    of.table("decomposition")
    # It takes enough draws and images to name somebody.
    n_images = int((of.matched.data.assigned.sum(1) >= 2).sum())
    n_images = n_images if reference is None else reference.n_images
    named = of.matched.bootstrap >= LEAST_DRAWS and n_images >= LEAST_IMAGES
    judged = int(independent(of.matched).data.assigned.sum(1).max(initial=0)) > 2
    found += disagreements.copy_findings(of)
    worst: list[Finding] = []
    if named:
        apart = differences(of.matched) if judged else {}
        if reference is not None:
            worst = [*disagreements.reference_worst(reference)]
        elif judged:
            vitality(of.matched)
            of.table("annotators")
            worst = [*disagreements.worst_annotator(of, apart)]
        joints = disagreements.joint_findings(of) if "joints" in of.available else ()
        found += [*_of_people(of, apart), *joints]
    if reference is None:
        found += disagreements.confusion_findings(of, named=named and judged)
    elif named:
        found += disagreements.reference_confusions(reference)
    # Who does something else altogether is told so, and not how it differs.
    strangers = {each.owner for each in worst if each.kind == "stranger"}
    found = [each for each in largest(found) if each.owner not in strangers]
    # What follows from categories or joints that somebody confuses or leaves out is not told again.
    for cause, effect in _FOLLOWS.items():
        who = {name for each in found if each.kind in cause for name in each.who}
        found = [
            each for each in found if not (each.kind in effect and who.intersection(each.who))
        ]  # fmt: skip
    found = _with_kinds(of, found, [*disagreements.kind_findings(of)], strangers)
    found = _ordered(of, _with_worst(found, worst) if worst else found)
    lines = [each.line for each in found]
    is_told = judged or reference is not None or any("unknown" in line.text for line in lines)
    lines = [*_limits(of, n_images, is_told=is_told), *lines]
    if len(lines) > _MOST:
        more = f"{count(len(lines) - _MOST + 1, 'more finding')}: see {_MORE}"
        lines = [*lines[: _MOST - 1], Line(more, see=_MORE)]
    return tuple(lines)


def _limits(of: Diagnosed, n_images: int, *, is_told: bool) -> Iterator[Line]:
    """Yield that all agree, and what the data cannot show, if that is not told."""
    if of.part.is_unanimous:
        is_apart = of.part.place.mean_iou < LEVELS["place"][0]
        rest = "" if is_apart else ": nothing has to be looked at again"
        objects = count(of.part.n_units, "object")
        yield Line(TEMPLATES["all agree"].format(objects=objects, rest=rest))
    if n_images < LEAST_IMAGES:
        yield Line(TEMPLATES["few"].format(what=count(n_images, "image"), least=LEAST_IMAGES))
    elif of.matched.bootstrap < LEAST_DRAWS:
        few = f"--bootstrap {of.matched.bootstrap}"
        yield Line(TEMPLATES["few"].format(what=few, least=LEAST_DRAWS))
    if not is_told and of.part.n_complete_units != len(of.matched.units):
        yield Line(TEMPLATES["unjudged"])


def _ordered(of: Diagnosed, found: Sequence[Finding]) -> list[Finding]:
    """Return findings by weight, what is harmless last."""
    gains, order = [each.gain[0] if each.gain else 0.0 for each in found], []
    for place, finding in enumerate(found):
        if finding.owner and finding.cause is not None and not finding.gain:
            table = of.table("decomposition_by_annotator")
            own = (table["annotator"] == finding.owner) & (table["kind"] == KINDS[finding.cause])
            gain = table["f1_gain" if isnan(of.part.alpha) else "alpha_gain"][own]
            gains[place] = float(gain.sum())
    for finding, gain in zip(found, gains, strict=True):
        less = [each.weight for each, other in zip(found, gains, strict=True) if 0 < other <= gain]
        is_last = not finding.weight, finding.kind == "kind" and of.part.reference is not None
        order.append((*is_last, -max(less, default=finding.weight), -gain))
    return [found[place] for place in sorted(range(len(found)), key=order.__getitem__)]


def _of_people(of: Diagnosed, apart: Mapping[str, Bounds]) -> Iterator[Finding]:
    """Yield who errs, against the reference or the others; from these they are `apart`."""
    annotators = of.table("annotators")
    if of.part.reference is not None:
        yield from disagreements.reference_errors(of.part.reference)
        return
    # In how many objects bad places concern each one; see `decomposition_by_annotator`.
    found = kinds_of_objects(independent(of.matched))
    entries = np.flatnonzero(found.kind == Kind.BADLY_PLACED)
    (who, _), *_ = distinct_rows(found.annotator[entries], found.home[found.object[entries]])
    n_apart = np.bincount(who, minlength=len(annotators))
    left = np.flatnonzero(annotators["n_images"])
    # None of key points.
    names = [name for name in ("rotated_offsets", "offsets") if name in of.available]
    every = of.table(names[0]) if names and (len(left) == 2 or apart) else None
    if every is not None:
        is_good = of.part.place.mean_iou >= LEVELS["place"][0]
        at = of.part.threshold_label if is_good else ""
        drawn = shape_word(of.matched.compared)
        yield from disagreements.offset_findings(
            annotators, every, n_apart, threshold=at, drawn=drawn
        )
    if len(annotators) == 2:
        yield from disagreements.two_annotators(of)
    elif apart:
        yield from disagreements.precision_findings(of, apart, every)
        yield from disagreements.erring_annotators(of, apart)


def _with_kinds(
    of: Diagnosed, found: Sequence[Finding], kinds: Sequence[Finding], strangers: Collection[str]
) -> list[Finding]:
    """Return findings and the kinds of disagreement that they do not explain."""
    found, whole = [*found], of.table("decomposition")
    for kind in kinds:
        name = KINDS[kind.cause or 0]
        own = [each for each in found if each.cause == kind.cause and each.owner]
        is_missed = kind.cause == Kind.MISSED
        of_two = [each for each in found if is_missed and each.kind.startswith("missed")]
        if of_two:
            found[found.index(of_two[0])] = replace(of_two[0], gain=kind.gain)
            continue
        n, own_share, share = max(int(whole["n_any"][whole["kind"] == name].sum()), 1), 0.0, 0.0
        if own or strangers:
            table, named = of.table("decomposition_by_annotator"), [each.owner for each in own]
            rows = table["kind"] == name
            n_objects, people = table["n_objects"][rows], table["annotator"][rows]
            own_share, share = (
                float(n_objects[np.isin(people, these)].sum() / n)
                for these in (named, [*named, *strangers])
            )
        if kind.cause == Kind.CLASS_CONFLICT:
            n_confused = sum(each.values["n"] for each in found if each.kind == "confusion")
            share = max(share, n_confused / n)
        if len(own) == 1 and own_share >= _ALONE:
            found[found.index(own[0])] = replace(own[0], gain=kind.gain if own[0].weight else None)
        elif share < _MOSTLY:
            found.append(replace(kind, weight=kind.weight * (1 - share)))
    return found


def _with_worst(found: Sequence[Finding], worst: Sequence[Finding]) -> list[Finding]:
    """Return findings with alpha without who agrees least, who is named where nothing else is."""
    result = [*found]
    for each in worst:
        # A category of few objects does not explain why somebody matches least, nor do copies.
        own = [
            cause for cause in result if cause.owner == each.owner
            and not 0 < cause.weight < LEAST_SHARE and cause.kind != "copies"
        ]  # fmt: skip
        if own:
            most = max(own, key=lambda cause: cause.weight)
            told = replace(most, gain=most.gain or each.gain)
            if not most.weight:
                # An offset alone, with which somebody matches least, is not harmless.
                values = {**told.values, "cost": ""}
                told = replace(told, weight=1 - each.size, values=values)
            result[result.index(most)] = told
        else:
            result.append(replace(each, weight=1.0))
    return result


def diagnosed(
    images: ImagePart, result: MeasuredAgreement, *, progress: Progress | None
) -> Diagnosis:
    """Return the diagnosis of a result."""
    from bboxqa.pipelines.diagnosis.review import review_of, worst_images
    from bboxqa.pipelines.diagnosis.sensitivity import sensitivity

    of = diagnosed_units(images, result, progress=progress)
    for done, name in enumerate(of.available):
        if progress is not None:
            progress("diagnosing", done, len(of.available))
        of.table(name)
    review_images, queue = review_of(of.matched)
    found = sensitivity(
        images,
        result.settings,
        by_chance={each.iou_threshold: each.existence.chance for each in result.thresholds},
        progress=progress,
    )
    parts = story_parts(of, result, story_of(of))
    if found.text:
        parts["lines"] = (*parts["lines"], Line(found.text))
    return Diagnosis(
        **parts,
        **queue,
        tables={
            **of.tables,
            "sensitivity": found.table,
            "suggested_threshold": found.suggested,
            **({} if of.part.repeats is None else {REPEATS: of.part.repeats}),
            "review_images": review_images,
        },
        worst_images=worst_images(of.part, of.matched, result.n_worst),
        suggestion=found.text,
    )


def diagnosed_units(
    images: ImagePart, result: MeasuredAgreement, *, progress: Progress | None
) -> Diagnosed:
    """Return the units at the first threshold, and which diagnostics the data allow."""
    if crowded := too_crowded(images):
        raise DatasetError([crowded], "Look for repeated annotations with: bboxqa validate")
    part = result.thresholds[0]
    settings = replace(result.settings, iou_threshold=(part.iou_threshold,))
    matched = matched_units(images, settings, progress=progress)
    return Diagnosed(part, matched, diagnostics.names(matched.data, matched.compared))


def story_parts(
    of: Diagnosed, result: MeasuredAgreement, lines: tuple[Line, ...]
) -> dict[str, Any]:
    """Return the fields of a story of these lines, with advice."""
    table = of.table("decomposition")
    gain = np.fmax(np.nan_to_num(table["alpha_gain"]), np.nan_to_num(table["f1_gain"]))
    order = np.argsort(-gain, kind="stable")
    costly = [str(kind) for kind in table["kind"][order] if kind in ADVICE]
    # What decides the verdict may cost less alpha than something else.
    least, _ = weakest(figures_at(of.part), result.settings.similarity)
    own = [each for each in costly if each in _LOWERS.get(least, ())][:1]
    told = [line.cause for line in lines if line.cause in costly][:1]
    kinds = dict.fromkeys([*told, *costly[: int(gain.max() >= _LEAST_GAIN)], *own])
    advice, what = [], shape_word(of.matched.compared)
    for kind in [*kinds][:_MOST_ADVICE]:
        of_kind = {(line.advice, line.annotators) for line in lines if line.cause == kind}
        ((text, who),) = of_kind if len(of_kind) == 1 else ((ADVICE[kind], ()),)
        examples = " with examples" if kind == KINDS[Kind.CLASS_CONFLICT] else ""
        whom = f" with {names_in_words(who)[0]}" if len(who) == 1 else examples
        advice.append(text.format(who=whom, what=what))
    return {
        "threshold_label": of.part.threshold_label,
        "lines": lines,
        "warnings": (*result.headlines, *map(one_line, _warnings(of))),
        "advice": one_line(joined(advice)),
    }


# An image with a larger share of the units dominates alpha.
_LARGE_IMAGE, _TIMES_MEAN = 0.25, 1.5


def _warnings(of: Diagnosed) -> Iterator[str]:
    """Yield an image that decides the figure, and groups that share none."""
    table, is_alpha = of.part.images, not isnan(of.part.alpha)
    n_units, largest = table["n_units"], int(np.argmax(table["n_units"])) if len(table) else 0
    # One of few images is large if it has half as many objects more than the mean.
    large = max(_LARGE_IMAGE, _TIMES_MEAN / max(len(table), 1))
    if len(table) > 1 and n_units[largest] > large * n_units.sum():
        value, cost = of.part.alpha if is_alpha else of.part.existence.f1, table["cost"][largest]
        what, other, own = "alpha" if is_alpha else "F1", f"{value + cost:z.2f}", f"{value:z.2f}"
        without = "" if isnan(cost) else f": without it, {what} would be {other} and not {own}"
        share = 100 * n_units[largest] / n_units.sum()
        if other != own:
            yield TEMPLATES["large image"].format(
                image=table["image"][largest], share=share, without=without
            )
    assigned = of.matched.data.assigned
    shared = assigned[assigned.sum(1) > 1].astype(np.float64)
    first, second = np.nonzero(np.triu(shared.T @ shared, 1))
    n = len(distinct(component_of_each(len(shared.T), first, second)[first]))
    if n > 1:
        yield TEMPLATES["separate groups"].format(n=n)
