"""P and R: polygons and masks: their notation, crossings, and fit with image and box."""

from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, distinct
from bboxqa.core.text import count
from bboxqa.formats.column_builder import are_of_cvat
from bboxqa.formats.columns import Form
from bboxqa.geometry.boxes import corners, from_corners
from bboxqa.geometry.polygons import n_crossings
from bboxqa.model.annotations import EDGES
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout, shapes
from bboxqa.rules.base import Checked, Rows, record_edit, rule, summary
from bboxqa.rules.document import Document

_FORMS = {
    Form.FLAT: "a flat list of numbers",
    Form.PAIRS: "a list of points",
    Form.NESTED: "lists of points",
    Form.TEXT: "text",
}
_AT = "annotations/segmentation"
_MAX_NUMBER = 1e15
# Rings that cross themselves more often are not split, as nobody could tell whether the parts are
# right.
_MOST_CROSSINGS = 30
# Up to so many outlines that differ from their boxes are reported one by one.
_FEW = 4


def _lengths(document: Document, _settings: ValidateSettings) -> Checked:
    """P001, P002 and P004: rings of fewer than 3 points, of odd length, and empty ones."""
    rings, n = document.annotations.rings, document.annotations.rings.n_numbers

    def says(ring: int) -> str:
        return f"polygon has {count(int(n[ring]), 'number')}" if n[ring] else "polygon is empty"

    def edits(ring: int) -> tuple[Edit, ...]:
        # A bad ring is removed beside others.
        row, place = int(rings.row[ring]), int(rings.place[ring])
        is_left = (n[shapes.ring_rows(document, row)] >= (6 if n[ring] else 1)).any()
        return record_edit("annotations", row, "segmentation", place) if is_left else ()

    inner = lambda ring: (int(rings.place[ring]),)  # noqa: E731
    for code, where, expected in (
        ("P001", (n > 0) & (n < 6), "at least 6 (3 points)"),
        ("P002", n % 2 == 1, "an even number, x and y of each point"),
        ("P004", n == 0, "at least 3 points"),
    ):
        found, fix = ((lambda ring: int(n[ring])), None) if code == "P002" else (None, edits)
        yield Rows(
            where, says, _AT, expected, found, edits=fix, owner=rings.row, inner=inner, code=code
        )


def _outline(record: dict[str, Any], *rings: list[int]) -> dict[str, Any]:
    """Return an example of one annotation with an outline."""
    return {"annotations": [{"segmentation": list(rings), **record}]}


_RING = [10, 10, 30, 10, 30, 40, 10, 40]
_OTHER = [40, 10, 60, 10, 60, 40, 40, 40]
_BOTH = {"bbox": [10, 10, 50, 30], "area": 1200}
_AT_EDGE = {"bbox": [85, 10, 15, 30], "area": 450}


@rule(
    "P003 error, safe fix: outline is not written as a list of rings",
    breaks="pycocotools stops with a TypeError, or with 'input type is not supported'.",
    explanation="""COCO writes [[x, y, x, y, …], …]: a list of rings, each a flat list of numbers.
        The fix writes the same points in this form, where there are at least 3.""",
    bad={"annotations": [{"segmentation": _RING}]},
    good=_outline({}, _RING),
)
def _other_form(document: Document, _settings: ValidateSettings) -> Checked:
    form = document.annotations.form

    def new(row: int) -> list[list[float]] | None:
        own, value = Form(form[row]), document.record(row)["segmentation"]
        if own == Form.TEXT:
            return None
        lists = value if own == Form.NESTED else [value]
        rings = lists if own == Form.FLAT else [[*chain.from_iterable(points)] for points in lists]
        are_sound = all(
            len(ring) >= 6 and len(ring) % 2 == 0 and all(abs(each) < _MAX_NUMBER for each in ring)
            for ring in rings
        )
        return rings if are_sound else None

    yield Rows(
        np.isin(form, tuple(_FORMS)), lambda row: f"segmentation is {_FORMS[Form(form[row])]}", _AT,
        "a list of rings [[x, y, x, y, …], …]", new=new, key="segmentation",
        total=int(document.outlined.sum()), few=1,
    )  # fmt: skip


