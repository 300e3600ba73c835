"""Archives and damaged files among the files below a folder of projects."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.content_kinds import CLASS_NAMES
from bboxqa.formats.damaged import damage_of, damaged
from bboxqa.formats.registry import format_of, suffixes
from bboxqa.formats.translation.heads import ARCHIVES


def looked_at(
    files: Iterable[Path],
    pattern: str | None,
    is_read: Callable[[Path], bool | str],
    left_out: list[Path],
) -> Iterator[tuple[Path, bool | str]]:
    """Yield sources, and whether each can be read or why it cannot; archives are last.

    Files that are neither JSON nor of a known format are left out, unless they are beside sources,
    empty or cut off. So are archives with sources in their folder or below, as these were often
    unpacked from them; these archives are appended to `left_out`.
    """
    ends = suffixes()
    archives = []
    sources, others = [], []
    unpacked: set[Path] = set()
    for file in (each for each in files if pattern is None or each.match(pattern)):
        name = file.name.lower()
        if file.is_dir():
            found: bool | str = True
        elif name.endswith(ARCHIVES) and not name.endswith(ends):
            archives.append(file)
            continue
        else:
            found = is_read(file)
        if found:
            unpacked.update(file.parents)
            sources.append(file)
        if found or name.endswith(".json"):
            yield file, found
        else:
            others.append(file)
    left_out += (each for each in archives if each.parent in unpacked)
    for file in (each for each in archives if each.parent not in unpacked):
        if format_of(file) is COCO:
            others.append(file)
        else:
            yield file, True
    yield from damaged(others, sources)
    folders = {source.parent for source in sources}
    for file in others:
        if file.parent in folders and not file.match(CLASS_NAMES) and not damage_of(file):
            yield file, False
