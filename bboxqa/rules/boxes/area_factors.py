"""Areas that differ from outlines or boxes by a constant factor, as either may be scaled."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray
from bboxqa.geometry.kernels.boxes import corners, from_corners
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.facts.boxes import inside
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.facts.layouts.box_readings import UNITS

# Fewer areas than this do not prove a factor.
_ENOUGH = 5
# The least share of the differing areas that has to differ by the factor.
_MOST = 0.5
# The relative tolerance of a factor, for rounded areas and coordinates.
_NEAR = 0.04
# The share of annotations that may extend beyond their images, as in hand-drawn data.
_FEW = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class AreaFactor:
    """The factor between the areas in a file and the areas of outlines or boxes.

    Attributes
    ----------
    rows : (H,) int64
        The annotations whose areas differ by the factor.
    factor : float
        The area divided by the area of the outline or box; if `of_image`, also divided by the area
        of the image.
    of_image : bool
    what : str
        "outlines" or "boxes".
    """

    rows: IndexArray
    factor: float
    of_image: bool
    what: str

    def message(self, document: Document, total: int) -> str:
        """Return a message with the finding and the evidence for its possible causes.

        Parameters
        ----------
        document : Document
        total : int
            Number of annotations whose areas were compared.
        """
        share = f"{len(self.rows):,} of {total:,} annotations"
        side = float(self.factor**-0.5)
        if self.of_image:
            unit = _unit(side) or f"pixels of images of about {figure(side)} x {figure(side)}"
            found = (
                f"areas fit the {self.what} in {share} if the coordinates are {unit}, "
                "otherwise they are wrong"
            )
        else:
            found = (
                f"areas are {figure(self.factor)} times those of the {self.what} in {share}: "
                f"either the areas are wrong or the coordinates are scaled by {figure(side)}"
            )
        return f"{found}; {self._evidence(document)}; expected the same area"

    def _evidence(self, document: Document) -> str:
        """Return what image sizes show about the coordinates, as written and scaled back."""
        rows = np.flatnonzero(np.isin(document.image, document.image[self.rows]))
        bounds, size = document.outline_bounds[rows], document.size[rows]
        bare = np.isnan(bounds[:, 0])
        bounds[bare] = corners(document.annotations.bbox[rows[bare]])
        known = ~np.isnan(bounds.sum(axis=1) + size.sum(axis=1))
        bounds, size = bounds[known], size[known]
        scale = np.sqrt(self.factor) * np.tile(size if self.of_image else np.ones_like(size), 2)
        n_now, n_then = _n_beyond(bounds, size), _n_beyond(bounds * scale, size)
        if n_now <= _FEW * len(size) < n_then:
            return (
                f"scaled back, {n_then:,} of {len(size):,} annotations would extend beyond their "
                "images, so that the areas are more likely wrong"
            )
        if n_then <= _FEW * len(size) < n_now:
            return (
                f"{n_now:,} of {len(size):,} annotations of these images extend beyond them, but "
                f"{n_then:,} if scaled back, so that the coordinates are more likely wrong"
            )
        return "the sizes of the images do not show which"


def _n_beyond(bounds: FloatArray, size: FloatArray) -> int:
    return int((~inside(from_corners(bounds), size)).sum())


def _unit(side: float) -> str:
    return next((name for unit, name in UNITS.items() if abs(side / unit - 1) <= _NEAR / 2), "")


def area_factor(
    document: Document, suspects: IndexArray, expected: FloatArray, settings: ValidateSettings
) -> AreaFactor | None:
    """Return the factor that most differing areas share; None if there is none.

    Parameters
    ----------
    document : Document
    suspects : (K,) int64
        The annotations whose areas differ.
    expected : (K,) float64
        The areas of their outlines, or of their boxes without outlines.
    settings : ValidateSettings
        Settings with the tolerance of areas.
    """
    found = max(_candidates(document, suspects, expected), default=None, key=lambda each: each[0])
    if found is None or found[0][0] < max(_ENOUGH, _MOST * len(suspects)):
        return None
    _, factor, reference, of_image, what = found
    scaled = document.annotations.area[suspects] / factor
    if of_image:
        scaled = scaled / document.size[suspects].prod(axis=1)
    near = np.abs(scaled - reference) <= settings.area_tolerance * reference + 1
    return AreaFactor(suspects[near], factor, of_image, what)


def _candidates(
    document: Document, suspects: IndexArray, expected: FloatArray
) -> Iterator[tuple[tuple[int, bool], float, FloatArray, bool, str]]:
    """Yield candidate factors with their counts, whether they are units, and their reference."""
    given = document.annotations.area[suspects]
    boxes = document.annotations.bbox[suspects, 2:].prod(axis=1)
    is_boxes = bool(np.isnan(document.outline_area[suspects]).all())
    for reference, what in ((expected, "boxes" if is_boxes else "outlines"), (boxes, "boxes")):
        for of_image in (False, True):
            ratio = given / reference
            if of_image:
                ratio = ratio / document.size[suspects].prod(axis=1)
            ratio = np.sort(ratio[np.isfinite(ratio) & (ratio > 0)])
            if len(ratio) == 0:
                continue
            stop = np.searchsorted(ratio, ratio * (1 + _NEAR), "right")
            n_near = stop - np.arange(len(ratio))
            first = int(n_near.argmax())
            factor = float(np.median(ratio[first : stop[first]]))
            is_unit = of_image and bool(_unit(factor**-0.5))
            yield (int(n_near[first]), is_unit), factor, reference, of_image, what


def share_factor(document: Document, suspects: IndexArray, expected: FloatArray) -> BoolArray:
    """Return which suspects are in images where several areas differ by one factor, (K,) bool."""
    ratio = document.annotations.area[suspects] / expected
    image = document.image[suspects]
    known = (image >= 0) & np.isfinite(ratio) & (ratio > 0)
    n_images = len(document.images)
    low, high = np.full(n_images, np.inf), np.zeros(n_images)
    np.minimum.at(low, image[known], ratio[known])
    np.maximum.at(high, image[known], ratio[known])
    shared = np.bincount(image[known], minlength=n_images) > 1
    shared &= high <= low * (1 + _NEAR)
    result: BoolArray = np.append(shared, False)[image]
    return result
