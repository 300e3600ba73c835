"""The worked examples as values: annotated scenes, and what is expected of them."""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from bboxqa.report.drawing.sheet import Rectangle

__all__ = ["SCENES", "SceneBox", "SceneRecord", "read_expected", "read_scene"]

SCENES = ("fruits", "smiling_fruits", "landscape")


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


def _read(file_name: str) -> Any:
    return json.loads((files("bboxqa.examples") / "data" / file_name).read_text("utf-8"))


def read_expected() -> dict[str, Any]:
    """Return the expected results of all worked examples, as stored in `data/expected.json`."""
    expected: dict[str, Any] = _read("expected.json")
    return expected


def read_scene(scene: str) -> SceneRecord:
    """Return one example scene.

    Examples
    --------
    >>> read_scene("fruits").annotators
    ('Ann1', 'Ann2', 'Ann3')
    """
    if scene not in SCENES:
        raise ValueError(f"no example is called {scene!r}; choose one of {', '.join(SCENES)}")
    document = _read(f"{scene}.json")
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
