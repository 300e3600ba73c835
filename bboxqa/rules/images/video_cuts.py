"""M: videos that are cut into parts in different files, for M010."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import median

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.model.findings import Severity
from bboxqa.rules.base.reporting import summary_hits
from bboxqa.rules.base.rule import Hits
from bboxqa.rules.facts.document import Document

Frames = Sequence[tuple[int, int]]
"""The frames of a video in one file, as sorted pairs of frame number and image."""

_PARTS = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """A video whose frames before and after a cut are in different files."""

    video: str
    row: int
    """The image of the later file next to the first cut."""
    parts: str
    """A phrase on which frames are in which file."""


def cut_of(video: str, before: Frames, after: Frames, files: tuple[str, str]) -> Cut | None:
    """Return the cut of a video between an earlier and a later file.

    None if the frames at a cut are further apart than half of the others, or if a frame is in both
    files.
    """
    if {number for number, _ in before} & {number for number, _ in after}:
        return None
    # Number, file (0 or 1) and image of each frame; augmented copies of a frame count once.
    parts_of = enumerate((before, after))
    frames = sorted({n: (n, file, row) for file, part in parts_of for n, row in part}.values())
    pairs = [(one, other, other[0] - one[0]) for one, other in pairwise(frames)]
    steps = [step for one, other, step in pairs if one[1] == other[1]]
    usual = median(steps) if steps else 0
    cuts = [pair for pair in pairs if pair[0][1] != pair[1][1] and pair[2] <= usual]
    if not cuts:
        return None
    row = max(cuts[0][:2], key=itemgetter(1))[2]
    parts = []
    for file, run in groupby(frames, key=itemgetter(1)):
        numbers = [frame[0] for frame in run]
        span = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        parts.append(f"{span} in {files[file]}")
    more = [count(len(parts) - _PARTS, "more part")] if len(parts) > _PARTS else []
    return Cut(video, row, ", ".join(parts[:_PARTS] + more))


def cut_hits(document: Document, cuts: Sequence[Cut]) -> Iterator[Hits]:
    """Yield a single finding on the cuts between a file and earlier files, if there are any."""
    if not cuts:
        return
    first = cuts[0]
    rows = [cut.row for cut in cuts]
    frames = f"frames of {shortened(first.video)}"
    if len(cuts) == 1:
        head = f"{frames} are cut between files: {first.parts}"
    else:
        head = f"{len(cuts):,} videos are cut between files, such as {frames}: {first.parts}"
    expected = "a gap at the cut, or all frames of a video in one split"
    yield from summary_hits(
        f"{head}; only frames next to a cut are nearly alike; expected {expected}",
        "images",
        rows,
        severity=Severity.INFO,
        pointer=pointer_to("images", rows[0]),
        found=document.images.texts("file_name")[rows[0]],
        expected=expected,
    )
