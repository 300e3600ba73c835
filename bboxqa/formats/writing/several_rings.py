"""Outlines of several rings, and masks, for formats that have one ring or a mask for an object."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.text import count
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.losses import has_other_bounds
from bboxqa.formats.writing.outlines import Kind, Record, bounds_of, flat_rings, rings_of
from bboxqa.formats.writing.writer import Writer
from bboxqa.model.shapes.masks import MAX_MASK_PIXELS

# Rings that are bridged, and points of rings that overlap: joining more takes minutes.
_MOST_RINGS, _MOST_POINTS = 200, 1000


def held_as_one(content: Content, to_format: Writer) -> tuple[Content, list[str]]:
    """Return a content whose outlines of several rings a format holds, and notes on them.

    They become masks, or single rings with bridges, as masks do in formats without masks.
    """
    holds = to_format.holds
    if "holes" in holds or "polygon" not in holds:
        return content, []
    kinds: tuple[Kind, ...] = ("holes",) if "mask" in holds else ("holes", "mask")
    images = {each["id"]: each for each in content.images}
    annotations, number = [], 0
    for each in content.annotations:
        new = None
        if content.kind_of(each) in kinds:
            new = (
                as_mask(each, images[each["image_id"]]) if "mask" in holds else _ring(content, each)
            )
        annotations.append(each if new is None else each | new)
        number += new is not None
    what = "masks, filled as pycocotools does" if "mask" in holds else "single rings with bridges"
    outlines = count(number, "outline of several rings", "outlines of several rings")
    notes = [f"changed: {outlines} or holes became {what} in {to_format.title}"] * (number > 0)
    return replace(content, annotations=annotations), notes


def as_mask(annotation: Record, image: Record) -> Record | None:
    """Return the mask that pycocotools makes of an outline, and its box; None without pixels."""
    from pycocotools import mask

    width, height = (int(image.get(key) or 0) for key in ("width", "height"))
    rings, far = flat_rings(annotation), 4 * max(width, height)
    is_far = max(map(abs, (number for ring in rings for number in ring))) > far
    if is_far or width * height >= MAX_MASK_PIXELS:
        return None
    found: Any = mask.merge(mask.frPyObjects(rings, height, width))
    new = {"segmentation": {"size": [height, width], "counts": found["counts"].decode()}}
    left, top, right, bottom = bounds_of(new) or (np.nan,) * 4
    if not left < right:
        return None
    box = {"bbox": [left, top, right - left, bottom - top]}
    return new if has_other_bounds(annotation) else new | box


def _ring(content: Content, annotation: Record) -> Record | None:
    """Return an outline as one ring that passes through all rings; None with too many of them."""
    is_mask = isinstance(annotation["segmentation"], dict)
    rings = _of_pixels(content, annotation) if is_mask else _of_polygons(annotation)
    if not 0 < len(rings) <= _MOST_RINGS:
        return None
    from scipy.spatial import cKDTree

    whole = rings.pop()
    for ring in reversed(rings):
        # The bridge leads from the nearest points there and back, so that it has no area.
        distance, place = cKDTree(whole).query(ring)
        at = int(distance.argmin())
        to = int(place[at])
        whole = np.concatenate([ring[: at + 1], whole[to:], whole[: to + 1], ring[at:]])
    return {"segmentation": [whole.ravel().tolist()]}


def _of_polygons(annotation: Record) -> list[FloatArray]:
    """Return rings that share no area: outer ones clockwise, holes the other way."""
    import shapely

    whole = shapely.multipolygons(parts := [*map(shapely.polygons, rings_of(annotation))])
    if not shapely.is_valid(whole):
        if shapely.get_num_coordinates(whole) > _MOST_POINTS:
            return []
        whole = shapely.union_all(shapely.make_valid(parts))
    polygons = shapely.get_parts(shapely.get_parts(whole))
    polygons = polygons[shapely.get_dimensions(polygons) == 2]
    rings = (shapely.get_rings(each) for each in polygons.tolist())
    return _directed([[shapely.get_coordinates(ring) for ring in each] for each in rings])


def _of_pixels(content: Content, annotation: Record) -> list[FloatArray]:
    """Return the rings along the edges of the pixels of a mask, as `_of_polygons` does."""
    from rasterio.features import shapes

    pixels, left, top = content.masks.picture(annotation)
    found = shapes(pixels.astype(np.uint8), mask=pixels, connectivity=4)
    return _directed(
        [[np.add(ring, (left, top)) for ring in each["coordinates"]] for each, _ in found]
    )


def _directed(polygons: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    """Return the rings of polygons without the closing point; of each, the first is the outer."""
    directed = []
    for polygon in polygons:
        for place, ring in enumerate(polygon):
            x, y = ring.T
            is_clockwise = x[:-1] @ y[1:] > x[1:] @ y[:-1]
            directed.append(ring[:-1] if is_clockwise == (place == 0) else ring[:0:-1])
    return directed
