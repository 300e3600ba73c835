"""The files of an archive: those that are sources, and those of other formats."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.box_tables.box_table import BOX_TABLE
from bboxqa.formats.coco.archive import COCO_ARCHIVE
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.content_kinds import CLASS_NAMES, TABLES, WHAT, json_kind_of
from bboxqa.formats.cvat.format import CVAT
from bboxqa.formats.damaged import refuse_damaged_members, refuse_damaged_others
from bboxqa.formats.darwin.darwin import DARWIN
from bboxqa.formats.datumaro.datumaro import DATUMARO
from bboxqa.formats.datumaro.datumaro_heads import are_subsets
from bboxqa.formats.dota.dota import DOTA
from bboxqa.formats.dota.dota_heads import is_dota_head
from bboxqa.formats.format import Format
from bboxqa.formats.label_studio.studio import LABEL_STUDIO
from bboxqa.formats.labelme.labelme import LABELME
from bboxqa.formats.registry import format_inside, format_of, title_of
from bboxqa.formats.translation.heads import ARCHIVES, as_utf8, is_archive
from bboxqa.formats.translation.images.image_places import by_place
from bboxqa.formats.translation.label_folders import is_label_name
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.members import archive_around, head_of, members_of, members_with
from bboxqa.formats.translation.other_files import json_or_xml_of_tools
from bboxqa.formats.translation.picture_sizes import is_picture
from bboxqa.formats.via.via import VIA
from bboxqa.formats.voc.voc import VOC
from bboxqa.formats.yolo.yolo import YOLO, is_label_head

# Formats of one file for all images.
_OF_FILES = (COCO_ARCHIVE, LABEL_STUDIO, DATUMARO, BOX_TABLE, CVAT)
# Formats whose files can be named below the path of an archive.
_NAMED_INSIDE = (*_OF_FILES, VIA)
NOT_READ = ("CVAT backup", "CreateML", "FiftyOne", "VOC as json")
"""Kinds of annotations that no format reads."""
# The readers of these formats report files with this suffix themselves.
_REPORTED = {VOC: ".xml", LABELME: ".json", DARWIN: ".json", YOLO: ".txt", DOTA: ".txt"}
_STRUCTURED = (".json", ".xml", *TABLES)
_ANNOTATIONS = (*_STRUCTURED, ".txt")
_UNPACK = "Unpack it into a folder of its own, and name the folder."
_SHOWN = 3
# The number of text files whose format is looked at: of all, and of a folder.
_LOOKED_AT, _SAMPLE = 5000, 20


def matching_parts_of(path: Path, pattern: str | None) -> list[Path]:
    """Return the sources in a file: itself, or those in an archive that match a pattern.

    Of an archive whose own name matches, all do. Raises DatasetError if none does.
    """
    parts = _parts_of(path)
    if not pattern or len(parts) == 1 or path.match(pattern):
        return parts
    matching = [each for each in parts if each.match(pattern)]
    if not matching:
        names = first_few(parts, _SHOWN, lambda each: one_line(each.relative_to(path).as_posix()))
        some = f"{count(len(parts), 'file')}: {names}"
        raise DatasetError([f"{path}: no file in this archive matches {pattern!r} ({some})"])
    return matching


def _parts_of(path: Path) -> list[Path]:
    found = format_of(path) if path.is_file() and is_archive(head_of(path)) else COCO
    if found is COCO:
        return [path]
    inside = refuse_damaged_members(path)
    if found.recognises_folder:
        _refuse_two_formats(path, inside, is_read=True)
    return sources_in(path)


def sources_in(path: Path) -> list[Path]:
    """Return the sources in a file: itself, or the paths of several files inside an archive.

    Raises DatasetError if another file inside, which may be one of them, cannot be read, is empty
    or is cut off.
    """
    if not path.is_file() or not is_archive(head_of(path)):
        return [path]
    found = format_of(path)
    if found not in _OF_FILES:
        return [path]
    members = [each for each in members_of(path) if each.name and not is_picture(each.name)]
    read = [each for each in members if format_inside(path / each.name) is found]
    known = {each.name for each in read}
    others = [each for each in members_with(members, _STRUCTURED) if each.name not in known]
    refuse_damaged_others(path, read, others)
    is_one = len(read) < 2 or (found is DATUMARO and are_subsets([each.name for each in read]))
    return [path] if is_one else [path / each.name for each in read]


def others_inside(
    sources: Iterable[Path], *, hidden: bool = False, is_named: bool = False
) -> list[str]:
    """Return a note on each archive with files in other formats than it is read as, or archives.

    The names of files are not said if they are `hidden`. Of an annotator who is named, a single
    file or folder can be given (`is_named`).
    """
    listed = {*sources}
    files = dict.fromkeys(archive_around(each) or each for each in sources)
    notes = []
    for path in (each for each in files if each.is_file() and is_archive(head_of(each))):
        read = format_of(path)
        # Reading an archive in which no format reads anything says what is wrong.
        if read is COCO:
            continue
        notes += _archives_inside(path, hidden=hidden)
        others = [each for each in _of_others(path, read) if path / each[0].name not in listed]
        if not others:
            continue
        shown = first_few(others, _SHOWN, lambda each: one_line(each[0].name))
        some = f"{count(len(others), 'file')} of other formats left out"
        some += "" if hidden else f" ({shown})"
        how = "to read these, unpack it, and name the files and folders"
        if is_named:
            how = "to read these as well, unpack it, and name the folder"
        elif all(found in _NAMED_INSIDE for _, found in others):
            typed = typed_paths([path, path / others[0][0].name])
            how = "to read such a file as well, name it" + ("" if hidden else f": {typed}")
        notes.append(f"{one_line(str(path))} is read as {title_of(read)}: {some}; {how}")
    return notes


def _archives_inside(path: Path, *, hidden: bool) -> list[str]:
    """Return a note on archives inside of an archive, if there are any."""
    named = members_with(members_of(path), ARCHIVES)
    held = [each for each in named if each.name and is_archive(each.head())]
    if not held:
        return []
    shown = "" if hidden else f" ({first_few(held, _SHOWN, lambda each: one_line(each.name))})"
    some = f"{count(len(held), 'archive')} inside left out{shown}"
    return [f"{one_line(str(path))}: {some}; to read annotations in such an archive, unpack it"]


def _of_others(path: Path, read: Format) -> Iterator[tuple[Member, Format | None]]:
    """Yield files of annotations in an archive that are not of the format that it is read as.

    The format is None if no format reads the file alone, as labels of YOLO.
    """
    members = members_of(path)
    told = _told_by_reader(members, read)
    for member in members:
        suffix = PurePosixPath(member.name).suffix.lower()
        is_wanted = suffix in _ANNOTATIONS and suffix != _REPORTED.get(read, "")
        if not is_wanted or PurePosixPath(member.name).match(CLASS_NAMES):
            continue
        part = path / member.name
        if suffix == ".txt":
            if is_label_name(member.name) and _is_label(as_utf8(member.head())):
                yield member, None
            continue
        found = None if read.recognises(part) else format_inside(part)
        if found is not None and found is not read and member.name not in told:
            yield member, found
        elif found is None and suffix == ".json" and json_kind_of(head_of(part)) in NOT_READ:
            yield member, None


def _told_by_reader(members: Sequence[Member], read: Format) -> set[str]:
    """Return the names of files that reading labels of images tells of."""
    suffixes = {VOC: (".json",), LABELME: (".xml",)}.get(read, (".json", ".xml"))
    if read in (YOLO, DOTA):
        labels = [each for each in members if is_label_name(each.name)]
    elif read in (VOC, LABELME):
        labels = [*members_with(members, _REPORTED[read])]
    else:
        return set()
    pictures = by_place([each for each in members if is_picture(each.name)])
    told = json_or_xml_of_tools(members, by_place(labels), pictures, suffixes)
    return {each.name for each in told}


def refuse_archive(path: Path) -> None:
    """Refuse an archive that cannot be read, that has archives inside, or nothing that is read."""
    inside = refuse_damaged_members(path)
    held = [each for each in inside if is_archive(each.head())]
    if held:
        names = first_few(held, _SHOWN, lambda each: one_line(each.name or path.stem))
        problem = f"{path}: holds archives, which are not read inside of another one: {names}"
        raise DatasetError([problem], _UNPACK)
    _refuse_two_formats(path, inside, is_read=False)
    _refuse_unread(path, inside)
    names = first_few(inside, _SHOWN, lambda each: one_line(each.name or path.stem))
    found = f"in which no file is of a known format ({count(len(inside), 'file')}: {names})"
    raise DatasetError(
        [f"{path}: is an archive {found if inside else 'without files'}"],
        "Name the archive, file or folder that holds annotations.",
    )


def _refuse_two_formats(path: Path, inside: Sequence[Member], *, is_read: bool) -> None:
    """Refuse an archive of labels of YOLO and DOTA; in one folder, only if none `is_read`."""
    mixed, todo = labels_of_two_formats((each.name, each.head) for each in inside)
    if mixed and not (is_read and todo):
        problem = f"{path}: {mixed}; expected one format in an archive"
        raise DatasetError([problem], f"Unpack it. {todo}" if todo else _UNPACK)


def _refuse_unread(path: Path, members: Sequence[Member]) -> None:
    """Refuse an archive with JSON that no format reads, with what to do."""
    for member in members_with(members, ".json"):
        kind = json_kind_of(member.head())
        if kind in NOT_READ:
            what, advice = WHAT[kind]
            inside = f" ({one_line(member.name)})" if member.name else ""
            raise DatasetError([f"{path}: is an archive of {what}{inside}"], advice)


def labels_of_two_formats(files: Iterable[tuple[str, Callable[[], bytes]]]) -> tuple[str, str]:
    """Return what labels of YOLO and of DOTA are side by side, and what to do; empty if not both.

    Formats recognise labels if most of the text files are of theirs.

    Parameters
    ----------
    files : iterable of (str, callable)
        The paths of files, and functions that return the beginning of each.
    """
    of_format: dict[str, dict[str, str]] = {"YOLO": {}, "DOTA": {}}
    times: Counter[str] = Counter()
    for name, head in islice((each for each in files if is_label_name(each[0])), _LOOKED_AT):
        folder = name.rpartition("/")[0]
        times[folder] += 1
        if times[folder] > _SAMPLE:
            continue
        text = as_utf8(head())
        kind = "DOTA" if is_dota_head(text) else "YOLO" if is_label_head(text, strict=True) else ""
        if kind:
            of_format[kind].setdefault(folder, name)
    if not all(of_format.values()):
        return "", ""
    shown = [
        f"{kind} ({one_line(next(iter(inside.values())))})" for kind, inside in of_format.items()
    ]
    both = of_format["YOLO"].keys() & of_format["DOTA"].keys()
    todo = "Put the files of each format into a folder of their own, and name each folder."
    return f"holds labels of {' and of '.join(shown)}", todo if both else ""


def _is_label(text: bytes) -> bool:
    return is_label_head(text, strict=True) or is_dota_head(text)
