"""The jobs, annotators and labels in the header of a CVAT file."""

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
    """A label of a task other than the labels of skeleton points."""

    name: str
    line: int
    has_box: bool


class Skeleton(NamedTuple):
    """A label that is a skeleton."""

    joints: tuple[str, ...]
    limbs: tuple[tuple[str, str], ...]
    """The names of the two joints of each limb."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file."""

    jobs: tuple[Job, ...] = ()
    labels: tuple[Label, ...] = ()
    skeletons: Mapping[str, Skeleton] = field(default_factory=dict)
    """The labels that are skeletons, by name."""

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
            labels = whole.find("labels")
            inside = [] if labels is None else labels.inside
            return Header(jobs, (*_labels(inside),), _skeletons(inside))
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


def _labels(listed: list[Element]) -> Iterator[Label]:
    for label in listed:
        name = label.said("name")
        if name and not label.said("parent"):
            yield Label(name, label.line, label.said("type") not in _WITHOUT_BOX)


def _skeletons(listed: list[Element]) -> dict[str, Skeleton]:
    joints: dict[str, list[str]] = {}
    for label in listed:
        if parent := label.said("parent"):
            joints.setdefault(parent, []).append(label.said("name"))
    drawings = {label.said("name"): label.said("svg") for label in listed}
    return {
        name: Skeleton((*own,), (*_limbs(drawings.get(name, "")),)) for name, own in joints.items()
    }


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
