"""Sentences about rotated boxes: who turns, moves or sizes them unlike the others."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import joined
from bboxqa.diagnostics.offsets import ACROSS, MEASURES, RENAMED, TURNS
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences.about_places import (
    FURTHER_OFF,
    Explained,
    significant_offsets,
    size_in_words,
)
from bboxqa.pipelines.diagnosis.sentences.sentence import LEAST_SHARE, Sentence, most_named
from bboxqa.pipelines.diagnosis.sentences.significance import Bounds, above_others, bounds, judged

_ANGLE = MEASURES.index("angle")
# Smaller offsets, in px and degrees, are not worth a sentence.
_LEAST = 0.5
_DIRECTIONS = {
    "centre x": ("further left", "further right"),
    "centre y": ("further up", "further down"),
    "long side": ("shorter", "longer"),
    "short side": ("narrower", "wider"),
    "angle": ("counter-clockwise", "clockwise"),
}
_OF = {"long side": "long side", "short side": "short side"}
# Turning a box of medium length by 1 degree lowers the IoU by about so many percent.
_LOST = 2.0
# A box with sides 3:2, turned by 90 degrees about its centre, has an IoU of 1/2 with itself.
_LOST_ACROSS = 0.5


def rotated_sentences(
    offsets: Table, annotators: Table, reference: str | None = None
) -> Iterator[Sentence]:
    """Yield who turns, moves or sizes rotated boxes significantly unlike the others.

    Offsets are measured from the others, or from the reference of this name.
    """
    names, share = annotators["annotator"], annotators["n"] / max(int(annotators["n"].sum()), 1)
    lost = _lost(offsets, len(names))
    of_reference = reference is not None
    found = _displaced(annotators, offsets, of_reference=of_reference)
    one = reference
    if len(names) == 2 and not of_reference:
        # The offset of one of two annotators is that of the other in the opposite direction.
        one = names[1]
    file = "reference_offsets" if of_reference else "rotated_offsets"
    for words, measures in ((_turned, {_ANGLE}), (_moved, {*range(_ANGLE)})):
        places = [place for place in found if measures & {*found[place]}]
        places.sort(key=lambda place: -lost[place, sorted(measures)].max())
        for place, more, see in most_named(places, file):
            name = names[place]
            rows = [row for row in found[place] if row in measures]
            text = words(offsets, name, place, rows, one) + more
            weight = lost[place, rows].max() * share[place]
            yield Sentence(weight, text, annotators=(name,), see=see)


def rotation_explains(tables: Mapping[str, Table]) -> Explained:
    """Return how much of the dissimilarity the reported offsets and exchanged sides explain."""
    annotators, offsets = tables["annotators"], tables["rotated_offsets"]
    reported = np.isin(np.arange(len(annotators)), list(_displaced(annotators, offsets)))
    lost = np.where(reported, _lost(offsets, len(annotators)).sum(1), 0)
    across, share = _exchanging(tables, ACROSS)
    lost[across] += _LOST_ACROSS * share.value[across]
    nothing = f"no centre, side or angle {FURTHER_OFF}"
    return Explained(lost, "boxes", "overlap with matched boxes", nothing)


def _lost(offsets: Table, n_annotators: int) -> FloatArray:
    """Return the approximate share of the overlap that is lost by each offset, (A, 5)."""
    shape = n_annotators, len(MEASURES)
    lost: FloatArray = np.abs(offsets["offset_percent"].reshape(shape)) / 100
    angle = np.deg2rad(offsets["offset"].reshape(shape)[:, _ANGLE])
    lost[:, _ANGLE] = _LOST * np.abs(np.sin(angle))
    return lost


def _displaced(
    annotators: Table, offsets: Table, *, of_reference: bool = False
) -> dict[int, list[int]]:
    """Return the measures with a significant offset by annotator."""
    lost = _lost(offsets, len(annotators))
    found: dict[int, list[int]] = {}
    for measure in range(len(MEASURES)):
        rows = np.arange(measure, len(offsets), len(MEASURES))
        figures = Bounds(*(each[rows] for each in bounds(offsets, "offset")))
        for place in significant_offsets(annotators, figures, _LEAST, of_reference=of_reference):
            is_large = lost[place, measure] >= LEAST_SHARE
            if is_large and offsets["systematic"][rows[place]]:
                found.setdefault(place, []).append(measure)
    return found


def _turned(offsets: Table, name: str, place: int, measures: Sequence[int], one: str | None) -> str:
    (words,) = (_words(offsets, place, measure, "°") for measure in measures)
    return f"{name} turns boxes {words} from those of {'the others' if one is None else one}"


def _moved(offsets: Table, name: str, place: int, measures: Sequence[int], one: str | None) -> str:
    words = joined([_words(offsets, place, measure, " px") for measure in measures])
    return f"{name} draws boxes {words} than {'the others' if one is None else one}"


def _words(offsets: Table, place: int, measure: int, unit: str) -> str:
    row = place * len(MEASURES) + measure
    figures = [float(each[row]) for each in bounds(offsets, "offset")]
    name = MEASURES[measure]
    text = f"{size_in_words(figures, unit)} {_DIRECTIONS[name][int(figures[0] > 0)]}"
    if name in _OF:
        text += f" ({abs(offsets['offset_percent'][row]):.1f} % of the mean {_OF[name]})"
    return text


def exchange_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield who significantly exchanges width and height; of two, that one of them does."""
    names = tables["annotators"]["annotator"]
    for name in TURNS:
        places, found = _exchanging(tables, name)
        for place, more, see in most_named(places, "quarter_turns"):
            people = (names[0], names[1]) if len(names) == 2 else (names[place],)
            weight = float(found.value[place]) if name == ACROSS else 0.0
            text = _exchange_words(name, " or ".join(people), found.percent(place)) + more
            yield Sentence(weight, text, annotators=people, see=see)


def _exchanging(tables: Mapping[str, Table], kind: str) -> tuple[list[int], Bounds]:
    """Return who significantly exchanges sides in one way (of two, the first), and the shares."""
    annotators, turns = tables["annotators"], tables["quarter_turns"]
    rows = np.arange(TURNS.index(kind), len(turns), len(TURNS))
    found = judged(annotators, Bounds(*(each[rows] for each in bounds(turns, "share"))))
    # Exchanged sides do not depend on the image: each box is an independent case.
    above = above_others(found, annotators["n_images"], n_cases=turns["n"][rows])
    places = [0] if len(annotators) == 2 else above.tolist()
    return [place for place in places if found.low[place] >= LEAST_SHARE], found


def _exchange_words(name: str, who: str, share: str) -> str:
    if name == RENAMED:
        return (
            f"{who} calls the other side the width in {share} of the boxes that are not nearly "
            "square: the angle is a quarter turn off, the rectangle is the same, and agreement is "
            "not lowered; agree on which side is the width"
        )
    return (
        f"{who} draws {share} of the boxes that are not nearly square across those of the others, "
        "as if width and height were exchanged and the angle was not"
    )
