"""I: annotations and the tracks of a video that they belong to."""

import re
from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, find
from bboxqa.core.json_values import shortened
from bboxqa.formats.records import id_number
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.ids.licences import listed


def numbers_in_annotations(document: Document, key: str) -> IndexArray | None:
    """Return the integers under a key of annotations, (N,) int64; None unless all have one.

    This is for keys that reading a file does not keep.
    """
    reading = document.reading
    pattern = re.compile(rf'"{key}"\s*:\s*(-?\d{{1,18}})(?=\s*[,}}])'.encode())
    _, start, stop = reading.spans.get("annotations", (0, 0, 0))
    found = [int(each[1]) for each in pattern.finditer(reading.text, start, stop)]
    return np.array(found, np.int64) if len(found) == len(document.annotations) else None


def _wrong_tracks(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """I010: tracks that do not exist, or have another category or video."""
    tracks = listed(document, "tracks") if "tracks" in document.reading.spans else []
    of_annotation = numbers_in_annotations(document, "track_id") if tracks else None
    if of_annotation is None:
        return
    ids = np.array([id_number(each.get("id")) for each in tracks], np.int64)
    track = find(ids, of_annotation)
    videos = np.array([id_number(each.get("id")) for each in listed(document, "videos")], np.int64)
    used = [id_number(document.images.get(r, "video_id")) for r in range(len(document.images))]
    of_image = _existing(np.array([*used, 0], np.int64), videos)[document.image]
    category, video = (
        _existing(np.array([id_number(each.get(key)) for each in tracks], np.int64), listed_ids)[
            track
        ]
        for key, listed_ids in (("category_id", document.categories.id), ("video_id", videos))
    )
    own = document.annotations.category_id
    known = track >= 0
    for where, key in (
        (~known, ""),
        (known & (category != 0) & (own != 0) & (category != own), "category_id"),
        (known & (video != 0) & (of_image != 0) & (video != of_image), "video_id"),
    ):
        yield from _hits(document, where, key, of_annotation, track, tracks)


def _existing(used: IndexArray, ids: IndexArray) -> IndexArray:
    """Return references, with 0 for missing records, which I011 reports."""
    return np.where(find(ids, used) >= 0, used, 0) if len(ids) else used


def _hits(
    document: Document,
    where: BoolArray,
    key: str,
    of_annotation: IndexArray,
    track: IndexArray,
    tracks: list[dict[str, object]],
) -> Iterator[Hits]:
    """Yield annotations whose track does not exist, or has a different value of a key."""

    def describe(row: int) -> Defect:
        number = int(of_annotation[row])
        message = f"track_id is {number}, which none of the tracks has; expected the id of a track"
        if key:
            wanted = shortened(tracks[int(track[row])][key])
            of_what = "annotation" if key == "category_id" else "image"
            record = document.record(row)
            if of_what == "image":
                record = {key: document.images.get(int(document.image[row]), key)}
            message = (
                f"{key} of the {of_what} is {shortened(record[key])}, but {wanted} in its track "
                f"{number}; expected the same"
            )
        return record_defect(document, ("annotations", row, "track_id"), message, found=number)

    def summary(_some: IndexArray, share: str) -> str:
        if key:
            return f"track has another {key} in {share}; expected the same"
        return f"track_id of {share} matches none of the tracks; expected the id of a track"

    yield from hits(where, describe, key="track_id", summary=summary)


_VIDEO = {
    "videos": [{"id": 1, "name": "a"}],
    "tracks": [{"id": 1, "category_id": 1, "video_id": 1}],
    "images": [{"video_id": 1}],
}

RULES = (
    Rule(
        code="I010",
        title="annotation contradicts its track",
        severity=Severity.ERROR,
        breaks="""TAO's tools stop with a KeyError at an unknown track; objects of another category
            or video become part of the wrong track, and tracking scores fall.""",
        explanation="""In files with tracks, such as TAO's, each annotation names its track, which
            has the same category and video as the annotation and its image. Here the track is not
            in the list, or they differ. Tracks of several files were joined without new ids, or an
            object was given another class in some frames only. Files in which not all annotations
            have a track_id are not checked.""",
        bad={**_VIDEO, "annotations": [{"track_id": 2}]},
        good={**_VIDEO, "annotations": [{"track_id": 1}]},
        check=_wrong_tracks,
    ),
)
