"""The story of a diagnosis: a few sentences, the most useful first."""

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING

from bboxqa.core.text import count
from bboxqa.model.table import Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.about_annotators import (
    LEAST_IMAGES,
    offset_sentences,
    rate_sentences,
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
from bboxqa.pipelines.diagnosis.about_reference import reference_sentences
from bboxqa.pipelines.diagnosis.about_work import work_limits, work_sentences

if TYPE_CHECKING:
    from bboxqa.pipelines.diagnosis.sentences import Sentence

TABLES = (
    "decomposition",
    "decomposition_by_annotator",
    "annotators",
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
    "nobody surely misses, adds, misnames or misplaces more than the other annotators do "
    "(95 % intervals, corrected for their number)"
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
    beside = [sentence.text for sentence in reference_sentences(part)]
    if not len(matched.data.annotations):
        return (*beside, _NOTHING if part.reference is None else _NO_PAIRS)
    n_drawing = int((tables["annotators"]["n_images"] > 0).sum())
    n_asked = matched.data.assigned.sum(1)
    lead = [*kind_sentences(tables, has_alpha=not isnan(part.alpha))]
    people: list[Sentence] = []
    last = [*limit_sentences(part, matched, tables)]
    if n_drawing <= 2:
        people += [*offset_sentences(tables), *two_annotators(tables)]
    elif int(n_asked.max()) <= 2:
        last += [_ONE_AGAINST_ONE] if part.reference is None else []
    else:
        people += [*offset_sentences(tables), *rate_sentences(tables)]
        lead += worst_annotator(tables, part.alpha)
        n_images = int((n_asked >= 2).sum())
        if not people and matched.bootstrap and n_images >= LEAST_IMAGES:
            last.insert(0, _NOBODY)
    found = [
        *people,
        *confusion_sentences(tables),
        *supercategory_sentences(tables),
        *category_sentences(tables),
        *work_sentences(tables),
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


def _more(n: int) -> str:
    return f"{count(n, 'more finding')}: the tables of --diagnose have {'it' if n == 1 else 'them'}"
