"""Findings about places: who moves, sizes, turns or exchanges boxes, edges and joints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray
from bboxqa.core.text import joined
from bboxqa.diagnostics.offsets import ACROSS, MEASURES, RENAMED, TURNS
from bboxqa.diagnostics.review import in_words
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.sentences import Finding, Measure, between_others, in_percent
from bboxqa.pipelines.diagnosis.significance import (
    KINDS_OF_ERRORS,
    LEAST_IMAGES,
    LEAST_SHARE,
    Bounds,
    above_others,
    bounds,
    judged,
    median_of_others,
    most_named,
)

# Smaller offsets, in px and degrees, are not worth a sentence.
_LEAST_OFFSET = 0.5
# A smaller difference of the mean IoU is not worth a sentence.
_LEAST_DIFFERENCE = 0.03
# Two edges count as moved alike if their offsets differ by less than this factor.
_ALIKE = 0.5
_ANGLE = MEASURES.index("angle")
_DIRECTIONS = {
    "centre x": ("further left", "further right"),
    "centre y": ("further up", "further down"),
    "long side": ("shorter", "longer"),
    "short side": ("narrower", "wider"),
    "angle": ("counter-clockwise", "clockwise"),
}
_OF_SIDES = ("long side", "short side")
# Turning a box of medium length by 1 degree lowers the IoU by about so many percent.
_LOST = 2.0
# A box with sides 3:2, turned by 90 degrees about its centre, has an IoU of 1/2 with itself.
_LOST_ACROSS = 0.5
_MOST_JOINTS = 3
_JOINT_AXES = (("offset_x_px", ("left", "right")), ("offset_y_px", ("up", "down")))
_FURTHER_OFF = "is off in one direction by as much and significantly more than those of the others"


class _Axis(NamedTuple):
    """The two edges of boxes along one axis, and the words for them."""

    edges: tuple[int, int]
    names: tuple[str, str]
    directions: tuple[str, str]
    sizes: tuple[str, str]
    side: str


_AXES = (
    _Axis((0, 2), ("left", "right"), ("left", "right"), ("narrower", "wider"), "width"),
    _Axis((1, 3), ("top", "bottom"), ("up", "down"), ("shorter", "taller"), "height"),
)


class _Offsets(NamedTuple):
    """Offsets of A annotators, edge by edge."""

    px: FloatArray
    """(3, A, 4): values, lower and upper bounds."""
    percent: FloatArray
    """(A, 4)."""
    systematic: BoolArray
    """(A, 4)."""


class Explained(NamedTuple):
    """The share of dissimilarity that systematic offsets explain, and the words for it."""

    lost: FloatArray
    """(A,). How much the reported offsets lower the similarity of each annotator."""
    places: str
    what: str
    nothing: str


def offset_findings(
    table: Table, annotators: Table, reference: str | None = None
) -> Iterator[Finding]:
    """Yield who displaces boxes, or draws them larger or smaller, significantly more than others.

    Offsets are measured from the others, or from the reference of this name.
    """
    names, share = annotators["annotator"], annotators["n"] / max(int(annotators["n"].sum()), 1)
    found = _offsets(table, len(names))
    of_reference = reference is not None
    moved = _displaced_edges(annotators, found, of_reference=of_reference)
    two = len(names) == 2 and not of_reference
    # The offset of one of two annotators is that of the other in the opposite direction.
    places = [0] if two and 0 in moved else list(moved)
    file = "reference_offsets" if of_reference else "offsets"
    largest = np.abs(found.percent).max(1) / 100
    places.sort(key=lambda place: -largest[place])
    for place, n_more in most_named(places, largest * share):
        name = names[place]
        values = {
            "words": joined([_moved_edges(found, place, axis) for axis in moved[place]]),
            "other": names[1 - place] if two else reference or "the others",
        }
        yield Finding(
            "offset",
            (name,),
            weight=largest[place] * share[place],
            values=values,
            n_more=n_more,
            table=file,
            owner="" if n_more else name,
        )


def _displaced_edges(
    annotators: Table, found: _Offsets, *, of_reference: bool = False
) -> dict[int, list[_Axis]]:
    """Return the axes along which each annotator significantly moves or resizes boxes."""
    result: dict[int, list[_Axis]] = {}
    for axis in _AXES:
        edges = list(axis.edges)
        for place in _misplaced(annotators, found, axis, of_reference=of_reference):
            size = np.abs(found.percent[place, edges]).max()
            if size >= 100 * LEAST_SHARE and found.systematic[place, edges].any():
                result.setdefault(place, []).append(axis)
    return result


def _offsets(table: Table, n_annotators: int) -> _Offsets:
    shape = n_annotators, 4
    return _Offsets(
        np.stack(bounds(table, "offset_px")).reshape(3, *shape),
        table["offset_percent"].reshape(shape),
        table["systematic"].reshape(shape),
    )


def _misplaced(annotators: Table, found: _Offsets, axis: _Axis, *, of_reference: bool) -> list[int]:
    """Return who significantly moves, narrows or widens boxes; of two annotators, the first."""
    low, high = axis.edges
    value, lower, upper = found.px
    # Intervals of sums and differences of edges from the edges' bounds are wide enough.
    shift = Bounds(*((each[:, low] + each[:, high]) / 2 for each in (value, lower, upper)))
    size = Bounds(
        value[:, high] - value[:, low],
        lower[:, high] - upper[:, low],
        upper[:, high] - lower[:, low],
    )
    places: list[int] = []
    for figures in (shift, size):
        named = significant_offsets(annotators, figures, _LEAST_OFFSET, of_reference=of_reference)
        places += [place for place in named if place not in places]
    return places


def significant_offsets(
    annotators: Table, found: Bounds, least: float, *, of_reference: bool = False
) -> list[int]:
    """Return whose figure differs from 0 by `least` or more, significantly more than the others'.

    Of two annotators it is the first, as the other's offset is the opposite. Against a reference,
    it is each of one or two annotators whose interval excludes 0.
    """
    found = judged(annotators, found)
    sign = np.sign(found.value)
    ends = np.stack([sign * found.low, sign * found.high])
    size = Bounds(np.abs(found.value), ends.min(0), ends.max(0))
    if of_reference and len(size.value) <= 2:
        return np.flatnonzero(size.low >= least).tolist()
    if len(size.value) == 2:
        return [0] if size.low[0] >= least else []
    return [
        place
        for place in above_others(size, annotators["n_images"]).tolist()
        if size.low[place] >= least
    ]


def _moved_edges(found: _Offsets, place: int, axis: _Axis) -> str:
    """Return the moves of the two edges of an axis in words."""
    px = found.px[:, place, list(axis.edges)]
    percent = np.abs(found.percent[place, list(axis.edges)])
    low, high = px[0]
    sure = (np.sign(px[1]) == np.sign(px[2])) & (np.abs(px[0]) >= _LEAST_OFFSET)
    sides = f"% of the mean {axis.side}"
    alike = low * high > 0 and min(abs(low), abs(high)) >= _ALIKE * max(abs(low), abs(high))
    if alike:
        word = f"further {axis.directions[int(low > 0)]}"
        return f"{_edge_size(px.mean(1))} {word} ({percent.mean():.1f} {sides})"
    size = axis.sizes[int(high > low)]
    if low * high < 0 and sure.all():
        change = np.array([high - low, px[1, 1] - px[2, 0], px[2, 1] - px[1, 0]])
        return f"{_edge_size(change)} {size} ({percent.sum():.1f} {sides})"
    edge = int(abs(high) > abs(low))
    word = axis.directions[int(px[0, edge] > 0)]
    to = word if axis.side == "height" else f"to the {word}"
    moved = f"{axis.names[edge]} edge {_edge_size(px[:, edge])} {to}"
    return f"{size} ({moved}, {percent[edge]:.1f} {sides})"


def _edge_size(figures: FloatArray) -> str:
    return Measure(*figures.tolist()).size(" px")


def edges_explain(tables: Mapping[str, Table], compared: str) -> Explained:
    """Return how much of the dissimilarity the reported offsets of edges explain.

    Moving an edge by a share of the side lowers the IoU by about that share.
    """
    table = tables["annotators"]
    offsets = _offsets(tables["offsets"], len(table))
    reported = np.isin(np.arange(len(table)), list(_displaced_edges(table, offsets)))
    lost = np.where(reported, np.abs(offsets.percent).sum(1) / 100, 0)
    drawn = in_words(compared)
    edge = "no edge" if drawn == "boxes" else "no edge of their boxes"
    return Explained(lost, drawn, f"overlap with matched {drawn}", f"{edge} {_FURTHER_OFF}")


def precision_findings(
    tables: Mapping[str, Table],
    differences: Mapping[str, Bounds],
    pairs: Table,
    explained: Explained,
) -> Iterator[Finding]:
    """Yield whose annotations are significantly less similar, if no offset explains it."""
    table = tables["annotators"]
    names, share = table["annotator"], table["n"] / max(int(table["n"].sum()), 1)
    found, difference = bounds(table, "mean_similarity"), differences["mean_similarity"]
    places = above_others(found.of_complement(), table["n_images"], difference)
    is_large = difference.value >= _LEAST_DIFFERENCE
    large = is_large & (explained.lost < difference.value / 2)
    weight = difference.value * share
    for place, n_more in most_named(places[large[places]].tolist(), weight):
        name = names[place]
        values = {
            "places": explained.places,
            "what": explained.what,
            "others": between_others(pairs, name, "mean_iou", "{:.2f}".format),
            "nothing": explained.nothing,
        }
        yield Finding(
            "imprecise",
            (name,),
            found.at(place),
            weight[place],
            values,
            n_more,
            "annotators",
            owner="" if n_more else name,
        )


def rotated_findings(
    offsets: Table, annotators: Table, reference: str | None = None
) -> Iterator[Finding]:
    """Yield who turns, moves or sizes rotated boxes significantly unlike the others.

    Offsets are measured from the others, or from the reference of this name.
    """
    names, share = annotators["annotator"], annotators["n"] / max(int(annotators["n"].sum()), 1)
    lost, of_reference = _lost(offsets, len(names)), reference is not None
    found = _displaced(annotators, offsets, of_reference=of_reference)
    # The offset of one of two annotators is that of the other in the opposite direction.
    other = names[1] if len(names) == 2 and not of_reference else reference or "the others"
    file = "reference_offsets" if of_reference else "rotated_offsets"
    for kind, unit, measures in (("turned", "°", {_ANGLE}), ("offset", " px", {*range(_ANGLE)})):
        places = [place for place in found if measures & {*found[place]}]
        places.sort(key=lambda place: -lost[place, sorted(measures)].max())
        for place, n_more in most_named(places):
            rows = [row for row in found[place] if row in measures]
            words = joined([_words(offsets, place, row, unit) for row in rows])
            weight = lost[place, rows].max() * share[place]
            values = {"words": words, "other": other}
            yield Finding(
                kind, (names[place],), weight=weight, values=values, n_more=n_more, table=file
            )


def rotation_explains(tables: Mapping[str, Table]) -> Explained:
    """Return how much of the dissimilarity the reported offsets and exchanged sides explain."""
    annotators, offsets = tables["annotators"], tables["rotated_offsets"]
    reported = np.isin(np.arange(len(annotators)), list(_displaced(annotators, offsets)))
    lost = np.where(reported, _lost(offsets, len(annotators)).sum(1), 0)
    across, share = _exchanging(tables, ACROSS)
    lost[across] += _LOST_ACROSS * share.value[across]
    nothing = f"no centre, side or angle {_FURTHER_OFF}"
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
        figures = bounds(offsets, "offset").take(rows)
        displaced = significant_offsets(
            annotators, figures, _LEAST_OFFSET, of_reference=of_reference
        )
        for place in displaced:
            is_large = lost[place, measure] >= LEAST_SHARE
            if is_large and offsets["systematic"][rows[place]]:
                found.setdefault(place, []).append(measure)
    return found


def _words(offsets: Table, place: int, measure: int, unit: str) -> str:
    row = place * len(MEASURES) + measure
    figure, name = bounds(offsets, "offset").at(row), MEASURES[measure]
    text = f"{figure.size(unit)} {_DIRECTIONS[name][int(figure.value > 0)]}"
    if name in _OF_SIDES:
        text += f" ({abs(offsets['offset_percent'][row]):.1f} % of the mean {name})"
    return text


def exchange_findings(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield who significantly exchanges width and height; of two, that one of them does."""
    names = tables["annotators"]["annotator"]
    for name in TURNS:
        places, found = _exchanging(tables, name)
        for place, n_more in most_named(places):
            people = (names[0], names[1]) if len(names) == 2 else (names[place],)
            yield Finding(
                "renamed sides" if name == RENAMED else "exchanged sides",
                people,
                found.at(place),
                float(found.value[place]) if name == ACROSS else 0.0,
                {"who": " or ".join(people)},
                n_more,
                "quarter_turns",
            )


