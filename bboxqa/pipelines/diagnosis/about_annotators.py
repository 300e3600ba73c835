"""Sentences about annotators: who misses, adds, misnames and misplaces objects."""

from collections.abc import Iterator, Mapping

import numpy as np

from bboxqa.diagnostics.annotators.category_use import NO_BOX
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences import (
    KINDS_OF_ERRORS,
    Sentence,
    above_others,
    bounds,
    is_first,
    judged,
    share_bounds,
)

# Smaller shares of objects are not worth a sentence.
_LEAST_SHARE = 0.01
# People that are named for one kind of error.
_NAMED = 3
# Standard errors that two counts must differ by.
_SIGN_TEST = 1.96


def worst_annotator(tables: Mapping[str, Table], alpha: float) -> Iterator[Sentence]:
    """Yield who matches the others least, and what alpha would be without, of three or more."""
    table = tables["annotators"]
    f1 = bounds(table, "f1")
    found = judged(table, f1.of_complement())
    for place in above_others(found, KINDS_OF_ERRORS)[:1].tolist():
        name, others = table["annotator"][place], np.delete(f1.value, place)
        how = "least" if is_first(found, place) else "less than most do"
        text = (
            f"{name} matches the others {how}: F1 {f1.value[place]:.2f} "
            f"[{f1.low[place]:.2f}, {f1.high[place]:.2f}], the median of the others is "
            f"{np.nanmedian(others):.2f}"
        )
        vital = bounds(table, "vitality")
        if vital.high[place] < 0:
            text += (
                f"; without {name}, alpha would be {alpha - vital.value[place]:.2f} and not "
                f"{alpha:.2f} ({-vital.high[place]:.2f} to {-vital.low[place]:.2f} higher)"
            )
        yield Sentence(1.0, text)


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
        for place in above_others(judged(table, found), KINDS_OF_ERRORS)[:_NAMED].tolist():
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
                text += f"objects that both drew{_most_often(own, len(names) - 1)}"
            text += f"; the median of the others is {others:.1f} %"
            yield Sentence(found.value[place] * share[place], text)


def two_annotators(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield what each of two annotators drew, and the other one did not."""
    table = tables["annotators"]
    found, names = judged(table, bounds(table, "miss_rate")), table["annotator"]
    if len(table) != 2 or not found.low.max() >= _LEAST_SHARE:
        return
    order = np.argsort(-found.value, kind="stable").tolist()
    parts = [
        f"{names[place]} did not draw {found.percent(place)} of what {names[1 - place]} drew"
        for place in order
    ]
    yield Sentence(float(found.value.mean()), ", and ".join(parts))


_SHAPES = (
    ("twice_rate", "{} draws {} of their objects twice"),
    ("split_rate", "{} splits objects: {} of those that they drew are drawn in parts"),
    (
        "merge_rate",
        "{} merges objects: {} of those that most others drew are in one box with another one",
    ),
)


def shape_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield who surely draws objects twice, splits or merges them more than the others."""
    table, annotators = tables["boxes_per_object"], tables["annotators"]
    share = annotators["n"] / max(int(annotators["n"].sum()), 1)
    for rate, words in _SHAPES:
        found = bounds(table, rate)
        for place in above_others(judged(annotators, found), KINDS_OF_ERRORS)[:_NAMED].tolist():
            if found.value[place] < _LEAST_SHARE:
                continue
            others = 100 * float(np.nanmedian(np.delete(found.value, place)))
            text = words.format(table["annotator"][place], found.percent(place))
            text += f"; the median of the others is {others:.1f} %"
            yield Sentence(found.value[place] * share[place], text)


def copy_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield which two annotators share boxes."""
    table = tables["copies"]
    found = bounds(table, "identical_share")
    for place in np.flatnonzero(table["copied"])[:_NAMED].tolist():
        first, second = table["annotator_1"][place], table["annotator_2"][place]
        yield Sentence(
            1.0,
            f"{first} and {second} share boxes: {found.percent(place)} of those that both drew are "
            f"identical; to judge annotators, those of {second} are left out there",
        )


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


def _most_often(own: Table, n_others: int) -> str:
    """Return which category an annotator gives where the others give which, the first one.

    "Most often" if it surely is more frequent than the next one, by a sign test.
    """
    differs = (own["category"] != NO_BOX) & (own["others"] != NO_BOX)
    differs &= own["category"] != own["others"]
    rows = np.flatnonzero(differs)
    if not len(rows):
        return ""
    # Several others saw one object: they do not count as so many objects.
    order = rows[np.argsort(-own["n"][rows], kind="stable")]
    first, second = (np.append(own["n"][order], 0)[:2] / n_others).tolist()
    sure = first - second > _SIGN_TEST * np.sqrt(first + second)
    how = "most often" if sure else "for example"
    best = order[0]
    return f", {how} {own['category'][best]} where they say {own['others'][best]}"
