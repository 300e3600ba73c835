"""The story of a diagnosis: a few sentences, the most useful first."""

from collections.abc import Iterator, Mapping
from math import isnan

from bboxqa.core.text import count
from bboxqa.diagnostics.annotators.image_f1 import asked_with_others
from bboxqa.model.table import Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.about_annotators import (
    copy_sentences,
    rate_sentences,
    shape_sentences,
    two_annotators,
    worst_annotator,
)
from bboxqa.pipelines.diagnosis.about_objects import (
    agreement_sentence,
    category_sentences,
    confusion_sentences,
    kind_sentences,
    limit_sentences,
    supercategory_sentences,
)
from bboxqa.pipelines.diagnosis.about_places import offset_sentences, precision_sentences
from bboxqa.pipelines.diagnosis.about_reference import error_sentences, reference_sentences
from bboxqa.pipelines.diagnosis.about_work import work_limits, work_sentences
from bboxqa.pipelines.diagnosis.sentences import LEAST_DRAWS, LEAST_IMAGES, Sentence

TABLES = (
    "decomposition",
    "decomposition_by_annotator",
    "annotators",
    "boxes_per_object",
    "offsets",
    "confusion_matrix",
    "copies",
    "confusions",
    "difficulty",
    "supercategories",
)
"""The diagnostics that the story and the warnings are made of."""

_MOST = 9
_NOBODY = (
    "nobody surely misses, adds, misnames, misplaces, splits, merges or repeats more than the "
    "other annotators do (95 % intervals, corrected for their number and the kinds of errors)"
)

_ONE_AGAINST_ONE = (
    "no image has three annotators: where two differ, it cannot be told who is right, and nobody "
    "is named; --reference FILE tells it"
)
_NOTHING = "nobody drew anything: there is nothing to tell"
_NO_PAIRS = "no image with annotations has two annotators: their agreement cannot be told"


def story_of(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> tuple[str, ...]:
    """Return at most nine sentences: each from a figure and its interval, or a count.

    First who and what costs most, then single findings by the share of objects that they concern,
    last what the data cannot tell.
    """
    named = matched.bootstrap >= LEAST_DRAWS
    beside = [sentence.text for sentence in reference_sentences(part)] if named else []
    if not len(matched.data.annotations):
        return (*beside, _NOTHING if part.reference is None else _NO_PAIRS)
    lead = [*kind_sentences(tables, has_alpha=not isnan(part.alpha))]
    last = [*limit_sentences(part, matched, tables)]
    people: list[Sentence] = []
    if named:
        lead += _worst(part, matched, tables)
        people += _people(part, matched, tables)
    n_asked = matched.data.assigned.sum(1)
    if _are_judged(matched) and named and not people and (n_asked >= 2).sum() >= LEAST_IMAGES:
        last.insert(0, _NOBODY)
    if not _are_judged(matched) and _n_drawing(matched) > 2 and part.reference is None:
        last.append(_ONE_AGAINST_ONE)
    found = [
        *people,
        *confusion_sentences(tables, named=named),
        *supercategory_sentences(tables),
        *category_sentences(tables),
        *(work_sentences(tables) if named else ()),
    ]
    found.sort(key=lambda sentence: -sentence.weight)
    first = [*agreement_sentence(part, matched), *(sentence.text for sentence in lead), *beside]
    middle = [sentence.text for sentence in found]
    room = max(_MOST - len(first) - len(last), 0)
    if len(middle) > room:
        middle[max(room - 1, 0) :] = [_more(len(middle) - max(room - 1, 0))]
    # What does not change takes no room from what was found.
    unchanged = [*work_limits(tables)][: max(room - len(middle), 0)]
    return (*first, *middle, *last, *unchanged)


def _n_drawing(matched: MatchedUnits) -> int:
    """Return how many annotators were asked about images that others were asked about, too."""
    return int((asked_with_others(matched).any(0)).sum())


def _are_judged(matched: MatchedUnits) -> bool:
    """Return whether some images have three annotators, so that most of them can be right."""
    return int(matched.data.assigned.sum(1).max(initial=0)) > 2


def _worst(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> Iterator[Sentence]:
    if _are_judged(matched):
        yield from worst_annotator(tables, part.alpha)


def _people(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> Iterator[Sentence]:
    """Yield who errs: against the reference, or else against most others."""
    yield from copy_sentences(tables)
    if part.reference is not None:
        yield from error_sentences(part.reference)
    elif _n_drawing(matched) <= 2:
        yield from offset_sentences(tables["offsets"], tables["annotators"])
        yield from two_annotators(tables)
    elif _are_judged(matched):
        yield from offset_sentences(tables["offsets"], tables["annotators"])
        yield from precision_sentences(tables)
        yield from rate_sentences(tables)
        yield from shape_sentences(tables)


def _more(n: int) -> str:
    return f"{count(n, 'more finding')}: the tables of --diagnose have {'it' if n == 1 else 'them'}"