@rule(
    "P005 warning, unsafe fix: polygon crosses or touches itself",
    breaks="shapely raises TopologicalError or GEOSException; area and IoU are wrong.",
    explanation="""The edges of a ring cross or touch each other, or its points lie on one line. The
        unsafe fix splits the ring, unless that needs a hole or it crosses itself more than 30
        times; edges without area are lost.""",
    bad=_outline({"area": 300}, [10, 10, 30, 40, 30, 10, 10, 40]),
    good=_outline({}, _RING),
    requires=("O004",),
)
def _crossing(document: Document, _settings: ValidateSettings) -> Checked:
    rings = document.annotations.rings
    states = document.once(shapes.ring_states).copy()
    states[rings.n_numbers % 2 == 1] = shapes.SOUND
    yield Rows(
        states == shapes.INVALID,
        lambda ring: f"polygon {shapes.invalid_reason(rings, ring)}",
        _AT, "a ring that does not cross or touch itself",
        lambda ring: shapes.invalid_reason(rings, ring),
        edits=lambda ring: _split_rings(document, int(rings.row[ring])),
        owner=rings.row, inner=lambda ring: (int(rings.place[ring]),),
    )  # fmt: skip
    unchecked = distinct(rings.row[states == shapes.UNCHECKED])
    what = f"{count(len(unchecked), 'outline')} not checked for crossings; expected fewer points"
    yield summary(what, _AT, unchecked, severity=Severity.INFO)


def _split_rings(document: Document, row: int) -> tuple[Edit, ...]:
    """Return the edit that makes all rings of an annotation valid."""
    import shapely

    rings, value = document.annotations.rings, document.record(row).get("segmentation", [])
    result: list[Any] = []
    for ring in shapes.ring_rows(document, row).tolist():
        if document.once(shapes.ring_states)[ring] != shapes.INVALID:
            result.append(value[rings.place[ring]])
            continue
        if n_crossings(shapes.ring_xy(rings, ring), _MOST_CROSSINGS) > _MOST_CROSSINGS:
            return ()
        whole = shapely.make_valid(shapes.ring_polygons(rings, np.array([ring]))[0])
        parts = shapely.get_parts(shapely.get_parts(whole))
        solid = [part for part in parts.tolist() if part.area > shapes.DUST]
        if not solid or any(part.interiors for part in solid):
            return ()
        rings_of = [np.asarray(part.exterior.coords)[:-1, :2].ravel().tolist() for part in solid]
        result += [[int(v) if v.is_integer() else v for v in numbers] for numbers in rings_of]
    return record_edit("annotations", row, "segmentation", value=result) if result else ()


