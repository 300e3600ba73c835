"""Findings about places: who moves, resizes or turns boxes, or places them and joints elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.core.text import first_few, joined
from bboxqa.diagnostics.decomposition import Kind
from bboxqa.diagnostics.object_cells import holm
from bboxqa.diagnostics.offsets import ALARM, LEAST_OTHERS, MEASURES, in_halves
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.findings import (
    KINDS_OF_ERRORS,
    LEAST_IMAGES,
    LEAST_SHARE,
    Bounds,
    Diagnosed,
    Finding,
    Measure,
    above_others,
    bounds,
    in_percent,
    judged,
    largest,
    median_of_others,
    of_others,
    shape_word,
)

# Smaller offsets, in px and degrees, are not worth a sentence.
_LEAST_OFFSET = 0.5
# A smaller difference of the mean IoU is not worth a sentence.
_LEAST_DIFFERENCE = 0.03
# Two edges count as moved alike if their offsets differ by less than this factor.
_ALIKE = 0.5
_DIRECTIONS = {
    "centre x": ("further left", "further right"),
    "centre y": ("further up", "further down"),
    "long side": ("shorter", "longer"),
    "short side": ("narrower", "wider"),
    "angle": ("further counter-clockwise", "further clockwise"),
}
# Turning a box of medium length by 1 degree lowers the IoU by about so many percent.
_LOST = 2.0
_MOST_JOINTS = 3
# By axis: the names of its two edges, and the words for boxes whose figures are below and above 0.
_AXES = (
    (("left", "right"), ("left", "right"), ("narrower", "wider")),
    (("top", "bottom"), ("up", "down"), ("shorter", "taller")),
)


class Displacement(NamedTuple):
    """Where A annotators place boxes along one measure, from the others or from a reference."""

    tested: tuple[Bounds, ...]
    """The figures of which one has to be significant."""
    largest: FloatArray
    lost: FloatArray
    """(A,). The largest share of the size, and about the share of the overlap that is lost."""
    significant: BoolArray
    words: list[str]
    """The words for the offset of each annotator."""


def displacements(table: Table, n_annotators: int) -> list[Displacement]:
    """Return the offsets of edges, by axis, or of rotated boxes, by measure."""
    significant = (holm(table["p_value"]) < ALARM).reshape(n_annotators, -1)
    percent = np.abs(table["offset_percent"]).reshape(n_annotators, -1) / 100
    is_rotated = "measure" in table.columns
    offsets = np.stack(bounds(table, "offset" if is_rotated else "offset_px"))
    offsets = offsets.reshape(3, n_annotators, -1)
    found = []
    for number, name in enumerate(MEASURES) if is_rotated else ():
        figures, lost = Bounds(*offsets[..., number]), percent[:, number]
        if name == "angle":
            lost = _LOST * np.abs(np.sin(np.deg2rad(figures.value)))
        unit, ways = "°" if name == "angle" else " px", _DIRECTIONS[name]
        words = [
            f"{format(figures.at(place), unit)} {ways[int(value > 0)]}"
            for place, value in enumerate(figures.value.tolist())
        ]
        found.append(Displacement((figures,), lost, lost, significant[:, number], words))
    for axis, names in enumerate(() if is_rotated else _AXES):
        px, of_axis = offsets[:, :, axis::2], slice(axis, None, 2)
        near, far = px[..., 0], px[..., 1]
        # Intervals of sums and differences of edges from the edges' bounds are wide enough.
        shift = Bounds(*(near + far) / 2)
        size = Bounds(far[0] - near[0], far[1] - near[2], far[2] - near[1])
        words = [_edge_words(px[:, place], shift.at(place), size.at(place), names)
                 for place in range(n_annotators)]  # fmt: skip
        share, moved = percent[:, of_axis], np.asarray(significant[:, of_axis].any(1))
        found.append(Displacement((shift, size), share.max(1), share.sum(1), moved, words))
    return found


def _edge_words(
    px: FloatArray, shift: Measure, size: Measure, names: Sequence[tuple[str, str]]
) -> str:
    """Return how the two edges of an axis, with their bounds (3, 2), are moved."""
    (low, high), (edges, directions, sizes) = px[0], names
    if low * high > 0 and min(abs(low), abs(high)) >= _ALIKE * max(abs(low), abs(high)):
        return f"{shift: px} further {directions[int(low > 0)]}"
    wider, is_sure = sizes[int(high > low)], (np.sign(px[1]) == np.sign(px[2])).all()
    if low * high < 0 and is_sure and min(abs(low), abs(high)) >= _LEAST_OFFSET:
        return f"{size: px} {wider}"
    edge = int(abs(high) > abs(low))
    moved = Measure(*px[:, edge].tolist())
    return f"{wider} ({edges[edge]} edge {moved: px} {directions[moved.value > 0]})"


def displaced(
    annotators: Table, measures: Sequence[Displacement], *, of_reference: bool = False
) -> dict[tuple[int, ...], list[Displacement]]:
    """Return what an annotator, or half of them, significantly move, turn or resize."""
    found: dict[tuple[int, ...], list[Displacement]] = {}
    for each in measures:
        named = {
            group: None
            for figures in each.tested
            for group in _significant(annotators, each, figures, of_reference=of_reference)
        }
        for group in named:
            found.setdefault(group, []).append(each)
    return found


def _significant(
    annotators: Table, measure: Displacement, found: Bounds, *, of_reference: bool
) -> list[tuple[int, ...]]:
    """Return whose figure differs from 0 enough, significantly more than the others'."""
    found = judged(annotators, found)
    sign = np.sign(found.value)
    size = found.times(sign)
    large = size.low >= _LEAST_OFFSET
    large &= measure.significant & (measure.largest >= LEAST_SHARE)
    places = np.flatnonzero(large)
    known = annotators["n_images"] > 0
    if not of_reference and in_halves((sign * large)[known][:, None])[0]:
        # Half err one way and half the other way: those with the higher figures, or the first of
        # two, whose offset is the opposite of the other's.
        places = places[sign[places] > 0] if len(size.value) > 2 else places[:1]
        return [tuple(places.tolist())]
    if len(size.value) > 2:
        places = np.array(above_others(size, annotators["n_images"]))
        places = places[large[places]]
    elif not of_reference:
        places = places[places == 0]
    return [(place,) for place in places.tolist()]


