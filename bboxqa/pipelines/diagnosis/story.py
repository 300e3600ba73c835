"""The story of a diagnosis: a few sentences, the most useful first."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.text import count
from bboxqa.diagnostics.agreement_groups import independent
from bboxqa.diagnostics.categories import Unused, unused_categories
from bboxqa.diagnostics.decomposition import Kind
from bboxqa.diagnostics.rates import RATES, asked_with_others
from bboxqa.model.annotations import EDGES
from bboxqa.model.diagnosis import Line
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.sentences.about_annotators import (
    idle_sentences,
    rate_sentences,
    shape_sentences,
    two_annotators,
    unused_by_name,
    unused_sentences,
    worst_annotator,
)
from bboxqa.pipelines.diagnosis.sentences.about_groups import copy_sentences, group_sentences
from bboxqa.pipelines.diagnosis.sentences.about_joints import joint_sentences, joints_explain
from bboxqa.pipelines.diagnosis.sentences.about_objects import (
    agreement_sentence,
    category_sentences,
    confusion_sentences,
    kind_sentences,
    limit_sentences,
    supercategory_sentences,
)
from bboxqa.pipelines.diagnosis.sentences.about_places import (
    Explained,
    edges_explain,
    offset_sentences,
    precision_sentences,
)
from bboxqa.pipelines.diagnosis.sentences.about_reference import (
    error_sentences,
    reference_confusion_sentences,
    reference_sentences,
)
from bboxqa.pipelines.diagnosis.sentences.about_rotation import (
    exchange_sentences,
    rotated_sentences,
    rotation_explains,
)
from bboxqa.pipelines.diagnosis.sentences.about_tracks import track_sentences
from bboxqa.pipelines.diagnosis.sentences.about_work import work_limits, work_sentences
from bboxqa.pipelines.diagnosis.sentences.paired import differences
from bboxqa.pipelines.diagnosis.sentences.sentence import LEAST_DRAWS, MORE, Sentence, Worst
from bboxqa.pipelines.diagnosis.sentences.significance import bounds, judged
from bboxqa.pipelines.diagnosis.sentences.told_once import (
    middle_sentences,
    once,
    told_alone,
    worst_once,
)

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
_NOBODY = (
    "no annotator misses, adds, misnames, misplaces, splits, merges or repeats objects "
    "significantly more than the others (95 % intervals, corrected for the number of annotators "
    "and kinds of errors)"
)

_ONE_AGAINST_ONE = (
    "no image has three annotators: where two differ, it is unknown who is right, and nobody "
    "is named; --reference FILE compares each with a reference"
)
_NOTHING = "there are no annotations to compare"
_NO_PAIRS = "no image with annotations has two annotators: their agreement cannot be measured"


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
    beside = [*reference_sentences(part)] if named else []
    if not len(matched.data.annotations):
        return Told((*beside, Line(_NOTHING if part.reference is None else _NO_PAIRS)))
    judges = _are_judged(matched)
    last = [*map(Line, limit_sentences(part, matched, tables))]
    unused = unused_categories(matched) if part.reference is None else []
    people = [*idle_sentences(matched, tables["annotators"]), *unused_sentences(matched, unused)]
    worst: list[Worst] = []
    if named:
        worst, erring = _named(part, matched, tables, unused)
        people += erring
        if not (worst or people or beside) and _are_compared(matched, tables):
            last.insert(0, Line(_NOBODY))
    pairs_only = not judges and _n_drawing(matched) > 2 and _n_compared(tables) != 2
    if pairs_only and part.reference is None:
        last.append(Line(_ONE_AGAINST_ONE))
    found = [
        *people,
        *_confused(part, tables, named=named, judged=judges),
        *(joint_sentences(tables) if named else ()),
        *supercategory_sentences(tables),
        *category_sentences(matched, tables, {each.category for each in unused}),
        *(work_sentences(tables) if named else ()),
        *track_sentences(tables),
    ]
    found = once(found, tables)
    found.sort(key=lambda sentence: -sentence.weight)
    told = told_alone(found, tables) if part.reference is None else {}
    lead, kinds = kind_sentences(
        matched,
        tables,
        told,
        has_alpha=not isnan(part.alpha),
        named=named and judges,
        pairs_only=int(matched.data.assigned.sum(1).max(initial=0)) <= 2,
    )
    least, found = worst_once(worst, found, told.values())
    first = [*map(Line, agreement_sentence(part, matched)), *lead.values(), *least, *beside]
    middle = middle_sentences(found, told, lead, kinds)
    lines = _fitted(first, middle, last, [*map(Line, work_limits(tables))])
    twice, gains = told.get(Kind.TWICE), {**lead, **kinds}
    if twice is None or gains.get(Kind.TWICE) not in lines:
        return Told(lines)
    return Told(lines, twice.who)


def _fitted(
    first: Sequence[Line], middle: Sequence[Line], last: Sequence[Line], unchanged: Sequence[Line]
) -> tuple[Line, ...]:
    """Return at most nine sentences; those in the middle make room, and are then counted."""
    room = max(_MOST - len(first) - len(last), 0)
    if len(middle) > room:
        n_kept = max(room - 1, 0)
        middle = [*middle[:n_kept], _more(len(middle) - n_kept)]
    # Sentences that nothing changes must not displace findings.
    return (*first, *middle, *last, *unchanged[: max(room - len(middle), 0)])


def _n_drawing(matched: MatchedUnits) -> int:
    """Return the number of annotators who share an image with another annotator."""
    return int((asked_with_others(matched).any(0)).sum())


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
) -> tuple[list[Worst], list[Sentence]]:
    """Return who agrees least, and sentences on who errs, against the reference or the others."""
    are_judged = _are_judged(matched)
    apart = differences(matched) if are_judged else {}
    worst = [*worst_annotator(part, matched, tables, apart)] if are_judged else []
    people = [*copy_sentences(matched, tables)]
    if part.reference is not None:
        people += error_sentences(part.reference)
    elif _n_compared(tables) <= 2:
        people += _of_two(tables)
    elif are_judged:
        people += _misplaced(tables)
        people += precision_sentences(tables, apart, part.pairs, _explained(matched, tables))
        left_out = unused_by_name(matched, unused)
        people += rate_sentences(tables, apart, part.pairs, _have_judges(matched), left_out)
        people += shape_sentences(tables)
        people += group_sentences(matched, tables)
    return worst, people


def _misplaced(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield who places edges, or rotated boxes, apart from the others."""
    if "rotated_offsets" in tables:
        yield from rotated_sentences(tables["rotated_offsets"], tables["annotators"])
        yield from exchange_sentences(tables)
    elif "offsets" in tables:
        yield from offset_sentences(tables["offsets"], tables["annotators"])


def _explained(matched: MatchedUnits, tables: Mapping[str, Table]) -> Explained:
    """Return how much of the dissimilarity of matched annotations systematic offsets explain."""
    if matched.compared == "keypoints":
        return joints_explain(tables, matched.data.joint_sigmas)
    if "rotated_offsets" in tables:
        return rotation_explains(tables)
    return edges_explain(tables, matched.compared)


def _of_two(tables: Mapping[str, Table]) -> Iterator[Sentence]:
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
        yield from offset_sentences(tables["offsets"].take(edges), of_two)
    yield from two_annotators(of_two, has_copies=len(left) < len(annotators))


def _confused(
    part: ThresholdResult, tables: Mapping[str, Table], *, named: bool, judged: bool
) -> Iterator[Sentence]:
    """Yield which categories are confused: with those of the reference, or by annotators."""
    if part.reference is None:
        yield from confusion_sentences(tables, named=named and judged)
    elif named:
        yield from reference_confusion_sentences(part.reference)


def _more(n: int) -> Line:
    text = f"{count(n, 'more finding')}: {MORE} have {'it' if n == 1 else 'them'}"
    return Line(text, see=MORE)
