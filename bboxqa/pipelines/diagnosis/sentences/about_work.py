"""Sentences about time: whose agreement changes over sessions, or within them."""

from collections.abc import Iterator, Mapping
from math import isnan

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.diagnostics.work import OK
from bboxqa.model.diagnosis import CHANGE_UNITS
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.sentence import Sentence
from bboxqa.pipelines.diagnosis.sentences.significance import Bounds, above_others, bounds

# With two annotators, it is unknown whose agreement changes.
_SEVERAL = 3


def work_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield whose F1 changes significantly more than the others', or that F1 of all changes.

    Without times, there are no sentences.
    """
    table = tables.get("work")
    if table is None:
        return
    people = table.take(np.arange(1, len(table)))
    share = people["n"] / max(int(people["n"].sum()), 1)
    length = {"drift": people["n_sessions"] - 1.0, "fatigue": _hours_of_session(people)}
    for name, unit in CHANGE_UNITS.items():
        found, everyone = bounds(people, name), bounds(table.head(1), name)
        named = []
        if len(people) >= _SEVERAL:
            n_images = tables["annotators"]["n_images"]
            named = [place for sign in (-1, 1) for place in _changing(found, sign, n_images)]
        for place in named:
            others = float(np.nanmedian(np.delete(found.value, place)))
            who = people["annotator"][place]
            text = (
                f"F1 of {who} with the others {_change(found, place)} {unit}; that of the others "
                f"{_moved(others)} (median)"
            )
            weight = abs(found.value[place]) * length[name][place] * share[place]
            yield Sentence(weight, text, annotators=(who,))
        if not named and _is_significant(everyone, 0):
            text = f"F1 of all annotators together {_change(everyone, 0)} {unit}"
            text += "; it is uncertain whose work changes" * (len(people) > 1)
            yield Sentence(abs(everyone.value[0]) * float(np.nanmean(length[name])), text)


def work_limits(tables: Mapping[str, Table]) -> Iterator[str]:
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
        elif not _is_significant(found, 0):
            low, high = _signed(found.low[0]), _signed(found.high[0])
            interval = "without an interval" if isnan(found.low[0]) else f"[{low}, {high}]"
            insignificant.append(f"by {_signed(found.value[0])} {interval} {unit}")
    if insignificant:
        changes = " and ".join(insignificant)
        yield f"F1 of all annotators together does not change significantly: {changes}"
    for reason, units in unknown.items():
        yield f"how F1 changes {' and '.join(units)} is unknown: {reason}"


def _changing(found: Bounds, sign: int, n_images: IndexArray) -> list[int]:
    """Return whose figures significantly rise (1) or fall (-1), and more than the others'."""
    ends = np.stack([sign * found.low, sign * found.high])
    moved = Bounds(sign * found.value, ends.min(0), ends.max(0))
    return [place for place in above_others(moved, n_images).tolist() if moved.low[place] > 0]


def _is_significant(found: Bounds, place: int) -> bool:
    return bool(found.low[place] > 0 or found.high[place] < 0)


def _change(found: Bounds, place: int) -> str:
    """Return how a figure changes, with its interval."""
    ends = sorted(abs(each[place]) for each in (found.low, found.high))
    return f"{_moved(found.value[place])} [{ends[0]:z.3f}, {ends[1]:z.3f}]"


def _moved(value: float) -> str:
    """Return in which direction a figure changes, and by how much."""
    return f"{'rises' if value > 0 else 'falls'} by {abs(value):.3f}"


def _signed(value: float) -> str:
    return f"{value:+z.3f}"


def _hours_of_session(people: Table) -> FloatArray:
    """Return the mean length of the sessions of each annotator in hours."""
    length: FloatArray = people["hours"] / np.maximum(people["n_sessions"], 1)
    return length
