"""I: references to videos, and repeated ids of videos and tracks."""

from collections.abc import Iterator, Sequence
from typing import Any

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.records import id_number
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Hits, Rule, described_hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.ids.licences import listed
from bboxqa.rules.ids.tracks import numbers_in_annotations


def _without_target(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """I011: references to videos, and categories of tracks, that do not exist."""
    if document.reading.stopped or "videos" not in document.reading.spans:
        return
    videos, tracks = listed(document, "videos"), listed(document, "tracks")
    of_annotations = numbers_in_annotations(document, "video_id")
    numbers = [] if of_annotations is None else of_annotations.tolist()
    categories = document.categories.values
    for name, key, used, target, records in (
        ("images", "video_id", _values(document.images.values, "video_id"), "videos", videos),
        ("annotations", "video_id", numbers, "videos", videos),
        ("tracks", "video_id", _values(tracks, "video_id"), "videos", videos),
        ("tracks", "category_id", _values(tracks, "category_id"), "categories", categories),
    ):
        ids = {id_number(value) for value in _values(records, "id") if value is not None}
        rows = [
            row for row, value in enumerate(used)
            if ids and value is not None and id_number(value) not in ids
        ]  # fmt: skip
        expected = f"the id of one of the {target}"
        yield from _finding(name, key, used, rows, f"matches none of the {target}", expected)


def _twice(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """I012: ids of videos and tracks that an earlier record already has."""
    for name in ("videos", "tracks"):
        used = _values(listed(document, name), "id")
        first: dict[int, int] = {}
        rows = [
            row for row, value in enumerate(used)
            if value is not None and first.setdefault(id_number(value), row) != row
        ]  # fmt: skip
        yield from _finding(name, "id", used, rows, "is that of an earlier one", "unique ids")


def _values(records: Sequence[Any], key: str) -> list[Any]:
    return [record.get(key) if isinstance(record, dict) else None for record in records]


def _finding(
    name: str, key: str, used: Sequence[Any], rows: Sequence[int], what: str, expected: str
) -> Iterator[Hits]:
    """Yield a single finding about records of a list, if there are any."""
    if not rows:
        return
    first = shortened(used[rows[0]])
    share = f"{len(rows):,} of {count(len(used), name.removesuffix('s'))}"
    message = f"{key} of {share} {what} (the first is {first}); expected {expected}"
    place = pointer_to(name, rows[0], key)
    more = {"pointer": place, "found": used[rows[0]], "expected": expected}
    yield from described_hits([summary_defect(message, name, rows, key, **more)])


_VIDEOS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]

RULES = (
    Rule(
        code="I011",
        title="reference to a missing video, or to a missing category of a track",
        severity=Severity.ERROR,
        breaks="""TAO's tools stop with a KeyError, or leave the images and tracks out of the scores
            of every video.""",
        explanation="""In files with a list of videos, such as those of TAO and YouTube-VIS, images,
            annotations and tracks name their video, and tracks their category. Here there is no
            such video or category: it was lost when files were joined or split. Add it to the list,
            or correct the reference.""",
        bad={"videos": _VIDEOS, "images": [{"video_id": 3}]},
        good={"videos": _VIDEOS, "images": [{"video_id": 2}]},
        check=_without_target,
    ),
    Rule(
        code="I012",
        title="video or track id is used twice",
        severity=Severity.ERROR,
        breaks="""Readers keep the last of them, so images and annotations of two videos or objects
            are merged into one.""",
        explanation="""Two videos or two tracks of a file have the same id, usually because files
            were joined without new ids. Renumber them and the references to them.""",
        bad={"videos": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]},
        good={"videos": _VIDEOS},
        check=_twice,
    ),
)
