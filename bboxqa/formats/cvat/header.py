"""The jobs, annotators and labels in the header of a CVAT file."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from bboxqa.core.text import clean, one_line
from bboxqa.formats.records import whole_number
from bboxqa.formats.xml_elements import Element, XmlError, tree_of

_WITHOUT_BOX = {"tag", "points", "polyline", "skeleton", "cuboid"}
_MOST_FRAMES = 1 << 31


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
