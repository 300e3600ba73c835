"""Segments of one annotator that overlap, and rules that decide which of them wins."""

import heapq
from itertools import pairwise
from typing import Literal

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray

Overlaps = Literal["refuse", "first", "last", "longest"]


def overlapping(
    annotator: IntArray, start: IndexArray, end: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Return the segments that start before an earlier one of the same annotator has ended.

    Each appears once as `later`; `earlier` is the one that reaches furthest. Both are (P,) int64.
    Segments are sorted by annotator and start; times are milliseconds, 0 or more.

    Examples
    --------
    >>> overlapping(np.zeros(3, np.int32), np.array([0, 2, 9]), np.array([8, 9, 12]))
    (array([0]), array([1]))
    """
    if len(start) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # Shift annotators apart, so that no segment reaches those of the next one.
    shift = np.unique(annotator, return_inverse=True)[1] * int(end.max())
    reach = np.maximum.accumulate(end + shift)
    furthest = np.maximum.accumulate(
        np.where(np.diff(reach, prepend=-1) > 0, np.arange(len(reach)), 0)
    )
    later = np.flatnonzero(start[1:] + shift[1:] < reach[:-1]) + 1
    return furthest[later - 1], later


def without_overlaps(
    annotator: IntArray, start: IndexArray, end: IndexArray, rule: Overlaps
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return pieces of segments such that every annotator has one label at a time.

    Parameters
    ----------
    annotator, start, end : (N,)
        As in `overlapping`.
    rule : {"first", "last", "longest"}
        The segment that wins where several overlap: the one that started first or last (if they
        started together, the one that comes first or last), or the longest (if equally long, the
        first).

    Returns
    -------
    segment, start, end : (M,) int64
        Pieces, sorted by annotator, then start; `segment` is the index of the whole segment.

    Examples
    --------
    >>> times = np.array([0, 2]), np.array([8, 4])
    >>> without_overlaps(np.zeros(2, np.int32), *times, "last")
    (array([0, 1, 0]), array([0, 2, 4]), array([2, 4, 8]))
    """
    _, later = overlapping(annotator, start, end)
    mixed = np.unique(annotator[later])
    clean = ~np.isin(annotator, mixed)
    pieces = [(np.flatnonzero(clean), start[clean], end[clean])]
    for each in mixed:
        own = np.flatnonzero(annotator == each)
        rank = np.empty(len(own), np.int64)
        rank[_by_priority(start[own], end[own], rule)] = np.arange(len(own))
        place, begin, stop = np.array(_winners(start[own], end[own], rank), np.int64).T
        pieces.append((own[place], begin, stop))
    segment, begin, stop = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((begin, annotator[segment]))
    return segment[order], begin[order], stop[order]


def _by_priority(start: IndexArray, end: IndexArray, rule: Overlaps) -> IndexArray:
    """Return the order of precedence of segments that are sorted by start."""
    place = np.arange(len(start))
    if rule == "first":
        return place
    if rule == "last":
        return place[::-1]
    return np.lexsort((place, start - end))


def _winners(start: IndexArray, end: IndexArray, rank: IndexArray) -> list[tuple[int, int, int]]:
    """Return the segment of lowest rank at each time, as (segment, begin, end)."""
    pieces: list[tuple[int, int, int]] = []
    waiting: list[tuple[int, int]] = []
    starts, ends, ranks = start.tolist(), end.tolist(), rank.tolist()
    boundaries = np.unique(np.concatenate([start, end])).tolist()
    arrived = 0
    for now, after in pairwise(boundaries):
        while arrived < len(starts) and starts[arrived] <= now:
            heapq.heappush(waiting, (ranks[arrived], arrived))
            arrived += 1
        while waiting and ends[waiting[0][1]] <= now:
            heapq.heappop(waiting)
        if not waiting:
            continue
        winner = waiting[0][1]
        if pieces and pieces[-1][0] == winner and pieces[-1][2] == now:
            pieces[-1] = (winner, pieces[-1][1], after)
        else:
            pieces.append((winner, now, after))
    return pieces