def offset_findings(
    annotators: Table,
    offsets: Table,
    name: str,
    n_apart: IndexArray | None = None,
    *,
    reference: str = "",
    threshold: str = "",
) -> Iterator[Finding]:
    """Yield who displaces, turns or resizes boxes significantly more than others, by a table.

    Offsets are measured from the others, or from the reference of this name. With one or two
    others, or if half of the annotators differ from half, it is unknown who is right. `n_apart` is
    how many boxes of each do not match for their place at the `threshold`.
    """
    names = [str(each) for each in annotators["annotator"]]
    asked = np.flatnonzero(annotators["n_images"] > 0).tolist()
    share = annotators["n"] / max(int(annotators["n"].max()), 1)
    found, measures = [], displacements(offsets, len(annotators))
    for group, own in displaced(annotators, measures, of_reference=bool(reference)).items():
        who, members = [names[place] for place in group], [*group]
        rest = [names[place] for place in asked if place not in group]
        weight, cost = max(float(each.largest[group[0]]) for each in own), ""
        if n_apart is not None:
            apart = float(n_apart[members].sum() / max(int(annotators["n"][members].sum()), 1))
            is_harmless = apart < LEAST_SHARE
            cost = f"; harmless at {threshold}"
            if not is_harmless:
                cost = f"; {in_percent(apart)} match no other"
            weight = 0 if is_harmless else max(weight, apart)
        values = {
            "words": joined([each.words[group[0]] for each in own]),
            "other": reference or "the others",
            "cost": cost,
        }
        kind = "offset"
        if not reference and (len(rest) < LEAST_OTHERS or len(group) > 1):
            kind = "either offset"
            values |= {"draw": "draw" if len(group) > 1 else "draws", "other": joined(rest)}
            values["who"] = joined(who)
        found.append(
            Finding(
                kind,
                tuple(who) if len(group) == 1 else (),
                weight=weight * float(share[members].mean()),
                values=values,
                cause=None if reference else Kind.BADLY_PLACED,
                table=name,
            )
        )
    yield from largest(found)


