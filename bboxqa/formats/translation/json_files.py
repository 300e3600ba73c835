"""JSON sources with one file per image: in a folder, in an archive, or a single file."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bboxqa.core.file_names import is_file
from bboxqa.formats.content_kinds import absence_of
from bboxqa.formats.document import Where
from bboxqa.formats.member import Member, is_archive, plain_head
from bboxqa.formats.source import head_of, members_with, readable_members
from bboxqa.formats.translation.collector import BrokenTextError, Collector

_BYTE = re.compile(r"\(byte (\d+)\)")
_NO_NUMBER = re.compile(rb"-?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_MALFORMED, _TRAILING = "JSON is malformed: ", "trailing characters"
AGAIN = "Export it again; the file may be cut off."
# The number of files examined in an archive, and in a folder.
_LOOKED_AT, _SAMPLE = 50, 5

Part = TypeVar("Part")
NoObject = list[Any] | str | float | int | bool | None
"""What a list may have in place of an object."""
LooksRight = Callable[[bytes], bool]
"""Returns whether a text, without blanks and byte order marks, begins like a format."""


def recognises_text(
    looks_right: LooksRight, suffixes: tuple[str, ...] = (".json",)
) -> Callable[[Path], bool]:
    """Return a function that recognises files of a format, and archives with such a file."""
    return partial(_recognises, looks_right, suffixes)


def _recognises(looks_right: LooksRight, suffixes: tuple[str, ...], path: Path) -> bool:
    head = head_of(path)
    if not is_archive(head):
        return begins(looks_right, head)
    named = islice(members_with(readable_members(path), suffixes), _LOOKED_AT)
    return any(begins(looks_right, each.head()) for each in named)


def begins(looks_right: LooksRight, head: bytes) -> bool:
    """Return whether the beginning of a file belongs to a format."""
    return looks_right(plain_head(head))


def json_damage(text: bytes, error: Exception, title: str = "") -> str:
    """Return what is wrong with a file that is not JSON, to follow its name.

    Parameters
    ----------
    text : bytes
    error : Exception
        What a JSON reader raised.
    title : str
        The name of the format, if the file is the only one.
    """
    what = f"is {title} that " * bool(title)
    return absence_of(text) or f"{what}cannot be read: {json_problem(text, error)}"


def json_problem(text: bytes, error: Exception) -> str:
    r"""Return why a text is not JSON, with the name of a value that JSON does not have.

    Examples
    --------
    >>> json_problem(b'[1,\n NaN]', ValueError("invalid character (byte 5)"))
    'line 2: NaN, which JSON does not have'
    """
    found = no_number_in(text, error)
    if found is None:
        place, reason = json_stop(text, error)
        if not place:
            return reason
    else:
        place, reason = found[0], f"{found[1]}, which JSON does not have"
    line = text.count(b"\n", 0, place) + 1
    return f"line {line}: {reason}"


def json_stop(text: bytes, error: Exception) -> tuple[int, str]:
    r"""Return the byte offset at which a JSON reader stopped, and why.

    The offset is 0 if the reader does not say it.

    Examples
    --------
    >>> json_stop(b'{}\n{}', ValueError("JSON is malformed: trailing characters (byte 4)"))
    (3, 'another object follows, as in JSON lines; expected one list of all')
    """
    said = str(error)
    place = _BYTE.search(said)
    if place is None:
        return 0, said
    offset, reason = int(place[1]), said[: place.start()].removeprefix(_MALFORMED).strip()
    if reason != _TRAILING:
        return offset, reason
    # The reader has passed the first of these characters.
    is_object = text[offset - 1 : offset] == b"{"
    why = "another object follows, as in JSON lines; expected one list of all"
    return offset - 1, why if is_object else "text follows the document"


def no_number_in(text: bytes, error: Exception) -> tuple[int, str] | None:
    """Return the byte offset and the name of NaN or an infinity that stopped a JSON reader.

    Examples
    --------
    >>> no_number_in(b"[1, -Infinity]", ValueError("invalid character (byte 5)"))
    (4, '-Infinity')
    """
    place = _BYTE.search(str(error))
    begin = max(0, int(place[1]) - 1) if place is not None else len(text)
    found = _NO_NUMBER.search(text, begin, begin + 12)
    return None if found is None else (found.start(), found[0].decode())


def json_in(folder: Path) -> Iterator[Path]:
    """Yield the JSON files directly in a folder, unsorted; none if it cannot be read."""
    with suppress(OSError), os.scandir(folder) as found:
        for each in found:
            if each.name.lower().endswith(".json") and is_file(each):
                yield Path(each.path)


def json_objects(
    members: Iterable[Member], into: Collector
) -> Iterator[tuple[Member, dict[str, Any]]]:
    """Yield files with their JSON objects; a file that cannot be read is reported as a defect.

    Raises BrokenTextError if the only file of a source cannot be read.
    """
    for member in members:
        text = member.text()
        try:
            content = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not member.name:
                problem = f"{member.shown}: {json_damage(text, error, into.title)}"
                raise BrokenTextError([problem], AGAIN, files=[Path(member.shown)]) from None
            problem = f"{member.name}: {json_damage(text, error)}"
            into.defect("T001", problem, Where(member.name, ""))
            continue
        if isinstance(content, dict):
            yield member, content
        else:
            into.defect("T001", f"{member.name}: expected an object", Where(member.name, ""))


def decoded_parts(files: Iterable[Member], part: type[Part]) -> Iterator[Part]:
    """Yield a part of the JSON of each file, several times faster than all of it.

    Files that are not such JSON are left out, as reading all of it refuses them.

    Parameters
    ----------
    files : iterable of Member
    part : type
        A `msgspec.Struct` with the keys that are read.
    """
    decoder = msgspec.json.Decoder(part)
    for file in files:
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield decoder.decode(file.text())


def all_begin(looks_right: LooksRight, folder: Path) -> bool:
    """Return whether a folder has JSON files directly inside, and a few of them are of a format."""
    files = [*islice(json_in(folder), _SAMPLE)]
    return bool(files) and all(begins(looks_right, head_of(file)) for file in files)
