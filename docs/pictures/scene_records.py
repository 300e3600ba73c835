"""Annotated scenes as values."""

import json
from dataclasses import dataclass

from sheet import Rectangle

from bboxqa.examples import SCENES, example_file, read_expected

__all__ = ["SceneBox", "SceneRecord", "read_scene"]


@dataclass(frozen=True, slots=True)
class SceneBox:
    """One annotated box: its annotation id, who drew it, what it shows and where (xywh px)."""

    id: int
    annotator: str
    category: str
    bbox_xywh: Rectangle

    @property
    def corners(self) -> Rectangle:
        """The box as (left, top, right, bottom)."""
        left, top, width, height = self.bbox_xywh
        return left, top, left + width, top + height


@dataclass(frozen=True, slots=True)
class SceneRecord:
    """One example image: its size in pixels, names in order, boxes in order, and units.

    A unit has one entry per annotator, in the order of `annotators`: an annotation id or `None`.
    """

    name: str
    width: int
    height: int
    categories: tuple[str, ...]
    annotators: tuple[str, ...]
    boxes: tuple[SceneBox, ...]
    units: tuple[tuple[int | None, ...], ...]

    def box(self, annotation_id: int) -> SceneBox:
        """Return the box with this annotation id."""
        return next(box for box in self.boxes if box.id == annotation_id)

    def mean_box(self, *annotation_ids: int) -> Rectangle:
        """Return the mean (left, top, right, bottom) of some boxes.

        Examples
        --------
        >>> [round(edge, 1) for edge in read_scene("fruits").mean_box(2, 5)]
        [228.5, 170.0, 381.0, 329.0]
        """
        corners = [self.box(annotation_id).corners for annotation_id in annotation_ids]
        left, top, right, bottom = (
            sum(edges) / len(corners) for edges in zip(*corners, strict=True)
        )
        return left, top, right, bottom


def read_scene(scene: str) -> SceneRecord:
    """Return an example scene, one of `SCENES`; for another name raise ValueError.

    Examples
    --------
    >>> read_scene("fruits").annotators
    ('Ann1', 'Ann2', 'Ann3')
    """
    if scene not in SCENES:
        raise ValueError(f"no example is called {scene!r}; choose one of {', '.join(SCENES)}")
    document = json.loads(example_file(scene).read_text("utf-8"))
    units = read_expected()["images"][scene]["recursive_units"]
    annotator_of = {image["id"]: image["annotator"] for image in document["images"]}
    category_of = {category["id"]: category["name"] for category in document["categories"]}
    return SceneRecord(
        name=scene,
        width=document["images"][0]["width"],
        height=document["images"][0]["height"],
        categories=tuple(category_of.values()),
        annotators=tuple(annotator_of.values()),
        boxes=tuple(
            SceneBox(
                record["id"],
                annotator_of[record["image_id"]],
                category_of[record["category_id"]],
                tuple(record["bbox"]),
            )
            for record in document["annotations"]
        ),
        units=tuple(tuple(unit) for unit in units),
    )
