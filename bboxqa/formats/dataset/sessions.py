"""Images that somebody annotated in several sessions; times and tracks of annotations."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, find
from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.text import count, in_natural_order, one_line
from bboxqa.formats.dataset.merge import Rows, merge
from bboxqa.formats.dataset.people import Attribution, listed_files, way_by_key
from bboxqa.formats.dataset.reading import TRACK_KEYS, VIDEO_KEY
from bboxqa.formats.document import more_rows
from bboxqa.formats.opening import typed_paths
from bboxqa.formats.records import AnnotationFile, annotator_name, image_field
from bboxqa.model.annotations import Dataset, Repeats, Tracks

FILE = "file"
"""The value of the session key that makes each file a session."""


class FileSessions(msgspec.Struct, frozen=True, eq=False):
    """The session of each annotation, by file."""

    code: list[IntArray]
    """(N,) int32 each. Sessions are numbered in their order."""
    names: tuple[str, ...] = ()
    """The names of the sessions; empty if each file is a session."""
    of_records: list[IntArray] | None = None
    """By file, the session of each image record, if files or records name it. Annotators who were
    asked about the image annotated it in that session, even if they drew nothing.
    """


def read_sessions(
    files: Sequence[AnnotationFile], attribution: Attribution, key: str
) -> FileSessions:
    """Return the session of each annotation.

    Sessions are ordered by name, numerically if all names are whole numbers, or by file. Raises
    DatasetError if an annotation does not name its session.
    """
    if key == FILE and not any(file.columns.authors[FILE].names for file in files):
        if attribution.of_files and len(files) == len(attribution.names):
            raise ConfigError(
                "each file is by one annotator, and cannot be a session as well; name all files of "
                "each annotator, such as --annotator NAME=FIRST --annotator NAME=SECOND, or the "
                "key of annotations that names annotators with --annotator-key"
            )
        codes = [np.full(len(f.columns.id), n, np.int32) for n, f in enumerate(files)]
        records = [np.full(len(f.images), n, np.int32) for n, f in enumerate(files)]
        return FileSessions(codes, of_records=records)
    columns = [file.columns.authors[key] for file in files]
    of_images = not any(column.names for column in columns)
    field = image_field(key)
    values = [[getattr(image, field, None) for image in file.images] for file in files]
    if of_images:
        said = [["" if v is None else annotator_name(v) for v in part] for part in values]
    else:
        said = [[*column.names, ""] for column in columns]
    names = in_natural_order({name for part in said for name in part} - {""})
    if not names:
        raise DatasetError(
            [f"{listed_files(files)}: no annotation and no image has the key {key!r}"],
            f"Give the key of annotations that names their session; if each file is one: {FILE}",
        )
    number = {name: place for place, name in enumerate(names)} | {"": -1}
    codes = [np.array([number[name] for name in part], np.int32) for part in said]
    records = codes
    if of_images:
        _check_named(files, key, "image", codes)
        codes = [
            np.append(code, np.int32(-1))[find(file.image_ids, file.columns.image_id)]
            for file, code in zip(files, codes, strict=True)
        ]
    else:
        codes = [code[column.code] for code, column in zip(codes, columns, strict=True)]
        _check_named(files, key, "annotation", codes)
    return FileSessions(codes, tuple(names), records if of_images else None)


def _check_named(
    files: Sequence[AnnotationFile], key: str, noun: str, codes: Sequence[IntArray]
) -> None:
    """Refuse records without a session."""
    problems = []
    for file, code in zip(files, codes, strict=True):
        if len(rows := np.flatnonzero(code < 0)):
            first = file.images[rows[0]].id if noun == "image" else file.shown_ids[rows[0]]
            problem = f"{file.source.name}: {noun} {first}{more_rows(rows)}: {key} is missing"
            problems.append(f"{problem}; expected the session, as on others")
    if problems:
        raise DatasetError(problems)


def refuse_versions(
    files: Sequence[AnnotationFile],
    rows: Rows,
    sessions: FileSessions | None,
    image_names: Sequence[str],
    annotator_names: Sequence[str],
    key: str,
) -> None:
    """Refuse two files with annotations of one image by one annotator in one session.

    This annotator would seem to have drawn everything twice. `key` is that of the attribution.
    """
    if sessions is not None and not sessions.names:
        return
    rows = rows.take(np.flatnonzero(rows.annotator >= 0))
    shape = len(image_names), len(annotator_names), 1 if sessions is None else len(sessions.names)
    session = 0 if rows.session is None else rows.session
    cell = (rows.image.astype(np.int64) * shape[1] + rows.annotator) * shape[2] + session
    cells, owner = np.divmod(np.unique(cell * len(files) + rows.file), len(files))
    repeated = np.flatnonzero(np.diff(cells) == 0)
    if not len(repeated):
        return
    image, annotator, session = np.unravel_index(cells[repeated[0]], shape)
    who = annotator_names[annotator]
    if sessions is not None:
        who += f" in session {sessions.names[session]}"
    pair = [files[each] for each in owner[repeated[0] : repeated[0] + 2]]
    first, second = (file.source.name for file in pair)
    raise DatasetError(
        [
            f"{first} and {second}: both have annotations of image {one_line(image_names[image])!r}"
            f" by {one_line(who)!r}"
            + (f" ({way_by_key((each, key) for each in pair)})" if key else "")
            + (f", and {count(len(repeated) - 1, 'more such case')}" if len(repeated) > 1 else "")
            + "; expected the annotations of one annotator of an image in one file"
        ],
        "Two versions of one data set are compared with: "
        f"bboxqa compare {typed_paths([first, second])}\n"
        "If annotators annotated the images again and each file is a session: "
        "--session-key file\nIf each file is by another person: --attribution files",
    )


def drawn_again(file: AnnotationFile, author: IntArray) -> tuple[IndexArray, list[tuple[str, int]]]:
    """Return what annotators drew in several records of one image of a file.

    `author` is (N,) int, the annotator of each annotation; -1 where none is named.

    Returns
    -------
    equal : (R,) int64
        The annotations of records with the same boxes by their annotator as in the first record.
    different : list of tuple of str and int
        The images, and annotators who drew other boxes there than in the first record.
    """
    labels = file.image_labels
    number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    if len(number) == len(labels):
        return np.zeros(0, np.int64), []
    columns = file.columns
    record = find(file.image_ids, columns.image_id)
    known = np.flatnonzero((record >= 0) & (author >= 0))
    of_label = np.array([number[label] for label in labels])[record[known]]
    cell = of_label * (int(author.max(initial=0)) + 1) + author[known]
    # Only cells of several records are looked at one by one.
    held = np.unique(np.stack([cell, record[known]]), axis=1)[0]
    several = np.isin(cell, held[1:][held[1:] == held[:-1]])
    drawn: dict[tuple[str, int], dict[int, list[int]]] = {}
    for row in known[several].tolist():
        of_records = drawn.setdefault((labels[record[row]], int(author[row])), {})
        of_records.setdefault(int(record[row]), []).append(row)
    table = np.column_stack([columns.bbox, columns.category_id, columns.iscrowd])
    equal, different = list[int](), list[tuple[str, int]]()
    for who, of_records in sorted(drawn.items(), key=lambda each: (number[each[0][0]], each[0][1])):
        first, *later = (rows for _, rows in sorted(of_records.items()))
        expected = sorted(table[first].tolist())
        are_equal = [sorted(table[rows].tolist()) == expected for rows in later]
        equal += [row for rows, same in zip(later, are_equal, strict=True) if same for row in rows]
        different += [who] * (not all(are_equal))
    return np.array(equal, np.int64), different


def refuse_other_rounds(
    files: Sequence[AnnotationFile],
    authors: Sequence[IntArray],
    annotator_names: Sequence[str],
    advice: str,
) -> None:
    """Refuse a file in which somebody drew different boxes in several records of one image.

    This annotator would seem to have drawn many objects twice. `authors` are as in `Attribution`;
    `advice` ends the error.
    """
    problems = []
    for file, author in zip(files, authors, strict=True):
        _, different = drawn_again(file, author)
        if different:
            (image, who), *others = different
            problems.append(
                f"{file.source.name}: image {one_line(image)!r} is in the file several times, with "
                f"different boxes by {one_line(annotator_names[who])!r}"
                + (f", and {count(len(others), 'more such case')}" if others else "")
                + "; expected it once"
            )
    if problems:
        key = "session" if all(file.named_by for file in files) else "KEY"
        where = "" if key == "session" else ', where KEY is one of image records: "session": 2'
        raise DatasetError(
            problems,
            f"If annotators annotated the images again: --session-key {key}{where}\n"
            f"If these are different images with one name: rename them.\n{advice}",
        )


def without_repeated(
    files: Sequence[AnnotationFile],
    rows: Rows,
    authors: Sequence[IntArray],
    sessions: FileSessions | None,
) -> tuple[Rows, list[str]]:
    """Leave out what annotators drew again, equally, in later records of an image; with notes.

    `authors` are those of all annotations of each file.
    """
    kept, notes, n_sessions = np.ones(len(rows.file), np.bool_), [], 1
    if sessions is not None:
        n_sessions += max(int(code.max(initial=0)) for code in sessions.code)
    for place, (file, author) in enumerate(zip(files, authors, strict=True)):
        if sessions is not None:
            code = author.astype(np.int64) * n_sessions + sessions.code[place]
            author = np.where(author < 0, -1, code)  # noqa: PLW2901
        equal, different = drawn_again(file, author)
        kept &= (rows.file != place) | ~np.isin(rows.place, equal) if len(equal) else True
        of_file = f"{file.source.name}: " if len(files) > 1 else ""
        notes += [f"{of_file}{note}" for note in notes_on(file, equal, different)]
    return rows if kept.all() else rows.take(np.flatnonzero(kept)), notes


def notes_on(
    file: AnnotationFile, equal: IndexArray, different: Sequence[tuple[str, int]]
) -> Iterator[str]:
    """Yield notes on images that are in a file several times; see `drawn_again`."""
    if len(equal):
        label = dict(zip(file.image_ids.tolist(), file.image_labels, strict=True))
        n_images = len({label[each] for each in file.columns.image_id[equal].tolist()})
        are = "image is" if n_images == 1 else "images are"
        yield (
            f"{count(len(equal), 'annotation')} left out: {n_images:,} {are} in the file several "
            "times, with the same boxes by the same annotators"
        )
    if different:
        n_images = len({image for image, _ in different})
        are = "image is" if n_images == 1 else "images are"
        yield (
            f"{n_images:,} {are} in the file several times, with different boxes by the same "
            "annotators, and all boxes count"
        )


class SplitSessions(msgspec.Struct, frozen=True, eq=False):
    """The annotations of all files, split by session."""

    first: Rows
    """The annotations of each annotator's first session in each image."""
    repeated: Rows
    """Annotations of images that an annotator annotated in several sessions. Each pair of image and
    annotator is an image, and the sessions, numbered within it, are its annotators.
    """
    image: IntArray
    annotator: IntArray
    """(R,) int32. The image and the annotator of each image of `repeated`."""
    n_sessions: IndexArray
    """(R,) int64. The number of sessions of each image of `repeated`."""


