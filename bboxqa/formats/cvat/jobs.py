"""The jobs and their annotators, from the header of a CVAT file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from bboxqa.core.text import clean, one_line
from bboxqa.formats.annotations.records import whole_number
from bboxqa.formats.cvat.skeleton_labels import Skeleton, skeletons_of
from bboxqa.formats.xml_elements import Element

_KINDS = ("task", "job")
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
    owner: str
    line: int
    size: tuple[str, str] = ("", "")
    """Width and height of the frames of a video, as written in the file."""
    source: str = ""
    """The file name of a video."""
    is_video: bool = False
    frames: range | None = None
    """The frames to be annotated; None if the file does not say."""

    @property
    def label(self) -> str:
        """The name of the job in messages, such as "task 7"."""
        return f"{self.kind} {self.id}" if self.id else f"the {self.kind}"

    @property
    def person(self) -> str:
        """The annotator: the assignee, else the owner; empty if neither is named."""
        return self.assignee or self.owner


class Label(NamedTuple):
    """A label of a task other than the labels of skeleton points."""

    name: str
    line: int
    has_box: bool


@dataclass(frozen=True, slots=True)
class Head:
    """The header of a file."""

    jobs: tuple[Job, ...] = ()
    labels: tuple[Label, ...] = ()
    line: int = 1
    skeletons: Mapping[str, Skeleton] = field(default_factory=dict)
    """The labels that are skeletons, by name."""

    def job_of(self, values: Mapping[str, str]) -> Job | None:
        """Return the job of an image or track; None if the file does not say."""
        if len(self.jobs) <= 1:
            return self.jobs[0] if self.jobs else None
        own = [each for each in self.jobs if each.id == values.get("task_id")]
        own = own or [each for each in self.jobs if each.subset == values.get("subset")]
        return own[0] if len(own) == 1 else None


def head_of_file(meta: Element) -> Head:
    """Return the content of the element `meta`."""
    project = meta.find("project")
    if project is not None:
        listed = project.find("tasks")
        tasks = () if listed is None else (e for e in listed.inside if e.name == "task")
        jobs = tuple(_job(task, project, meta) for task in tasks)
        jobs = jobs or (_job(project, project, meta),)
        return Head(jobs, (*_labels(project),), meta.line, _skeletons(project))
    for kind in _KINDS:
        found = meta.find(kind)
        if found is not None:
            jobs = (_job(found, found, meta),)
            return Head(jobs, (*_labels(found),), meta.line, _skeletons(found))
    return Head(line=meta.line)


def _job(work: Element, around: Element, meta: Element) -> Job:
    size = work.find("original_size") or meta.find("original_size")
    return Job(
        work.name,
        one_line(work.said("id")),
        one_line(work.said("name")),
        work.said("subset"),
        _person(work, "assignee") or _person(around, "assignee"),
        _person(work, "owner") or _person(around, "owner"),
        work.line,
        ("", "") if size is None else (size.said("width"), size.said("height")),
        PurePosixPath(one_line(work.said("source"))).name,
        work.said("mode") == "interpolation",
        _frames(work),
    )


def _person(work: Element, role: str) -> str:
    """Return the user name in a role, else the e-mail; empty if nobody is named."""
    found = work.find(role)
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


def _labels(work: Element) -> Iterator[Label]:
    listed = work.find("labels")
    for label in () if listed is None else listed.inside:
        name = label.said("name")
        if name and not label.said("parent"):
            yield Label(name, label.line, label.said("type") not in _WITHOUT_BOX)


def _skeletons(work: Element) -> dict[str, Skeleton]:
    return skeletons_of(work.find("labels"))