def _exchanging(tables: Mapping[str, Table], kind: str) -> tuple[list[int], Bounds]:
    """Return who significantly exchanges sides in one way (of two, the first), and the shares."""
    annotators, turns = tables["annotators"], tables["quarter_turns"]
    rows = np.arange(TURNS.index(kind), len(turns), len(TURNS))
    found = judged(annotators, bounds(turns, "share").take(rows))
    # Exchanged sides do not depend on the image: each box is an independent case.
    above = above_others(found, annotators["n_images"], n_cases=turns["n"][rows])
    places = [0] if len(annotators) == 2 else above.tolist()
    return [place for place in places if found.low[place] >= LEAST_SHARE], found


def joint_findings(tables: Mapping[str, Table]) -> Iterator[Finding]:
    """Yield significant errors of joints, with their annotators; nothing without key points."""
    if "joints" not in tables:
        return
    joints, people = tables["joints"], tables["joint_annotators"]
    n_people = len(people) // max(len(joints), 1)
    labels = _labels(joints)
    if n_people == 2:
        # Joints whose left and right one of two annotators exchanges; it is unknown who.
        found = bounds(joints, "swapped_share")
        rows = np.flatnonzero(found.low >= LEAST_SHARE)
        rows = rows[np.argsort(-found.value[rows], kind="stable")]
        if len(rows):
            n_known = int((~np.isnan(found.value)).sum())
            values = {"joints": _listed(rows.tolist(), labels, n_known)}
            size = found.at(int(rows[0]))
            yield Finding("swapped by one of two", (), size, size.value, values)
    else:
        yield from _erring(people, labels, "swapped_share")
    yield from _erring(people, labels, "missing_share")
    # Who places joints significantly apart from the others.
    n_joints = len(labels)
    sizes = people["offset_percent"]
    is_moved = people["systematic"] & (people["n_images"] >= LEAST_IMAGES)
    is_moved &= sizes >= 100 * LEAST_SHARE
    lowest = [_lower_bound(people, axis) for axis, _ in _JOINT_AXES]
    is_moved &= np.max(lowest, axis=0) >= _LEAST_OFFSET
    names = people["annotator"].astype(str)
    rows = np.flatnonzero(is_moved)
    # The offset of one of two annotators is that of the other in the opposite direction.
    by_name = {
        place: rows[rows // n_joints == place]
        for place in ([0] if n_people == 2 else range(n_people))
    }
    worst = {
        place: int(each[np.argmax(sizes[each])]) for place, each in by_name.items() if len(each)
    }
    for place, n_more in most_named(sorted(worst, key=lambda place: -sizes[worst[place]])):
        row, n_others = worst[place], len(by_name[place]) - 1
        also = f", and {n_others} more joint{'s' * (n_others > 1)} elsewhere" if n_others else ""
        values = {
            "joint": labels[row % n_joints],
            "words": joined([*_directions(people, row)]),
            "other": names[(1 - place) * n_joints] if n_people == 2 else "the others",
            "also": also,
        }
        yield Finding(
            "moved joint",
            (names[row],),
            weight=float(sizes[row]) / 100,
            values=values,
            n_more=n_more,
            table="joint_annotators",
        )


def _labels(joints: Table) -> list[str]:
    """Return the names of joints in sentences, with the category if there are several."""
    several = len(np.unique(joints["category"].astype(str))) > 1
    rows = zip(joints["joint"].astype(str), joints["category"].astype(str), strict=True)
    return [f"{joint} of {category}" if several else joint for joint, category in rows]


def _listed(rows: Sequence[int], labels: Sequence[str], n_known: int) -> str:
    """Return joints in words; `n_known` is the number of joints that were judged."""
    if len(rows) == n_known > _MOST_JOINTS:
        return f"all {n_known} joints that can be judged"
    names = [labels[row] for row in rows[:_MOST_JOINTS]]
    more = len(rows) - len(names)
    return joined([*names, f"{more} more"] if more else names)


def _erring(people: Table, labels: Sequence[str], column: str) -> Iterator[Finding]:
    """Yield who exchanges, or leaves out, significantly more joints than the others."""
    found, names, n_joints = bounds(people, column), people["annotator"].astype(str), len(labels)
    by_name: dict[int, list[int]] = {}
    for joint in range(n_joints):
        rows = np.arange(joint, len(people), n_joints)
        part = found.take(rows)
        # A joint counts as exchanged only if its likelihood ratio is above 100, so that rates above
        # 1 % are not due to chance.
        above = np.flatnonzero(part.low > median_of_others(part.value[:, None])[:, 0])
        if column != "swapped_share":
            n_kinds = KINDS_OF_ERRORS * n_joints
            above = above_others(part, people["n_images"][rows], None, n_kinds)
        for place in above.tolist():
            if part.low[place] >= LEAST_SHARE:
                by_name.setdefault(place, []).append(int(rows[place]))
    largest = {place: max(found.value[rows]) for place, rows in by_name.items()}
    for place, n_more in most_named(sorted(by_name, key=lambda place: -largest[place])):
        worst = sorted(by_name[place], key=lambda row: -found.value[row])
        first = worst[0]
        same = np.arange(first % n_joints, len(people), n_joints)
        rest = found.value[same[same != first]]
        who = "the other one" if len(rest) == 1 else "the others"
        n_known = int((~np.isnan(found.value[:n_joints])).sum())
        values = {
            "others": f" ({who}: {in_percent(float(np.nanmedian(rest)))})",
            "joints": _listed([row % n_joints for row in worst], labels, n_known),
        }
        size = found.at(first)
        yield Finding(column, (names[first],), size, size.value, values, n_more, "joint_annotators")


def _lower_bound(people: Table, column: str) -> FloatArray:
    """Return the lower bound of the size of an offset; 0 where its interval contains 0."""
    found = bounds(people, column)
    bound: FloatArray = np.nan_to_num(np.maximum(np.maximum(found.low, -found.high), 0))
    return bound


def _directions(people: Table, row: int) -> Iterator[str]:
    for column, words in _JOINT_AXES:
        if _lower_bound(people, column)[row] > 0:
            figure = bounds(people, column).at(row)
            low, high = sorted((abs(figure.low), abs(figure.high)))
            size = f"{abs(figure.value):.1f} px [{low:.1f}, {high:.1f}]"
            yield f"{size} further {words[int(figure.value > 0)]}"


def joints_explain(tables: Mapping[str, Table], sigmas: Sequence[Sequence[float]]) -> Explained:
    """Return how much joints that are systematically moved or left out lower the similarity."""
    people = tables["joint_annotators"]
    k = 2 * np.concatenate([np.asarray(each, np.float64) for each in sigmas])
    shape = -1, len(k)
    moved = np.where(people["systematic"], people["offset_percent"], 0).reshape(shape) / 100
    of_joints = 1 - np.exp(-(moved**2) / (2 * k**2))
    of_joints += np.nan_to_num(people["missing_share"].reshape(shape))
    n = people["n"].reshape(shape)
    lost = (np.nan_to_num(of_joints) * n).sum(1) / np.maximum(n.sum(1), 1)
    nothing = "no joint is significantly moved in one direction by as much"
    return Explained(lost, "key points", "similarity (OKS) to matched ones", nothing)
