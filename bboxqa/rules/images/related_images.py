"""M: images related to images of another file: augmented copies, frames of the same video."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule
from bboxqa.rules.facts.document import Document
from bboxqa.rules.images.earlier_images import EarlierImage
from bboxqa.rules.images.video_cuts import Cut, cut_hits, cut_of

_ROBOFLOW = re.compile(r"(.+)\.rf\.[0-9a-zA-Z]{16,}\.\w+")
_SUFFIX = re.compile(r"[._](?:jpe?g|png|bmp|tiff?|webp)$", re.IGNORECASE)
_FRAME = re.compile(r"(.*?)(\d{1,12})")
_VIDEO = re.compile(r"frame|video|clip|mp4|avi|mov|mkv|webm", re.IGNORECASE)
_SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing", "images", ""}
_MANY = 10
# If a video is cut into parts, few of its frames are next to a frame of another part.
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class _Origins:
    """The origins of images, inferred from their names."""

    originals: dict[str, list[int]]
    """Dict of str to list of int. Images by their name before Roboflow's hash."""
    videos: dict[tuple[str, str], list[tuple[int, int]]]
    """Dict of (str, str) to list of (int, int). Sorted frame numbers and images, by folder and
    prefix of the name.
    """


def _origins(document: Document) -> _Origins:
    found = _Origins({}, {})
    for row, name in enumerate(document.images.texts("file_name")):
        *folders, last = name.replace("\\", "/").split("/")
        exported = _ROBOFLOW.fullmatch(last)
        stem = exported[1] if exported else last
        if exported:
            found.originals.setdefault(stem, []).append(row)
        frame = _FRAME.fullmatch(_SUFFIX.sub("", stem))
        folder = folders[-1] if folders and folders[-1].lower() not in _SPLITS else ""
        if frame and _VIDEO.search(f"{folder}/{frame[1]}"):
            found.videos.setdefault((folder, frame[1]), []).append((int(frame[2]), row))
    for frames in found.videos.values():
        frames.sort()
    return found


def _related(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """M010: images related to an image of an earlier file."""
    for place, document in enumerate(documents):
        for earlier in documents[:place]:
            shared = set(earlier.images.texts("file_name"))
            names = document.images.texts("file_name")
            found = [
                relative for relative in _relatives(earlier, document)
                # M008 reports images that are in both files.
                if names[relative.row] not in shared
            ]  # fmt: skip
            for hits in _hits(earlier, document, found):
                yield document, hits
        for hits in cut_hits(document, _cuts(documents[:place], document)):
            yield document, hits


def _cuts(earlier: Sequence[Document], later: Document) -> list[Cut]:
    """Return the videos that are cut between a file and an earlier file, each once."""
    found: dict[tuple[str, str], Cut] = {}
    for document in earlier:
        before = document.once(_origins).videos
        for video, frames in later.once(_origins).videos.items():
            # Frames of videos that are not cut into parts are reported one by one.
            if video in found or video not in before or _neighbours(before[video], frames):
                continue
            name, files = "/".join(filter(None, video)), (document.name, later.name)
            if cut := cut_of(name, before[video], frames, files):
                found[video] = cut
    return list(found.values())


def _relatives(earlier: Document, later: Document) -> list[EarlierImage]:
    """Return the images of a file that are related to an earlier file, in order, each once."""
    before, after = earlier.once(_origins), later.once(_origins)
    found = {
        row: EarlierImage(row, before.originals[name][0], "has the original name of")
        for name, rows in after.originals.items()
        if name in before.originals
        for row in rows
    }
    for video, frames in after.videos.items():
        if video in before.videos:
            for relative in _neighbours(before.videos[video], frames):
                found.setdefault(relative.row, relative)
    return [found[row] for row in sorted(found)]


def _neighbours(
    before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]
) -> list[EarlierImage]:
    """Return the frames next to a frame of an earlier file; empty if they are few."""
    numbers = [number for number, _ in before]
    own = sorted({number for number, _ in after})
    found = []
    for number, row in after:
        place, own_place = bisect_left(numbers, number), bisect_left(own, number)
        around = own[max(own_place - 1, 0) : own_place + 2]
        for other in before[max(place - 1, 0) : place + 1]:
            low, high = sorted((number, other[0]))
            if not any(low < n < high for n in around):
                found.append(EarlierImage(row, other[1], "is a frame next to"))
                break
    return found if len(found) >= _ENOUGH * len(after) else []


def _hits(earlier: Document, later: Document, found: Sequence[EarlierImage]) -> Iterator[Hits]:
    names = later.images.texts("file_name")
    expected = "all copies of an image, and all frames of a video, in one split"

    def describe(place: int) -> Defect:
        row = found[place].row
        message = f"{found[place].in_words(earlier, later)}; expected {expected}"
        return record_defect(later, ("images", row), message, found=names[row], expected=expected)

    rows = [relative.row for relative in found]
    if 0 < len(rows) <= _MANY:
        yield Hits(np.array(rows, np.int64), describe, name="images")
    elif rows:
        yield from summary_hits(
            f"{len(rows):,} of {len(later.images):,} images are related to images of "
            f"{earlier.name}, such as: {found[0].in_words(earlier, later)}; expected {expected}",
            "images",
            rows,
            pointer=pointer_to("images", rows[0]),
            found=names[rows[0]],
            expected=expected,
        )


RULES = (
    Rule(
        code="M010",
        title="copy of an image, or frame of a video, in several files",
        severity=Severity.WARNING,
        scope="files",
        breaks="""If the files are splits, the model is tested on scenes that it was trained on, and
            its scores are too good.""",
        explanation="""The name of an image shows that it is related to an image of an earlier file.
            It has the same name before the hash that Roboflow adds, like augmented copies of one
            image; or it is the next frame of the same video ("frame", "clip", "mp4" and the like in
            the name, and a number at its end), like at least half of the frames. Split by original
            image and by video. Videos that are cut into parts, each in one file, have few frames
            next to a frame of another file: one info finding lists them all, unless frames are left
            out at the cuts. Names that are the same by accident, such as download.jpg, are reported
            as well; ignore M010 then. In the example, the earlier file has
            a_jpg.rf.0123456789abcdef.jpg.""",
        bad={"images": [{"file_name": "a_jpg.rf.fedcba9876543210.jpg"}]},
        good={"images": [{"file_name": "b_jpg.rf.fedcba9876543210.jpg"}]},
        check=_related,
    ),
)
