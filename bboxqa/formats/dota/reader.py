"""Reading DOTA label files: four corners, a category and a mark of difficult objects."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.document import Where
from bboxqa.formats.heads import is_dota_head
from bboxqa.formats.images import FileImages, pictures_of
from bboxqa.formats.label_folders import by_place, holds_labels, is_label_name, spelled_as
from bboxqa.formats.member import Member
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import (
    Add,
    Boxes,
    Collector,
    Lines,
    Record,
    Translated,
    Wanted,
    tally_notes,
)
from bboxqa.formats.translation.label_batches import label_batches
from bboxqa.formats.translation.other_files import NO_LABELS, add_others, json_or_xml_of_tools
from bboxqa.formats.translation.untrusted import LARGEST

_HEADER = re.compile(r"\s*(?:imagesource|gsd)\s*:", re.IGNORECASE)
_OF_LABELS = re.compile(r"labeltxt.*|labels|annfiles", re.IGNORECASE)
_NUMBERS, _SHOWN = 8, 60
_WORDS = (
    ("nameless", "image", "without a picture: named as the label file, without suffix"),
    ("difficult", "object", "marked difficult: compared like the others"),
)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
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
    pictures = spelled_as(by_place(pictures_of(path, members, of_images)), of_images)
    records = _DotaRecords(pictures, add, wanted)
    for batch in label_batches(source, of_images, wanted.progress):
        records.take(batch)
    return records.done(json_or_xml_of_tools(members, of_images, pictures))


def _is_in_labels(name: str) -> bool:
    return any(_OF_LABELS.fullmatch(folder) for folder in name.split("/")[:-1])


@dataclass(slots=True)
class _Labels:
    """Lines of several files that may be labels."""

    lines: list[str] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    """The id of the image of each line."""
    member: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)

    def without(self, rows: set[int]) -> "_Labels":
        """Return labels without some rows."""
        columns = (self.lines, self.image, self.member, self.line)
        return _Labels(*([e for n, e in enumerate(each) if n not in rows] for each in columns))  # type: ignore[arg-type]


class _DotaRecords:
    """Converts label files to COCO records, and collects images, categories and counts."""

    def __init__(self, pictures: dict[str, Member], add: Add, wanted: Wanted) -> None:
        self._wanted = wanted
        is_said = wanted.choices.missing_txt == "not-asked"
        self._into = Collector("DOTA labels", add, lists_images=is_said)
        self._images = FileImages(self._into, pictures, choices=wanted.choices)
        self._tally = self._images.tally

    def take(self, batch: Sequence[tuple[str, Member, bytes]]) -> None:
        """Take the labels of images, given by the place of the image, the file and its content."""
        labels, names = _Labels(), [member.name for _, member, _ in batch]
        todo: dict[int, str] = {}
        for number, (place, member, data) in enumerate(batch):
            image = self._images.labelled(place, member)["id"]
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                self._into.defect("T001", "the file is not text in UTF-8", Where(member.name, 1))
                continue
            if not is_dota_head(data):
                todo[number] = NO_LABELS
            for at, line in enumerate(text.splitlines(), start=1):
                if line.strip() and not _HEADER.match(line):
                    labels.lines.append(line)
                    labels.image.append(image)
                    labels.member.append(number)
                    labels.line.append(at)
        corners = _corners_in(labels.lines)
        if corners is None:
            wrong = {}
            for row, line in enumerate(labels.lines):
                if problem := _problem(line):
                    number = labels.member[row]
                    wrong[row] = f"{problem}{todo.pop(number, '')}"
                    where = Where(names[number], labels.line[row])
                    self._into.defect("T001", wrong[row], where)
            labels = labels.without({*wrong})
            corners = np.array([line.split()[:_NUMBERS] for line in labels.lines], np.float64)
        if len(corners):
            self._add(labels, names, corners.reshape(-1, 4, 2))

    def _add(self, labels: _Labels, names: Sequence[str], corners: FloatArray) -> None:
        """Add labels with (N, 4, 2) corners."""
        rests: dict[str, int] = {}
        ends = (line.split(None, _NUMBERS)[_NUMBERS] for line in labels.lines)
        code = np.array([rests.setdefault(each, len(rests)) for each in ends])
        found = [_category_in(each) for each in rests]
        lines = Lines(names, np.array(labels.member), np.array(labels.line))
        firsts = np.unique(code, return_index=True)[1].tolist()
        named = zip(found, firsts, strict=True)
        ids = np.array([self._into.category(name, lines.where(row)) for (name, _), row in named])
        difficult = np.array([mark for _, mark in found])[code]
        self._tally["difficult"] += int((difficult > 0).sum())
        low, degrees = corners.min(1), shapes.rotations_of(corners)
        boxes = Boxes(
            np.array(labels.image),
            ids[code],
            np.concatenate([low, corners.max(1) - low], 1),
            lines,
            np.full(len(low), -1),
            corners=np.ascontiguousarray(corners) if self._wanted.outlines else None,
            n_rotated=int((degrees > 0).sum()),
            degrees=degrees,
            difficult=difficult,
        )
        add_boxes: Callable[[Boxes], None] | None = self._wanted.add_boxes
        if add_boxes is not None:
            self._into.boxes(boxes, add_boxes)
            return
        for row in range(len(boxes)):
            self._into.annotation(_record_of(boxes, row), lines.where(row))

    def done(self, others: Sequence[Member]) -> Translated:
        """Return the translation; `others` are files that are left out."""
        notes = [*add_others(self._into, others, "labels of DOTA")]
        notes += self._images.add_unlabelled(others=others)
        return self._into.done([*tally_notes(self._tally, _WORDS), *notes])


def _corners_in(lines: Sequence[str]) -> FloatArray | None:
    """Return the (N, 8) coordinates of lines; None if one is not a label."""
    if not lines or min(line.count(" ") for line in lines) < _NUMBERS:
        return None
    try:
        found = np.loadtxt(lines, usecols=range(_NUMBERS), comments=None, ndmin=2)
    except ValueError:
        return None
    is_sound = len(found) == len(lines) and (np.abs(found) < LARGEST).all()
    return found if is_sound and not any(map(_problem_of_words, lines)) else None


def _problem_of_words(line: str) -> bool:
    return len(line.split(None, _NUMBERS)) <= _NUMBERS


def _problem(line: str) -> str:
    """Return why a line is not a label as DOTA writes it; "" if it is."""
    words = line.split()
    shown = repr(line.strip()[:_SHOWN])
    if len(words) <= _NUMBERS:
        return f"{shown} has {count(len(words), 'value')}; expected 8 and a category"
    try:
        values = [float(each) for each in words[:_NUMBERS]]
    except ValueError:
        return f"{shown} does not begin with 8 numbers"
    is_near = all(abs(each) < LARGEST for each in values)
    return "" if is_near else f"{shown} has coordinates that cannot be pixels"


def _category_in(rest: str) -> tuple[str, int]:
    """Return the category and the mark of difficult objects at the end of a line."""
    words = rest.split()
    has_mark = len(words) > 1 and words[-1].isdecimal() and len(words[-1]) == 1
    return " ".join(words[: len(words) - has_mark]), int(words[-1]) if has_mark else 0


def _record_of(boxes: Boxes, row: int) -> Record:
    record: Record = {
        "image_id": int(boxes.image_id[row]),
        "category_id": int(boxes.category_id[row]),
        "bbox": boxes.bbox[row].tolist(),
    }
    if boxes.corners is not None:
        record["segmentation"] = [boxes.corners[row].ravel().tolist()]
    attributes: Record = {}
    if boxes.degrees is not None and not np.isnan(boxes.degrees[row]):
        attributes["rotation"] = float(boxes.degrees[row])
    if boxes.difficult is not None and boxes.difficult[row]:
        attributes["difficult"] = int(boxes.difficult[row])
    return {**record, "attributes": attributes} if attributes else record
