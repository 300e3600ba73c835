"""JSON sources with one file per image: in a folder, in an archive, or a single file."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bboxqa.formats.document import Where
from bboxqa.formats.heads import absence_of
from bboxqa.formats.member import Member
from bboxqa.formats.translation.collector import BrokenTextError, Collector

_BYTE = re.compile(r"\s*\(byte (\d+)\)")
_NO_NUMBER = re.compile(rb"-?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
AGAIN = "Export it again; the file may be cut off."
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a text raises that is no JSON."""

Part = TypeVar("Part")
NoObject = list[Any] | str | float | int | bool | None
"""What a list may have in place of an object."""


def json_damage(text: bytes, error: Exception, title: str = "") -> str:
    """Return what is wrong with a file that is not JSON, to follow its name.

    `error` is what a JSON reader raised, `title` the name of the format if the file is the only
    one.
    """
    what = f"is {title} that " * bool(title)
    return absence_of(text) or f"{what}cannot be read: {json_problem(text, error)}"


def json_problem(text: bytes, error: Exception) -> str:
    r"""Return why a text is not JSON.

    Examples
    --------
    >>> json_problem(b'[1,\n NaN]', ValueError("invalid character (byte 5)"))
    'line 2: the number NaN, which JSON does not have'
    """
    place, why = json_stop(text, error)
    line = text.count(b"\n", 0, place) + 1
    return f"line {line}: {why}" if place else why


def json_stop(text: bytes, error: Exception) -> tuple[int, str]:
    r"""Return the byte offset at which a JSON reader stopped, 0 if it does not say it, and why.

    Examples
    --------
    >>> json_stop(b'{}\n{}', ValueError("JSON is malformed: trailing characters (byte 4)"))
    (3, 'another object follows, as in JSON lines; expected one list of all')
    """
    said = _BYTE.search(str(error))
    if said is None:
        return 0, str(error)
    # The reader has passed the first of the wrong characters.
    place = max(0, int(said[1]) - 1)
    if found := _NO_NUMBER.search(text, place, place + 12):
        return found.start(), f"the number {found[0].decode()}, which JSON does not have"
    why = str(error)[: said.start()].removeprefix("JSON is malformed: ")
    if why != "trailing characters":
        return place + 1, why
    if text[place : place + 1] == b"{":
        return place, "another object follows, as in JSON lines; expected one list of all"
    return place, "text follows the document"


def json_of(
    member: Member, into: Collector, decode: Callable[[bytes], Any] = msgspec.json.decode
) -> Any:
    """Return the content of a file; None if it is not JSON, which is reported as a defect.

    Raises BrokenTextError if it is the only file of a source.
    """
    text = member.text()
    try:
        return decode(text)
    except NOT_JSON as error:
        if not member.name:
            raise broken_json(member, error, into.title) from None
        problem = f"{member.name}: {json_damage(text, error)}"
        into.defect("T001", problem, Where(member.name, ""))
        return None


def broken_json(member: Member, error: Exception, title: str) -> BrokenTextError:
    """Return the error for a source that is not JSON."""
    problem = f"{member.shown}: {json_damage(member.text(), error, title)}"
    return BrokenTextError([problem], AGAIN, files=[Path(member.shown)])


def json_objects(
    members: Sequence[Member], into: Collector
) -> Iterator[tuple[Member, dict[str, Any]]]:
    """Yield files with their JSON objects; a file that cannot be read is reported as a defect."""
    for number, member in enumerate(members):
        into.step(number, len(members))
        found = json_of(member, into, lambda text: [msgspec.json.decode(text)])
        if found is None:
            continue
        if isinstance(found[0], dict):
            yield member, found[0]
        else:
            problem = f"{member.name}: expected an object"
            into.defect("T001", problem, Where(member.name, ""))


def decoded_parts(files: Iterable[Member], part: type[Part]) -> Iterator[Part]:
    """Yield a part of the JSON of each file, a `msgspec.Struct` with the keys that are read.

    Files that are not such JSON are left out, as reading all of it refuses them.
    """
    decoder = msgspec.json.Decoder(part)
    for file in files:
        with suppress(*NOT_JSON):
            yield decoder.decode(file.text())
