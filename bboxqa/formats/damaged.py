"""Recognising files that are empty or cut off, so that no format recognises them."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path, PurePath, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.coco.heads import LOOKED_AT, is_without_coco
from bboxqa.formats.content_kinds import TABLES, absence_of, kind_of
from bboxqa.formats.member import AGAIN, ARCHIVES, READABLE, Member, as_utf8, is_archive
from bboxqa.formats.own_files import is_result
from bboxqa.formats.source import head_of, members_of, members_with
from bboxqa.formats.xml_elements import xml_damage

DENIED = "cannot be read: permission denied"
"""What is wrong with a file that the user may not read."""

_ADVICE = "Export or download it again; if it is not of an annotator, move it out of the folder."
_PACKED = (
    "Export or download it again; if it is not of an annotator, unpack the archive into a folder "
    "of its own without it, and name the folder."
)


def damaged(files: Iterable[Path], sources: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield files that may be those of an annotator and are empty or cut off, with what is wrong.

    Of several in a folder, the first is yielded, with the number of the others.

    Parameters
    ----------
    files : iterable of path
        Files beside the sources that no format recognises.
    sources : sequence of path
        Without a table among those in its folder, a table is not that of an annotator.
    """
    with_tables = {each.parent for each in sources if each.name.lower().endswith(TABLES)}
    found: dict[Path, list[tuple[Path, str]]] = {}
    for file in files:
        if not file.name.lower().endswith(TABLES) or file.parent in with_tables:
            reason = damage_of(file)
            if reason:
                found.setdefault(file.parent, []).append((file, reason))
    for (file, reason), *others in found.values():
        more = f" (and {count(len(others), 'more file')} in this folder)" if others else ""
        yield file, f"{reason}{more}"


def refuse_damaged_file(path: Path) -> None:
    """Refuse XML that is empty or cut off, and an empty archive, which would be read as JSON."""
    name = path.name.lower()
    # JSON may have kept the name of the archive that it was unpacked from.
    head = head_of(path)
    is_xml = name.endswith(".xml") and kind_of(head) != "pointer"
    is_no_json = is_xml or (name.endswith(ARCHIVES) and not head)
    if is_no_json and (reason := damage_of(path)):
        raise DatasetError([f"{path}: {reason}"], READABLE if reason == DENIED else AGAIN)


def refuse_damaged(folder: Path, sources: Sequence[Path], pattern: str | None) -> None:
    """Refuse a folder in which a file beside its sources is empty or cut off.

    Raises DatasetError; without the file, its annotator would be missing from the result.
    """
    found = [*damaged(files_beside(folder, {*sources}, pattern), sources)]
    problems = [f"{file}: {reason}" for file, reason in found]
    if problems:
        is_denied = all(reason.startswith(DENIED) for _, reason in found)
        raise DatasetError(problems, READABLE if is_denied else _ADVICE)


def refuse_damaged_members(archive: Path) -> list[Member]:
    """Return the files of an archive. Raises DatasetError if one of annotations cannot be read.

    No format would recognise that file, and its annotator would be missing from the result.
    """
    inside = members_of(archive)
    for each in members_with(inside, (".json", ".xml", *TABLES)):
        # A single packed file may be cut off after its beginning; other files that are damaged
        # have none.
        if not each.name or (each.most and not each.head()):
            next(each.chunks(), b"")
    return inside


def refuse_damaged_others(archive: Path, read: Sequence[Member], others: Sequence[Member]) -> None:
    """Refuse an archive in which a file beside those that are `read` is damaged or cut off.

    As in a folder, its annotator would be missing from the result. Raises DatasetError.
    """
    with_tables = {each.folder for each in read if each.name.lower().endswith(TABLES)}
    for each in others:
        name = each.name.lower()
        if name.endswith(TABLES) and each.folder not in with_tables:
            continue
        if each.most > 2 * LOOKED_AT:
            # Archives have a checksum of all the content of a file.
            for _ in each.chunks() if name.endswith(".json") else ():
                pass
            continue
        reason = _text_damage(PurePosixPath(each.name), each.read())
        if reason:
            raise DatasetError([f"{archive / each.name}: {reason}"], _PACKED)


def files_beside(folder: Path, sources: AbstractSet[Path], pattern: str | None) -> Iterator[Path]:
    """Yield the files of a folder that are not in its sources, and may be sources themselves."""
    # Archives are read if there is nothing else.
    are_packed = any(is_archive(head_of(each)) for each in sources if each.is_file())
    ends = (".json", ".xml", *TABLES, *(ARCHIVES if are_packed else ()))
    yield from named_beside(folder, sources, pattern, ends)


def named_beside(
    folder: Path, sources: AbstractSet[Path], pattern: str | None, ends: tuple[str, ...]
) -> Iterator[Path]:
    """Yield the files of a folder that are not in its sources, and have one of the suffixes."""
    if folder in sources:
        return
    for place, inside, names in os.walk(folder):
        here = Path(place)
        inside[:] = sorted(each for each in inside if each[0] != "." and here / each not in sources)
        for name in sorted(names):
            file = here / name
            is_wanted = name.lower().endswith(ends) and file.match(pattern or "*")
            if is_wanted and name[0] != "." and file not in sources and not is_result(file):
                yield file


def damage_of(file: Path) -> str:
    """Return what is wrong with a file that is empty, cut off or gone, by its suffix; else "".

    The text follows the name of the file, as in "a.xml: is empty". Only small files of text are
    looked at: a large one has a known format by its beginning, and its reader says where it ends.
    """
    try:
        if file.is_symlink() and not file.exists():
            return "is a link that leads nowhere"
        # Reading a pipe would consume its data.
        if not file.is_file():
            return ""
        with file.open("rb") as stream:
            if file.name.lower().endswith(ARCHIVES) and file.stat().st_size:
                return _archive_damage(file)
            content = stream.read(2 * LOOKED_AT)
            return "" if stream.read(1) else _text_damage(file, content)
    except PermissionError:
        return DENIED
    except OSError:
        # Reading the file reports the error.
        return ""


def _text_damage(file: PurePath, content: bytes) -> str:
    if absence := absence_of(content):
        return absence
    suffix = file.suffix.lower()
    if suffix == ".json" and not is_without_coco(content):
        return _json_damage(content)
    if suffix == ".xml":
        return xml_damage(content)
    if suffix in (".csv", ".tsv") and b"\n" not in content and b"\r" not in content:
        return "ends within its first line"
    return ""


def _archive_damage(file: Path) -> str:
    head = head_of(file)
    if not is_archive(head):
        return absence_of(head) or "is not an archive"
    try:
        refuse_damaged_members(file)
    except DatasetError as error:
        return error.problems[0].removeprefix(f"{file}: ").removeprefix(str(file)).lstrip("/")
    return ""


def _json_damage(content: bytes) -> str:
    with suppress(RecursionError):
        try:
            found = json.loads(as_utf8(content))
        except ValueError as error:
            return f"is not JSON: {error}"
        return "" if isinstance(found, dict | list) else "is JSON without an object"
    return ""
