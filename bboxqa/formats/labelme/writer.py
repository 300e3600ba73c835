"""Writing LabelMe JSON, with one folder per annotator and one file per image."""

import base64
import io
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec
import numpy as np

from bboxqa.formats.label_folders import path_below, place_of
from bboxqa.formats.writing.content import (
    Content,
    Options,
    Writer,
    Written,
    image_name,
    is_point,
    joints_of,
)
from bboxqa.formats.writing.names import people_paths, safe_paths
from bboxqa.formats.writing.outlines import SAME, Record, corners_of, ellipse_of, rings_of

_TITLE = "LabelMe"
_LINES = {"polyline": "linestrip", "line": "line"}
_VERSION = "5.4.1"


def _read_name(name: str, place: str) -> str:
    """Return the name of an image as it is read back: its file gives the last part."""
    inner, folder = path_below(name.rpartition("/")[2].strip()), place.rpartition("/")[0]
    own = place_of(inner) + PurePosixPath(inner).suffix
    return f"{folder}/{own}" if folder else own


def _files(content: Content, _options: Options) -> Iterator[Written]:
    paths = safe_paths(image_name(each) for each in content.images)
    people = people_paths(content.annotators)
    # A folder with subfolders would be read as several annotators.
    below = (LABELME.folder,) if any(len(parts) > 1 for parts in paths.values()) else ()
    encode = msgspec.json.Encoder().encode
    for place, image in enumerate(content.images):
        *folders, last = paths[image_name(image)]
        for name, drawn in content.works(place):
            document: Record = {
                "version": _VERSION,
                "flags": {},
                "shapes": [
                    *_shapes(content, drawn),
                    *(
                        _shape(
                            line["label"],
                            _LINES[line["shape"]],
                            np.array(line["points"]).reshape(-1, 2).tolist(),
                        )
                        for line in content.lines(place, name, _LINES)
                    ),
                ],
                "imagePath": image_name(image).rpartition("/")[2],
                "imageData": None,
                "imageHeight": int(image["height"]),
                "imageWidth": int(image["width"]),
            }
            text = msgspec.json.format(encode(document), indent=2)
            yield Written((*people[name], *below, *folders, f"{last}.json"), text)


def _shapes(content: Content, drawn: Sequence[Record]) -> Iterator[Record]:
    """Yield the shapes of annotations, each followed by its joints as points of its group."""
    group = 0
    for each in drawn:
        label = content.category_names[each["category_id"]]
        joints = [joint for joint in joints_of(content, each) if joint.visibility]
        if is_point(each):
            yield _shape(label, "point", [[joints[0].x, joints[0].y]])
            continue
        group += bool(joints)
        own = group if joints else None
        kind, points, more = _where(content, each)
        yield {**_shape(label, kind, points, own), **more}
        for joint in joints:
            yield _shape(joint.name, "point", [[joint.x, joint.y]], own)


def _shape(label: str, kind: str, points: list[list[float]], group: int | None = None) -> Record:
    return {
        "label": label,
        "points": points,
        "group_id": group,
        "description": "",
        "shape_type": kind,
        "flags": {},
    }


def _where(content: Content, annotation: Record) -> tuple[str, list[list[float]], dict[str, Any]]:
    """Return the type of a shape, its points, and its mask if it has one."""
    kind = content.kind_of(annotation)
    if kind == "rotation":
        corners = corners_of(annotation)
        return "oriented_rectangle", [] if corners is None else corners.tolist(), {}
    found = ellipse_of(annotation) if kind == "polygon" else None
    # Coordinates are rounded.
    if found is not None and abs(found.radius_x - found.radius_y) <= SAME:
        return "circle", [[found.x, found.y], [found.x + found.radius_x, found.y]], {}
    if kind == "polygon":
        return "polygon", rings_of(annotation)[0].tolist(), {}
    if kind == "mask":
        return _mask(content, annotation)
    x, y, width, height = annotation["bbox"]
    return "rectangle", [[x, y], [x + width, y + height]], {}


def _mask(content: Content, annotation: Record) -> tuple[str, list[list[float]], dict[str, Any]]:
    """Return a mask as an image of the pixels between its corners."""
    from PIL import Image

    pixels, left, top = content.masks.picture(annotation)
    height, width = pixels.shape
    picture = io.BytesIO()
    Image.fromarray(pixels).save(picture, "PNG")
    text = base64.b64encode(picture.getvalue()).decode()
    return "mask", [[left, top], [left + width - 1, top + height - 1]], {"mask": text}


LABELME = Writer(
    _TITLE,
    "folder",
    (".json",),
    _files,
    frozenset(
        {"polygon", "mask", "rotation", "corners", "keypoints", "keypoint box", "image sizes"}
    )
    | _LINES.keys(),
    reads={"category": str.strip},
    folder="annotations",
    read_name=_read_name,
    needs_sizes="all images",
)
"""Rectangles, polygons, masks, and groups of points."""
