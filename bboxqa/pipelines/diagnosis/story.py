"""The story and the diagnosis of a result: a few sentences, the most useful first."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.text import count, names_in_words
from bboxqa.core.types import Progress
from bboxqa.diagnostics import registry
from bboxqa.diagnostics.agreement_groups import copies, independent
from bboxqa.diagnostics.categories import Unused, unused_categories
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.diagnostics.rates import RATES, asked_with_others
from bboxqa.geometry.similarities.registry import similarity
from bboxqa.model.annotations import EDGES, Dataset
from bboxqa.model.diagnosis import OF_KEYPOINTS, REPEATS, Diagnosis, Line, ReadShapes, Story
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.counting import ImagePart
from bboxqa.pipelines.diagnosis.matched_units import check_crowds, matched_units
from bboxqa.pipelines.diagnosis.objects import (
    agreement_findings,
    category_findings,
    confusion_findings,
    kind_lines,
    limits,
    supercategory_findings,
    track_findings,
)
from bboxqa.pipelines.diagnosis.people import (
    MOSTLY,
    copy_findings,
    erring_annotators,
    group_findings,
    idle_annotators,
    reference_confusions,
    reference_errors,
    reference_worst,
    shape_findings,
    two_annotators,
    unused_by_name,
    unused_findings,
    work_findings,
    work_limits,
    worst_annotator,
)
from bboxqa.pipelines.diagnosis.places import (
    Explained,
    edges_explain,
    exchange_findings,
    joint_findings,
    joints_explain,
    offset_findings,
    precision_findings,
    rotated_findings,
    rotation_explains,
)
from bboxqa.pipelines.diagnosis.sentences import MORE, Finding, said
from bboxqa.pipelines.diagnosis.significance import LEAST_DRAWS, bounds, differences, judged
from bboxqa.pipelines.diagnosis.warnings import warnings_of

TABLES = (
    "decomposition",
    "decomposition_by_annotator",
    "annotators",
    "boxes_per_object",
    "confusion_matrix",
    "copies",
    "confusions",
    "difficulty",
    "supercategories",
)
"""The diagnostics that the story and the warnings use."""

_MOST = 9

Worst = Sequence[tuple[Finding, str]]
"""Who matches the others least, and what alpha would be without this annotator."""


class Told(NamedTuple):
    """The sentences of a story, and who is said to draw objects twice with what that costs."""

    lines: tuple[Line, ...]
    repeater: str = ""


def story_of(part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]) -> Told:
    """Return at most nine sentences, each on a figure with its interval, or on a count.

    First come the annotator and the kind of disagreement that cost most, then single findings by
    the share of objects that they concern, last what the data cannot show.
    """
    named = matched.bootstrap >= LEAST_DRAWS
    beside = _lines(reference_worst(part)) if named else []
    if not len(matched.data.annotations):
        nothing = "nothing" if part.reference is None else "no pairs"
        return Told((*beside, Line(said(nothing))))
    judges = _are_judged(matched)
    last = _lines(limits(part, matched, tables))
    unused = unused_categories(matched) if part.reference is None else []
    people = [*idle_annotators(matched, tables["annotators"]), *unused_findings(matched, unused)]
    worst: Worst = []
    if named:
        worst, erring = _named(part, matched, tables, unused)
        people += erring
        if not (worst or people or beside) and _are_compared(matched, tables):
            last.insert(0, Line(said("nobody")))
    pairs_only = (
        not judges and int(asked_with_others(matched).any(0).sum()) > 2 and _n_compared(tables) != 2
    )
    if pairs_only and part.reference is None:
        last.append(Line(said("one against one")))
    found = [
        *people,
        *_confused(part, tables, named=named, judged=judges),
        *(joint_findings(tables) if named else ()),
        *supercategory_findings(tables),
        *category_findings(matched, tables, {each.category for each in unused}),
        *(work_findings(tables) if named else ()),
        *track_findings(tables),
    ]
    found = _once(found, tables)
    found.sort(key=lambda each: -each.weight)
    told = _told_alone(found, tables) if part.reference is None else {}
    has_alpha = not isnan(part.alpha)
    lead, kinds = kind_lines(matched, tables, told, has_alpha=has_alpha, named=named and judges)
    least, found = _worst_once(worst, found, told.values())
    first = [*_lines(agreement_findings(part, matched)), *lead.values(), *least, *beside]
    middle = _middle(found, told, lead, kinds)
    lines = _fitted(first, middle, last, _lines(work_limits(tables)))
    twice, gains = told.get(Kind.TWICE), {**lead, **kinds}
    is_told = twice is not None and gains.get(Kind.TWICE) in lines
    return Told(lines, twice.owner if twice is not None and is_told else "")


def _lines(found: Iterator[Finding]) -> list[Line]:
    return [each.line for each in found]


def _fitted(
    first: Sequence[Line], middle: Sequence[Line], last: Sequence[Line], unchanged: Sequence[Line]
) -> tuple[Line, ...]:
    """Return at most nine sentences; those in the middle make room, and are then counted."""
    room = max(_MOST - len(first) - len(last), 0)
    if len(middle) > room:
        n_kept = max(room - 1, 0)
        n = len(middle) - n_kept
        text = said("room", findings=count(n, "more finding"), them="it" if n == 1 else "them")
        middle = [*middle[:n_kept], Line(text, see=MORE)]
    # Sentences that nothing changes must not displace findings.
    return (*first, *middle, *last, *unchanged[: max(room - len(middle), 0)])


def _n_compared(tables: Mapping[str, Table]) -> int:
    """Return the number of annotators who can be compared with others, without copies."""
    return int(np.count_nonzero(tables["annotators"]["n_images"]))


def _are_judged(matched: MatchedUnits) -> bool:
    """Return whether an image has three annotators, so that there is a majority."""
    return int(independent(matched).data.assigned.sum(1).max(initial=0)) > 2


def _have_judges(matched: MatchedUnits) -> BoolArray:
    """Return (A,) bool: annotators with an image that two others, not models, were asked about."""
    assigned = matched.data.assigned
    votes = assigned & ~matched.is_model
    others = votes.sum(1)[:, None] - votes
    found: BoolArray = (assigned & (others > 1)).any(0)
    return found


def _are_compared(matched: MatchedUnits, tables: Mapping[str, Table]) -> bool:
    """Return whether the rates of several annotators are known from enough images."""
    table = tables["annotators"]
    known = [~np.isnan(judged(table, bounds(table, rate)).low) for rate in RATES]
    return _are_judged(matched) and all(each.sum() >= 2 for each in known)


def _named(
    part: ThresholdResult,
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    unused: Sequence[Unused],
) -> tuple[Worst, list[Finding]]:
    """Return who agrees least, and who errs, against the reference or the others."""
    are_judged = _are_judged(matched)
    apart = differences(matched) if are_judged else {}
    worst = [*worst_annotator(part, matched, tables, apart)] if are_judged else []
    people = [*copy_findings(matched, tables)]
    if part.reference is not None:
        people += reference_errors(part.reference)
    elif _n_compared(tables) <= 2:
        people += _of_two(tables)
    elif are_judged:
        people += _misplaced(tables)
        people += precision_findings(tables, apart, part.pairs, _explained(matched, tables))
        left_out = unused_by_name(matched, unused)
        people += erring_annotators(tables, apart, part.pairs, _have_judges(matched), left_out)
        people += shape_findings(tables)
        people += group_findings(matched, tables)
    return worst, people


def _misplaced(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield who places edges, or rotated boxes, apart from the others."""
    if "rotated_offsets" in tables:
        yield from rotated_findings(tables["rotated_offsets"], tables["annotators"])
        yield from exchange_findings(tables)
    elif "offsets" in tables:
        yield from offset_findings(tables["offsets"], tables["annotators"])


