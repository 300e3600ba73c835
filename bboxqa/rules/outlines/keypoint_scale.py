"""K: keypoints in another scale than the boxes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Hits, Rule, described_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.outlines.keypoint_places import beyond_box, swapped_points

_SCALES = (2, 1 / 2, 3, 1 / 3, 4, 1 / 4, 8, 1 / 8)
_FEW, _FEW_IN_PART, _MOST_OFF, _NEARLY_ALL = 3, 5, 0.5, 0.8
# How far points of valid files lie outside their boxes, in longer sides.
_NEAR = 0.1


class _Scale(NamedTuple):
    """The lists of keypoints that do not fit their boxes, and the scaling that makes them fit."""

    found: IndexArray
    is_most: bool
    n_compared: int
    n_fit: int
    words: str


def _scale(document: Document) -> _Scale | None:
    """Return the scaling that makes nearly all keypoints fit; None without one.

    If most fit as they are, it is that of the others.
    """
    points = document.annotations.keypoints
    beyond = beyond_box(document, points.bounds)
    known = np.isfinite(beyond).all(axis=1)
    n_known, off = int(known.sum()), np.any(beyond > _NEAR, axis=1)
    is_most = bool(off.sum() >= _MOST_OFF * n_known)
    if off.sum() < (_FEW if is_most else _FEW_IN_PART) or document.once(swapped_points).any():
        return None
    compared = known if is_most else off
    size = np.tile(document.size[points.row], 2)
    factors: list[tuple[str, float | FloatArray]] = [
        (f"multiplied by {scale:g}", scale) if scale > 1 else (f"divided by {1 / scale:g}", scale)
        for scale in _SCALES
    ]
    if (points.bounds[compared] <= 1).all(axis=1).sum() >= _NEARLY_ALL * compared.sum():
        factors = [("multiplied by the width and height of their images", size)]
    fits = [
        (beyond_box(document, points.bounds * factor) <= _NEAR).all(axis=1) & compared
        for _, factor in factors
    ]
    best = int(np.argmax([each.sum() for each in fits]))
    n_fit = int(fits[best].sum())
    if n_fit < _NEARLY_ALL * compared.sum():
        return None
    found = np.flatnonzero(off if is_most else fits[best])
    return _Scale(found, is_most, n_known, n_fit, factors[best][0])


def _in_other_scale(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """K007: keypoints that fit their boxes only in another scale."""
    scale = _scale(document)
    if scale is None:
        return
    rows = document.annotations.keypoints.row[scale.found]
    lists = count(scale.n_compared, "list")
    inside = f"but {scale.n_fit:,} lie inside" if scale.is_most else "and inside"
    found = summary_defect(
        f"{len(rows):,} of {lists} of keypoints lie outside of their boxes, {inside} if "
        f"{scale.words}; expected pixels of the image, as the boxes have",
        "annotations",
        rows,
        "keypoints",
        expected="pixels of the image",
    )
    for each in described_hits([found]):
        yield replace(each, concerned=None if scale.is_most else rows)


def _example(scale: float) -> dict[str, object]:
    """Return an example of objects with scaled keypoints."""
    return {
        "categories": [{"keypoints": ["nose", "tail"]}],
        "annotations": [
            {
                "keypoints": [scale * x, scale * 52, 2, scale * (x + 4), scale * 60, 2],
                "num_keypoints": 2,
                "bbox": [x - 2, 50, 20, 20],
            }
            for x in (42, 50, 60)
        ],
    }


RULES = (
    Rule(
        code="K007",
        title="keypoints in another scale than the boxes",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""The points are not at their objects: a model learns noise, and OKS is near 0.""",
        explanation="""At least 5 lists of keypoints, or most, lie outside their boxes, and nearly
            all of them lie inside if they are multiplied or divided by 2, 3, 4 or 8, or by the size
            of the image. Images were
            resized with the boxes but without the keypoints, or the other way round. Scale
            whichever do not fit the images; the file alone does not show it.""",
        bad=_example(0.5),
        good=_example(1),
        check=_in_other_scale,
        consequences=("K004",),
    ),
)
