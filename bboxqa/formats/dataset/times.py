"""When annotations were made, and which belong to one track."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.dataset.merge import Rows
from bboxqa.formats.dataset.people import listed_files
from bboxqa.formats.dataset.reading import TRACK_KEYS, VIDEO_KEY
from bboxqa.formats.records import AnnotationFile, annotator_name, image_field
from bboxqa.model.annotations import Tracks

# Seconds since 1970, for 1973 to 2100. Smaller numbers are not times.
_EARLIEST, _LATEST = 1e8, 4.1e9
_LISTED = 5
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of dates without a time zone, which are UTC
_ADVICE = (
    "Times are ISO 8601, such as 2026-01-31T08:15:00 or 2026-01-31 08:15:00+01:00, or seconds or "
    "milliseconds since 1970."
)


def seconds_of(text: str) -> float | None:
    """Return a time in seconds since 1970; None if the text is not a time.

    Times without a time zone are read as UTC.

    Examples
    --------
    >>> seconds_of("1970-04-26 17:46:40"), seconds_of("1970-04-26T17:46:41.5+00:00")
    (10000000.0, 10000001.5)
    >>> seconds_of("1767600000"), seconds_of("1767600000000"), seconds_of("12"), seconds_of("today")
    (1767600000.0, 1767600000.0, None, None)
    """
    try:
        # A date without a time of day does not tell sessions apart.
        if ":" in text:
            found = datetime.fromisoformat(text.strip())
            # This is faster than attaching a time zone.
            utc = found.tzinfo is None
            return (found - _EPOCH).total_seconds() if utc else found.timestamp()
        number = float(text)
    except ValueError:
        return None
    if 1000 * _EARLIEST <= number <= 1000 * _LATEST:
        number /= 1000
    return number if _EARLIEST <= number <= _LATEST else None


def read_times(files: Sequence[AnnotationFile], key: str) -> list[FloatArray]:
    """Return the time of each annotation by file, (N,), in seconds since 1970.

    Times are NaN where the key is absent. Raises DatasetError if no annotation has the key, or if a
    value is not a time.
    """
    found, problems, n_wrong = [], list[str](), 0
    for file in files:
        texts = file.columns.authors[key]
        values = [seconds_of(text) for text in texts.names]
        wrong = np.array([value is None for value in values] + [False], np.bool_)
        rows = np.flatnonzero(wrong[texts.code])
        n_wrong += len(rows)
        for row in rows[: max(_LISTED - len(problems), 0)].tolist():
            value = one_line(texts.names[texts.code[row]])
            problems.append(
                f"{file.source.name}: annotation {file.shown_ids[row]}: {key} is {value!r}; "
                "expected a time"
            )
        table = np.array([*(np.nan if value is None else value for value in values), np.nan])
        found.append(table[texts.code])
    if problems:
        raise DatasetError(problems, _ADVICE, total=n_wrong)
    if all(np.isnan(seconds).all() for seconds in found):
        n_annotations = count(sum(map(len, found)), "annotation")
        raise DatasetError(
            [f"{listed_files(files)}: none of {n_annotations} has the key {key!r}"],
            "Name the key of annotations that says when they were made with --time-key.",
        )
    return found


def untimed_notes(seconds: Sequence[FloatArray], key: str) -> Iterator[str]:
    """Yield a note on annotations without a time, if there are any."""
    n_without = sum(int(np.isnan(each).sum()) for each in seconds)
    if n_without:
        n_annotations = count(sum(map(len, seconds)), "annotation")
        yield f"{n_without:,} of {n_annotations} have no key {key!r}, and are in no session"


def read_tracks(
    files: Sequence[AnnotationFile],
    rows: Rows,
    of_record: Sequence[IntArray],
    image_names: Sequence[str],
) -> tuple[Rows, Tracks]:
    """Return annotations with their tracks, and all tracks.

    An id identifies a track of one annotator in one video of one file. The video is named by the
    image record, or else by the folder of the image. `of_record` is the image of each record.

    Raises DatasetError if no annotation has a track.
    """
    known: dict[str, int] = {}
    videos, of_image = _videos(files, of_record, image_names)
    used = zip(files, rows.by_file(len(files)), strict=True)
    track = np.concatenate([_ids(file, known)[each] for file, each in used])
    table = np.stack([rows.file, rows.annotator, of_image[rows.image], track], 1)
    has_one = np.flatnonzero(track >= 0)
    if not len(has_one):
        raise DatasetError(
            [f"{listed_files(files)}: none of {count(len(table), 'annotation')} is in a track"],
            f"The track of an annotation is under one of the keys {', '.join(TRACK_KEYS)}; in a "
            "table, --columns track=NAME names its column.",
        )
    # The order of names varies, and bootstrap draws depend on the order of tracks.
    names_of = sorted(known, key=lambda name: (len(name) if name.isdecimal() else 0, name))
    rank = {name: place for place, name in enumerate(names_of)}
    table[has_one, 3] = np.array([rank[name] for name in known])[table[has_one, 3]]
    distinct, number_of = np.unique(table[has_one], axis=0, return_inverse=True)
    found = np.full(len(table), -1, np.int32)
    found[has_one] = number_of.reshape(-1)
    names = tuple(names_of[code] for code in distinct[:, 3].tolist())
    return replace(rows, track=found), Tracks(names, distinct[:, 2].astype(np.int32), videos)


def trackless_notes(track: IntArray | None) -> tuple[str, ...]:
    """Return a note on annotations outside tracks, if there are any."""
    n_without = 0 if track is None else int((track < 0).sum())
    if track is None or not n_without:
        return ()
    some = f"{n_without:,} of {count(len(track), 'annotation')}"
    return (
        f"{some} {'is' if n_without == 1 else 'are'} in no track, and not in figures of tracks",
    )


def _ids(file: AnnotationFile, known: dict[str, int]) -> IndexArray:
    """Return the code in `known` of each annotation's track id; -1 without a track."""
    found = np.full(len(file.columns.id), -1)
    for key in TRACK_KEYS:
        said = file.columns.authors[key]
        numbers = [known.setdefault(name, len(known)) for name in said.names]
        found = np.where(found < 0, np.array([*numbers, -1])[said.code], found)
    return found


def _videos(
    files: Sequence[AnnotationFile], of_record: Sequence[IntArray], image_names: Sequence[str]
) -> tuple[tuple[str, ...], IndexArray]:
    """Return the sorted names of videos, and the index of each image's video, (I,) int64."""
    said: dict[int, str] = {}
    field = image_field(VIDEO_KEY)
    for file, places in zip(files, of_record, strict=True):
        for place, image in zip(places.tolist(), file.images, strict=True):
            value = getattr(image, field, None)
            if value is not None:
                said.setdefault(place, annotator_name(value))
    names = [said.get(place, name.rpartition("/")[0]) for place, name in enumerate(image_names)]
    videos = {name: number for number, name in enumerate(sorted({*names}))}
    return tuple(videos), np.array([videos[name] for name in names], np.int64)
