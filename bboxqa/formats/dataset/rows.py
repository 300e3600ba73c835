"""The rows of joined files: their tables and order, repeated sessions, times and tracks."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, RowArrays
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import clean, count, in_natural_order, one_line, typed_paths
from bboxqa.formats.dataset.people import Attribution, listed_files
from bboxqa.formats.measured import more_rows
from bboxqa.formats.records import (
    FILE,
    TRACK_KEYS,
    VIDEO_KEY,
    AnnotationFile,
    annotator_name,
    image_field,
)
from bboxqa.model.annotations import Annotations, Dataset, Repeats, Tracks, times_of
from bboxqa.model.table import joined_ids

FileSessions = tuple[list[IntArray], list[IntArray] | None]
"""The session of each annotation by file, numbered in their order; and that of each image record,
if files or records name it. Who was asked about the image annotated it in that session, even if
nothing was drawn."""


class Joined(msgspec.Struct):
    """The tables of the data set to which files are added, and the problems found."""

    files: Sequence[AnnotationFile]
    attribution: Attribution
    images: dict[str, int]
    annotators: dict[str, int]
    categories: dict[str, int]
    """The place of each image, annotator and category, by name."""
    sizes: IntArray
    """(I, 2) int32. 0 where unknown."""
    of_record: list[IntArray]
    """By file, the image of each record, as an index."""
    problems: list[str] = msgspec.field(default_factory=list)
    origins: list[Path | None] = msgspec.field(default_factory=list)
    advice: list[str] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, files: Sequence[AnnotationFile], attribution: Attribution) -> "Joined":
        """Return the tables of files, with sizes that are not known yet."""
        names = (
            sorted(set[str]().union(*(file.image_labels for file in files))),
            in_natural_order(attribution.names),
            sorted({clean(each.name) for file in files for each in file.categories}),
        )
        image, who, category = ({n: place for place, n in enumerate(each)} for each in names)
        records = ([image[label] for label in file.image_labels] for file in files)
        of_record = [np.array(each, np.int32) for each in records]
        sizes = np.zeros((len(image), 2), np.int32)
        return cls(files, attribution, image, who, category, sizes, of_record)

    def add(self, file: AnnotationFile, problems: Iterable[str], *, shared: bool = False) -> None:
        """Add problems of a file; those that show only with other files are `shared`."""
        found = [f"{file.source.name}: {problem}" for problem in problems]
        self.problems += found
        self.origins += [None if shared else file.path] * len(found)


class Rows(RowArrays, frozen=True, eq=False):
    """The valid annotations of all files, in their order, with indices in place of ids."""

    file: IntArray
    place: IndexArray
    """(N,). The file of each annotation, and its row there."""
    image: IntArray
    category: IntArray
    annotator: IntArray
    """(N,) int32. -1 where nobody is named."""
    session: IntArray | None = None
    seconds: FloatArray | None = None
    track: IntArray | None = None
    """(N,). None where they were not read; a track is -1 for none."""

    def by_file(self, n_files: int, name: str = "place") -> list[NDArray[Any]]:
        """Return the rows in each file, or other values of its annotations."""
        return np.split(getattr(self, name), np.searchsorted(self.file, np.arange(1, n_files)))


def merge(files: Sequence[AnnotationFile], rows: Rows) -> Annotations:
    """Return the annotations of all files, ordered by image, annotator, box, category and id."""
    parts = []
    names = ("place", "image", "annotator", "category")
    of_files = (rows.by_file(len(files), name) for name in names)
    for file, place, image, annotator, category in zip(files, *of_files, strict=True):
        of = file.columns if len(place) == len(file.columns) else file.columns.take(place)
        parts.append(
            Annotations(
                of.id, image, annotator, category, of.bbox, of.iscrowd, of.segmentation,
                keypoints=of.keypoints, rotated_box=of.rotated, score=of.score,
                place=None if of.score is None else place,
            )
        )  # fmt: skip
    joined = parts[0] if len(parts) == 1 else Annotations.join(parts)
    if any(file.shown_ids is not file.columns.id for file in files):
        pairs = zip(files, rows.by_file(len(files)), strict=True)
        joined = replace(joined, own_id=joined_ids([file.shown_ids[each] for file, each in pairs]))
    order = _order(joined)
    rows, joined = rows.take(order), joined.take(order)
    times = None if rows.seconds is None else times_of(rows.seconds, rows.annotator)
    return replace(joined, times=times, track=rows.track)


def _order(of: Annotations) -> IndexArray:
    """Return the order by image, annotator, box, category and id."""
    # Box and category precede the id, so that renumbering does not change the result.
    group = of.image * np.float64(int(of.annotator.max(initial=0)) + 1) + of.annotator
    x = of.bbox[:, 0]
    low, high = x.min(initial=0), x.max(initial=0)
    # One sort of these takes a fifth of the time of a sort by each. Few annotations of an annotator
    # have nearly equal x; only these are sorted by all keys.
    keys = group + (x - low) / (2 * (high - low) + 1)
    order = np.argsort(keys)
    same = np.diff(keys[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = np.sort(order[tied])
    x, y, width, height = of.bbox.take(rows, axis=0).T
    keys = (
        of.id[rows], of.category[rows], height, width, y, x, of.annotator[rows], of.image[rows]
    )  # fmt: skip
    order[tied] = rows[np.lexsort(keys)]
    return order


def read_sessions(
    files: Sequence[AnnotationFile], attribution: Attribution, key: str
) -> FileSessions:
    """Return the session of each annotation."""
    if any(file.records == "results" for file in files):
        raise ConfigError("a model has no sessions: give either a session key or predictions")
    if key == FILE and not any(file.columns.authors[FILE].names for file in files):
        if attribution.of_files and len(files) == len(attribution.names):
            raise ConfigError(
                "each file is by one annotator, and cannot be a session as well; name all files of "
                "each: --annotator NAME=FIRST --annotator NAME=SECOND"
            )
        codes = [np.full(len(f.columns.id), n, np.int32) for n, f in enumerate(files)]
        records = [np.full(len(f.images), n, np.int32) for n, f in enumerate(files)]
        return codes, records
    columns = [file.columns.authors[key] for file in files]
    of_images = not any(column.names for column in columns)
    said = [[*column.names, ""] for column in columns]
    if of_images:
        field = image_field(key)
        values = [[getattr(image, field, None) for image in file.images] for file in files]
        said = [["" if v is None else annotator_name(v) for v in part] for part in values]
    names = in_natural_order({name for part in said for name in part} - {""})
    if not names:
        raise DatasetError(
            [f"{listed_files(files)}: no annotation and no image has the key {key!r}"],
            f"Give the key of annotations that names their session; if each file is one: {FILE}",
        )
    number = {name: place for place, name in enumerate(names)} | {"": -1}
    records = codes = [np.array([number[name] for name in part], np.int32) for part in said]
    if not of_images:
        codes = [code[column.code] for code, column in zip(codes, columns, strict=True)]
    problems = []
    for file, code in zip(files, codes, strict=True):
        if len(rows := np.flatnonzero(code < 0)):
            first = f"annotation {file.shown_ids[int(rows[0])]}"
            first = f"image {file.images[rows[0]].id}" if of_images else first
            problem = f"{file.source.name}: {first}{more_rows(rows)}: {key} is missing"
            problems.append(f"{problem}; expected the session, as on others")
    if problems:
        raise DatasetError(problems)
    if not of_images:
        return codes, None
    pairs = zip(records, files, strict=True)
    codes = [np.append(code, np.int32(-1))[file.image_rows] for code, file in pairs]
    return codes, records


def repeated_work(joined: Joined, rows: Rows, *, is_kept: bool) -> str:
    """Refuse annotations of an image by one annotator, of one session, in two files or records.

    Returns a note where records of one file are kept, else "".
    """
    files, annotator_names = joined.files, [*joined.annotators]
    # Versions of one file contradict each other in many places; this error names the cause.
    if any(joined.origins) or (joined.attribution.is_of_nobody and len(files) > 1):
        return ""
    start = np.cumsum([0, *(len(file.images) for file in files)])
    rows = rows.take(np.flatnonzero(rows.annotator >= 0))
    pairs = zip(files, rows.by_file(len(files)), strict=True)
    own = [file.image_rows[places] for file, places in pairs]
    holder = start[rows.file] + np.concatenate(own)
    session = np.zeros(len(holder), np.int64) if rows.session is None else rows.session
    cell = rows.image.astype(np.int64) * len(annotator_names) + rows.annotator
    cell = cell * (1 + session.max(initial=0)) + session
    held, at = np.unique(cell * start[-1] + holder, return_index=True)
    repeated = np.flatnonzero(np.diff(held // max(start[-1], 1)) == 0)
    if not len(repeated):
        return ""
    across = repeated[rows.file[at[repeated]] != rows.file[at[repeated + 1]]]
    pair = at[[*across, *repeated][0] + np.arange(2)]
    image, who = [*joined.images][rows.image[pair[0]]], annotator_names[rows.annotator[pair[0]]]
    first, second = (files[each].source.name for each in rows.file[pair].tolist())
    drawn = f"annotations of image {one_line(image)!r} by {one_line(who)!r}"
    if len(repeated) > 1:
        drawn += f", and {count(len(repeated) - 1, 'more such case')}"
    keys = "--session-key KEY of annotations or images, or if each file is a session"
    advice = [f"If annotators annotated the images again: {keys}: --session-key file"]
    problem = f"{first}: several records of an image have {drawn}"
    if first == second and is_kept:
        return f"{problem}; all count"
    if first != second:
        problem = f"{first} and {second}: both have {drawn}"
        compared = f"bboxqa compare {typed_paths([first, second])}"
        advice.append(f"Two versions of one data set are compared with: {compared}")
        advice.append("If each file is by another person: --attribution files")
    expected = "expected those of an annotator of an image in one record of one file"
    raise DatasetError([f"{problem}; {expected}"], "\n".join(advice))


def split_sessions(
    joined: Joined, rows: Rows, sessions: FileSessions
) -> tuple[Rows, Rows, IndexArray, IndexArray]:
    """Split annotations, all with an author, by session.

    Return those of each annotator's first session in each image, and those of images that an
    annotator annotated in several: each pair of image and annotator is an image, whose number is
    image × number of annotators + annotator, with a number of sessions, which are its annotators.
    """
    (of_files, of_records), number = sessions, joined.annotators
    of_all = (*of_files, *(of_records or ()))
    n_sessions = 1 + max(int(code.max(initial=0)) for code in of_all)
    cell = rows.image.astype(np.int64) * len(number) + rows.annotator
    held = cell * n_sessions + (0 if rows.session is None else rows.session)
    asked = [
        (image * len(number) + number[name]) * n_sessions + session
        for part in zip(joined.of_record, joined.attribution.asked, of_records or (), strict=False)
        for image, names, session in zip(part[0].tolist(), part[1], part[2].tolist(), strict=True)
        for name in names or ()
    ]
    # Each cell, a pair of image and annotator, with its sessions in order.
    known = np.unique(np.append(held, np.array(asked, np.int64)))
    every, start, n_held = np.unique(known // n_sessions, return_index=True, return_counts=True)
    rank = np.arange(len(known)) - np.repeat(start, n_held)
    several = n_held > 1
    own, place = rank[np.searchsorted(known, held)], np.searchsorted(every, cell)
    again = np.flatnonzero(several[place])
    numbered = (np.cumsum(several) - 1)[place[again]].astype(np.int32)
    repeated = replace(
        rows.take(again), image=numbered, annotator=own[again].astype(np.int32),
        seconds=None, track=None,
    )  # fmt: skip
    first = rows.take(np.flatnonzero(own == 0))
    return first, repeated, every[several], n_held[several]


def with_repeats(
    data: Dataset,
    files: Sequence[AnnotationFile],
    repeated: Rows,
    pair: IndexArray,
    n_sessions: IndexArray,
) -> Dataset:
    """Return a data set of first sessions with its repeats, see `split_sessions`, and a note."""
    if not len(pair):
        note = "no annotator annotated an image in two sessions: how far they agree with themselves"
        return replace(data, notes=(*data.notes, f"{note} is unknown"))
    most = int(n_sessions.max())
    image, annotator = np.divmod(pair, len(data.annotator_names))
    sessions = replace(
        data,
        image_names=tuple(data.image_names[each] for each in image.tolist()),
        image_size=data.image_size[image],
        annotator_names=tuple(f"session {number}" for number in range(1, most + 1)),
        annotations=merge(files, repeated),
        assigned=np.arange(most) < n_sessions[:, None],
        unlisted=None,
        notes=(),
    )
    who = count(len(np.unique(annotator)), "annotator")
    note = (
        f"{who} annotated {count(len(np.unique(image)), 'image')} in two or more sessions: "
        "agreement between annotators is that of the first session of each, without "
        f"{int((repeated.annotator > 0).sum()):,} later annotations"
    )
    repeats = Repeats(sessions, image.astype(np.int32), annotator.astype(np.int32))
    return replace(data, repeats=repeats, notes=(*data.notes, note))


# Seconds since 1970, for 1973 to 2100. Smaller numbers are not times.
_EARLIEST, _LATEST = 1e8, 4.1e9
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
    """Return the time of each annotation by file, (N,), in seconds since 1970."""
    found, problems = [], []
    for file in files:
        texts = file.columns.authors[key]
        table = np.array([*map(seconds_of, texts.names), np.nan], np.float64)
        found.append(table[texts.code])
        if len(rows := np.flatnonzero(np.isnan(found[-1]) & (texts.code >= 0))):
            value = one_line(texts.names[texts.code[rows[0]]])
            problem = (
                f"annotation {file.shown_ids[int(rows[0])]}{more_rows(rows)}: {key} is {value!r}"
            )
            problems.append(f"{file.source.name}: {problem}; expected a time")
    if problems:
        raise DatasetError(problems, _ADVICE)
    if all(np.isnan(seconds).all() for seconds in found):
        n_annotations = count(sum(map(len, found)), "annotation")
        raise DatasetError(
            [f"{listed_files(files)}: none of {n_annotations} has the key {key!r}"],
            "Name the key of annotations that says when they were made with --time-key.",
        )
    return found


def read_tracks(joined: Joined, rows: Rows) -> tuple[Rows, Tracks]:
    """Return annotations with their tracks, and all tracks."""
    files, field, parts, said = joined.files, image_field(VIDEO_KEY), [], dict[int, str]()
    every = {n for file in files for key in TRACK_KEYS for n in file.columns.authors[key].names}
    # The order of names varies, and bootstrap draws depend on the order of tracks.
    names = sorted(every, key=lambda name: (len(name) if name.isdecimal() else 0, name))
    known = {name: place for place, name in enumerate(names)}
    for file, places, used in zip(files, joined.of_record, rows.by_file(len(files)), strict=True):
        for place, image in zip(places.tolist(), file.images, strict=True):
            if (value := getattr(image, field, None)) is not None:
                said.setdefault(place, annotator_name(value))
        # The code in `known` of the track of each annotation; -1 for none.
        codes = np.full(len(file.columns.id), -1)
        for key in TRACK_KEYS:
            ids = file.columns.authors[key]
            numbers = np.array([*(known[name] for name in ids.names), -1])
            codes = np.where(codes < 0, numbers[ids.code], codes)
        parts.append(codes[used])
    track = np.concatenate(parts)
    of_video = [said.get(n, name.rpartition("/")[0]) for n, name in enumerate(joined.images)]
    videos = tuple(sorted({*of_video}))
    number = {name: place for place, name in enumerate(videos)}
    of_image = np.array([number[name] for name in of_video], np.int64)
    table = np.stack([rows.file, rows.annotator, of_image[rows.image], track], 1)
    has_one = np.flatnonzero(track >= 0)
    if not len(has_one):
        raise DatasetError(
            [f"{listed_files(files)}: none of {count(len(table), 'annotation')} is in a track"],
            f"The track of an annotation is under one of the keys {', '.join(TRACK_KEYS)}; in a "
            "table, --columns track=NAME names its column.",
        )
    distinct, number_of = np.unique(table[has_one], axis=0, return_inverse=True)
    found = np.full(len(table), -1, np.int32)
    found[has_one] = number_of.reshape(-1)
    of_tracks = tuple(names[code] for code in distinct[:, 3].tolist())
    return replace(rows, track=found), Tracks(of_tracks, distinct[:, 2].astype(np.int32), videos)


def lacking_notes(track: IntArray | None, seconds: Sequence[FloatArray], key: str) -> Iterator[str]:
    """Yield notes on annotations without a track, and on those without a time under a key."""
    is_without = {
        "in no track, and not in figures of tracks": np.zeros(0) if track is None else track < 0,
        f"without {key!r}, and in no session": np.isnan(np.concatenate([*seconds, np.zeros(0)])),
    }
    for what, without in is_without.items():
        if n := int(without.sum()):
            yield f"{n:,} of {count(len(without), 'annotation')} {'is' if n == 1 else 'are'} {what}"
