"""DOTA's text labels: four corners, a category and a mark of difficult objects in a line."""

import re
from collections.abc import Iterator
from contextlib import suppress
from math import inf, isnan
from pathlib import Path

import numpy as np

from bboxqa.core.errors import DatasetError
from bboxqa.formats.document import Record, Where
from bboxqa.formats.images import FileImages
from bboxqa.formats.label_folders import holds_labels
from bboxqa.formats.member import Member
from bboxqa.formats.source import members_of
from bboxqa.formats.translation import shapes
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.shapes import LARGEST, mapping
from bboxqa.formats.writing.content import Content, Writer, Written
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.outlines import four_corners

_HEADER = re.compile(r"\s*(?:imagesource|gsd)\s*:", re.IGNORECASE)
_OF_LABELS = re.compile(r"labeltxt.*|labels|annfiles", re.IGNORECASE)
_NUMBERS, _SHOWN = 8, 60
_WORDS = (
    ("nameless", "image", "without a picture: named as the label file, without suffix"),
    ("difficult", "object", "marked difficult: compared like the others"),
)


def translate(path: Path, into: Collector) -> None:
    """Translate a folder or archive of label files."""
    into.title = "DOTA labels"
    members = members_of(path)
    labels = [each for each in members if holds_labels(each, "DOTA")]
    # If there are label folders, other text files describe the data set.
    labels = [e for e in labels if any(map(_OF_LABELS.fullmatch, e.folder.split("/")))] or labels
    if not labels:
        raise DatasetError([f"{path}: has no label files of DOTA"])
    images = FileImages(path, into, labels, members)
    for member, image, text in images.texts():
        _add_file(into, member, image, text)
    images.done("labels of DOTA", _WORDS)


def _add_file(into: Collector, member: Member, image: Record, text: str) -> None:
    rows: list[tuple[int, str]] = []
    values: list[list[float]] = []
    for at, line in enumerate(text.splitlines(), start=1):
        words, found = line.split(None, _NUMBERS), list[float]()
        with suppress(ValueError):
            found = [*map(float, words[:_NUMBERS])]
        # The sum is NaN where one is.
        if len(words) > len(found) > 0 and max(map(abs, found)) < LARGEST and sum(found) < inf:
            rows.append((at, words[_NUMBERS]))
            values.append(found)
        elif words and not _HEADER.match(line):
            problem = f"{line.strip()[:_SHOWN]!r} is no label; expected 8 numbers of pixels"
            into.defect("T001", f"{problem}, a category and 0 or 1", Where(member.name, at))
    corners = np.array(values).reshape(-1, 4, 2)
    turns = shapes.rotations_of(corners).tolist() if rows else ()
    for (at, rest), ring, degrees in zip(rows, values, turns, strict=True):
        *name, mark = rest.split() if re.search(r"\S\s+\d\s*\Z", rest) else (rest, "0")
        x, y, where = ring[::2], ring[1::2], Where(member.name, at)
        record: Record = {
            "image_id": image["id"],
            "category_id": into.category(" ".join(" ".join(name).split()), where),
            "bbox": [min(x), min(y), max(x) - min(x), max(y) - min(y)],
            "segmentation": [ring],
        }
        attributes: Record = {} if isnan(degrees) else {"rotation": degrees}
        if int(mark):
            into.tally["difficult"] += 1
            attributes["difficult"] = int(mark)
        into.annotation(record | ({"attributes": attributes} if attributes else {}), where)


def _as_words(name: str) -> str:
    """Return a category name as it is written; a number could not be told from the others."""
    words = " ".join(name.split())
    return words if words and not words.replace(" ", "").isdecimal() else f"class {words}".strip()


def _mark(value: object) -> int | None:
    """Return a mark as DOTA has it, which CVAT has as true or false; None for another value."""
    text = {"true": "1", "false": "0"}.get(str(value).lower(), str(value))
    return int(text) if text.isdecimal() and len(text) == 1 else None


def _files(content: Content) -> Iterator[Written]:
    for _, _, drawn, path in content.files(DOTA.folder, ".txt"):
        text = ""
        for each in drawn:
            points = four_corners(each).ravel().tolist()
            values = " ".join(f"{value:.10g}" for value in points)
            difficult = _mark(mapping(each.get(ATTRIBUTES)).get("difficult", 0))
            category = _as_words(content.category_names[each["category_id"]])
            text += f"{values} {category} {difficult or 0}\n"
        yield Written(path, text.encode())


DOTA = Writer(
    "DOTA",
    "folder",
    (".txt",),
    _files,
    frozenset({"corners", f"{ATTRIBUTES}.difficult"}),
    keeps=lambda key, value: not key.startswith(ATTRIBUTES) or _mark(value) is not None,
    reads={"category": _as_words},
    folder="labelTxt",
    # Files have no suffixes of pictures.
    read_name=lambda _, place: place,
)