def _fit(document: Document, settings: ValidateSettings) -> Checked:
    """P006 and P007: outlines beyond their images, and boxes that are not their bounds."""
    columns, bounds, size = document.annotations, document.outline_bounds, document.size
    facts, most = document.once(shapes.box_facts), settings.bounds_px
    beyond = layout.overshoot(from_corners(bounds), size)
    beyond[~document.has_rings | facts.in_swapped | ~np.any(beyond > 0, axis=1)] = np.nan
    far: BoolArray = np.any(beyond > settings.overshoot_px, axis=1)
    leaves = far.copy()
    leaves[document.once(shapes.rotations).cornered] = False

    def extends(row: int) -> str:
        far, of = shapes.beyond_text(beyond[row]), shapes.image_text(size[row])
        return f"outline extends {far} of {of}"

    expected, found = "an outline inside the image", lambda row: bounds[row].tolist()
    yield Rows(leaves, extends, _AT, expected, found, code="P006")
    edges = corners(columns.bbox)
    apart = reduce(np.maximum, np.abs(edges - bounds).T)
    compared = facts.plain & np.isfinite(apart)
    wrong = np.flatnonzero(compared & (apart > most))
    wrong = np.setdiff1d(wrong, document.once(shapes.row_major_masks, most))
    # Tools that clip the mask, as pycocotools does, write boxes of the visible part.
    cut = wrong[np.isfinite(beyond[wrong]).any(axis=1)]
    visible = np.abs(edges[cut] - shapes.visible_bounds(document, cut)).max(axis=1, initial=0)
    wrong = np.setdiff1d(wrong, cut[visible <= most])

    def new(row: int) -> list[int | float] | None:
        box = shapes.rounded_values(from_corners(bounds[[row]])[0])
        # An outline beyond the image has to be clipped first, as its bounds are no better.
        is_kept = facts.lie_elsewhere or far[row] or facts.doubtful[row]
        is_kept |= shapes.becomes_degenerate(columns.bbox[row].tolist(), box, settings)
        return None if is_kept else box

    def differs(row: int) -> str:
        edge = int(np.argmax(np.abs(edges[row] - bounds[row])))
        own, wanted = (f"{each[row, edge]:.6g}" for each in (edges, bounds))
        name = EDGES[edge]
        return f"{name} edge of bbox is at {own}; expected {wanted}, the {name} edge of its outline"

    severity, total = Severity.ERROR if facts.lie_elsewhere else None, int(compared.sum())
    yield Rows(
        wrong, differs, "annotations/bbox", new=new, severity=severity, total=total, few=_FEW,
        code="P007",
    )  # fmt: skip


@rule(
    "P010 warning: rings of an outline overlap, or lie inside another",
    breaks="pycocotools fills what others, such as fillPoly of OpenCV, leave out as a hole.",
    explanation="""Rings of one outline share more than `area_tolerance` of its area. COCO has no
        holes: pycocotools fills all rings, while the even-odd rule leaves out what two of them
        cover. Write an object with a hole as run lengths, and join other rings.""",
    bad=_outline(
        {"area": 1600}, [10, 10, 50, 10, 50, 50, 10, 50], [20, 20, 40, 20, 40, 40, 20, 40]
    ),
    good=_outline(_BOTH, _RING, _OTHER),
)
def _overlapping(document: Document, settings: ValidateSettings) -> Checked:
    rows, filled, shared = document.once(shapes.overlapping_rings)

    def says(place: int) -> str:
        filled_area, shared_area = (shapes.figure(each[place]) for each in (filled, shared))
        return f"rings overlap by {shared_area} px²; pycocotools fills them, {filled_area} px²"

    far, found = shared > settings.area_tolerance * filled + 1, filled.tolist().__getitem__
    yield Rows(far, says, _AT, "rings apart", found, owner=rows)


def _mask(*runs: int, height: int = 80, width: int = 100) -> dict[str, Any]:
    return {"segmentation": {"size": [height, width], "counts": list(runs)}}


_SOUND = _mask(810, 600, 6590)
_CROWD = {**_mask(810, 100, 7090), "iscrowd": 1, "area": 100}
_FIELDS: dict[str, Any] = {"bbox": [10, 10, 20, 30], "area": 600}
_COLUMNWISE = {**_mask(810, *[30, 50] * 19, 30, 5660), **_FIELDS}


