"""Agreement on labels over time: sampled segments, and the share of time of each label."""

from functools import partial
from itertools import pairwise
from math import nan
from typing import Literal, NoReturn

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.estimators import OK, Estimator, SumTable, clusters_of, undefined
from bboxqa.agreement.object_counts import ratio
from bboxqa.agreement.unit_counts import unit_counts
from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, run_starts, sum_by
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count
from bboxqa.model.ratings import Ratings, Segments, describe, number_of
from bboxqa.model.units import Cell, ReliabilityData

_NOBODY = "undefined: the label is not used where annotators can be compared"


def label_agreement(ratings: Ratings) -> list[Estimator]:
    """Return for each value the share of time on which annotators agree on it.

    For a value c it is the time on which both annotators of a pair say c, divided by the time on
    which at least one does, both summed over the pairs: Jaccard's coefficient of community (1912,
    doi:10.1111/j.1469-8137.1912.tb05611.x), without correction for chance. All clusters with
    comparable time are drawn, also those without the value, as its frequency is random as well. No
    annotator may be twice in a unit; units without a weight count once.
    """
    data = ratings.data
    weight = np.ones(len(data.group), np.int64) if data.weight is None else data.weight
    drawn = data.unit[data.state == Cell.CATEGORY]
    raters = np.bincount(drawn, minlength=len(data.group))
    counts = unit_counts(data)
    unit, value, times = counts.unit, counts.value, counts.count.astype(np.int64)
    pairs, others = (n * (n - 1) // 2 for n in (raters[unit], raters[unit] - times))
    terms = weight[unit] * np.stack([times * (times - 1) // 2, pairs - others])
    clusters = clusters_of(data.group, (weight > 0) & (raters > 1))
    order = np.argsort(value, kind="stable")
    bounds = np.searchsorted(value[order], np.arange(data.n_values + 1))
    found = []
    for low, high in pairwise(bounds.tolist()):
        group, columns = data.group[unit[order[low:high]]], terms[:, order[low:high]]
        both, either = map(int, columns.sum(1))
        if not either:
            advice = "Have a second annotator mark the recordings in which it occurs."
            found.append(undefined(_NOBODY, advice=advice))
            continue
        sums = np.stack([sum_by(group, column, data.n_groups) for column in columns])
        share, table = both / either, SumTable(partial(np.asarray, sums))
        found.append(Estimator(share, share, nan, OK, table, lambda of: ratio(*of), clusters))
    return found


Overlaps = Literal["refuse", "first", "last", "longest"]


def overlapping(
    annotator: IntArray, start: IndexArray, end: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Return the segments that start before an earlier one of the same annotator has ended.

    Each appears once as `later`; `earlier` is the one that reaches furthest. Both are (P,) int64.
    Segments are sorted by annotator and start; times are milliseconds, 0 or more.
    """
    # Shift annotators apart, so that no segment reaches those of the next one.
    shift = np.unique(annotator, return_inverse=True)[1] * int(end.max(initial=0))
    reach = np.maximum.accumulate(end + shift)
    furthest = np.maximum.accumulate(
        np.where(np.diff(reach, prepend=-1) > 0, np.arange(len(reach)), 0)
    )
    later = np.flatnonzero(start[1:] + shift[1:] < reach[:-1]) + 1
    return furthest[later - 1], later


def without_overlaps(
    annotator: IntArray, start: IndexArray, end: IndexArray, rule: Overlaps
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return pieces of segments, sorted, such that every annotator has one label at a time.

    Where several overlap, the one wins that started first or last (if they started together, the
    one that comes first or last), or the longest (if equally long, the first), by the `rule`.
    Arguments are as in `overlapping`; returned are the index of the whole segment, start and end,
    (M,) each.
    """
    _, later = overlapping(annotator, start, end)
    mixed = np.unique(annotator[later])
    clean = ~np.isin(annotator, mixed)
    pieces = [(np.flatnonzero(clean), start[clean], end[clean])]
    for each in mixed:
        own = np.flatnonzero(annotator == each)
        # The order of precedence; segments are sorted by start.
        order = place = np.arange(len(own))
        if rule != "first":
            order = place[::-1] if rule == "last" else np.lexsort((place, start[own] - end[own]))
        ends = np.unique([start[own], end[own]])
        low, high = np.searchsorted(ends, [start[own], end[own]])
        winner = np.full(len(ends) - 1, -1)
        # The one that wins over all others comes last.
        for one in order[::-1].tolist():
            winner[low[one] : high[one]] = one
        first = run_starts(winner)
        last = np.append(first[1:], len(winner))
        kept = winner[first] >= 0
        pieces.append((own[winner[first[kept]]], ends[first[kept]], ends[last[kept]]))
    segment, begin, stop = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((begin, annotator[segment]))
    return segment[order], begin[order], stop[order]


BACKGROUND = "(nothing marked)"
_ADVICE = (
    "Correct them, put what may happen together into different tiers, or choose which segment "
    "wins with --overlaps: the first, the last or the longest."
)


def sweep(
    segments: Segments,
    tier: str | None = None,
    *,
    resolution_ms: int = 1,
    support: Literal["all", "marked"] = "all",
    overlaps: Overlaps = "refuse",
) -> Ratings:
    """Return the label of each annotator on each stretch of time between two boundaries.

    The continuum is divided into units of equal length, with gaps as a category: the simplest of
    the unitizing designs of Krippendorff (2022, Content analysis, ch. 12). Neighbouring points are
    not independent, so that intervals have to resample recordings. Time and memory grow with the
    number of boundaries, not with the duration.

    `tier` is one tier, or all; a label of several tiers is one value. A sample point stands in the
    middle of every `resolution_ms` of each recording. With `support` "marked", stretches on which
    nobody marked anything are left out. `overlaps` says which segment wins, see `without_overlaps`.

    A unit is a stretch with a sample point, its group the recording, its weight the number of
    points. The values are the labels that occur, and last `BACKGROUND`, where an annotator who was
    asked about a recording marked nothing. Annotators who were not asked have no cell.
    """
    if BACKGROUND in segments.label_names:
        raise DatasetError(
            [f"the label {BACKGROUND!r} occurs; it is the name of time without any segment"],
            "Leave those segments out, or rename the label.",
        )
    _, n_annotators = segments.asked.shape
    chosen = np.arange(len(segments.tier_names))
    if tier is not None:
        chosen = chosen[[segments.tier_names.index(tier)]]
    # Each recording of each tier is a block, and the blocks follow each other on one line.
    lengths = np.tile(segments.duration, len(chosen))
    starts = np.cumsum(lengths) - lengths
    segment = np.flatnonzero(np.isin(segments.tier, chosen))
    block = np.searchsorted(chosen, segments.tier[segment]) * len(segments.recording_names)
    offset = starts[block + segments.recording[segment]]
    # Equal starts keep the order of the files.
    order = np.lexsort((segment, offset + segments.start[segment], segments.annotator[segment]))
    segment, offset = segment[order], offset[order]
    start, end = offset + segments.start[segment], offset + segments.end[segment]
    earlier, later = overlapping(segments.annotator[segment], start, end)
    notes = tuple[str, ...]()
    if len(later) and overlaps == "refuse":
        _refuse_overlaps(segments, segment[earlier].tolist(), segment[later].tolist())
    elif len(later):
        notes = (f"{count(len(later), 'overlap')} resolved: the {overlaps} segment counts",)
        piece, start, end = without_overlaps(segments.annotator[segment], start, end, overlaps)
        segment = segment[piece]
    # Stretches between boundaries, and the number of sample points in them.
    boundaries = np.unique(np.concatenate([starts, start, end, [lengths.sum()]]))
    begin = boundaries[:-1]
    # A recording of no length has the same start as the next one, which comes last.
    block = np.searchsorted(starts, begin, side="right") - 1
    before, until = (
        -((resolution_ms // 2 - (time - starts[block])) // resolution_ms)
        for time in (begin, boundaries[1:])
    )
    recording, weight = (block % len(segments.recording_names)).astype(np.int32), until - before
    # The label of each annotator where each stretch begins, -1 for none.
    said = np.full((len(begin), n_annotators), -1, np.int32)
    for each, column in enumerate(said.T):
        own = slice(*np.searchsorted(segments.annotator[segment], [each, each + 1]).tolist())
        place = np.searchsorted(start[own], begin, side="right") - 1
        rows = np.flatnonzero(place >= 0)
        rows = rows[end[own][place[rows]] > begin[rows]]
        column[rows] = segments.label[segment[own][place[rows]]]
    asked = segments.asked[recording]
    keep = weight > 0
    if support == "marked":
        keep &= (asked & (said >= 0)).any(axis=1)
    found = _ratings(segments, said[keep], asked[keep], weight[keep], recording[keep])
    return replace(found, notes=notes)


def _refuse_overlaps(segments: Segments, earlier: list[int], later: list[int]) -> NoReturn:
    problems = []
    for pair in zip(earlier, later, strict=True):
        (where, first), (other, second) = (describe(segments, place) for place in pair)
        annotator = clean(segments.annotator_names[segments.annotator[pair[0]]])
        problems.append(
            f"{other}: {second} overlaps {first} ({where}); "
            f"expected one segment of {annotator} at a time"
        )
    raise DatasetError(problems, _ADVICE)


def _ratings(
    segments: Segments, said: IntArray, asked: BoolArray, weight: IndexArray, recording: IntArray
) -> Ratings:
    unit, annotator = np.nonzero(asked)
    codes = said[unit, annotator]
    used = np.unique(codes[codes >= 0])
    keys = [segments.label_names[code] for code in used.tolist()]
    numbers = [number for number in map(number_of, keys) if number is not None]
    are_numbers = 0 < len(keys) == len(set(numbers))
    ordered = numbers if are_numbers else keys
    order = sorted(range(len(keys)), key=ordered.__getitem__)
    # The last element is of what nobody marked, whose code is -1.
    rank = np.full(len(segments.label_names) + 1, len(keys), np.int32)
    rank[used[order]] = np.arange(len(keys))
    background = [BACKGROUND] * bool((codes < 0).any())
    data = ReliabilityData(
        unit=unit,
        annotator=annotator.astype(np.int32),
        value=rank[codes],
        state=np.full(len(unit), Cell.CATEGORY, np.uint8),
        group=recording,
        n_values=len(keys) + len(background),
        n_groups=len(segments.recording_names),
        weight=weight,
    )
    return Ratings(
        data=data,
        unit_names=(),
        annotator_names=segments.annotator_names,
        value_names=(*(keys[i] for i in order), *background),
        numbers=np.array(sorted(numbers), np.float64) if are_numbers and not background else None,
    )