def precision_findings(of: Diagnosed, differences: Mapping[str, Bounds]) -> Iterator[Finding]:
    """Yield whose annotations are significantly less similar, if no offset explains it."""
    table = of.tables["annotators"]
    names, found = table["annotator"], bounds(table, "mean_similarity")
    difference = differences["mean_similarity"]
    places = above_others(found.of_complement(), table["n_images"], difference)
    large = (difference.value >= _LEAST_DIFFERENCE) & (_explained(of) < difference.value / 2)
    told = []
    for place in places[large[places]].tolist():
        name, weight = str(names[place]), float(difference.value[place] * of.share[place])
        pairs = of.of_pairs(name, "mean_iou")
        others = of_others(pairs, found.value[place], "{:.2f}".format, "the others with each other")
        what = "similarity (OKS)" if of.matched.compared == "keypoints" else "overlap"
        values = {"places": shape_word(of.matched.compared), "what": what, "others": others}
        told.append(
            Finding("imprecise", (name,), found.at(place), weight, values, table="annotators")
        )
    yield from largest(told)


def _explained(of: Diagnosed) -> FloatArray:
    """Return how much the reported offsets lower the similarity of each annotator, (A,)."""
    table, tables = of.tables["annotators"], of.tables
    if of.matched.compared == "keypoints":
        # Joints that are moved systematically, or left out, explain all.
        people = tables["joint_annotators"]
        errs = people["systematic"] | (people["missing_share_low"] >= LEAST_SHARE)
        return np.where(errs.reshape(len(table), -1).any(1), np.inf, 0.0)
    measures = displacements(tables[offset_table(tables)], len(table))
    groups = displaced(table, measures)
    reported = np.isin(np.arange(len(table)), [place for group in groups for place in group])
    return np.where(reported, sum(each.lost for each in measures), 0.0)


def offset_table(tables: Mapping[str, Table]) -> str:
    """Return the name of the table of offsets; "" without."""
    return next((name for name in ("rotated_offsets", "offsets") if name in tables), "")


def joint_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield who exchanges, leaves out or moves joints significantly more than the others."""
    if "joints" not in of.tables:
        return
    people = of.tables["joint_annotators"]
    labels: list[str] = of.tables["joints"]["joint"].astype(str).tolist()
    shape = (-1, len(labels))
    n_images = people["n_images"].reshape(shape)
    # The offset of one of two annotators is that of the other in the opposite direction.
    moved = people["systematic"] & (people["n_images"] >= LEAST_IMAGES)
    moved &= (people["offset_percent"] >= 1) & (len(of.names) > 2)
    none = np.zeros(len(people))
    moved_share = Bounds(people["offset_percent"] / 100, np.where(moved, 1.0, none), none)
    for kind, found in (
        ("swapped_share", bounds(people, "swapped_share")),
        ("missing_share", bounds(people, "missing_share")),
        ("systematic", moved_share),
    ):
        figures = Bounds(*(each.reshape(shape) for each in found))
        above = figures.low >= LEAST_SHARE
        if kind == "swapped_share":
            # Joints count as exchanged only if that is 100 times as likely: no test is needed.
            above &= figures.low > median_of_others(figures.value)
        for joint in range(len(labels) if kind == "missing_share" else 0):
            part, n_kinds = Bounds(*(each[:, joint] for each in figures)), KINDS_OF_ERRORS
            named = above_others(part, n_images[:, joint], None, n_kinds * len(labels))
            above[:, joint] &= np.isin(np.arange(len(above)), named)
        told = []
        for who in np.flatnonzero(above.any(1)).tolist():
            order = np.argsort(-np.where(above[who], figures.value[who], -1), kind="stable")
            own = [labels[each] for each in order[: above[who].sum()]]
            size = Measure(*(float(each[who, order[0]]) for each in figures))
            values = {"joints": first_few(own, _MOST_JOINTS)}
            told.append(
                Finding(
                    kind, (of.names[who],), size, size.value, values, table="joint_annotators"
                )
            )  # fmt: skip
        yield from largest(told)
