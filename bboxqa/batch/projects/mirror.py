"""A local mirror of the files in a store: their names, and the parts that discovery reads."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bboxqa.batch.projects.discovery import Unreadable
from bboxqa.batch.projects.source_files import is_image
from bboxqa.batch.projects.store import AT_A_TIME, Content, error_text
from bboxqa.formats.coco.heads import LOOKED_AT
from bboxqa.formats.translation.heads import ARCHIVES

_OF_LABELS = ".txt"
_LABELS_READ = 20
"""The number of label files per folder that discovery reads."""
_LARGEST_ARCHIVE = 1 << 30


def mirror(system: Any, base: str, contents: Iterable[Content], folder: Path) -> list[Unreadable]:
    """Write the parts of a store's files that discovery reads below a folder.

    These are the beginning and the end of each file, and whole archives; images are empty. Return
    the files that cannot be read, which are left out.
    """
    unreadable: list[Unreadable] = []
    parts: list[tuple[Content, int, int]] = []
    n_labels: dict[str, int] = {}
    for content in contents:
        path = folder / content.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if is_image(path) or not content.size:
            continue
        is_archive = content.name.lower().endswith(ARCHIVES)
        if is_archive and content.size > _LARGEST_ARCHIVE:
            reason = f"is an archive of {content.size:,} bytes; expected at most 1 GiB in a store"
            unreadable.append(Unreadable(content.name, reason))
            path.unlink()
            continue
        if content.name.lower().endswith(_OF_LABELS):
            above = content.name.rpartition("/")[0]
            n_labels[above] = n_labels.get(above, 0) + 1
            if n_labels[above] > _LABELS_READ:
                continue
        whole = is_archive or content.size <= 2 * LOOKED_AT
        parts.append((content, 0, content.size if whole else LOOKED_AT))
        parts += [] if whole else [(content, content.size - LOOKED_AT, content.size)]
    return [*unreadable, *_written(system, base, parts, folder)]


def _written(
    system: Any, base: str, parts: Sequence[tuple[Content, int, int]], folder: Path
) -> list[Unreadable]:
    """Write parts of files; the gaps between them are sparse."""
    failed: dict[str, str] = {}
    for start in range(0, len(parts), AT_A_TIME):
        some = parts[start : start + AT_A_TIME]
        names = [f"{base}/{content.name}" for content, _, _ in some]
        begins, ends = [part[1] for part in some], [part[2] for part in some]
        found = system.cat_ranges(names, begins, ends, on_error="return")
        for (content, begin, _), data in zip(some, found, strict=True):
            path = folder / content.name
            if isinstance(data, Exception):
                failed[content.name] = error_text(data)
                path.unlink(missing_ok=True)
            elif content.name not in failed:
                with path.open("r+b") as file:
                    file.truncate(content.size)
                    file.seek(begin)
                    file.write(bytes(data))
    return [Unreadable(name, reason) for name, reason in failed.items()]