def _explained(matched: MatchedUnits, tables: Mapping[str, Table]) -> Explained:
    """Return how much of the dissimilarity of matched annotations systematic offsets explain."""
    if matched.compared == "keypoints":
        return joints_explain(tables, matched.data.joint_sigmas)
    if "rotated_offsets" in tables:
        return rotation_explains(tables)
    return edges_explain(tables, matched.compared)


def _of_two(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield how the two annotators differ who are left without copies, first one with own boxes."""
    annotators, pairs = tables["annotators"], tables["copies"]
    pairs = pairs.take(np.flatnonzero(pairs["copied"]))
    left = np.flatnonzero(annotators["n_images"])
    sharing = np.append(pairs["annotator_1"], pairs["annotator_2"])
    left = left[np.argsort(np.isin(annotators["annotator"][left], sharing), kind="stable")]
    of_two = annotators.take(left)
    if "rotated_offsets" in tables or "offsets" not in tables:
        yield from _misplaced(tables)
    else:
        edges = (len(EDGES) * left[:, None] + range(len(EDGES))).ravel()
        yield from offset_findings(tables["offsets"].take(edges), of_two)
    yield from two_annotators(of_two, has_copies=len(left) < len(annotators))


def _confused(
    part: ThresholdResult, tables: Mapping[str, Table], *, named: bool, judged: bool
) -> Iterator[Finding]:
    """Yield which categories are confused: with those of the reference, or by annotators."""
    if part.reference is None:
        yield from confusion_findings(tables, named=named and judged)
    elif named:
        yield from reference_confusions(part.reference)


def _alone(tables: Mapping[str, Table]) -> dict[Kind, str]:
    """Return the kinds of disagreement that one annotator has alone, with this annotator."""
    whole, table = tables["decomposition"], tables["decomposition_by_annotator"]
    found: dict[Kind, str] = {}
    for kind in Kind:
        own = table.take(np.flatnonzero(table["kind"] == KINDS[kind]))
        n = int(whole["n_any"][whole["kind"] == KINDS[kind]].sum())
        if len(own):
            most = int(own["n_objects"].argmax())
            others = int(own["n_objects"].sum() - own["n_objects"][most])
            if own["n_objects"][most] >= MOSTLY * n and others <= (1 - MOSTLY) * n:
                found[kind] = str(own["annotator"][most])
    return found


def _once(found: Sequence[Finding], tables: Mapping[str, Table]) -> list[Finding]:
    """Return findings without those that say what a confusion of the same annotator says."""
    conflict = Kind.CLASS_CONFLICT
    alone = _alone(tables).get(conflict)
    confused = {
        each.owner for each in found if _are_most_conflicts(each, tables) and alone == each.owner
    }
    return [
        each
        for each in found
        if each.n_confused or each.cause != conflict or each.owner not in confused
    ]


def _are_most_conflicts(confusion: Finding, tables: Mapping[str, Table]) -> bool:
    """Return whether nearly all objects with several categories have the two that are confused."""
    table = tables["decomposition"]
    n = int(table["n_any"][table["kind"] == KINDS[Kind.CLASS_CONFLICT]].sum())
    return confusion.n_confused >= MOSTLY * n


def _told_alone(found: Sequence[Finding], tables: Mapping[str, Table]) -> dict[Kind, Finding]:
    """Return the finding on each kind that one annotator has alone, where there is just one."""
    told = {}
    for kind, who in _alone(tables).items():
        own = [each for each in found if (each.cause, each.owner) == (kind, who)]
        if len(own) == 1 and (not own[0].n_confused or _are_most_conflicts(own[0], tables)):
            told[kind] = own[0]
    return told


def _worst_once(
    worst: Worst, found: Sequence[Finding], told: Collection[Finding]
) -> tuple[list[Line], list[Finding]]:
    """Return who matches the others least, and the other findings."""
    lines: list[Line] = []
    others = [*found]
    for each, without in worst:
        causes = [cause for cause in others if cause.owner == each.who[0]]
        # F1 does not depend on categories.
        if len(causes) != 1 or causes[0].cause == Kind.CLASS_CONFLICT:
            lines.append(each.line._replace(text=each.text + without))
        elif causes[0] not in told:
            lines.append(causes[0].line._replace(text=causes[0].text + without))
            others.remove(causes[0])
    return lines, others


def _middle(
    found: Sequence[Finding],
    told: Mapping[Kind, Finding],
    lead: Mapping[Kind, Line],
    kinds: Mapping[Kind, Line],
) -> list[Line]:
    """Return the sentences on annotators and categories, then those on kinds."""
    gains = {**lead, **kinds}
    with_gain = {each: gains[kind] for kind, each in told.items() if kind in gains}
    lines = [with_gain.get(each) or each.line for each in found]
    middle = [line for line in lines if line not in lead.values()]
    return [*middle, *(line for line in kinds.values() if line not in middle)]


# Columns of tables that hold names of annotators, and of categories.
_PEOPLE = ("annotator", "annotator_1", "annotator_2")
_CATEGORIES = ("category", "others", "reference", "first", "second")


def named_in_words(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> tuple[ThresholdResult, MatchedUnits, Mapping[str, Table]]:
    """Return the inputs of a story with long and blank names shortened and quoted."""
    data = matched.data
    people, categories = names_in_words(data.annotator_names), names_in_words(data.category_names)
    groups = tuple(sorted({*data.supercategories}))
    broader = names_in_words(groups)
    if (people, categories, broader) == (data.annotator_names, data.category_names, groups):
        return part, matched, tables
    words = {column: dict(zip(data.annotator_names, people, strict=True)) for column in _PEOPLE}
    of_categories = dict(zip(data.category_names, categories, strict=True))
    words |= dict.fromkeys(_CATEGORIES, of_categories)
    words["supercategory"] = dict(zip(groups, broader, strict=True))
    reference = part.reference
    if reference is not None:
        reference = replace(
            reference,
            name=names_in_words([reference.name])[0],
            annotators=_renamed(reference.annotators, words),
            offsets=_renamed(reference.offsets, words),
            confusions=_renamed(reference.confusions, words),
            confusion_matrix=_renamed(reference.confusion_matrix, words),
        )
    data = replace(data, annotator_names=people, category_names=categories)
    pairs, of_each = _renamed(part.pairs, words), _renamed(part.categories, words)
    return (
        replace(part, pairs=pairs, categories=of_each, reference=reference),
        replace(matched, data=data),
        {name: _renamed(table, words) for name, table in tables.items()},
    )


def _renamed(table: Table, words: Mapping[str, Mapping[str, str]]) -> Table:
    """Return a table with other names; `words` maps old to new names for each column."""
    columns: dict[str, Column] = dict(table.columns)
    for name, others in words.items():
        column = columns.get(name)
        if isinstance(column, Categorical):
            shown = tuple(others.get(each, each) for each in column.names)
            columns[name] = Categorical(column.code, shown)
    return Table(columns)


# The diagnostics that the story uses; only those of the compared shapes are computed.
_OF_STORY = {
    *TABLES,
    "work",
    *registry.OF_EDGES,
    *registry.OF_ROTATED_BOXES,
    *OF_KEYPOINTS,
    *registry.OF_TRACKS,
}


def told_story(images: ImagePart, result: MeasuredAgreement, *, progress: Progress | None) -> Story:
    """Return sentences on what lowers agreement at the first threshold; see `ImageDiagnoser`."""
    matched = _matched(images, result, progress)
    names = [name for name in _names(images.data, result) if name in _OF_STORY]
    tables = _tables(matched, names, progress)
    return Story(**_story_parts(images, result, matched, tables))


def diagnosed(
    images: ImagePart,
    result: MeasuredAgreement,
    n_images: int,
    *,
    read_shapes: ReadShapes | None,
    by_others: bool,
    progress: Progress | None,
) -> Diagnosis:
    """Return the diagnosis, with `n_images` of the worst images at most; see `ImageDiagnoser`."""
    from bboxqa.diagnostics.review import review_queue
    from bboxqa.pipelines.diagnosis.review_document import review_document, worst_images
    from bboxqa.pipelines.diagnosis.sensitivity import (
        SENSITIVITY,
        SUGGESTED,
        in_words,
        sensitivity,
        suggested_thresholds,
    )

    matched = _matched(images, result, progress)
    tables = _tables(matched, _names(images.data, result), progress)
    queue = review_queue(matched)
    of_thresholds = sensitivity(
        images,
        result.settings,
        by_chance={each.iou_threshold: each.existence.chance for each in result.thresholds},
        progress=progress,
    )
    suggested = suggested_thresholds(
        images,
        of_thresholds,
        result.settings,
        read_shapes=read_shapes,
        by_others=by_others,
        progress=progress,
    )
    parts = _story_parts(images, result, matched, tables)
    text = of_thresholds.text + in_words(suggested)
    repeats = result.thresholds[0].repeats
    return Diagnosis(
        **{**parts, "lines": (*parts["lines"], Line(text))},
        tables={
            **tables,
            SENSITIVITY: of_thresholds.table,
            SUGGESTED: suggested,
            **({} if repeats is None else {REPEATS: repeats}),
            "review_images": queue.images,
        },
        review=queue.objects,
        review_document=review_document(images.data, queue),
        worst_images=worst_images(result.thresholds[0], matched, n_images),
    )


def _names(data: Dataset, result: MeasuredAgreement) -> tuple[str, ...]:
    """Return the names of the diagnostics that the data and the compared shapes allow."""
    of = data.annotations
    return registry.names(
        with_times=of.times is not None,
        with_keypoints=of.keypoints is not None and bool(data.joint_sigmas),
        with_tracks=of.track is not None,
        compared=similarity(result.settings.similarity).needs,
    )


def _matched(
    images: ImagePart, result: MeasuredAgreement, progress: Progress | None
) -> MatchedUnits:
    check_crowds(images.data)
    threshold = result.thresholds[0].iou_threshold
    settings = msgspec.structs.replace(result.settings, iou_threshold=(threshold,))
    matched = matched_units(images, settings, progress=progress)
    # Most tables leave copies out.
    copies(matched)
    independent(matched)
    return matched


def _tables(
    matched: MatchedUnits, names: Sequence[str], progress: Progress | None
) -> dict[str, Table]:
    tables = {}
    for done, name in enumerate(names):
        if progress is not None:
            progress("diagnosing", done, len(names))
        tables[name] = registry.diagnostic(name)(matched)
    return tables


def _story_parts(
    images: ImagePart,
    result: MeasuredAgreement,
    matched: MatchedUnits,
    tables: dict[str, Table],
) -> dict[str, Any]:
    part, matched, named = named_in_words(result.thresholds[0], matched, tables)
    told = story_of(part, matched, named)
    names = dict(zip(matched.data.annotator_names, images.data.annotator_names, strict=True))
    return {
        "threshold_label": part.threshold_label,
        "lines": tuple(
            line._replace(annotators=tuple(names[name] for name in line.annotators))
            for line in told.lines
        ),
        "warnings": (
            *result.headlines,
            *images.data.cautions,
            *warnings_of(part, images, matched, named, result.settings, told.repeater),
        ),
    }
