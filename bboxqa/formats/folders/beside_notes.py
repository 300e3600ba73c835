"""The notes on what is beside the files that are read, and on how folders of people are read."""

from collections.abc import Sequence
from pathlib import Path

from bboxqa.core.types import AnyPath
from bboxqa.formats.archive_contents import others_inside
from bboxqa.formats.folders.left_out import (
    archives_beside,
    beside_labels,
    beside_others,
    of_no_format,
    without_labels,
)
from bboxqa.formats.folders.people_notes import of_one, of_same_images, of_several
from bboxqa.formats.folders.unread_folders import unread_folders
from bboxqa.formats.people_in_archives import people_inside


def beside_notes(
    given: Sequence[AnyPath],
    listed: Sequence[Path],
    files: Sequence[Path],
    pattern: str | None = None,
    *,
    hidden: bool,
    is_named: bool = False,
) -> list[str]:
    """Return the notes on files and folders that are left out.

    Parameters
    ----------
    given : sequence of path
        The files and folders that the user gave.
    listed : sequence of Path
        The sources in them.
    files : sequence of Path
        Those of the sources that are read.
    pattern : str, optional
        The pattern of names by which sources were listed.
    hidden : bool
        Whether the notes must not say names of files, which may be those of people.
    is_named : bool
        Whether all files are of one annotator, who is named.
    """
    notes = [
        *of_no_format(given, listed, pattern, hidden=hidden),
        *beside_labels(files, hidden=hidden),
        *beside_others(given, listed, hidden=hidden),
        *without_labels(given, listed, hidden=hidden),
        *unread_folders(given, listed, hidden=hidden),
        *people_inside(files, hidden=hidden),
    ]
    if not is_named:
        notes += of_several(given, files, hidden=hidden)
        notes += of_one(files, hidden=hidden) or of_same_images(files, hidden=hidden)
    notes += others_inside(listed, hidden=hidden, is_named=is_named)
    return [*notes, *archives_beside(given, listed, pattern, hidden=hidden, is_named=is_named)]
