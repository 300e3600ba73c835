"""Outlines of several rings, and masks, for formats that have one ring or a mask for an object."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.core.text import count
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.losses import has_other_bounds
from bboxqa.formats.writing.outlines import Record, bounds_of, flat_rings, rings_of
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
    are_masks, images = "mask" in holds, {each["id"]: each for each in content.images}
    kinds, new = ({"holes"} if are_masks else {"holes", "mask"}), dict[int, Record]()
    for each in content.annotations:
        if content.kind_of(each) in kinds:
            image = images[each["image_id"]]
            if found := as_mask(each, image) if are_masks else _ring(content, each):
                new[each["id"]] = each | found
    what, how = ("masks", "filled as by pycocotools") if are_masks else ("rings", "bridged")
    of = "of several rings" if are_masks else "of several rings or pixels"
    outlines = count(len(new), f"outline {of}", f"outlines {of}")
    notes = [f"changed: {outlines} became {what} in {to_format.title}, {how}"] if new else []
    annotations = [new.get(each["id"], each) for each in content.annotations]
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
    import shapely
    from scipy.spatial import cKDTree
    from shapely.geometry.polygon import orient

    # Outer rings go one way and holes the other, so that their areas add up.
    polygons = map(orient, _polygons(content, annotation))
    loops = [each for polygon in polygons for each in shapely.get_rings(polygon).tolist()]
    if not 0 < len(loops) <= _MOST_RINGS:
        return None
    *rings, whole = (shapely.get_coordinates(each)[:-1] for each in loops)
    for ring in reversed(rings):
        # The bridge leads from the nearest points there and back, so that it has no area.
        distance, place = cKDTree(whole).query(ring)
        at = int(distance.argmin())
        to = int(place[at])
        whole = np.concatenate([ring[: at + 1], whole[to:], whole[: to + 1], ring[at:]])
    return {"segmentation": [whole.ravel().tolist()]}


def _polygons(content: Content, annotation: Record) -> list[Any]:
    """Return polygons that share no area: of a mask, along the edges of its pixels."""
    import shapely

    if isinstance(annotation["segmentation"], dict):
        from rasterio import Affine
        from rasterio.features import shapes

        pixels, left, top = content.masks.picture(annotation)
        moved = {"connectivity": 4, "transform": Affine.translation(left, top)}
        found = shapes(pixels.astype(np.uint8), mask=pixels, **moved)
        return [shapely.geometry.shape(each) for each, _ in found]
    parts = [*map(shapely.polygons, rings_of(annotation))]
    whole = shapely.multipolygons(parts)
    if not shapely.is_valid(whole):
        if shapely.get_num_coordinates(whole) > _MOST_POINTS:
            return []
        whole = shapely.union_all(shapely.make_valid(parts))
    found = shapely.get_parts(shapely.get_parts(whole)).tolist()
    return [each for each in found if each.geom_type == "Polygon"]
