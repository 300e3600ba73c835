"""O: rotated boxes beyond their images, and upright boxes among them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_defect, with_span
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, part_hits
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure, size_text
from bboxqa.rules.facts.oriented_boxes import is_upright, oriented_boxes

# Annotators with fewer boxes cannot be judged.
_FEW = 10
_TURNED, _LESS = 0.3, 0.25
# The least share of upright boxes to report, and how much rarer nearly upright boxes have to be.
_LEAST, _MOST = 0.02, 0.5
_RARER, _NEAR = 3, 5.0


def _beyond(document: Document, settings: ValidateSettings) -> Iterator[Hits]:
    """O006: rotated boxes whose corners lie beyond their images."""
    boxes, rotations = document.once(oriented_boxes), document.annotations.rotations
    if not len(boxes):
        return
    corners = boxes.corners.copy()
    # Whether the first numbers are the centre or a corner is unknown, but both are in the image.
    five = rotations.row[rotations.n_numbers == 5]
    at = np.flatnonzero(np.isin(boxes.row, five) & np.isnan(corners[:, 0, 0]))
    corners[at] = rotations.values[np.searchsorted(rotations.row, boxes.row[at])][:, None, :2]
    size = document.size[boxes.row][:, None]
    off = np.maximum(-corners, corners - size).max(axis=2)
    centre = corners.mean(axis=1, keepdims=True)
    is_out = np.maximum(-centre, centre - size).max(axis=(1, 2)) > 0
    farthest = off.max(axis=1)
    beyond = farthest > settings.overshoot_px

    def describe(which: int) -> Defect:
        row = int(boxes.row[which])
        of_image = f"its image{size_text(document.size[row])}"
        found = f"a corner lies {figure(farthest[which])} px beyond {of_image}"
        if is_out[which]:
            found = f"the centre of the rotated box lies beyond {of_image}"
        return record_defect(
            document,
            ("annotations", row, "bbox"),
            f"{found}; expected it inside",
            found=corners[which].ravel().tolist(),
            expected="corners inside of the image",
        )

    text = "corners lie {span} px beyond their images in {share}; expected them inside"
    for where, severity in ((beyond & is_out, Severity.WARNING), (beyond & ~is_out, None)):
        summary = with_span(text, farthest.__getitem__)
        for found in part_hits(boxes.row, where, describe, key="bbox", summary=summary):
            yield replace(found, severity=severity)


def _kinds(document: Document) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the rows of upright and of rotated boxes, and the angles of the rotated boxes."""
    boxes = document.once(oriented_boxes)
    has_corners = np.isfinite(boxes.corners[:, 0, 0])
    upright = np.zeros(len(boxes), np.bool_)
    upright[has_corners] = is_upright(boxes.corners[has_corners])
    angle = boxes.angle.copy()
    steps = boxes.corners[has_corners][:, 1] - boxes.corners[has_corners][:, 0]
    angle[has_corners] = np.degrees(np.arctan2(steps[:, 1], steps[:, 0]))
    upright |= ~has_corners & (angle % 90 == 0)
    plain = document.has_box.copy()
    plain[boxes.row] = False
    plain[document.annotations.rings.row] = False
    plain[document.annotations.rles.row] = False
    plain[document.annotations.keypoints.row] = False
    all_upright = np.union1d(np.flatnonzero(plain), boxes.row[upright])
    return all_upright, boxes.row[~upright], angle[~upright] % 90


