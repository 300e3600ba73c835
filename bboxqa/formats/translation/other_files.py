"""Files of other formats in a source, which are left out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.content_kinds import HEAD, WHAT, absence_of, json_kind_of, kind_of
from bboxqa.formats.document import Where
from bboxqa.formats.label_folders import known_places, place_of
from bboxqa.formats.member import Member, as_utf8
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.json_files import begins, json_problem
from bboxqa.formats.xml_elements import xml_damage

NO_LABELS = "; if the file holds no labels, move it elsewhere"
"""The end of the first problem with a file that does not begin with a label."""
_NOTHING = re.compile(rb"\s*(?:\[\s*\]|\{\s*\})\s*\Z")


def add_others(into: Collector, members: Sequence[Member], expected: str) -> Iterator[str]:
    """Report each file that is left out as a defect; yield a note on all of them.

    `expected` names the format of the source, such as "JSON of LabelMe". JSON or XML that is
    cut off may be of that format, and is an error.
    """
    left_out = []
    for member in members:
        if problem := _damage(member):
            into.defect("T001", f"{member.name}: {problem}", Where(member.name, ""))
            continue
        found = _words(member.head())
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

    Parameters
    ----------
    members : iterable of Member
        All files of a source.
    labels : mapping of str to Member
        The files that are read, by the places of their images.
    pictures : iterable of str
        The places of pictures.
    suffixes : tuple of str
        The suffixes of the files to look at.
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
        if _kind(each.head()) in ("VOC", "LabelMe")
    ]


def _damage(member: Member) -> str:
    """Return what is wrong with a small file that is not JSON or XML; "" if it is, or is large."""
    suffix = member.name.lower().rpartition(".")[2]
    head = member.head() if suffix in ("json", "xml") else b""
    if not head or len(head) == HEAD or kind_of(head) not in (None, "XML", "VOC", "pointer"):
        return ""
    if absence := absence_of(head):
        return absence
    problem = _json_problem(as_utf8(head)) if suffix == "json" else xml_damage(head)
    return problem and f"cannot be read: {problem}"


def _json_problem(text: bytes) -> str:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return json_problem(text, error)
    return ""


def _kind(head: bytes) -> str | None:
    return kind_of(head) or json_kind_of(head)


def _words(head: bytes) -> str:
    """Return the kind of a file by its beginning; "" if unknown."""
    if begins(lambda text: _NOTHING.match(text) is not None, head):
        return "JSON without content"
    kind = _kind(head)
    return WHAT[kind][0] if kind else ""