def _masks(document: Document, _settings: ValidateSettings) -> Checked:
    """R001, R002 and R008: masks of another size, of wrong run lengths, or without pixels."""
    rles = document.annotations.rles
    image, wanted = document.size[rles.row][:, ::-1], rles.size.prod(axis=1)
    known = (rles.size > 0).all(axis=1) & ~np.isnan(image).any(axis=1)

    def other_size(mask: int) -> str:
        wanted = "[{:g}, {:g}], height and width of its image".format(*image[mask])
        return f"mask has size {rles.size[mask].tolist()}; expected {wanted}"

    def other_total(mask: int) -> str:
        total = f"run lengths add up to {rles.total[mask]:,}; expected {wanted[mask]:,}"
        return rles.problems[rles.problem[mask]] or total

    where = known & (rles.size != image).any(axis=1)
    yield Rows(where, other_size, f"{_AT}/size", owner=rles.row, code="R001")
    found = lambda mask: rles.problems[rles.problem[mask]] or int(rles.total[mask])  # noqa: E731
    where = (rles.problem > 0) | (rles.total != wanted)
    yield Rows(where, other_total, _AT, owner=rles.row, found=found, code="R002")
    rows, expected = rles.row[~where & (rles.area == 0)], "the pixels of the object"
    yield Rows(rows, "mask has no pixels", _AT, expected, lambda _row: 0, code="R008")


def _crowds(document: Document, _settings: ValidateSettings) -> Checked:
    """R003 and R004: crowds that are all masks, or polygons."""
    columns, at = document.annotations, "annotations/iscrowd"
    rows, are_crowds = columns.rles.row, columns.iscrowd == 1
    of_cvat = (are_of_cvat(document.record(row).get("attributes")) for row in rows.tolist())
    all_crowds = len(rows) > 1 and are_crowds.all()
    if are_crowds[rows].all() and (all_crowds or all(of_cvat)):
        what = f"iscrowd is 1 in {count(len(rows), 'mask')}, all of them; expected 0 for masks of "
        what += "single objects"
        edits = lambda row: record_edit("annotations", row, "iscrowd", value=0)  # noqa: E731
        yield summary(what, at, rows, edits=edits, code="R003")
    polygon = np.isin(columns.form, (Form.RINGS, Form.FLAT, Form.PAIRS, Form.NESTED))
    says, expected = "iscrowd is 1 for a polygon", "0, or run lengths of a crowd"
    yield Rows(are_crowds & polygon, says, at, expected, new=lambda _row: 0, code="R004")


@rule(
    "R007 error: masks are written row by row",
    breaks="Every program reads a wrong mask, with stripes across the image.",
    explanation="""Run lengths go down the columns of the image. Here they fit the boxes only if
        they go along the rows. Write the masks again, in numpy as
        `pycocotools.mask.encode(np.asfortranarray(mask))`.""",
    bad={"annotations": [{**_mask(1010, *[20, 80] * 29, 20, 4070), **_FIELDS}]},
    good={"annotations": [_COLUMNWISE]},
)
def _row_major(document: Document, settings: ValidateSettings) -> Checked:
    n = len(document.annotations.rles.row)
    rows = document.once(shapes.row_major_masks, settings.bounds_px)
    what = f"{len(rows):,} of {count(n, 'mask')} fit their boxes if their run lengths go row by "
    what += "row, and do not as they are; expected run lengths column by column"
    yield summary(what, f"{_AT}/counts", rows)


