"""Sentences about annotators who share boxes, or agree among themselves."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bboxqa.core.text import count, first_few, joined
from bboxqa.diagnostics.agreement_groups import (
    agreement_of_groups,
    all_share_boxes,
    confirmed_groups,
    independent,
)
from bboxqa.diagnostics.rates import asked_with_others
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.sentences.sentence import Sentence, most_named
from bboxqa.pipelines.diagnosis.sentences.significance import bounds

# Groups and members that a sentence names; more are counted.
_MOST_GROUPS, _MOST_MEMBERS = 2, 4


def copy_sentences(matched: MatchedUnits, tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield pairs of annotators who share boxes, and what is left out for that reason.

    If all annotators share boxes, a warning says so instead.
    """
    table = tables["copies"]
    if all_share_boxes(table, tables["annotators"]["annotator"].tolist()):
        return
    found = bounds(table, "identical_share")
    for place, more, see in most_named(np.flatnonzero(table["copied"]).tolist(), "copies"):
        first, second = table["annotator_1"][place], table["annotator_2"][place]
        yield Sentence(
            1.0,
            f"{first} and {second} share boxes: {found.percent(place)} of those that both drew are "
            f"identical{_left_out(matched, second)}{more}",
            annotators=(first, second),
            see=see,
        )


def _left_out(matched: MatchedUnits, name: str) -> str:
    """Return what the figures of annotators leave out because of shared boxes; "" for nothing."""
    place = matched.data.annotator_names.index(name)
    before, after = (asked_with_others(each) for each in (matched, independent(matched)))
    lost = before[:, place] & ~after[:, place]
    n_lost, n_asked = int(lost.sum()), int(before[:, place].sum())
    if not n_lost:
        return ""
    images = f"{n_lost:,} of {count(n_asked, 'image')}"
    if not after[lost].any():
        return (
            f"; {images} with half or more identical boxes are left out of the figures of "
            "annotators, as too few others are left there to judge them"
        )
    what = f"boxes of {name} in {images}, with half or more identical boxes,"
    if n_lost == n_asked:
        what = f"all boxes of {name}"
    return f"; {what} are left out of the figures of annotators, where they would count double"


def group_sentences(matched: MatchedUnits, tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield which annotators agree among themselves, and less with the others.

    Copies are no group: they have a sentence of their own.
    """
    group = confirmed_groups(matched)
    if not group.any() or tables["copies"]["copied"].any():
        return
    names = tables["annotators"]["annotator"]
    members = [names[group == each].tolist() for each in range(int(group.max()) + 1)]
    shown = " and ".join(f"group {n} ({_few(each)})" for n, each in enumerate(members, 1))
    see = "agreement_groups.csv" if len(members) > _MOST_GROUPS else ""
    if see:
        shown = f"{len(members)} groups of annotators (see {see})"
    figures = agreement_of_groups(matched)
    within, between = (f"{value:.2f} [{low:.2f}, {high:.2f}]" for value, low, high in figures)
    yield Sentence(
        float(figures[0, 0] - figures[1, 0]),
        f"{shown} agree among themselves, and less with each other: F1 of objects with their "
        f"category is {within} in the groups and {between} between them",
        see=see,
    )


def _few(names: Sequence[str]) -> str:
    return joined(names) if len(names) <= _MOST_MEMBERS else first_few(names, _MOST_MEMBERS)
