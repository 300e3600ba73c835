"""Reading CVAT XML: the jobs and labels of its header, images and tracks, and their shapes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.document import Record, Where
from bboxqa.formats.records import UNNAMED, whole_number
from bboxqa.formats.source import SourcePath, members_like, members_with, only_file
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import SIDES, Collector
from bboxqa.formats.translation.masks import Masks, RowMask, Size
from bboxqa.formats.translation.shapes import MaskProblemError, ValueProblemError
from bboxqa.formats.xml_elements import Element, XmlElements, XmlError, tree_of
from bboxqa.model.masks import spans_of_runs
from bboxqa.model.table import id_as_name

_WITHOUT_BOX = {"tag", "points", "polyline", "skeleton", "cuboid"}
_LAST_FRAME = 1 << 31
OF_SHAPES = ("occluded", "group_id", "z_order", "rotation")
"""Values of a shape, whose names attributes of its label may have as well."""
OF_LABEL = "label."
"""What precedes the name of an attribute of a label if a value of the shape has that name."""
_OF_TRACKS = ("track_id", "keyframe")
_TURNED = ("box", "ellipse")


class Job(msgspec.Struct, frozen=True):
    """A task, or a job of a task."""

    id: str
    name: str
    subset: str
    assignee: str
    where: Where
    size: list[str]
    source: str
    is_video: bool
    frames: range | None


def _assignee(work: Element) -> str:
    """Return the user name, else the e-mail; empty if nobody is assigned."""
    found = work.child("assignee")
    return clean(found.said("username") or found.said("email") or found.text.strip())


def _frames(work: Element) -> range | None:
    """Return the frames of a job, if its numbers agree with each other."""
    n_frames = whole_number(work.said("size")) or 0
    first = whole_number(work.said("start_frame") or 0)
    last = whole_number(work.said("stop_frame") or n_frames - 1)
    step = whole_number(work.said("frame_filter").partition("step=")[2] or 1)
    if first is None or last is None or not step or min(first, step) < 0 or last > _LAST_FRAME:
        return None
    found = range(first, last + 1, step)
    return found if len(found) == n_frames > 0 else None


def _limbs(drawing: str) -> list[tuple[str, str]]:
    """Return the limbs of a drawing, whose circles are joints and whose lines are limbs."""
    try:
        root = tree_of(f"<svg>{drawing}</svg>".encode())
    except XmlError:
        # The drawing is of no other use.
        return []
    circles = (each.values for each in root.all("circle"))
    names = {each.get("data-node-id"): each.get("data-label-name", "") for each in circles}
    lines = (each.values for each in root.all("line"))
    ends = ((each.get("data-node-from"), each.get("data-node-to")) for each in lines)
    limbs = ((names.get(start, ""), names.get(end, "")) for start, end in ends)
    return [each for each in limbs if all(each)]


def shape_of(element: Element, size: Size | None, masks: Masks) -> Record:  # noqa: PLR0911
    """Return the geometry keys of an annotation, or its `shape` if it has no box."""
    kind, values = element.name, element.values
    degrees = 0.0
    if "rotation" in values and kind in _TURNED:
        degrees = shapes.number_of(values["rotation"], "rotation")
    if kind == "box":
        if not degrees % 360:
            return {"bbox": _box(values)}
        ring = np.round(shapes.turned_box(_box(values), degrees)["segmentation"][0], 6).tolist()
        return _outlined(ring, degrees)
    if kind == "polygon":
        return _outlined(_points(element))
    if kind == "ellipse":
        x, y, wide, high = shapes.numbers_of(values, ("cx", "cy", "rx", "ry"))
        points = shapes.ellipse((x, y), (wide, high), degrees).round(6)
        return _outlined(shapes.ring(points), degrees)
    if kind == "mask":
        return _mask(values, size, masks)
    if kind == "skeleton":
        if not (parts := element.all("points")):
            return {"shape": kind}
        keypoints: list[float] = []
        for part in parts:
            is_hidden = part.values.get("occluded") == "1"
            visibility = 0 if part.values.get("outside") == "1" else 1 if is_hidden else 2
            keypoints += [*_points(part)[:2], visibility]
        seen = sum(visibility > 0 for visibility in keypoints[2::3])
        joints = [part.values.get("label", "") for part in parts]
        return {"shape": kind, "keypoints": keypoints, "joints": joints, "num_keypoints": seen}
    if kind == "points":
        flat = _points(element)
        keypoints = [e for x, y in zip(flat[::2], flat[1::2], strict=True) for e in (x, y, 2)]
        return {"shape": "point set", "keypoints": keypoints, "num_keypoints": len(flat) // 2}
    if kind == "polyline":
        return {"shape": kind, "points": _points(element)}
    return {"shape": "image label" if kind == "tag" else kind}


def attributes_of(
    element: Element, of_shape: Mapping[str, object] | None = None, *, is_tracked: bool = False
) -> Record:
    """Return the values of a shape, and the answers to attributes of its label."""
    values, own = element.values, OF_SHAPES + _OF_TRACKS * is_tracked
    found = {**of_shape} if of_shape else {}
    for key in OF_SHAPES[:3]:
        if values.get(key, "0") != "0":
            found[key] = values[key]
    if is_tracked:
        found |= {"track_id": values.get("id", ""), "keyframe": values.get("keyframe") == "1"}
    for answer in element.all("attribute") if element.inside else ():
        name = answer.values.get("name", "")
        found[OF_LABEL * (name in own) + name] = answer.text
    return found


def _box(values: Mapping[str, str]) -> list[float]:
    left, top, right, bottom = shapes.numbers_of(values, ("xtl", "ytl", "xbr", "ybr"))
    # Floating-point differences have more digits than the numbers in the file.
    return [left, top, round(right - left, 6), round(bottom - top, 6)]


def _points(element: Element) -> list[float]:
    text = element.values.get("points", "").strip(" ;")
    pairs = [pair.split(",") for pair in text.split(";")]
    if not text or any(len(pair) != 2 for pair in pairs):
        raise ValueProblemError(f"points are {text[:40]!r}; expected x,y;x,y")
    return [shapes.number_of(each, "a coordinate") for each in chain.from_iterable(pairs)]


def _outlined(ring: list[float], degrees: float = 0) -> Record:
    x, y = ring[::2], ring[1::2]
    left, top = min(x), min(y)
    bbox = [left, top, round(max(x) - left, 6), round(max(y) - top, 6)]
    turned = {"attributes": {"rotation": degrees}} if degrees else {}
    return {"bbox": bbox, "segmentation": [ring], **turned}


def _mask(values: Mapping[str, str], size: Size | None, masks: Masks) -> Record:
    sides = shapes.numbers_of(values, ("left", "top", "width", "height"))
    left, top, width, height = map(int, sides)
    text = values.get("rle", "")
    try:
        counts = np.array(text.split(","), np.int64)
    except (ValueError, OverflowError):
        raise MaskProblemError(f"has run lengths {text[:40]!r}; expected whole numbers") from None
    if counts.min() < 0 or counts.max() >= 1 << 31 or counts.sum() >= 1 << 31:
        raise MaskProblemError("has run lengths below zero, or of more pixels than an image has")
    if min(width, height) < 1 or counts.sum() != width * height:
        raise MaskProblemError(f"has runs of {counts.sum()} pixels; expected {width} × {height}")
    mask = RowMask(spans_of_runs(counts), width, height, left, top, len(text))
    if masks.outlines and size is None and len(mask.spans):
        raise shapes.UnknownSizeError("the size of its image is not known")
    return masks.record(mask, size)


_ADVICE = "Export it from CVAT again; the file may be cut off, or not be in UTF-8."
_NOTES = (
    ("empty", "mask", "left out: no pixels"),
    ("unknown", "video", "with frames unknown: those without shapes count as not asked about"),
    ("joints", "track", "of skeletons without their joints: 'CVAT for images 1.1' has them"),
)
_MOST_FRAMES, _FRAMES_BY_SHAPE, _FEW_FRAMES = 250_000, 50, 1000
"""Frames without shapes that videos may have: in all, more by shape, and any few."""


def translate(path: Path, into: Collector) -> None:
    """Translate CVAT XML; raises DatasetError if the file is not XML."""
    member = only_file(path, members_like(path, "CVAT", ".xml"), "CVAT XML")
    into.title, into.named_by = "CVAT XML", "the assignee"
    into.advice = "Export the task from CVAT again."
    records, reading, n_bytes = _Records(member.name, into), XmlElements(), 0
    try:
        for chunk in chain(member.chunks(), (None,)):
            for element in reading.parsed(chunk or b"", last=chunk is None):
                records.add(element)
            n_bytes += len(chunk or b"")
            if into.settings.progress is not None:
                into.settings.progress(n_bytes, max(n_bytes, member.most))
    except XmlError as error:
        column = f":{error.column}" if error.column else ""
        problem = f"{member.shown}:{error.line}{column}: {error}"
        raise DatasetError([problem], _ADVICE) from None
    records.finish(path, member.shown)


class _Records:
    def __init__(self, member: str, into: Collector) -> None:
        self._member = member
        self._into, self._tally = into, into.tally
        self._jobs: list[Job] = []
        self._is_anybody_named = False
        self._labels: dict[str, int] = {}
        # Labels of points and lines have no boxes, which is not a defect.
        self._apart: set[str] = set()
        self._images: dict[tuple[str, str], Record] = {}

    def add(self, element: Element) -> None:
        if element.name == "meta":
            self._add_header(element)
        elif element.name == "image":
            self._tally["images"] += 1
            values, where = element.values, Where(self._member, element.line)
            name = values.get("name") or id_as_name(values.get("id", ""))
            key, shown = (values.get("subset", ""), name), f"image {one_line(name)}"
            image = self._images[key] = self._into.image(key, where)
            self._into.size(image, name, [values.get(side) for side in SIDES], where)
            annotator = self._annotator(self._job_of(values))
            shared = self._into.begin_work(image["id"], [image], annotator, shown, where)
            for shape in element.inside if shared is not None else ():
                self._add_shape(shape, shape.values.get("label"), image, shared or {})
        elif element.name == "track":
            self._add_track(element.values, element.inside)

    def _add_header(self, meta: Element) -> None:
        parts = filter(None, map(meta.find, ("project", "task", "job")))
        if (whole := next(parts, None)) is None:
            return
        for work in whole.child("tasks").all("task") or [whole]:
            job = Job(
                one_line(work.said("id")),
                one_line(work.said("name")),
                work.said("subset"),
                _assignee(work) or _assignee(whole),
                Where(self._member, work.line),
                [*map((work.find("original_size") or meta.child("original_size")).said, SIDES)],
                PurePosixPath(one_line(work.said("source"))).name,
                work.said("mode") == "interpolation",
                _frames(work),
            )
            self._jobs.append(job)
            self._is_anybody_named |= job.assignee != ""
            if not job.assignee:
                name = f"{work.name} {job.id}" if job.id else f"the {work.name}"
                self._into.defect("T040", f"{name}: has no assignee", job.where)
        listed = whole.child("labels").all("label")
        joints: dict[str, list[str]] = defaultdict(list)
        for each in listed:
            joints[each.said("parent")].append(each.said("name"))
        for each in listed:
            name = each.said("name")
            if not name or each.said("parent"):
                continue
            self._labels[name] = each.line
            if each.said("type") in _WITHOUT_BOX:
                self._apart.add(name)
            if name in joints:
                self._into.skeleton(name, joints[name], _limbs(each.said("svg")))

    def _job_of(self, values: Mapping[str, str]) -> Job | None:
        """Return the job of an image or track; None if the file does not say."""
        if len(self._jobs) <= 1:
            return self._jobs[0] if self._jobs else None
        own = [each for each in self._jobs if each.id == values.get("task_id")]
        own = own or [each for each in self._jobs if each.subset == values.get("subset")]
        return own[0] if len(own) == 1 else None

    def _add_track(self, track: Mapping[str, str], inside: Sequence[Element]) -> None:
        self._tally["tracks"] += 1
        for each in inside:
            if each.name == "track":
                # The joints of a skeleton are tracks nested in its own.
                self._tally["joints"] += 1
                continue
            if each.values.get("outside") == "1":
                continue
            where, frame = Where(self._member, each.line), whole_number(each.values.get("frame"))
            if frame is None or frame < 0:
                shown = each.values.get("frame", "")[:40]
                problem = f"track {one_line(track.get('id', ''))}: a {each.name} has the "
                problem += f"frame {shown!r}; expected a whole number"
                self._into.defect("T001", problem, where)
                continue
            image, shared = self._frame(self._job_of(track), frame, where)
            each.values = {**track, **each.values}
            self._tally["shapes"] += 1
            self._add_shape(each, track.get("label"), image, shared, frame)

    def _annotator(self, job: Job | None) -> str:
        if job is not None and job.assignee:
            return job.assignee
        return UNNAMED if self._is_anybody_named else ""

    def _frame(self, job: Job | None, frame: int, where: Where) -> tuple[Record, Record]:
        """Return the image of a frame, and the keys that its annotations share."""
        video = ""
        if job is not None:
            video = job.source or (job.name if len(self._jobs) > 1 else "")
        name = f"frame_{frame:06d}"
        key = "", f"{video}/{name}" if video else name
        image = self._images[key] = self._into.image(key, where)
        if job is not None:
            self._into.size(image, name, job.size, job.where)
        return image, self._into.shared([image], self._annotator(job))

    def _add_shape(
        self, element: Element, label: str | None, image: Record, shared: Record, frame: int = -1
    ) -> None:
        into, values, what = self._into, element.values, element.name
        where, name = Where(self._member, element.line), (label or "").strip()
        size = (image["width"], image["height"]) if "height" in image else None
        with into.refusing(what, where):
            shape = shape_of(element, size, into.masks)
            record = {"image_id": image["id"], **shared, **into.boxed(shape)}
            if attributes := attributes_of(element, shape.get("attributes"), is_tracked=frame >= 0):
                record["attributes"] = attributes
            if values.get("source", "manual") != "manual":
                record["source"] = values["source"]
            if frame >= 0:
                record["own_id"] = f"track {values.get('id', '')}, frame {frame}"
            row = into.labelled(record, name, where, f"{what}: has no label")
            if row < 0:
                self._apart.add(name)
            elif name and self._labels and name not in self._labels:
                problem = f"label {one_line(name)!r} is not among the labels at the beginning"
                into.defect("T041", f"{problem} of the file", where, row)
            elif "joints" in shape:
                into.check_joints(what, len(shape["joints"]), name, where, row)

    def _check_frames(self, path: Path, shown: str) -> None:
        """Refuse videos with far more frames than shapes, as each frame takes memory."""
        n_frames = sum(len(job.frames or ()) for job in self._jobs)
        by_shape = _FRAMES_BY_SHAPE * self._tally["shapes"]
        if n_frames <= max(by_shape, _FEW_FRAMES):
            return
        archive = SourcePath.at(path).archive
        n_files = len([*members_with(archive.members, ".xml")]) if archive else 1
        most = max(_MOST_FRAMES // n_files, by_shape)
        if n_frames > most:
            n_shapes = count(self._tally["shapes"], "shape")
            problem = f"{shown}: its videos have {n_frames:,} frames and {n_shapes}"
            todo = "Correct <size> in <meta>, or unpack an archive and export jobs one by one."
            raise DatasetError([f"{problem}; expected at most {most:,} frames"], todo)

    def finish(self, path: Path, shown: str) -> None:
        for name, line in self._labels.items():
            if name not in self._apart:
                self._into.category(name, Where(self._member, line))
        jobs = self._jobs
        is_video = self._tally["tracks"] > 0 or any(e.is_video and e.frames for e in jobs)
        # The frames of videos are not listed.
        if has_frames := is_video and not self._tally["images"]:
            self._check_frames(path, shown)
            for job in jobs:
                for frame in job.frames or ():
                    self._frame(job, frame, job.where)
        times = Counter(name for _, name in self._images)
        for (subset, name), record in self._images.items():
            # The subset belongs to the name if several subsets have an image of that name.
            record["file_name"] = f"{subset}/{name}" if times[name] > 1 and subset else name
        if has_frames:
            self._tally["unknown"] += sum(job.frames is None for job in jobs) if jobs else 1
        self._into.count(_NOTES)
        if has_frames and any(not job.is_video for job in jobs):
            note = "images are named by their frame; 'CVAT for images 1.1' has their names"
            self._into.notes.append(note)
        elif has_frames and any(not job.source and job.frames for job in jobs):
            note = "the file does not name its video: frames of all files are joined by number"
            self._into.notes.append(note)
