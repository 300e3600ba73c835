"""Translating CVAT files to COCO records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import own_name
from bboxqa.core.text import count, one_line
from bboxqa.formats.cvat.cvat_elements import elements_of
from bboxqa.formats.cvat.cvat_notes import named_by, notes_of, repeat_notes
from bboxqa.formats.cvat.file_records import FileRecords, Gathered
from bboxqa.formats.cvat.jobs import Head, Job, head_of_file
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.cvat.run_records import add_run
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.translated import Add, Record, Translated, Wanted
from bboxqa.formats.xml_elements import Element

TITLE = "CVAT XML"

_MOST_FRAMES = 250_000
"""Frames of videos that are read in a few seconds, even if nearly all are without shapes."""
_FRAMES_BY_SHAPE = 50


def translate_members(members: Sequence[Member], add: Add, wanted: Wanted) -> Translated:
    """Translate CVAT files.

    Raises BrokenTextError if a file is not XML, and DatasetError if the files have no images, or
    are of different videos.
    """
    gathered = Gathered(Collector(TITLE, add), wanted)
    people = _people_by_file(members, wanted) if len(members) > 1 else {}
    n_frames = n_shapes = 0
    task = None
    for member in members:
        records = FileRecords(member.name, gathered, people.get(member.name, ""))
        as_columns = wanted.add_boxes
        runs = None if as_columns is None else PlainRuns(in_full=wanted.in_full)
        for found in elements_of(member, wanted.progress, runs=runs, bounded=wanted.bounded):
            if not isinstance(found, PlainRun):
                records.add(found)
            elif as_columns is not None:
                add_run(records, found, as_columns)
        n_frames += records.n_frames()
        n_shapes += records.n_shapes
        _check_frames(member, n_frames, n_shapes)
        records.end()
        task = records.task_of_frames() if len(members) == 1 else None
    if not gathered.images:
        raise DatasetError(
            [f"{members[0].shown}: has no image, track or frames"],
            "Export the task from CVAT again.",
        )
    _name_images(gathered.images)
    tally = gathered.tally
    whole = gathered.into.done([*notes_of(tally)], named_by(tally), [*repeat_notes(tally)])
    return replace(whole, task_of_frames=task)


def _check_frames(member: Member, n_frames: int, n_shapes: int) -> None:
    """Refuse videos with far more frames than shapes, as each takes memory."""
    most = max(_MOST_FRAMES, _FRAMES_BY_SHAPE * n_shapes)
    if n_frames > most:
        found = f"its videos have {n_frames:,} frames and {count(n_shapes, 'shape')}"
        limit = f"expected at most {_MOST_FRAMES:,}, or {_FRAMES_BY_SHAPE} for each shape"
        raise DatasetError(
            [f"{member.shown}: {found}; {limit}"],
            "If that is right, export its jobs one by one. Otherwise correct <size> in <meta>.",
        )


def _people_by_file(members: Sequence[Member], wanted: Wanted) -> dict[str, str]:
    """Return an annotator for each file, if the files name fewer than two people; else nothing."""
    jobs = [(member, job) for member in members for job in _head_of(member).jobs]
    if len({job.person for _, job in jobs} - {""}) > 1:
        return {}
    if wanted.compared:
        _refuse_videos(jobs)
    paths = [PurePosixPath(member.name) for member in members]
    # Files job_1/annotations.xml and job_2/annotations.xml are named job_1 and job_2.
    is_folder = len({path.name for path in paths}) < len(paths)
    names = [str(path.parent) if is_folder else own_name(path) for path in paths]
    return {member.name: name for member, name in zip(members, names, strict=True)}


class _Video(NamedTuple):
    """A task with frames of a video that has no name."""

    frames: range
    task: str
    member: Member


def _refuse_videos(jobs: Sequence[tuple[Member, Job]]) -> None:
    """Refuse tasks with different names and the same frames, as of videos without names."""
    videos = [
        _Video(job.frames, job.name, member)
        for member, job in jobs
        if job.is_video and job.frames and job.name and not job.source
    ]
    # By task, those that reach farthest; two are enough, as one of them has another name.
    farthest: dict[str, _Video] = {}
    for video in sorted(videos, key=lambda each: each.frames.start):
        for before in farthest.values():
            if before.task != video.task and video.frames.start < before.frames.stop:
                raise _same_frames(before, video)
        ends = {**farthest, video.task: max(farthest.get(video.task, video), video, key=_stop)}
        farthest = {each.task: each for each in sorted(ends.values(), key=_stop)[-2:]}


def _stop(video: _Video) -> int:
    return video.frames.stop


def _same_frames(first: _Video, second: _Video) -> DatasetError:
    """Return an error on two tasks with the same frames."""
    tasks = f"tasks {one_line(first.task)!r} and {one_line(second.task)!r}"
    files = f"{first.member.shown} and {second.member.shown}"
    problem = f"{files}: {tasks} have frames of the same numbers"
    return DatasetError(
        [f"{problem}, but of different videos, as it seems; expected files of one video"],
        "Unpack the archive, and name the files of one video: "
        "bboxqa agree --annotator ann=FILE --annotator bob=FILE",
    )


def _head_of(member: Member) -> Head:
    for found in elements_of(member):
        if isinstance(found, Element) and found.name == "meta":
            return head_of_file(found)
        if isinstance(found, Element) and found.name in ("image", "track"):
            break
    return Head()


def _name_images(images: dict[tuple[str, str], Record]) -> None:
    """Name images as in CVAT, with the subset if several subsets have an image of that name."""
    times = Counter(name for _, name in images)
    for (subset, name), record in images.items():
        record["file_name"] = f"{subset}/{name}" if times[name] > 1 and subset else name
