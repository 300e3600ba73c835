"""Preparing a content for a format: outlines that it holds, and parts such as train and val."""

from collections import Counter
from collections.abc import Iterator
from posixpath import dirname
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.writing.content import Content, Options, Writer, Written, image_name
from bboxqa.formats.writing.losses import has_other_bounds
from bboxqa.formats.writing.outlines import Record, bounds_of, flat_rings, rings_of
from bboxqa.model.masks import MAX_MASK_PIXELS

# Rings that are bridged, and points of rings that overlap: joining more takes minutes.
_MOST_RINGS, _MOST_POINTS = 200, 1000
_NEAR, _SHOWN = 1e-6, 5
FOLDER = "folder"
"""The group of images in one folder, by their names."""


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


class Parts(msgspec.Struct, frozen=True):
    """The parts to write, and how images get to them."""

    shares: tuple[tuple[str, float], ...]
    """The name of each part, and its share of the images."""
    seed: int = 0
    group_by: str | None = None
    """The key of image records whose values stay together, or "folder"."""

    def __post_init__(self) -> None:
        """Raise ConfigError if the shares are no shares of a whole, or a name is no plain one."""
        parts = [name.replace("-", "").replace("_", "").isalnum() for name, _ in self.shares]
        is_whole = abs(sum(share for _, share in self.shares) - 1) <= _NEAR
        are_shares = all(share > 0 for _, share in self.shares) and is_whole
        if len(dict(self.shares)) < max(len(parts), 2) or not (are_shares and all(parts)):
            shown = ",".join(f"{name}={share:g}" for name, share in self.shares)
            expected = "shares that sum up to 1, such as train=0.8,val=0.2"
            raise ConfigError(f"parts are {shown}; expected {expected}")

    def check(self, to_format: Writer) -> None:
        """Refuse parts without train and val for a format that names both to training."""
        if to_format.lists_parts and not {"train", "val"} <= {name for name, _ in self.shares}:
            raise ConfigError(f"{to_format.title} needs the parts train and val")

    def of_images(self, content: Content) -> dict[int, str]:
        """Return the part of each image, by its id; the same for any order of images.

        Groups are drawn at random, the largest first; each goes where most images are missing.
        Raises ConfigError if an image is in no group, or a part gets none.
        """
        groups: dict[str, list[int]] = {}
        for image in sorted(content.images, key=image_name):
            groups.setdefault(self._group_of(image, content), []).append(image["id"])
        rng = np.random.default_rng(self.seed)
        whole = [*groups.values()]
        drawn = [whole[place] for place in rng.permutation(len(whole))]
        wanted = {name: share * len(content.images) for name, share in self.shares}
        found: dict[int, str] = {}
        for group in sorted(drawn, key=len, reverse=True):
            part = max(wanted, key=lambda name: wanted[name])
            wanted[part] -= len(group)
            found |= dict.fromkeys(group, part)
        if empty := [name for name in wanted if name not in {*found.values()}]:
            some = f"{count(len(groups), 'group')} of {count(len(found), 'image')}"
            raise ConfigError(f"part {empty[0]} gets no image: there are {some}")
        return found

    def _group_of(self, image: Record, content: Content) -> str:
        name = image_name(image)
        if self.group_by is None:
            return name
        value: object = dirname(name) if self.group_by == FOLDER else image
        for key in self.group_by.split(".") if value is image else ():
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict | list) or value in (None, ""):
            keys = sorted({key for each in content.images for key in each} - {"annotators"})
            known = first_few([*keys, FOLDER], _SHOWN, one_line)
            problem = f"image {one_line(name)} has no {self.group_by!r} to group by"
            raise ConfigError(f"{problem}; expected a key of all images ({known})")
        return str(value)

    def note(self, found: dict[int, str]) -> str:
        """Return how many images each part has, and how they were drawn."""
        n_of = Counter(found.values())
        shown = ", ".join(f"{name} {n_of[name]:,}" for name, _ in self.shares)
        how = "image" if self.group_by is None else f"groups of equal {one_line(self.group_by)}"
        return f"images of parts, drawn by {how} with seed {self.seed}: {shown}"


def in_parts(to_format: Writer, of_images: dict[int, str]) -> Writer:
    """Return a writer of a folder with a file or folder for each part."""

    def parted(content: Content, options: Options) -> Iterator[Written]:
        for part in dict.fromkeys(of_images.values()):
            taken = _taken(content, {each for each, own in of_images.items() if own == part})
            for each in to_format.files(taken, options):
                parts = (part, *each.parts) if each.parts else (f"{part}{to_format.suffixes[0]}",)
                yield Written(parts, each.data)

    return replace(to_format, files=parted)


def _taken(content: Content, ids: set[int]) -> Content:
    """Return the content of some images, with all categories."""
    places = [place for place, each in enumerate(content.images) if each["id"] in ids]
    return replace(
        content,
        images=[content.images[place] for place in places],
        asked=[content.asked[place] for place in places],
        annotations=[each for each in content.annotations if each["image_id"] in ids],
        apart=[each for each in content.apart if each.get("image_id") in ids],
    )
