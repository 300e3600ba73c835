"""Sentences about annotators: who misses, adds, misnames and misplaces objects."""

from collections.abc import Iterator, Mapping

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.diagnostics.annotators.category_use import NO_BOX
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences import (
    Bounds,
    Sentence,
    above_others,
    bounds,
    share_bounds,
)

# Smaller shares of objects and of sides, and smaller offsets in px, are not worth a sentence.
_LEAST_SHARE = 0.01
_LEAST_OFFSET = 0.5
# People that are named for one kind of error, and the images that this takes.
_NAMED = 3
LEAST_IMAGES = 5


def worst_annotator(tables: Mapping[str, Table], alpha: float) -> Iterator[Sentence]:
    """Yield who matches the others least, and what alpha would be without, of three or more."""
    table = tables["annotators"]
    found = _judged(table, bounds(table, "f1").of_complement())
    for place in above_others(found)[:1].tolist():
        others = np.delete(table["f1"], place)
        f1 = bounds(table, "f1")
        text = (
            f"{table['annotator'][place]} matches the others least: F1 {f1.value[place]:.2f} "
            f"[{f1.low[place]:.2f}, {f1.high[place]:.2f}], the median of the others is "
            f"{np.nanmedian(others):.2f}"
        )
        vital = bounds(table, "vitality")
        if vital.high[place] < 0:
            name, without = table["annotator"][place], alpha - vital.value[place]
            gain = f"{-vital.value[place]:.2f} [{-vital.high[place]:.2f}, {-vital.low[place]:.2f}]"
            text += (
                f"; without {name}, alpha would be {without:.2f} and not {alpha:.2f} "
                f"({gain} higher)"
            )
        yield Sentence(1.0, text)


def _judged(table: Table, found: Bounds) -> Bounds:
    """Return figures without intervals where an annotator has few images."""
    few = table["n_images"] < LEAST_IMAGES
    return Bounds(found.value, *(np.where(few, np.nan, each) for each in (found.low, found.high)))


def rate_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield who surely misses, adds or misnames more objects than the others, of three or more."""
    table = tables["annotators"]
    names, share = table["annotator"], table["n"] / max(int(table["n"].sum()), 1)
    matrix = tables["confusion_matrix"]
    for what, found in (
        ("misses", bounds(table, "miss_rate")),
        ("adds", bounds(table, "extra_rate")),
        ("misnames", bounds(table, "class_share").of_complement()),
    ):
        for place in above_others(_judged(table, found))[:_NAMED].tolist():
            if found.value[place] < _LEAST_SHARE:
                continue
            name, percent = names[place], found.percent(place)
            others = 100 * float(np.nanmedian(np.delete(found.value, place)))
            own = matrix.take(np.flatnonzero(matrix["annotator"] == name))
            if what == "misses":
                text = f"{name} misses {percent} of the objects that most others drew"
                text += _above_all(own)
            elif what == "adds":
                text = f"most others did not draw {percent} of what {name} drew"
            else:
                text = f"{name} and the others gave different categories to {percent} of the "
                text += f"objects that both drew{_most_often(own)}"
            text += f"; the median of the others is {others:.1f} %"
            yield Sentence(found.value[place] * share[place], text)


def two_annotators(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield what each of two annotators drew, and the other one did not."""
    table = tables["annotators"]
    found, names = _judged(table, bounds(table, "miss_rate")), table["annotator"]
    if len(table) != 2 or not found.low.max() >= _LEAST_SHARE:
        return
    order = np.argsort(-found.value, kind="stable").tolist()
    parts = [
        f"{names[place]} did not draw {found.percent(place)} of what {names[1 - place]} drew"
        for place in order
    ]
    yield Sentence(float(found.value.mean()), ", and ".join(parts))


