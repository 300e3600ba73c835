"""Converting runs of plain CVAT boxes to columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.formats.annotations.machine_marks import is_machine
from bboxqa.formats.cvat.file_records import FileRecords
from bboxqa.formats.cvat.plain_lines import Coded
from bboxqa.formats.cvat.plain_runs import SAID, PlainRun
from bboxqa.formats.cvat.said_keys import said_more
from bboxqa.formats.translation.translated import UNLABELLED, Boxes, Lines, Record


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Image, label and other values of each box of a run besides its coordinates."""

    image_id: IndexArray
    person: list[str]
    """One per image or track."""
    is_kept: BoolArray
    own_ids: list[str]
    labels: Coded
    sources: Coded

    def only_kept(self) -> "_Rows":
        """Return the boxes that count."""
        return replace(
            self,
            image_id=self.image_id[self.is_kept],
            own_ids=[*compress(self.own_ids, self.is_kept)],
            labels=self.labels._replace(code=self.labels.code[self.is_kept]),
            sources=self.sources._replace(code=self.sources.code[self.is_kept]),
        )


def add_run(records: FileRecords, run: PlainRun, add: Callable[[Boxes], None]) -> None:
    """Add the boxes of images or tracks, in the order of the file."""
    rows = (_of_tracks if run.is_tracks else _of_images)(records, run)
    kept = np.flatnonzero(rows.is_kept)
    if not len(kept):
        return
    if len(kept) < len(run.bbox):
        rows = rows.only_kept()
    lines = Lines([records.member], np.zeros(len(kept), np.int64), run.lines[kept])
    names = [label.decode().strip() or UNLABELLED for label in rows.labels.values]
    number = rows.labels.code
    ids = np.zeros(len(names), np.int64)
    for row in np.sort(np.unique(number, return_index=True)[1]).tolist():
        ids[number[row]] = records.into.category(names[number[row]], lines.where(row))
    people = [*dict.fromkeys(person for person in rows.person if person)]
    code = {name: place for place, name in enumerate(people)} | {"": -1}
    counts = [holder.n_boxes for holder in run.holders]
    boxes = Boxes(
        rows.image_id,
        ids[number],
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


def _n_machine(sources: Coded) -> int:
    is_known = np.array([is_machine(name.decode()) for name in sources.values], np.bool_)
    return int(is_known[sources.code].sum())


def _more_of(run: PlainRun, kept: IndexArray) -> Sequence[Record]:
    """Return the keys of annotations other than the geometry."""
    columns = {name: each for name, each in run.columns.items() if name in SAID}
    codes = [each.code.tolist() for each in columns.values()]
    rows = [*zip(*codes, strict=True)] if codes else [()] * len(run.bbox)
    known = {row: _values(columns, row) for row in {*rows}}
    if run.is_tracks:
        holders = (holder for holder in run.holders for _ in range(holder.n_boxes))
        found = [
            said_more({**holder.values, **known[row]}, frame=frame)
            for holder, row, frame in zip(holders, rows, run.frames.tolist(), strict=True)
        ]
    else:
        of_row = {row: said_more(values) for row, values in known.items()}
        found = [of_row[row] for row in rows]
    return [found[place] for place in kept.tolist()]


def _values(columns: Mapping[str, Coded], row: Iterable[int]) -> dict[str, str]:
    named = zip(columns.items(), row, strict=True)
    return {name: each.values[code].decode() for (name, each), code in named}


def _of_images(records: FileRecords, run: PlainRun) -> _Rows:
    image_ids, person, is_kept = [], [], []
    for holder in run.holders:
        image = records.begin_image(holder.values, holder.line)
        is_kept.append(image is not None)
        image_ids.append(0 if image is None else image["id"])
        person.append(records.annotator())
    counts = [holder.n_boxes for holder in run.holders]
    nothing = Coded([b""], np.zeros(len(run.bbox), np.int64))
    return _Rows(
        np.repeat(np.array(image_ids, np.int64), counts),
        person,
        np.repeat(np.array(is_kept, np.bool_), counts),
        [],
        run.columns.get("label", nothing),
        run.columns.get("source", nothing),
    )


def _of_tracks(records: FileRecords, run: PlainRun) -> _Rows:
    n_boxes = [holder.n_boxes for holder in run.holders]
    outside = run.columns.get("outside", Coded([b"0"], np.zeros(len(run.bbox), np.int64)))
    is_kept = np.array([each != b"1" for each in outside.values], np.bool_)[outside.code]
    image_ids: list[int] = []
    person: list[str] = []
    own_ids: list[str] = []
    frames_of, lines_of = run.frames.tolist(), run.lines.tolist()
    for holder in run.holders:
        begin, n = len(own_ids), holder.n_boxes
        frames = frames_of[begin : begin + n]
        records.begin_track(holder.values)
        kept = is_kept[begin : begin + n].tolist()
        image_ids += records.ids_of_frames(frames, kept, lines_of[begin : begin + n])
        person.append(records.annotator())
        track = holder.values.get("id", "")
        own_ids += [f"track {track}, frame {frame}" for frame in frames]
    labels, sources = (
        Coded(
            [holder.values.get(key, "").encode() for holder in run.holders],
            np.repeat(np.arange(len(run.holders)), n_boxes),
        )
        for key in ("label", "source")
    )
    return _Rows(np.array(image_ids, np.int64), person, is_kept, own_ids, labels, sources)