def split_sessions(
    rows: Rows,
    of_record: Sequence[IntArray],
    sessions: FileSessions,
    attribution: Attribution,
    annotator_names: Sequence[str],
) -> SplitSessions:
    """Split annotations, all with an author, by session; `of_record` are the images of records."""
    n_annotators = len(annotator_names)
    of_all = (*sessions.code, *(sessions.of_records or ()))
    n_sessions = 1 + max(int(code.max(initial=0)) for code in of_all)
    cell = rows.image.astype(np.int64) * n_annotators + rows.annotator
    held = cell * n_sessions + (0 if rows.session is None else rows.session)
    number = {name: place for place, name in enumerate(annotator_names)}
    asked = [
        (image * n_annotators + number[name]) * n_sessions + session
        for part in zip(of_record, attribution.asked, sessions.of_records or (), strict=False)
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
    image, annotator = np.divmod(every[several], n_annotators)
    return SplitSessions(
        rows.take(np.flatnonzero(own == 0)), repeated,
        image.astype(np.int32), annotator.astype(np.int32), n_held[several],
    )  # fmt: skip


def with_repeats(data: Dataset, files: Sequence[AnnotationFile], split: SplitSessions) -> Dataset:
    """Return a data set of first sessions with its repeats, and a note on them."""
    if not len(split.image):
        note = "no annotator annotated an image in two sessions: how far they agree with themselves"
        return replace(data, notes=(*data.notes, f"{note} is unknown"))
    most = int(split.n_sessions.max())
    sessions = replace(
        data,
        image_names=tuple(data.image_names[image] for image in split.image.tolist()),
        image_size=data.image_size[split.image],
        annotator_names=tuple(f"session {number}" for number in range(1, most + 1)),
        annotations=merge(files, split.repeated),
        assigned=np.arange(most) < split.n_sessions[:, None],
        unlisted=None,
        notes=(),
    )
    n_images = count(len(np.unique(split.image)), "image")
    who = count(len(np.unique(split.annotator)), "annotator")
    n_later = int((split.repeated.annotator > 0).sum())
    note = (
        f"{who} annotated {n_images} in two or more sessions: agreement between annotators is that "
        f"of the first session of each, without {n_later:,} later annotations"
    )
    repeats = Repeats(sessions=sessions, image=split.image, annotator=split.annotator)
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
    """Return the time of each annotation by file, (N,), in seconds since 1970.

    Times are NaN where the key is absent. Raises DatasetError if no annotation has the key, or if a
    value is not a time.
    """
    found, problems = [], []
    for file in files:
        texts = file.columns.authors[key]
        values = [seconds_of(text) for text in texts.names]
        wrong = np.array([value is None for value in values] + [False], np.bool_)
        if len(rows := np.flatnonzero(wrong[texts.code])):
            value = one_line(texts.names[texts.code[rows[0]]])
            problem = f"annotation {file.shown_ids[rows[0]]}{more_rows(rows)}: {key} is {value!r}"
            problems.append(f"{file.source.name}: {problem}; expected a time")
        table = np.array([*(np.nan if value is None else value for value in values), np.nan])
        found.append(table[texts.code])
    if problems:
        raise DatasetError(problems, _ADVICE)
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