def offset_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield who surely places boxes elsewhere than the others, or draws them larger or smaller."""
    table, annotators = tables["offsets"], tables["annotators"]
    names, share = annotators["annotator"], annotators["n"] / max(int(annotators["n"].sum()), 1)
    px = np.stack(bounds(table, "offset_px")).reshape(3, len(names), 4)
    percent = table["offset_percent"].reshape(len(names), 4)
    systematic = table["systematic"].reshape(len(names), 4)
    said: dict[int, list[str]] = {}
    weight = np.zeros(len(names))
    for (low, high), words, is_size in _MEASURES:
        found, relative = _measure(px, percent, low, high, is_size=is_size)
        for place in _misplaced(_judged(annotators, found))[:_NAMED]:
            size = abs(relative[place])
            if size < 100 * _LEAST_SHARE or not systematic[place, [low, high]].any():
                continue
            word = words[int(found.value[place] > 0)]
            side = "height" if low % 2 else "width"
            ends = sorted(abs(each[place]) for each in (found.low, found.high))
            said.setdefault(place, []).append(
                f"{abs(found.value[place]):.1f} px [{ends[0]:.1f}, {ends[1]:.1f}] {word} "
                f"({size:.1f} % of the {side})"
            )
            weight[place] = max(weight[place], size / 100)
    two = len(names) == 2
    for place, parts in said.items():
        # What one of two does, the other does in the other direction.
        if two and place == 1 and 0 in said:
            continue
        others = names[1 - place] if two else "the others"
        text = f"{names[place]} draws boxes {_and(parts)} than {others}"
        yield Sentence(weight[place] * share[place], text)


# Two edges, what smaller and larger figures are called, and whether the difference is the figure.
_MEASURES = (
    ((0, 2), ("further left", "further right"), False),
    ((1, 3), ("further up", "further down"), False),
    ((0, 2), ("narrower", "wider"), True),
    ((1, 3), ("shorter", "taller"), True),
)


def _measure(
    px: FloatArray, percent: FloatArray, low: int, high: int, *, is_size: bool
) -> tuple[Bounds, FloatArray]:
    """Return how far both edges are moved, or how much larger the side is, and in percent.

    The bounds of a mean of two figures lie inside of the mean of their bounds.
    """
    value, lower, upper = px
    if is_size:
        found = Bounds(
            value[:, high] - value[:, low],
            lower[:, high] - upper[:, low],
            upper[:, high] - lower[:, low],
        )
        return found, percent[:, high] - percent[:, low]
    both = [(each[:, low] + each[:, high]) / 2 for each in (value, lower, upper)]
    return Bounds(*both), (percent[:, low] + percent[:, high]) / 2


def _misplaced(found: Bounds) -> list[int]:
    """Return who is surely further from the others than these are; of two, who is first."""
    sign = np.sign(found.value)
    ends = np.stack([sign * found.low, sign * found.high])
    size = Bounds(np.abs(found.value), ends.min(0), ends.max(0))
    if len(size.value) == 2:
        return [0] if size.low[0] >= _LEAST_OFFSET else []
    return [place for place in above_others(size).tolist() if size.low[place] >= _LEAST_OFFSET]


def _above_all(own: Table) -> str:
    """Return which category an annotator misses most, if surely more than all."""
    drawn = own["others"] != NO_BOX
    labels, place = np.unique(own["others"][drawn].astype(str), return_inverse=True)
    if len(labels) < 2:
        return ""
    n = np.bincount(place, own["n"][drawn]).astype(np.float64)
    missed = np.bincount(place, (own["n"] * (own["category"] == NO_BOX))[drawn])
    low = share_bounds(missed / n, n, len(labels)).low
    best = int(np.argmax(missed))
    return f", above all {labels[best]}" if low[best] > missed.sum() / n.sum() else ""


def _most_often(own: Table) -> str:
    """Return which category an annotator gives most often where the others give which."""
    differs = (own["category"] != NO_BOX) & (own["others"] != NO_BOX)
    differs &= own["category"] != own["others"]
    rows = np.flatnonzero(differs)
    if not len(rows):
        return ""
    best = rows[np.argmax(own["n"][rows])]
    return f", most often {own['category'][best]} where they say {own['others'][best]}"


def _and(parts: list[str]) -> str:
    return " and ".join([part for part in (", ".join(parts[:-1]), parts[-1]) if part])
