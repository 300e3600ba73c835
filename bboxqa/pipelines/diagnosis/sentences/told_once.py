"""One sentence for each cause: kinds of disagreement that one annotator has alone."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.model.diagnosis import NO_BOX, Line
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.sentence import Sentence, Worst

MOSTLY = 0.9
"""An annotator who has this share of the objects of a kind, and no others more than the rest, has
the kind alone."""


def explained(kind: Kind, name: str, more: str) -> tuple[Kind | None, str]:
    """Return the kind that a sentence explains and whose it is; nothing if `more` stand out."""
    return (None, "") if more else (kind, name)


def misses_only(own: Table, unused: Sequence[str]) -> bool:
    """Return whether nearly all that an annotator misses are categories that are never drawn."""
    missed = own.take(np.flatnonzero(own["category"] == NO_BOX))
    n = missed["n"]
    return bool(n.sum() and n[np.isin(missed["others"], unused)].sum() >= MOSTLY * n.sum())


def alone(tables: Mapping[str, Table]) -> dict[Kind, str]:
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


def once(found: Sequence[Sentence], tables: Mapping[str, Table]) -> list[Sentence]:
    """Return sentences without those that say what a confusion of the same annotator says."""
    people = alone(tables)
    confused = {
        each.who
        for each in found
        if _are_most_conflicts(each, tables) and people.get(Kind.CLASS_CONFLICT) == each.who
    }
    return [
        each
        for each in found
        if each.n_confused or each.kind != Kind.CLASS_CONFLICT or each.who not in confused
    ]


def _are_most_conflicts(confusion: Sentence, tables: Mapping[str, Table]) -> bool:
    """Return whether nearly all objects with several categories have the two that are confused."""
    table = tables["decomposition"]
    n = int(table["n_any"][table["kind"] == KINDS[Kind.CLASS_CONFLICT]].sum())
    return confusion.n_confused >= MOSTLY * n


def told_alone(found: Sequence[Sentence], tables: Mapping[str, Table]) -> dict[Kind, Sentence]:
    """Return the sentence on each kind that one annotator has alone, where there is just one.

    The gain of all class conflicts is not that of a confusion of two categories among others.
    """
    told = {}
    for kind, who in alone(tables).items():
        own = [each for each in found if (each.kind, each.who) == (kind, who)]
        if len(own) == 1 and (not own[0].n_confused or _are_most_conflicts(own[0], tables)):
            told[kind] = own[0]
    return told


def worst_once(
    worst: Sequence[Worst], found: Sequence[Sentence], told: Collection[Sentence]
) -> tuple[list[Line], list[Sentence]]:
    """Return who matches the others least, and the other sentences.

    If there is one sentence about this annotator, and it says why, it takes the place of the first:
    with what alpha would be without the annotator, or, if it is `told` with its gain, as it is.
    """
    lines: list[Line] = []
    others = [*found]
    for each in worst:
        causes = [cause for cause in others if cause.who == each.who]
        # F1 does not depend on categories.
        if len(causes) != 1 or causes[0].kind == Kind.CLASS_CONFLICT:
            lines.append(Line(each.text + each.without, (each.who,)))
        elif causes[0] not in told:
            lines.append(causes[0].line._replace(text=causes[0].text + each.without))
            others.remove(causes[0])
    return lines, others


def middle_sentences(
    found: Sequence[Sentence],
    told: Mapping[Kind, Sentence],
    lead: Mapping[Kind, Line],
    kinds: Mapping[Kind, Line],
) -> list[Line]:
    """Return the sentences on annotators and categories, then those on kinds.

    Sentences in `told` are left out if they stand in `lead`, and have their gain if it is known.
    """
    gains = {**lead, **kinds}
    with_gain = {each: gains[kind] for kind, each in told.items() if kind in gains}
    lines = [with_gain.get(each, each.line) for each in found]
    middle = [line for line in lines if line not in lead.values()]
    return [*middle, *(line for line in kinds.values() if line not in middle)]
