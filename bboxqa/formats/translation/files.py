"""The files of a translated source: JSON, label files in batches, and what is left out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.core.arrays import Steps
from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.document import Where
from bboxqa.formats.heads import HEAD, WHAT, absence_of, kind_in, kind_of
from bboxqa.formats.label_folders import known_places, place_of
from bboxqa.formats.member import Member
from bboxqa.formats.opening import damage_in
from bboxqa.formats.translation.collector import BrokenTextError, Collector

_BYTE = re.compile(r"\s*\(byte (\d+)\)")
_NO_NUMBER = re.compile(rb"-?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
AGAIN = "Export it again; the file may be cut off."
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a text raises that is no JSON."""

_TOGETHER = 1 << 18
"""Number of bytes per batch: few enough that its arrays stay in the processor's cache."""
NO_LABELS = "; if the file holds no labels, move it elsewhere"
"""The end of the first problem with a file that does not begin with a label."""
_NOTHING = re.compile(rb"\s*(?:\[\s*\]|\{\s*\})\s*\Z")


def _json_damage(text: bytes, error: Exception, title: str = "") -> str:
    """Return what is wrong with a file that is not JSON, to follow its name."""
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
        problem = f"{member.name}: {_json_damage(text, error)}"
        into.defect("T001", problem, Where(member.name, ""))
        return None


def broken_json(member: Member, error: Exception, title: str) -> BrokenTextError:
    """Return the error for a source that is not JSON."""
    problem = f"{member.shown}: {_json_damage(member.text(), error, title)}"
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


def label_batches(
    labels: Mapping[str, Member], progress: Steps | None
) -> Iterator[list[tuple[str, Member, bytes]]]:
    """Yield batches of label files with the places of their images and their contents.

    `labels` are the files by place. `progress` is called with the number of files that were read,
    and of all.
    """
    batch: list[tuple[str, Member, bytes]] = []
    n_bytes = 0
    for n_read, (place, member) in enumerate(labels.items(), 1):
        data = member.text()
        batch.append((place, member, data))
        n_bytes += len(data)
        if n_bytes > _TOGETHER or n_read == len(labels):
            yield batch
            if progress is not None:
                progress(n_read, len(labels))
            batch, n_bytes = [], 0


def add_others(into: Collector, members: Sequence[Member], expected: str) -> Iterator[str]:
    """Report each file that is left out as a defect; yield a note on all of them.

    `expected` names the format of the source, such as "JSON of LabelMe". JSON or XML that is
    cut off may be of that format, and is an error.
    """
    left_out = []
    for member in members:
        head = member.head()
        # A larger file has a known format by its beginning.
        if head and len(head) < HEAD and (problem := damage_in(member.name, head)):
            into.defect("T001", f"{member.name}: {problem}", Where(member.name, ""))
            continue
        kind = kind_of(head) or kind_in("json", head)
        found = "JSON without content" if _NOTHING.match(head) else WHAT[kind][0] if kind else ""
        problem = f"{member.name}: is {found or 'something else'}; expected {expected}"
        into.defect("T012", f"{problem}; it is left out", Where(member.name, 1))
        left_out.append(one_line(member.name) + (f", {found}" if found else ""))
    if left_out:
        example = such_as(len(left_out), left_out[0])
        yield f"{count(len(left_out), 'file')} left out: not {expected}{example}"


def json_or_xml_of_tools(
    members: Iterable[Member],
    labels: Mapping[str, Member],
    pictures: Iterable[str],
    suffixes: tuple[str, ...] = (".json", ".xml"),
) -> list[Member]:
    """Return the files of Pascal VOC or LabelMe beside labels, or of images without other labels.

    `labels` are the files that are read, by the places of their images; `pictures` are the places
    of pictures. Of `members`, only those with one of the `suffixes` are looked at.
    """
    files = [each for each in members if each.name.lower().endswith(suffixes)]
    if not files:
        return []
    folders = {each.folder for each in labels.values()}
    images = known_places((place_of(each.inner) for each in files), {*labels, *pictures})
    return [
        each
        for each, image in zip(files, images, strict=True)
        if each.folder in folders or (each.folder and image not in labels)
        if (kind_of(each.head()) or kind_in("json", each.head())) in ("VOC", "LabelMe")
    ]
