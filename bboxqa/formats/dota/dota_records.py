"""Translating DOTA label files to COCO records."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.choices import choices
from bboxqa.formats.document import Where
from bboxqa.formats.dota.dota_heads import is_dota_head
from bboxqa.formats.dota.plain_dota import plain_labels
from bboxqa.formats.images import FileImages, pictures_of
from bboxqa.formats.label_folders import by_place, holds_labels, is_label_name, spelled_as
from bboxqa.formats.member import Member
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    Add,
    Boxes,
    Collector,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.label_batches import (
    LabelFile,
    add_files,
    label_batches,
    lines_of,
)
from bboxqa.formats.translation.other_files import NO_LABELS, add_others, json_or_xml_of_tools
from bboxqa.formats.translation.untrusted import LARGEST

TITLE = "DOTA labels"
_HEADER = re.compile(r"\s*(?:imagesource|gsd)\s*:", re.IGNORECASE)
_OF_LABELS = re.compile(r"labeltxt.*|labels|annfiles", re.IGNORECASE)
_SHOWN = 60
_WORDS = (
    ("nameless", "image", "without a picture: named as the label file, without suffix"),
    ("difficult", "object", "marked difficult: compared like the others"),
)


class LineError(ValueError):
    """A line that is not a label."""


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """The label in a line."""

    corners: FloatArray
    """(4, 2) float64. The corners in pixels."""
    category: str
    difficult: int


def label_of(line: str) -> Label:
    """Parse a line into four corners, a category, and whether the object is difficult.

    Raises LineError if the line is not as DOTA writes it.

    Examples
    --------
    >>> found = label_of("1 1 5 1 5 3 1 3 small vehicle 1")
    >>> found.corners.tolist(), found.category, found.difficult
    ([[1.0, 1.0], [5.0, 1.0], [5.0, 3.0], [1.0, 3.0]], 'small vehicle', 1)
    """
    words = line.split()
    shown = repr(line.strip()[:_SHOWN])
    if len(words) < 9:
        raise LineError(f"{shown} has {count(len(words), 'value')}; expected 8 and a category")
    try:
        values = np.array([float(each) for each in words[:8]])
    except ValueError:
        raise LineError(f"{shown} does not begin with 8 numbers") from None
    if not (np.abs(values) < LARGEST).all():
        raise LineError(f"{shown} has coordinates that cannot be pixels")
    has_mark = len(words) > 9 and words[-1].isdecimal() and len(words[-1]) == 1
    category = " ".join(words[8 : len(words) - has_mark])
    return Label(values.reshape(4, 2), category, int(words[-1]) if has_mark else 0)


def translate_dota(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate a folder or archive of label files.

    Raises DatasetError if it has no label files.
    """
    source = wanted.files_of(path)
    members = source.members
    labels = [
        each
        for each in members
        if is_label_name(each.name) or holds_labels(each.name, each.head, is_dota_head)
    ]
    # If there are label folders, other text files describe the data set.
    labels = [each for each in labels if _is_in_labels(each.name)] or labels
    if not labels:
        raise DatasetError([f"{path}: has no label files of DOTA"])
    of_images = by_place(labels)
    pictures = by_place(pictures_of(path, members, of_images))
    pictures = spelled_as(pictures, of_images)
    records = _DotaRecords(pictures, add, wanted)
    for batch in label_batches(source, of_images, wanted.progress):
        records.take(batch)
    others = json_or_xml_of_tools(members, of_images, pictures)
    return records.done(others)


def _is_in_labels(name: str) -> bool:
    return any(_OF_LABELS.fullmatch(folder) for folder in name.split("/")[:-1])


class _DotaRecords:
    """Converts label files to COCO records, and collects images, categories and counts."""

    def __init__(self, pictures: dict[str, Member], add: Add, wanted: Wanted) -> None:
        self._wanted = wanted
        is_said = choices().missing_txt == "not-asked"
        self._into = Collector(TITLE, add, lists_images=is_said)
        self._images = FileImages(self._into, pictures)
        self._tally = self._images.tally

    def take(self, batch: Sequence[tuple[str, Member, bytes]]) -> None:
        """Take the labels of images, given by the place of the image, the file and its content."""
        files = [(each, self._images.labelled(place, each), text) for place, each, text in batch]
        add_files(files, self._add_plain, self._add_file)

    def _add_plain(self, files: Sequence[LabelFile]) -> bool:
        """Add the labels of files if all lines are as DOTA writes them; return whether they are."""
        add_boxes = self._wanted.add_boxes
        found = None if add_boxes is None else plain_labels([data for _, _, data in files])
        if found is None or add_boxes is None:
            return False
        lines = lines_of(files, found.n_labels, found.first)
        begins = np.unique(found.category, return_index=True)[1].tolist()
        named = zip(found.names, begins, strict=True)
        ids = [self._into.category(name, lines.where(row)) for name, row in named]
        images = np.array([image["id"] for _, image, _ in files], np.int64)
        low, high = found.corners.min(1), found.corners.max(1)
        degrees = shapes.rotations_of(found.corners)
        boxes = Boxes(
            np.repeat(images, found.n_labels),
            np.array(ids, np.int64)[found.category],
            np.concatenate([low, high - low], 1),
            lines,
            np.full(len(low), -1),
            corners=np.ascontiguousarray(found.corners) if self._wanted.outlines else None,
            n_rotated=int((degrees > 0).sum()),
            degrees=degrees,
            difficult=found.difficult,
        )
        self._into.boxes(boxes, add_boxes)
        self._tally["difficult"] += int((found.difficult > 0).sum())
        return True

    def _add_file(self, file: LabelFile) -> None:
        member, image, data = file
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self._into.defect("T001", "the file is not text in UTF-8", Where(member.name, 1))
            return
        labels: list[tuple[Where, Label]] = []
        todo = "" if is_dota_head(data) else NO_LABELS
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or _HEADER.match(line):
                continue
            where = Where(member.name, number)
            try:
                labels.append((where, label_of(line)))
            except LineError as error:
                self._into.defect("T001", f"{error}{todo}", where)
                todo = ""
        if labels:
            degrees = shapes.rotations_of(np.array([label.corners for _, label in labels]))
            for (where, label), each in zip(labels, degrees.tolist(), strict=True):
                self._add_label(label, None if math.isnan(each) else each, image["id"], where)

    def _add_label(self, label: Label, degrees: float | None, image: int, where: Where) -> None:
        category = self._into.category(label.category, where)
        record: Record = {"image_id": image, "category_id": category}
        record["bbox"] = shapes.bounds(label.corners)
        if self._wanted.outlines:
            record["segmentation"] = [shapes.ring(label.corners)]
        record |= _said(degrees, label.difficult)
        self._tally["difficult"] += label.difficult > 0
        self._into.annotation(record, where)

    def done(self, others: Sequence[Member]) -> Translated:
        """Return the translation, with notes; `others` are files that are left out."""
        notes = [*add_others(self._into, others, "labels of DOTA")]
        notes += self._images.add_unlabelled(others=others)
        return self._into.done([*tally_notes(self._tally, _WORDS), *notes])


def _said(degrees: float | None, difficult: int) -> Record:
    """Return the keys of an annotation other than its geometry."""
    attributes: Record = {} if degrees is None else {"rotation": degrees}
    if difficult:
        attributes["difficult"] = difficult
    return {"attributes": attributes} if attributes else {}
