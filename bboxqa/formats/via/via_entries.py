"""Reading the images and regions of a VIA file in any of its layouts."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.json_values import pointer_to
from bboxqa.formats.opening import decoded
from bboxqa.formats.translation.collector import BrokenTextError
from bboxqa.formats.translation.json_files import AGAIN, json_damage
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.untrusted import items, mapping, plain_text

_MARK = re.compile(r"\A(\s*)#")
_COLUMNS = ("filename", "region_shape_attributes", "region_attributes")


@dataclass(frozen=True, slots=True)
class Region:
    """A shape and its attributes."""

    at: str | int
    """A JSON pointer, or a line."""
    shape: object
    said: dict[str, Any]


@dataclass(slots=True)
class Entry:
    """An image."""

    name: str
    at: str | int
    said: dict[str, Any]
    regions: list[Region] = field(default_factory=list)


def entries_of(member: Member) -> Iterator[Entry]:
    """Yield the images of a file.

    Raises BrokenTextError if it cannot be read.
    """
    text = member.text()
    if text[:4096].lstrip().startswith(b"{"):
        return _of_json(_decoded(member, text))
    return _of_csv(member, decoded(member.shown, member.read()))


def _decoded(member: Member, text: bytes) -> dict[str, Any]:
    try:
        return mapping(msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{member.shown}: {json_damage(text, error, 'JSON of VIA')}"
        raise BrokenTextError([problem], AGAIN) from None


def _of_json(content: dict[str, Any]) -> Iterator[Entry]:
    key = "_via_img_metadata"
    start = pointer_to(key) if key in content else ""
    for name, entry in (content[key] if start else content).items():
        given, at = mapping(entry), f"{start}{pointer_to(name)}"
        if not given or name.startswith("_via_"):
            continue
        regions = given.get("regions")
        # VIA 2 has a list; VIA 1 has an object with numbers as keys.
        listed = regions.items() if isinstance(regions, dict) else enumerate(items(regions))
        yield Entry(
            plain_text(given.get("filename")) or name,
            at,
            mapping(given.get("file_attributes")),
            [
                Region(
                    f"{at}/regions{pointer_to(number)}",
                    mapping(region).get("shape_attributes"),
                    mapping(mapping(region).get("region_attributes")),
                )
                for number, region in listed
            ],
        )


def _of_csv(member: Member, text: str) -> Iterator[Entry]:
    reader = csv.reader(io.StringIO(_MARK.sub(r"\1", text), newline=""), strict=True)
    found: dict[str, Entry] = {}
    header: list[str] = []
    line = 0
    try:
        for row in reader:
            # A cell may span lines.
            start, line = line + 1, reader.line_num
            if not "".join(row).strip():
                continue
            if header:
                _add_row(found, dict(zip(header, row, strict=False)), start)
            else:
                header = [name.strip() for name in row]
    except csv.Error as error:
        problem = f"{member.shown}: line {reader.line_num}: cannot be split into cells: {error}"
        raise BrokenTextError([problem], AGAIN) from None
    yield from found.values()


def _add_row(found: dict[str, Entry], cells: dict[str, str], line: int) -> None:
    name, shape, said = (cells.get(column, "") for column in _COLUMNS)
    entry = found.get(name)
    if entry is None:
        entry = found[name] = Entry(name, line, mapping(_cell(cells.get("file_attributes", ""))))
    content = _cell(shape)
    # An image without regions has a row with an empty shape.
    if content != {}:
        entry.regions.append(Region(line, content, mapping(_cell(said))))


def _cell(text: str) -> object:
    """Return the JSON value in a cell; its text if it is not JSON."""
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def refuse_empty(member: Member) -> None:
    """Raise DatasetError for a file without images."""
    raise DatasetError(
        [f"{member.shown}: is a file of VIA without images"],
        "In VIA: Annotation, Export Annotations (as JSON); give that file.",
    )
