"""The elements of CVAT XML: jobs and labels in the header, and shapes as COCO records."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath

import msgspec
import numpy as np

from bboxqa.core.text import clean, one_line
from bboxqa.formats.document import Record
from bboxqa.formats.records import WRITTEN_ANGLE, whole_number
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.masks import Masks, RowMask, Size
from bboxqa.formats.translation.shapes import (
    LARGEST,
    MaskProblemError,
    UnknownSizeError,
    ValueProblemError,
    number_in,
)
from bboxqa.formats.xml_elements import Element, XmlError, tree_of
from bboxqa.model.masks import spans_of_runs

_WITHOUT_BOX = {"tag", "points", "polyline", "skeleton", "cuboid"}
_MOST_FRAMES = 1 << 31
CUBOID = [
    f"{axis}{corner}{side}"
    for side in "12"
    for corner in ("tl", "bl", "tr", "br")
    for axis in "xy"
]  # fmt: skip
"""Attributes of a cuboid, in the order of its points."""
OF_SHAPES = ("occluded", "group_id", "z_order", "rotation")
"""Values of a shape, whose names attributes of its label may have as well."""
OF_LABEL = "label."
"""What precedes the name of an attribute of a label if a value of the shape has that name."""
_OF_TRACKS = ("track_id", "keyframe")
_SIDES = ("xtl", "ytl", "xbr", "ybr")


class Job(msgspec.Struct, frozen=True):
    """A task, or a job of a task."""

    kind: str
    id: str
    name: str
    subset: str
    assignee: str
    line: int
    size: tuple[str, str]
    """Width and height of the frames of a video, as written in the file."""
    source: str
    """The file name of a video."""
    is_video: bool
    frames: range | None
    """The frames to be annotated; None if the file does not say."""


class Label(msgspec.Struct, frozen=True):
    """A label of a task."""

    name: str
    line: int
    has_box: bool
    joints: tuple[str, ...]
    """The joints of a skeleton, and the two joints that each limb connects."""
    limbs: tuple[tuple[str, str], ...]


class Header(msgspec.Struct, frozen=True):
    """The header of a file."""

    jobs: tuple[Job, ...] = ()
    labels: Mapping[str, Label] = msgspec.field(default_factory=dict)

    def job_of(self, values: Mapping[str, str]) -> Job | None:
        """Return the job of an image or track; None if the file does not say."""
        if len(self.jobs) <= 1:
            return self.jobs[0] if self.jobs else None
        own = [each for each in self.jobs if each.id == values.get("task_id")]
        own = own or [each for each in self.jobs if each.subset == values.get("subset")]
        return own[0] if len(own) == 1 else None


def header_of(meta: Element) -> Header:
    """Return the content of the element `meta`."""
    for kind in ("project", "task", "job"):
        whole = meta.find(kind)
        if whole is not None:
            listed = whole.find("tasks")
            tasks = [] if listed is None else listed.all("task")
            jobs = tuple(_job(each, whole, meta) for each in tasks or [whole])
            return Header(jobs, _labels(whole.find("labels")))
    return Header()


def _job(work: Element, around: Element, meta: Element) -> Job:
    size = work.find("original_size") or meta.find("original_size")
    return Job(
        work.name,
        one_line(work.said("id")),
        one_line(work.said("name")),
        work.said("subset"),
        _assignee(work) or _assignee(around),
        work.line,
        ("", "") if size is None else (size.said("width"), size.said("height")),
        PurePosixPath(one_line(work.said("source"))).name,
        work.said("mode") == "interpolation",
        _frames(work),
    )


def _assignee(work: Element) -> str:
    """Return the user name, else the e-mail; empty if nobody is assigned."""
    found = work.find("assignee")
    if found is None:
        return ""
    return clean(found.said("username") or found.said("email") or found.text.strip())


def _frames(work: Element) -> range | None:
    """Return the frames of a job, if its numbers agree with each other."""
    n_frames = whole_number(work.said("size")) or 0
    first = whole_number(work.said("start_frame") or 0)
    last = whole_number(work.said("stop_frame") or n_frames - 1)
    step = whole_number(work.said("frame_filter").partition("step=")[2] or 1)
    if first is None or last is None or not step or min(first, step) < 0 or last > _MOST_FRAMES:
        return None
    found = range(first, last + 1, step)
    return found if len(found) == n_frames > 0 else None


def _labels(listed: Element | None) -> dict[str, Label]:
    labels = [] if listed is None else listed.all("label")
    joints: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        joints[label.said("parent")].append(label.said("name"))
    found = {}
    for label in labels:
        name = label.said("name")
        if name and not label.said("parent"):
            limbs = _limbs(label.said("svg")) if name in joints else ()
            has_box = label.said("type") not in _WITHOUT_BOX
            found[name] = Label(name, label.line, has_box, (*joints[name],), limbs)
    return found


def _limbs(drawing: str) -> tuple[tuple[str, str], ...]:
    """Return the limbs of a drawing, whose circles are joints and whose lines are limbs."""
    try:
        root = tree_of(f"<svg>{drawing}</svg>".encode())
    except XmlError:
        # The drawing is of no other use.
        return ()
    circles = (each.values for each in root.all("circle"))
    names = {each.get("data-node-id"): each.get("data-label-name", "") for each in circles}
    lines = (each.values for each in root.all("line"))
    ends = ((each.get("data-node-from"), each.get("data-node-to")) for each in lines)
    limbs = ((names.get(start), names.get(end)) for start, end in ends)
    return tuple((start, end) for start, end in limbs if start and end)


def plain_box_of(values: Mapping[str, str]) -> tuple[float, float, float, float] | None:
    """Return x, y, width and height of an upright box; None for any other value."""
    try:
        x, y = float(values["xtl"]), float(values["ytl"])
        right, bottom = float(values["xbr"]), float(values["ybr"])
    except (KeyError, ValueError):
        return None
    if not (abs(x) < LARGEST > abs(y) and abs(right) < LARGEST > abs(bottom)):
        return None
    # Floating-point differences have more digits than the numbers in the file.
    return x, y, round(right - x, 6), round(bottom - y, 6)


def shape_of(element: Element, size: Size | None, masks: Masks) -> Record:  # noqa: PLR0911
    """Return the geometry keys of an annotation, or its `shape` if it has no box."""
    kind, values = element.name, element.values
    if kind == "box":
        return _box(values)
    if kind == "polygon":
        return _outlined(_points(element))
    if kind == "ellipse":
        x, y, *radii = (_number(values, name) for name in ("cx", "cy", "rx", "ry"))
        degrees = _degrees(values)
        points = shapes.ellipse((x, y), (radii[0], radii[1]), degrees).round(6)
        record = _outlined(shapes.ring(points))
        return {**record, "attributes": {"rotation": degrees}} if degrees else record
    if kind == "mask":
        return _mask(values, size, masks)
    if kind == "skeleton":
        return _skeleton(element.all("points"))
    if kind == "points":
        flat = _points(element)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        keypoints = [value for pair in pairs for value in (*pair, 2)]
        return {"shape": "point set", "keypoints": keypoints, "num_keypoints": len(flat) // 2}
    if kind == "polyline":
        return {"shape": kind, "points": _points(element)}
    if kind == "cuboid":
        return {"shape": kind, "points": [_number(values, name) for name in CUBOID]}
    return {"shape": "image label" if kind == "tag" else kind}


def attributes_of(
    element: Element, of_shape: Mapping[str, object] | None = None, *, is_tracked: bool = False
) -> Record:
    """Return the attributes of an annotation, with values `of_shape` such as its rotation.

    Values of the shape keep their names. An answer to an attribute of the label that has such a
    name follows "label.", whether or not the shape has the value.

    >>> answers = [Element("attribute", 2, {"name": "occluded"}, text="false")]
    >>> attributes_of(Element("box", 1, {"occluded": "1"}, inside=answers))
    {'occluded': '1', 'label.occluded': 'false'}
    """
    values, own = element.values, OF_SHAPES + _OF_TRACKS * is_tracked
    found = {**(of_shape or {})}
    for key in OF_SHAPES[:3]:
        if values.get(key, "0") != "0":
            found[key] = values[key]
    if is_tracked:
        found |= {"track_id": values.get("id", ""), "keyframe": values.get("keyframe") == "1"}
    for answer in element.all("attribute") if element.inside else ():
        name = answer.values.get("name", "")
        found[OF_LABEL * (name in own) + name] = answer.text
    return found


def _number(values: Mapping[str, str], name: str) -> float:
    """Return a coordinate. Raises ValueProblemError if it is not a number."""
    text = values.get(name)
    if text is None:
        raise ValueProblemError(f"has no {name}; expected a number")
    return number_in(text, name)


def _points(element: Element) -> list[float]:
    """Return the coordinates of points as a flat list of x and y."""
    text = element.values.get("points", "").strip(" ;")
    pairs = [pair.split(",") for pair in text.split(";")]
    if not text or any(len(pair) != 2 for pair in pairs):
        raise ValueProblemError(f"points are {text[:40]!r}; expected x,y;x,y")
    return [number_in(each, "a coordinate") for each in chain.from_iterable(pairs)]


def _degrees(values: Mapping[str, str]) -> float:
    return _number(values, "rotation") % 360 if "rotation" in values else 0.0


def _box(values: Mapping[str, str]) -> Record:
    box = plain_box_of(values)
    if box is None:
        x, y, right, bottom = (_number(values, side) for side in _SIDES)
        box = (x, y, round(right - x, 6), round(bottom - y, 6))
    degrees = _degrees(values)
    if not degrees:
        return {"bbox": [*box]}
    ring = np.round(shapes.turned_box(box, degrees)["segmentation"][0], 6).tolist()
    turned = {"attributes": {"rotation": degrees}, WRITTEN_ANGLE: _number(values, "rotation")}
    return {**_outlined(ring), **turned}


def _outlined(ring: list[float]) -> Record:
    x, y = ring[::2], ring[1::2]
    left, top = min(x), min(y)
    bbox = [left, top, round(max(x) - left, 6), round(max(y) - top, 6)]
    return {"bbox": bbox, "segmentation": [ring]}


def _skeleton(parts: Sequence[Element]) -> Record:
    """Return key points with a visibility of 0 for outside, 1 for occluded, else 2."""
    if not parts:
        return {"shape": "skeleton"}
    keypoints: list[float] = []
    for part in parts:
        is_outside = part.values.get("outside") == "1"
        visibility = 0 if is_outside else 1 if part.values.get("occluded") == "1" else 2
        keypoints += [*_points(part)[:2], visibility]
    seen = sum(visibility > 0 for visibility in keypoints[2::3])
    joints = [part.values.get("label", "") for part in parts]
    return {"shape": "skeleton", "keypoints": keypoints, "joints": joints, "num_keypoints": seen}


def _mask(values: Mapping[str, str], size: Size | None, masks: Masks) -> Record:
    given = [_number(values, key) for key in ("left", "top", "width", "height")]
    left, top, width, height = map(int, given)
    text = values.get("rle", "")
    try:
        counts = np.array(text.split(","), np.int64)
    except (ValueError, OverflowError):
        raise MaskProblemError(f"has run lengths {text[:40]!r}; expected whole numbers") from None
    # A mask is not larger than an image.
    if counts.min() < 0 or counts.max() >= 1 << 31 or counts.sum() >= 1 << 31:
        raise MaskProblemError("has run lengths below zero, or of more pixels than an image has")
    if min(width, height) < 1 or counts.sum() != width * height:
        found = f"has run lengths of {counts.sum()} pixels"
        raise MaskProblemError(f"{found}; expected {width} × {height}, which is {width * height}")
    mask = RowMask(spans_of_runs(counts), width, height, left, top, len(text))
    if masks.outlines and size is None and len(mask.spans):
        raise UnknownSizeError("the size of its image is not known")
    return masks.record(mask, size)