def _upright(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """O007: annotators who do not rotate boxes, or upright boxes by unknown annotators."""
    if len(document.once(oriented_boxes)) < _FEW:
        return
    upright, turned, angle = _kinds(document)
    if len(turned) < _FEW or not len(upright):
        return
    authors = document.once(authorship)
    of_upright, of_turned = (
        np.bincount(authors.author[rows] + 1, minlength=len(authors.names) + 1)
        for rows in (upright, turned)
    )
    defects = [
        _of_annotator(authors.names[number - 1], upright[authors.author[upright] == number - 1],
                      of_upright, of_turned, number)
        for number in np.flatnonzero(_lazy(of_upright, of_turned)).tolist() if number
    ]  # fmt: skip
    if defects:
        yield from described_hits(defects, Severity.WARNING)
        return
    share = len(upright) / (len(upright) + len(turned))
    n_near = int((np.minimum(angle, 90 - angle) < _NEAR).sum())
    if _LEAST <= share <= _MOST and len(upright) > _RARER * n_near:
        yield from described_hits([_of_all(upright, turned, n_near)])


def _lazy(upright: IndexArray, turned: IndexArray) -> BoolArray:
    """Return the annotators who rotate boxes far less often than the others together."""
    n, n_turned = upright + turned, turned
    others, others_turned = n.sum() - n, n_turned.sum() - n_turned
    share = np.divide(n_turned, n, out=np.zeros(len(n)), where=n > 0)
    of_others = np.divide(others_turned, others, out=np.zeros(len(n)), where=others > 0)
    known = (n >= _FEW) & (others >= _FEW)
    found: BoolArray = known & (of_others >= _TURNED) & (share <= _LESS * of_others)
    return found


def _of_annotator(
    name: str, rows: IndexArray, of_upright: IndexArray, of_turned: IndexArray, number: int
) -> Defect:
    n = of_upright + of_turned
    others, others_turned = (int(each.sum() - each[number]) for each in (n, of_turned))
    return summary_defect(
        f"{name} turned {of_turned[number]:,} of {n[number]:,} boxes, the others "
        f"{others_turned:,} of {others:,}; expected boxes that are turned as the objects are",
        "annotations",
        rows,
        "bbox",
        expected="boxes that are turned as the objects are",
    )


def _of_all(upright: IndexArray, turned: IndexArray, n_near: int) -> Defect:
    n = len(upright) + len(turned)
    return summary_defect(
        f"{len(upright):,} of {n:,} boxes are exactly upright, and {n_near:,} nearly "
        "so; expected boxes that are turned as the objects are",
        "annotations",
        upright,
        "bbox",
        expected="boxes that are turned as the objects are",
    )


def _rotated(*angles: float) -> dict[str, Any]:
    """Return an example of boxes by two annotators, the first with these angles."""

    def box(place: int, who: str, angle: float) -> dict[str, Any]:
        more = {"attributes": {"rotation": angle}} if angle else {}
        return {"bbox": [10 + place, 10, 30, 20], "annotator": who, **more}

    return {
        "annotations": [
            *(box(place, "ann", 7.0 * place + 20) for place in range(12)),
            *(box(place + 12, "bob", angle) for place, angle in enumerate(angles)),
        ]
    }


_RING = [85, 30, 105, 40, 100, 50, 80, 40]
_INSIDE = [75, 30, 95, 40, 90, 50, 70, 40]


def _corners(ring: list[int]) -> dict[str, Any]:
    box = [min(ring[::2]), 30, 25, 20]
    return {"annotations": [{"segmentation": [ring], "bbox": box, "area": 250}]}


RULES = (
    Rule(
        code="O006",
        title="rotated box extends beyond its image",
        severity=Severity.INFO,
        breaks="""YOLO's trainers skip images with such labels; others clip the corners, after which
            the box is not a rectangle.""",
        explanation="""A corner lies beyond its image by more than `overshoot_px`. Rotated boxes of
            objects at an edge of the image often do, so it is only a warning if the centre lies
            beyond the image as well. Then the box belongs to another image, or the size of the
            image is wrong. Rules about upright boxes and outlines beyond their images do not check
            rotated boxes.""",
        bad=_corners(_RING),
        good=_corners(_INSIDE),
        check=_beyond,
        requires=("F004", "S015", "B002", "B014", "T003"),
    ),
    Rule(
        code="O007",
        title="upright boxes among rotated boxes",
        severity=Severity.INFO,
        scope="data set",
        breaks="""An upright box around a rotated object contains much more than the object: it
            hardly overlaps the boxes of other annotators, and a model learns two shapes for the
            same object.""",
        explanation="""Most boxes of the file are rotated, and some are exactly upright while hardly
            any are nearly upright, so objects were boxed without rotating the box. It is a warning
            if annotators are known and one of them rotates boxes less than a quarter as often as
            the others. Ask this annotator to rotate boxes, or the others not to.""",
        bad=_rotated(*([0.0] * 12)),
        good=_rotated(*(6.5 * place + 20 for place in range(12))),
        check=_upright,
    ),
)