RULES = (
    rule(
        "P001 error, unsafe fix: polygon with fewer than 3 points",
        breaks="pycocotools stops or reads a box, and shapely raises ValueError.",
        explanation="""A ring has fewer than 3 points, so it has no area. The unsafe fix removes the
            ring if there are others.""",
        bad=_outline({}, _RING, [12, 12, 14, 14]),
        good=_outline({}, _RING, [12, 12, 14, 12, 14, 14]),
    )(_lengths),
    rule(
        "P002 error: polygon with an odd number of coordinates",
        breaks="pycocotools drops the last number, and reshape(-1, 2) stops with ValueError.",
        explanation="""A ring lists x and y of each point. Here a number is missing or superfluous,
            and the file does not show which. Export or draw the outline again.""",
        bad=_outline({}, [*_RING, 10]),
        good=_outline({}, [*_RING, 10, 25]),
    )(_lengths),
    rule(
        "P004 warning, safe fix: empty polygon in an outline",
        breaks="pycocotools stops with 'input type is not supported' if it is the first ring.",
        explanation="One of the rings is an empty list. The fix removes it if there are others.",
        bad=_outline({}, _RING, []),
        good={"annotations": [{"segmentation": []}]},
    )(_lengths),
    rule(
        "P006 warning: outline extends beyond its image",
        breaks="pycocotools clips the mask at the border, so `area` and bbox do not fit it.",
        explanation="""The outline extends beyond its image by more than `overshoot_px`. Move its
            points into the image, or correct the size of the image.""",
        bad=_outline(_AT_EDGE, [85, 10, 110, 10, 110, 40, 85, 40]),
        good=_outline(_AT_EDGE, [85, 10, 100, 10, 100, 40, 85, 40]),
        requires=("F004", "S015", "B002", "B014", "T003"),
    )(_fit),
    rule(
        "P007 warning, unsafe fix: box is not the bounds of its outline",
        breaks="A detector learns another object than a segmenter does.",
        explanation="""An edge of the box is more than `bounds_px` away from the same edge of the
            outline, and of its part inside the image. The unsafe fix writes the bounds of the
            outline; check first which is right. It is an error, without a fix, if most boxes have
            an IoU below 0.5 with the bounds, as boxes or outlines are then all in doubt.""",
        bad=_outline({"bbox": [10, 10, 20, 40], "area": 600}, _RING),
        good=_outline({"bbox": [10, 10, 21, 31], "area": 600}, _RING),
        requires=("F004", "S015", "B014", "R002"),
    )(_fit),
    rule(
        "R001 error: size of a mask differs from its image",
        breaks="""pycocotools gives masks of different sizes an IoU of -1: the object is never
            found.""",
        explanation="""The size of run lengths is not [height, width] of the image: they are
            swapped, or the mask is of a resized image. Create the mask again at the size of the
            image.""",
        bad={"annotations": [_mask(810, 600, 6590, height=100, width=80)]},
        good={"annotations": [_SOUND]},
        requires=("B014",),
    )(_masks),
    rule(
        "R002 error: run lengths do not fill the mask",
        breaks="pycocotools may silently compute area, box and IoU of a wrong mask.",
        explanation="""Run lengths do not add up to height times width, or are not in COCO's
            notation: they were cut off, changed, for example backslashes into slashes, or belong to
            a crop. Export the mask again.""",
        bad={"annotations": [_mask(810, 600, 6500)]},
        good={"annotations": [_SOUND]},
    )(_masks),
    rule(
        "R003 warning, unsafe fix: all masks are marked as crowds",
        breaks="COCOeval ignores crowds: without other objects, AP is -1.",
        explanation="""Every annotation has iscrowd 1, or every mask in an export of CVAT; but it
            means a region of many objects. `bboxqa agree` takes masks of CVAT as single objects.
            The unsafe fix writes 0.""",
        bad={"annotations": [_CROWD, {**_CROWD, "bbox": [40, 10, 20, 30]}]},
        good={"annotations": [_CROWD, {**_CROWD, "iscrowd": 0, "bbox": [40, 10, 20, 30]}]},
    )(_crowds),
    rule(
        "R004 warning, unsafe fix: polygon is marked as a crowd",
        breaks="COCOeval ignores the object, and most data loaders leave it out of training.",
        explanation="""A crowd is a region of many objects, and COCO writes it as run lengths. The
            unsafe fix writes 0.""",
        bad=_outline({"iscrowd": 1}, _RING),
        good={"annotations": [{**_SOUND, "iscrowd": 1}]},
    )(_crowds),
    rule(
        "R008 error: mask is empty",
        breaks="The object always counts as missed, and losses divided by the area become NaN.",
        explanation="""The run lengths of the mask contain no pixels of the object. Draw the mask
            again, or remove the annotation.""",
        bad={"annotations": [{**_mask(8000), **_FIELDS}]},
        good={"annotations": [_COLUMNWISE]},
    )(_masks),
)
