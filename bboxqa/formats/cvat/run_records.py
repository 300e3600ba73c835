"""From runs of plain boxes of CVAT to columns."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.formats.annotations.machine_marks import is_machine
from bboxqa.formats.cvat.file_records import UNLABELLED, FileRecords
from bboxqa.formats.cvat.plain_runs import PlainRun
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.translated import Boxes

# Ids of tracks are small numbers.
_LONGEST = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What is known of each box of a run besides its place."""

    image_id: IndexArray
    person: list[str]
    """Of each image or track."""
    is_kept: BoolArray
    own_ids: list[str]
    labels: list[bytes]
    sources: list[bytes]


def add_run(records: FileRecords, run: PlainRun, add: Callable[[Boxes], None]) -> None:
    """Add the boxes of images or tracks, in the order of the file."""
    rows = (_of_tracks if run.is_tracks else _of_images)(records, run)
    where = Where(records.member, run.holders[0].line)
    is_whole = bool(rows.is_kept.all())
    names = dict.fromkeys(rows.labels if is_whole else compress(rows.labels, rows.is_kept))
    ids = {
        name: records.into.category(name.decode().strip() or UNLABELLED, where) for name in names
    }
    if not is_whole:
        ids = dict.fromkeys(rows.labels, 0) | ids
    category_id = np.fromiter(map(ids.__getitem__, rows.labels), np.int64, len(rows.labels))
    people = [*dict.fromkeys(rows.person)]
    number = {name: place for place, name in enumerate(people)}
    person = np.repeat(
        [number[name] for name in rows.person], [holder.n_boxes for holder in run.holders]
    )
    machines = [name for name in {*rows.sources} if is_machine(name.decode())]
    for place, name in enumerate(people):
        chosen = rows.is_kept & (person == place)
        boxes = Boxes(
            rows.image_id[chosen],
            category_id[chosen],
            run.bbox[chosen],
            name,
            rows.own_ids if chosen.all() else [*compress(rows.own_ids, chosen)],
            sum(source in machines for source in compress(rows.sources, chosen)) if machines else 0,
        )
        records.into.boxes(boxes, add)


def _of_images(records: FileRecords, run: PlainRun) -> _Rows:
    image_ids, person, is_kept = [], [], []
    for holder in run.holders:
        image = records.begin_image(holder.values, holder.line)
        is_kept.append(image is not None)
        image_ids.append(0 if image is None else image["id"])
        person.append(records.annotator())
    counts = [holder.n_boxes for holder in run.holders]
    n = len(run.bbox)
    return _Rows(
        np.repeat(np.array(image_ids, np.int64), counts),
        person,
        np.repeat(np.array(is_kept, np.bool_), counts),
        [f"line {line}" for line in run.lines],
        run.columns.get("label", [b""] * n),
        run.columns.get("source", [b""] * n),
    )


def _of_tracks(records: FileRecords, run: PlainRun) -> _Rows:
    is_kept = np.array(run.columns.get("outside", [b"0"] * len(run.bbox))) != b"1"
    image_ids: list[int] = []
    person: list[str] = []
    own_ids: list[str] = []
    labels: list[bytes] = []
    sources: list[bytes] = []
    for holder in run.holders:
        begin, n = len(own_ids), holder.n_boxes
        frames = run.frames[begin : begin + n]
        records.begin_track(holder.values)
        kept = is_kept[begin : begin + n].tolist()
        image_ids += records.ids_of_frames(frames, kept, run.lines[begin : begin + n])
        person.append(records.annotator())
        track = holder.values.get("id", "")[:_LONGEST]
        own_ids += [f"track {track}, frame {frame}" for frame in frames]
        labels += [holder.values.get("label", "").encode()] * n
        sources += [holder.values.get("source", "").encode()] * n
    return _Rows(np.array(image_ids, np.int64), person, is_kept, own_ids, labels, sources)
