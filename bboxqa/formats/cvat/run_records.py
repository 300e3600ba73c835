"""From runs of plain boxes of CVAT to columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.formats.annotations.machine_marks import is_machine
from bboxqa.formats.cvat.file_records import UNLABELLED, FileRecords
from bboxqa.formats.cvat.plain_runs import Holder, PlainRun
from bboxqa.formats.cvat.xml_elements import Element
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
    names = dict.fromkeys(
        rows.labels if rows.is_kept.all() else compress(rows.labels, rows.is_kept)
    )
    ids = {
        name: records.into.category(name.decode().strip() or UNLABELLED, where) for name in names
    }
    category_id = np.array([ids.get(name, 0) for name in rows.labels], np.int64)
    counts = [holder.n_boxes for holder in run.holders]
    number = {name: place for place, name in enumerate(dict.fromkeys(rows.person))}
    person = np.repeat([number[name] for name in rows.person], counts)
    machines = {name for name in {*rows.sources} if is_machine(name.decode())}
    for name, place in number.items():
        chosen = np.flatnonzero(rows.is_kept & (person == place))
        listed = chosen.tolist()
        boxes = Boxes(
            rows.image_id[chosen],
            category_id[chosen],
            run.bbox[chosen],
            name,
            [rows.own_ids[row] for row in listed],
            sum(rows.sources[row] in machines for row in listed) if machines else 0,
        )
        records.into.boxes(boxes, add)


def _of_images(records: FileRecords, run: PlainRun) -> _Rows:
    image_ids, person, is_kept, own_ids = [], [], [], []
    for holder in run.holders:
        records.begin_image(_element("image", holder))
        is_kept.append(records.image is not None)
        image_ids.append(0 if records.image is None else records.image["id"])
        person.append(records.annotator())
        own_ids += [f"line {line}" for line in _lines(holder)]
    counts = [holder.n_boxes for holder in run.holders]
    n = len(run.bbox)
    return _Rows(
        np.repeat(np.array(image_ids, np.int64), counts),
        person,
        np.repeat(np.array(is_kept, np.bool_), counts),
        own_ids,
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
        records.begin_track(_element("track", holder))
        kept = is_kept[begin : begin + n].tolist()
        image_ids += records.ids_of_frames(frames, kept, _lines(holder))
        person.append(records.annotator())
        track = holder.values.get("id", "")[:_LONGEST]
        own_ids += [f"track {track}, frame {frame}" for frame in frames]
        labels += [holder.values.get("label", "").encode()] * n
        sources += [holder.values.get("source", "").encode()] * n
    return _Rows(np.array(image_ids, np.int64), person, is_kept, own_ids, labels, sources)


def _element(name: str, holder: Holder) -> Element:
    return Element(name, holder.values, holder.line, None)


def _lines(holder: Holder) -> Sequence[int]:
    """Return the lines of the boxes of an image or track."""
    return range(holder.line + 1, holder.line + 1 + 2 * holder.n_boxes, 2)
