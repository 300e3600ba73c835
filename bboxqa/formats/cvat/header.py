"""The jobs, annotators and labels in the header of a CVAT file."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from bboxqa.core.text import clean, one_line
from bboxqa.formats.records import whole_number
from bboxqa.formats.xml_elements import Element, XmlError, tree_of

_WITHOUT_BOX = {"tag", "points", "polyline", "skeleton", "cuboid"}
_MOST_FRAMES = 1 << 31


@dataclass(frozen=True, slots=True)
class Job:
    """A task, or a job of a task."""

    kind: str
    id: str
    name: str
    subset: str
    assignee: str
    line: int
    size: tuple[str, str] = ("", "")
    """Width and height of the frames of a video, as written in the file."""
    source: str = ""
    """The file name of a video."""
    is_video: bool = False
    frames: range | None = None
    """The frames to be annotated; None if the file does not say."""


class Label(NamedTuple):
    """A label of a task, or a joint of a label that is a skeleton."""

    name: str
    line: int
    has_box: bool
    joints: tuple[str, ...] = ()
    """The joints of a skeleton, and the two joints that each limb connects."""
    limbs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file."""

    jobs: tuple[Job, ...] = ()
    labels: Mapping[str, Label] = field(default_factory=dict)

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
            return Header(jobs, {each.name: each for each in _labels(whole.find("labels"))})
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
    n_frames = whole_number(work.said("size"))
    if n_frames is None or not 0 < n_frames <= _MOST_FRAMES:
        return None
    first = whole_number(work.said("start_frame") or 0)
    last = whole_number(work.said("stop_frame") or n_frames - 1)
    step = whole_number(work.said("frame_filter").partition("step=")[2] or 1)
    if first is None or last is None or step is None or step < 1 or first < 0:
        return None
    found = range(first, last + 1, step)
    return found if len(found) == n_frames else None


def _labels(listed: Element | None) -> Iterator[Label]:
    joints: dict[str, list[str]] = defaultdict(list)
    labels = [] if listed is None else listed.inside
    for label in labels:
        joints[label.said("parent")].append(label.said("name"))
    for label in labels:
        name, kind = label.said("name"), label.said("type")
        if name and not label.said("parent"):
            own = (*joints[name],)
            limbs = (*_limbs(label.said("svg")),) if own else ()
            yield Label(name, label.line, kind not in _WITHOUT_BOX, own, limbs)


def _limbs(drawing: str) -> Iterator[tuple[str, str]]:
    """Yield the limbs of a drawing, whose circles are joints and whose lines are limbs."""
    try:
        root = tree_of(f"<svg>{drawing}</svg>".encode())
    except XmlError:
        # The drawing is of no other use.
        return
    names = {
        each.values.get("data-node-id"): each.values.get("data-label-name", "")
        for each in root.all("circle")
    }
    for line in root.all("line"):
        ends = [names.get(line.values.get(f"data-node-{end}"), "") for end in ("from", "to")]
        if all(ends):
            yield ends[0], ends[1]
