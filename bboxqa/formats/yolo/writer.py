"""Writing YOLO label files, with one folder per annotator."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.file_names import normalised_name
from bboxqa.formats.label_folders import place_of
from bboxqa.formats.writing.content import (
    Content,
    Loss,
    Options,
    Writer,
    Written,
    completed,
    image_name,
)
from bboxqa.formats.writing.names import people_paths, safe_paths, without_ending
from bboxqa.formats.writing.outlines import Record, bbox_corners, corners_of, rings_of

_TRAIN = "train"
Points = Callable[[Content, Record], FloatArray]
"""Returns the (K, 2) pixel coordinates of an annotation, to be written relative to the image."""


def _pose_losses(content: Content, _options: Options) -> Iterator[Loss]:
    most = _n_joints(content)
    named = [(each["name"], content.joint_names[each["id"]]) for each in content.categories]
    fewer = [name for name, joints in named if joints and len(joints) < most]
    if fewer:
        why = f"{YOLO_POSE.title} has {most} in each category; the others have no names"
        yield Loss(len(fewer), "category with fewer key points", why, repr(fewer[0]))


def _files(
    points: Points, has_joints: bool, content: Content, options: Options
) -> Iterator[Written]:
    n_joints = _n_joints(content) if has_joints else 0
    parts = sorted({*options.parts.values()})
    settings = _settings(content, n_joints, parts).encode()
    paths = _paths(content)
    people = people_paths(content.annotators)
    classes = {each["id"]: place for place, each in enumerate(content.categories)}
    names = content.annotators or [""]
    listed: dict[tuple[str, str], list[str]]
    listed = {(name, part): [] for name in names for part in parts or [_TRAIN]}
    for place, image in enumerate(content.images):
        *folders, last = paths[image_name(image)]
        ending = image_name(image)[len(without_ending(image_name(image))) :]
        for name, drawn in content.works(place):
            sides = (image.get("width", 1), image.get("height", 1))
            lines = []
            for each in drawn:
                shares = (points(content, each) / sides).ravel().tolist()
                if n_joints:
                    given = completed(each.get("keypoints") or [], n_joints)
                    joints = np.array(given, np.float64).reshape(-1, 3) / (*sides, 1)
                    joints[:, 2] = np.clip(np.ceil(joints[:, 2]), 0, 2)
                    # Joints that are not labelled are zeros.
                    joints[joints[:, 2] == 0] = 0
                    shares += joints.ravel().tolist()
                values = " ".join(f"{share:.10g}" for share in shares)
                lines.append(f"{classes[each['category_id']]} {values}\n")
            place_of_file = (*people[name], "labels", *folders, f"{last}.txt")
            yield Written(place_of_file, "".join(lines).encode())
            part = options.parts.get(image["id"], _TRAIN)
            listed[name, part].append("/".join(("./images", *folders, last + ending)))
    for (name, part), own in listed.items():
        text = "".join(f"{each}\n" for each in own)
        yield Written((*people[name], f"{part}.txt"), text.encode())
    for name in names:
        yield Written((*people[name], "data.yaml"), settings)


def _paths(content: Content) -> dict[str, tuple[str, ...]]:
    """Return the path of each image below its folder, without folders that belong to the format."""
    full = safe_paths(image_name(each) for each in content.images)
    places = {name: place_of(f"{'/'.join(('labels', *path))}.txt") for name, path in full.items()}
    known = Counter(map(normalised_name, places.values()))
    return {
        name: tuple(place.split("/")) if known[normalised_name(place)] == 1 else full[name]
        for name, place in places.items()
    }


def _n_joints(content: Content) -> int:
    """Return the largest number of key points that an annotation has."""
    listed = (len(each.get("keypoints") or ()) // 3 for each in content.annotations)
    return max([*listed, *map(len, content.joint_names.values()), 1])


def _settings(content: Content, n_joints: int, parts: Sequence[str]) -> str:
    # JSON strings are valid YAML.
    names, joints = "", ""
    for place, each in enumerate(content.categories):
        names += f"  {place}: {json.dumps(each['name'], ensure_ascii=False)}\n"
        own = content.joint_names[each["id"]]
        if n_joints and len(own) == n_joints:
            joints += f"  {place}: {json.dumps(own, ensure_ascii=False)}\n"
    shape = f"kpt_shape: [{n_joints}, 3]\n" if n_joints else ""
    joints = f"kpt_names:\n{joints}" if joints else ""
    # Training needs both; without parts, they are the same images.
    lists = {part: part for part in parts} or {_TRAIN: _TRAIN, "val": _TRAIN}
    listed = "".join(f"{key}: {part}.txt\n" for key, part in lists.items())
    return f"{listed}{shape}names:\n{names}{joints}"


def _box(_content: Content, annotation: Record) -> FloatArray:
    """Return the centre and the size of a box, (2, 2)."""
    x, y, width, height = annotation["bbox"]
    return np.array([[x + width / 2, y + height / 2], [width, height]])


def _ring(content: Content, annotation: Record) -> FloatArray:
    """Return the outline of an annotation, or the corners of its box if it has none."""
    if content.kind_of(annotation) in ("polygon", "rotation"):
        return rings_of(annotation)[0]
    return bbox_corners(annotation)


def _four_corners(_content: Content, annotation: Record) -> FloatArray:
    """Return the four corners of an annotation, or of its box for other outlines."""
    found = corners_of(annotation)
    return bbox_corners(annotation) if found is None else found


_write = partial(
    Writer,
    layout="folder",
    suffixes=(".txt", ".yaml"),
    folder="labels",
    needs_sizes="drawn images",
    lists_parts=True,
)
_CLASSES = frozenset({"unused categories"})

YOLO = _write("YOLO detect", files=partial(_files, _box, False), holds=_CLASSES)
"""Boxes."""
YOLO_SEGMENT = _write(
    "YOLO segment",
    files=partial(_files, _ring, False),
    holds=_CLASSES | {"polygon", "rotation", "corners"},
)
"""Outlines; a box is an outline of four points."""
YOLO_OBB = _write(
    "YOLO OBB", files=partial(_files, _four_corners, False), holds=_CLASSES | {"corners"}
)
"""Four corners."""
YOLO_POSE = _write(
    "YOLO pose",
    files=partial(_files, _box, True),
    holds=_CLASSES | {"keypoints", "keypoint box", "visibility"},
    losses=_pose_losses,
)
"""Boxes with key points."""
