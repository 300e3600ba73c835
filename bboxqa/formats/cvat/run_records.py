"""From runs of plain boxes of CVAT to columns."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.formats.annotations.machine_marks import is_machine
from bboxqa.formats.cvat.file_records import UNLABELLED, FileRecords
from bboxqa.formats.cvat.plain_runs import SAID, PlainRun
from bboxqa.formats.cvat.said_keys import said_more
from bboxqa.formats.translation.translated import Boxes, Lines, Record


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

    def only_kept(self) -> "_Rows":
        """Return the boxes that count."""
        return replace(
            self,
            image_id=self.image_id[self.is_kept],
            own_ids=[*compress(self.own_ids, self.is_kept)],
            labels=[*compress(self.labels, self.is_kept)],
            sources=[*compress(self.sources, self.is_kept)],
        )


def add_run(records: FileRecords, run: PlainRun, add: Callable[[Boxes], None]) -> None:
    """Add the boxes of images or tracks, in the order of the file."""
    rows = (_of_tracks if run.is_tracks else _of_images)(records, run)
    kept = np.flatnonzero(rows.is_kept)
    if not len(kept):
        return
    if len(kept) < len(run.bbox):
        rows = rows.only_kept()
    line = np.array(run.lines)[kept]
    lines = Lines([records.member], np.zeros(len(kept), np.int64), line)
    names, number = _numbered(rows.labels)
    first = np.unique(number, return_index=True)[1].tolist()
    named = zip(names, first, strict=True)
    ids = [records.into.category(name, lines.where(row)) for name, row in named]
    people = [*dict.fromkeys(person for person in rows.person if person)]
    code = {name: place for place, name in enumerate(people)} | {"": -1}
    counts = [holder.n_boxes for holder in run.holders]
    boxes = Boxes(
        rows.image_id,
        np.array(ids)[number],
        run.bbox[kept],
        lines,
        np.repeat([code[name] for name in rows.person], counts)[kept],
        people,
        rows.own_ids,
        n_machine=_n_machine(rows.sources),
        more=partial(_more_of, run, kept),
    )
    begin = records.into.boxes(boxes, add)
    for place, name in enumerate(names):
        if not records.is_known(name):
            for row in np.flatnonzero(number == place).tolist():
                records.check_label("box", name, lines.where(row), begin + row)


def _numbered(labels: Sequence[bytes]) -> tuple[list[str], IndexArray]:
    """Return the distinct labels in their order, and (N,) int64, which of them each box has."""
    known: dict[bytes, int] = {}
    number = np.array([known.setdefault(label, len(known)) for label in labels])
    return [label.decode().strip() or UNLABELLED for label in known], number


def _n_machine(sources: list[bytes]) -> int:
    times = Counter(sources)
    return sum(number for name, number in times.items() if is_machine(name.decode()))


def _more_of(run: PlainRun, kept: IndexArray) -> Sequence[Record]:
    """Return the keys of annotations that do not say where they are."""
    columns = {name: each for name, each in run.columns.items() if name in SAID}
    rows = [*zip(*columns.values(), strict=True)] if columns else [()] * len(run.bbox)
    known = {row: _values(columns, row) for row in {*rows}}
    if run.is_tracks:
        holders = (holder for holder in run.holders for _ in range(holder.n_boxes))
        found = [
            said_more({**holder.values, **known[row]}, frame=frame)
            for holder, row, frame in zip(holders, rows, run.frames, strict=True)
        ]
    else:
        of_row = {row: said_more(values) for row, values in known.items()}
        found = [of_row[row] for row in rows]
    return [found[place] for place in kept.tolist()]


def _values(columns: Iterable[str], row: Iterable[bytes]) -> dict[str, str]:
    return {name: each.decode() for name, each in zip(columns, row, strict=True)}


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
        [],
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
        track = holder.values.get("id", "")
        own_ids += [f"track {track}, frame {frame}" for frame in frames]
        labels += [holder.values.get("label", "").encode()] * n
        sources += [holder.values.get("source", "").encode()] * n
    return _Rows(np.array(image_ids, np.int64), person, is_kept, own_ids, labels, sources)
