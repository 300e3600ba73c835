"""Files of other formats in a source."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from bboxqa.core.text import count, first_few, one_line, such_as
from bboxqa.formats.content_kinds import HEAD, IS_COCO, WHAT, absence_of, json_kind_of, kind_of
from bboxqa.formats.document.origin import Where
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.images.image_places import known_places, place_of
from bboxqa.formats.translation.json_files import begins, json_problem
from bboxqa.formats.translation.label_folders import is_of_labels
from bboxqa.formats.translation.member import Member
from bboxqa.formats.xml_elements import xml_damage

NO_LABELS = "; if the file holds no labels, move it elsewhere"
"""The end of the first problem with a file that does not begin with a label."""

_OF_ONE_IMAGE = ("VOC", "LabelMe")
_READ = (*_OF_ONE_IMAGE, "COCO", "CVAT", "Darwin", "Datumaro", "Label Studio", "Supervisely", "VIA")
_SAMPLE, _SHOWN = 8, 3
_NOTHING = re.compile(rb"\s*(?:\[\s*\]|\{\s*\})\s*\Z")


def add_others(into: Collector, members: Sequence[Member], expected: str) -> Iterator[str]:
    """Report each file that is left out as a defect; yield a note on all of them.

    `expected` names the format of the source, such as "JSON of LabelMe". JSON or XML that is
    cut off may be of that format, and is an error.
    """
    broken = {each.name: problem for each in members if (problem := _broken(each))}
    for name, problem in broken.items():
        into.defect("T001", f"{name}: {problem}", Where(name, ""))
    members = [each for each in members if each.name not in broken]
    if not members:
        return
    words = [_words(member.head()) for member in members]
    for member, found in zip(members, words, strict=True):
        problem = f"{member.name}: is {found or 'something else'}; expected {expected}"
        into.defect("T012", f"{problem}; it is left out", Where(member.name, 1))
    example = one_line(members[0].name) + (f", {words[0]}" if words[0] else "")
    yield f"{count(len(members), 'file')} left out: not {expected}{such_as(len(members), example)}"


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
        if (each.folder in folders or _is_of_others(each, image, labels))
        and _kind(each.head()) in _OF_ONE_IMAGE
    ]


def second_formats(
    path: Path, members: Iterable[Member], read: Iterable[Member], told: Iterable[Member]
) -> list[str]:
    """Return a note on folders in a source whose annotations have another format, if there are any.

    They are mostly those that labels were converted from, and may be by other people. Of an
    archive, a note on its files says so.

    Parameters
    ----------
    path : Path
        The source.
    members : iterable of Member
        All files of the source.
    read : iterable of Member
        The files that are read.
    told : iterable of Member
        The files that another note is about.
    """
    if path.is_file():
        return []
    known = {each.folder for each in (*read, *told)}
    by_folder: dict[str, list[Member]] = {}
    for each in members:
        if each.name.lower().endswith((".json", ".xml")) and each.folder not in known:
            by_folder.setdefault(each.folder, []).append(each)
    kinds = ((folder, _kind_of_first(files)) for folder, files in by_folder.items())
    found = [(folder, WHAT[kind][0]) for folder, kind in kinds if kind]
    if not found:
        return []
    # Folders inside may have the names of people.
    above = dict.fromkeys((folder.partition("/")[0] or ".", what) for folder, what in found)
    shown = first_few([*above], _SHOWN, lambda each: f"{one_line(each[0])}: {each[1]}")
    some = f"{count(len(found), 'folder')} of annotations in another format left out"
    return [f"{some} ({shown}); to read such a folder, name it"]


def _kind_of_first(members: Sequence[Member]) -> str | None:
    """Return the kind of the first annotations among a few files of a folder."""
    # Other notes are on files of several images directly in a source.
    wanted = _READ if members[0].folder else _OF_ONE_IMAGE
    heads = (each.head() for each in members[:_SAMPLE])
    kinds = (_kind(head) or ("COCO" if IS_COCO.match(head) else None) for head in heads)
    return next((each for each in kinds if each in wanted), None)


def labels_elsewhere(
    texts: Iterable[Member], read: Iterable[Member], is_label: Callable[[bytes], bool]
) -> list[Member]:
    """Return the label files in folders of which none is read, told by a file in each."""
    known = {each.folder for each in read}
    by_folder: dict[str, list[Member]] = {}
    for each in texts:
        if each.folder not in known:
            by_folder.setdefault(each.folder, []).append(each)
    found = (files for files in by_folder.values() if is_label(_first_head(files)))
    return [each for files in found for each in files]


def _first_head(members: Sequence[Member]) -> bytes:
    """Return the beginning of the first file that is not empty, of a few."""
    heads = (as_utf8(each.head()) for each in members[:_SAMPLE])
    return next((each for each in heads if each.strip()), b"")


def elsewhere_note(members: Sequence[Member]) -> Iterator[str]:
    """Yield a note on label files that are left out, if there are any."""
    if members:
        some = f"{count(len(members), 'label file')} left out, as others are in a folder for labels"
        yield some + such_as(len(members), one_line(members[0].name))


def _is_of_others(member: Member, image: str, labels: Container[str]) -> bool:
    """Return whether the image of a file has no label that is read.

    The images of files in folders for labels have their places. Copies of labels may be anywhere,
    so other files may be of an image elsewhere; files around all folders describe the data set.
    """
    if is_of_labels(_last(member.folder)):
        return place_of(member.inner) not in labels
    return member.folder != "" and image not in labels


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _broken(member: Member) -> str:
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
