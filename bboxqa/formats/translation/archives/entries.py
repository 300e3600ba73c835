"""Names of the files in an archive."""

import re
from itertools import pairwise
from operator import attrgetter
from pathlib import Path, PurePosixPath

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES, own_name
from bboxqa.core.text import one_line
from bboxqa.formats.translation.member import Member

# Words and what separates them share no character: else, names such as a_1_1_1… take hours.
_OF_COPIES = re.compile(r"(?:[\W_]+(?:copy|\d[^\W_]*))*[\W_]*", re.IGNORECASE)
"""What is behind the name of a copy, a download, or a folder packed on some day."""


def is_hidden(name: str) -> bool:
    """Return whether a file is hidden, as those that systems add to archives."""
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def safe_name(path: Path, name: str) -> str:
    """Return a name with ``/``; refuse a name that leads out of the archive."""
    plain = name.replace("\\", "/")
    # Without the `.` of `./annotations.xml`, as programs write it that pack a folder.
    parts = PurePosixPath(plain).parts
    if plain.startswith("/") or ".." in parts or ":" in plain.partition("/")[0]:
        problem = f"{path}: has a file named {one_line(name)!r}, which leads out of the archive"
        raise DatasetError([problem], "Export it again, or unpack it with care.")
    return "/".join(parts)


def sorted_once(path: Path, members: list[Member]) -> list[Member]:
    """Return the files of an archive, sorted; refuse two of one name, as only one is meant."""
    found = sorted(members, key=attrgetter("name"))
    for one, other in pairwise(found):
        if one.name == other.name and PurePosixPath(one.name).suffix.lower() not in IMAGE_SUFFIXES:
            problem = f"{path}: has two files named {one_line(one.name)!r}; expected one of a name"
            raise DatasetError([problem], "Pack it again, each annotator in a folder of its own.")
    top = _top(own_name(path), found)
    return [each._replace(top=top) for each in found] if top else found


def _top(archive: str, members: list[Member]) -> str:
    """Return the only folder at the top of an archive if the archive has its name, else "".

    File managers name an archive after the folder they pack, which is that of an annotator. Copies
    and downloads have numbers behind the name, such as "ann (1).zip". Other words are of people:
    "ann_day1.zip" may hold day1/, which the archive of another annotator holds as well.
    """
    folder, slash, _ = members[0].name.partition("/") if members else ("", "", "")
    behind = archive.removeprefix(folder)
    if not slash or behind == archive or not _OF_COPIES.fullmatch(behind):
        return ""
    top = folder + slash
    return top if all(each.name.startswith(top) for each in members) else ""
