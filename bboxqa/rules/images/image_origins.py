"""Which images are copies of one original, or frames of one video, as their names show."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bboxqa.rules.facts.document import Document
from bboxqa.rules.images.earlier_images import EarlierImage

_ROBOFLOW = re.compile(r"(.+)\.rf\.[0-9a-zA-Z]{16,}\.\w+")
_SUFFIX = re.compile(r"[._](?:jpe?g|png|bmp|tiff?|webp)$", re.IGNORECASE)
_FRAME = re.compile(r"(.*?)(\d{1,12})")
_VIDEO = re.compile(r"frame|video|clip|mp4|avi|mov|mkv|webm", re.IGNORECASE)
_SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing", "images", ""}
# If a video is cut into parts, few of its frames are next to a frame of another part.
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of images, inferred from their names."""

    originals: dict[str, list[int]]
    """Dict of str to list of int. Images by their name before Roboflow's hash."""
    videos: dict[tuple[str, str], list[tuple[int, int]]]
    """Dict of (str, str) to list of (int, int). Sorted frame numbers and images, by folder and
    prefix of the name.
    """


def origins(document: Document) -> Origins:
    """Return the origins of the images of a file."""
    found = Origins({}, {})
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


def relatives(earlier: Document, later: Document) -> list[EarlierImage]:
    """Return the images of a file that are related to an earlier file, in order, each once."""
    before, after = earlier.once(origins), later.once(origins)
    found = {
        row: EarlierImage(row, before.originals[name][0], "has the original name of")
        for name, rows in after.originals.items()
        if name in before.originals
        for row in rows
    }
    for video, frames in after.videos.items():
        if video in before.videos:
            for relative in neighbours(before.videos[video], frames):
                found.setdefault(relative.row, relative)
    return [found[row] for row in sorted(found)]


def neighbours(
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


def video_of_each(document: Document) -> dict[int, tuple[str, str]]:
    """Return the folder and prefix of the video of each image that is a frame."""
    videos = document.once(origins).videos
    return {row: video for video, frames in videos.items() for _, row in frames}
