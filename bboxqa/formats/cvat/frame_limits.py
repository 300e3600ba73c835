"""Limits of the frames of videos, of which a file can name very many in few words."""

from collections.abc import Sequence
from contextlib import suppress

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.cvat.cvat_elements import elements_of
from bboxqa.formats.cvat.jobs import Head, head_of_file
from bboxqa.formats.translation.member import Member
from bboxqa.formats.xml_elements import Element

_MOST_FRAMES = 250_000
"""Frames of videos that are read in a few seconds, even if nearly all are without shapes."""
_FRAMES_BY_SHAPE = 50
_ONE_BY_ONE = "export its jobs one by one"
_SHORTER_JOBS = f"upload its annotations to a task with a smaller segment size, and {_ONE_BY_ONE}"


def check_frames(member: Member, n_frames: int, n_shapes: int, n_beside: Sequence[int]) -> None:
    """Refuse videos with far more frames than shapes, as each takes memory.

    Files of an archive share the limit if they have more frames in all; `n_beside` are the frames
    of each, or empty.
    """
    shared = len(n_beside) if sum(n_beside) > _MOST_FRAMES else 1
    most = _MOST_FRAMES // shared
    if n_frames > max(most, _FRAMES_BY_SHAPE * n_shapes):
        found = f"its videos have {n_frames:,} frames and {count(n_shapes, 'shape')}"
        among = f" as one of {shared:,} files" if shared > 1 else ""
        limit = f"expected at most {most:,}{among}, or {_FRAMES_BY_SHAPE} for each shape"
        is_read_alone = n_frames <= _MOST_FRAMES
        jobs = _head_in(member).jobs
        one_by_one = _SHORTER_JOBS if [job.kind for job in jobs] == ["job"] else _ONE_BY_ONE
        do = "unpack the archive, and name the folder" if is_read_alone else one_by_one
        raise DatasetError(
            [f"{member.shown}: {found}; {limit}"],
            f"If that is right, {do}. Otherwise correct <size> in <meta>.",
        )


def frames_in_head(member: Member) -> int:
    """Return how many frames the beginning of a file says that its videos have; 0 if unknown."""
    return sum(len(job.frames or ()) for job in _head_in(member).jobs)


def _head_in(member: Member) -> Head:
    """Return what the beginning of a file says; without jobs if it cannot be read."""
    with suppress(DatasetError):
        for found in elements_of(member):
            if isinstance(found, Element) and found.name == "meta":
                return head_of_file(found)
            if isinstance(found, Element) and found.name in ("image", "track"):
                break
    return Head()
