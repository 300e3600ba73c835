"""C and D: contradictions within tracks."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.json_values import shortened
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document

_FILES = (".json", ".xml")


def _tracks(document: Document) -> IndexArray:
    """Return the track of each annotation in a track, (T,) int64, per annotator and video.

    Empty if several files are read together, as their tracks may have the same numbers.
    """
    tracks = document.annotations.tracks
    path = Path(document.name)
    are_several = document.reading.origin is not None and path.suffix.lower() not in _FILES
    if are_several or not len(tracks.row):
        return np.zeros(0, np.int64)
    videos: dict[Any, int] = {}
    of_image = [
        videos.setdefault(_video(document, row), len(videos)) for row in range(len(document.images))
    ]
    video = np.array([*of_image, -1], np.int64)[document.image[tracks.row]]
    author = document.once(authorship).author[tracks.row]
    keys = np.stack([tracks.code, author, video], 1)
    found: IndexArray = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    return found


def _video(document: Document, row: int) -> tuple[str, str]:
    """Return the identity of an image's video: its id, or the folder of its frames."""
    number = document.images.get(row, "video_id")
    name = document.images.get(row, "file_name")
    folder = str(PurePosixPath(name).parent) if isinstance(name, str) else ""
    return (str(number), "") if number is not None else ("", folder)


def _name(document: Document, place: int) -> str:
    columns = document.annotations
    return shortened(columns.track_names[columns.tracks.code[place]])


def _twice(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """D004: second annotations of a track in the same image by the same annotator."""
    track, rows = document.once(_tracks), document.annotations.tracks.row
    if not len(track):
        return
    keys = np.stack([track, document.image[rows]], 1)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    first = first[number.reshape(-1)]
    known = document.image[rows] >= 0
    again = np.flatnonzero((first != np.arange(len(track))) & known)

    def describe(place: int) -> Defect:
        at = int(again[place])
        other = document.ids(int(rows[first[at]])).get("annotation")
        return record_defect(
            document,
            ("annotations", int(rows[at])),
            f"track {_name(document, at)} has annotation {shortened(other)} in this image already; "
            "expected one in each image",
            expected="one annotation of a track in each image",
        )

    if len(again):
        yield Hits(rows[again], describe)


def _of_several(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C010: annotations whose category differs from most of their track."""
    track, rows = document.once(_tracks), document.annotations.tracks.row
    if not len(track) or "tracks" in document.reading.spans:
        return
    category = document.category[rows]
    keys, number = np.unique(np.stack([track, category], 1), axis=0, return_inverse=True)
    sizes = np.bincount(number.reshape(-1), minlength=len(keys))
    # The most frequent category of each track, or the first if tied.
    order = np.lexsort((np.arange(len(keys)), -sizes, keys[:, 0]))
    _, begin = np.unique(keys[order, 0], return_index=True)
    most = keys[order[begin], 1][track]
    wrong = np.flatnonzero((category != most) & (category >= 0) & (most >= 0))

    def describe(place: int) -> Defect:
        at = int(wrong[place])
        names = (document.categories.get(int(each[at]), "name") for each in (category, most))
        own, usual = map(shortened, names)
        return record_defect(
            document,
            ("annotations", int(rows[at]), "category_id"),
            f"category is {own}, but {usual} in most images of track {_name(document, at)}; "
            "expected one category for a track",
            found=own,
            expected=usual,
        )

    if len(wrong):
        yield Hits(rows[wrong], describe, key="category_id")


def _video_of(*places: tuple[int, int, int]) -> dict[str, Any]:
    """Return an example of annotations of (image, track, category)."""
    return {
        "images": [{}, {}, {}],
        "categories": [{}, {}],
        "annotations": [
            {"image_id": image, "track_id": track, "category_id": category,
             "bbox": [10 + 9 * number, 10 + 5 * number, 20, 30]}
            for number, (image, track, category) in enumerate(places)
        ],
    }  # fmt: skip


RULES = (
    Rule(
        code="C010",
        title="track with several categories",
        severity=Severity.WARNING,
        breaks="""Trackers learn that an object becomes another one, and evaluation for each
            category counts the rest of the track as missed.""",
        explanation="""A track is one object over the images of a video, by one annotator. Here some
            of its annotations have another category than most. A class was changed in some frames
            only, or two objects were joined into one track. Give all annotations the same category,
            or split the track. Files that list their tracks are checked by I010.""",
        bad=_video_of((1, 7, 1), (2, 7, 1), (3, 7, 2)),
        good=_video_of((1, 7, 1), (2, 7, 1), (3, 8, 2)),
        check=_of_several,
    ),
    Rule(
        code="D004",
        title="track twice in one image",
        severity=Severity.WARNING,
        breaks="""Evaluation of tracking counts a false positive and a switch of identities in each
            such image.""",
        explanation="""Two annotations of one image by the same annotator belong to the same track,
            which is one object. Two tracks were given one number, or an object was annotated again.
            Give them different tracks, or delete one. Videos are identified by the video_id of
            their images, or else by the folders of the images.""",
        bad=_video_of((1, 7, 1), (1, 7, 1), (2, 7, 1)),
        good=_video_of((1, 7, 1), (1, 8, 1), (2, 7, 1)),
        check=_twice,
    ),
)
