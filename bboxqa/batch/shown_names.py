"""Pseudonyms in what a run says of projects and files; results of projects have them already."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from bboxqa.batch.projects.discovery import Discovered, Unreadable
from bboxqa.batch.rows import Row, Settings
from bboxqa.core.file_names import own_name
from bboxqa.core.pseudonyms import pseudonyms_of, spellings, without_names
from bboxqa.formats.dataset.pseudonyms import (
    people_in_names,
    without_entries,
    without_own_name,
)
from bboxqa.formats.registry import suffixes
from bboxqa.formats.translation.heads import ARCHIVES


def shown(text: str, settings: Settings, files: Sequence[Path] = ()) -> str:
    """Return a text with pseudonyms, if the run has a key.

    `files` are those of a project whose annotators are unknown, as it cannot be read.
    """
    if settings.pseudonyms is None:
        return text
    people = people_in_names(files) if len(files) > 1 else set()
    given = pseudonyms_of(settings.pseudonyms, people)
    found: str = without_names(text, spellings(given))
    return found


def shown_row(row: Row, settings: Settings, files: Sequence[Path] = ()) -> Row:
    """Return a row whose message has pseudonyms, if the run has a key."""
    return replace(row, message=shown(row.message, settings, files))


def shown_files(found: Discovered, root: Path, settings: Settings) -> Discovered:
    """Return what was found below a root with pseudonyms in the names of files, if there is a key.

    Files that are not read name nobody, but may be named after an e-mail address. Files that are
    ignored, and those in folders in which nothing is read, may be by annotators as well: names that
    the key does not have are not shown.
    """
    if settings.pseudonyms is None:
        return found
    unread = (*found.unreadable, *found.not_read)
    paths = (*found.left_alone, *(each.path for each in unread))
    pseudonyms_of(settings.pseudonyms, {name for path in paths for name in _addresses(path)})
    unreadable, not_read = (
        tuple(Unreadable(*(shown(text, settings) for text in each)) for each in some)
        for some in (found.unreadable, (_without_names(each, root) for each in found.not_read))
    )
    left_alone = tuple(_shown_file(Path(path), settings) for path in found.left_alone)
    return replace(found, left_alone=left_alone, unreadable=unreadable, not_read=not_read)


def _shown_file(path: Path, settings: Settings) -> str:
    """Return the path of a file, the name of which is that of somebody in the key, or hidden."""
    name = shown(path.name, settings)
    file = without_own_name(path) if name == path.name else path
    return shown(file.as_posix(), settings)


def _without_names(found: Unreadable, root: Path) -> Unreadable:
    """Return what is not read without the name of an archive, or of files in a folder."""
    path = Path(found.path)
    if path.name.lower().endswith(ARCHIVES):
        return found._replace(path=without_own_name(path).as_posix())
    return found._replace(reason=without_entries(found.reason, [root / path]))


def _addresses(path: str) -> Iterator[str]:
    """Yield the e-mail addresses that folders and the file of a path are named after."""
    *folders, last = PurePath(path).parts or ("",)
    is_file = last.lower().endswith((*suffixes(), *ARCHIVES, ".json"))
    yield from (
        name for name in (*folders, own_name(PurePath(last)) if is_file else last) if "@" in name
    )


def n_named_after_people(rows: Sequence[Row], settings: Settings) -> int:
    """Return how many projects are named after annotators, as folders of results are then, too."""
    return sum(shown(row.project, settings) != row.project for row in rows)
