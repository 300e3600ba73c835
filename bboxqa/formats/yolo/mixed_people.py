"""Telling people who label in several formats from the parts of one data set of YOLO."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.formats.content_kinds import HEAD, json_kind_of, kind_of
from bboxqa.formats.translation.heads import as_utf8
from bboxqa.formats.translation.label_folders import INSIDE, files_below, may_have_labels
from bboxqa.formats.translation.members import head_of

_COMPARED = 20
_TOLD = (".json", ".xml")


def are_of_people(folder: Path) -> bool:
    """Return whether folders inside one have labels of the same images, in other formats too.

    They are those of people, of whom one may have gone over to YOLO.
    """
    folders = [each for each in folders_in(folder) if not INSIDE.fullmatch(each.name)]
    shared = islice(_shared_by(folders), _COMPARED)
    return any(_is_label(each) and _is_label(other) for each, other in shared)


def _shared_by(folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield files of two folders with the same stem, of which one is no text."""
    seen: dict[str, Path] = {}
    for folder in folders:
        own = {each.stem: each for each in files_below(folder) if may_have_labels(each.name)}
        for stem, file in own.items():
            other = seen.setdefault(stem, file)
            if other != file and {file.suffix.lower(), other.suffix.lower()} != {".txt"}:
                yield other, file


def _is_label(file: Path) -> bool:
    """Return whether a file has labels of one image; text is not looked at."""
    if file.suffix.lower() not in _TOLD:
        return True
    head = as_utf8(head_of(file))[:HEAD]
    return (kind_of(head) or json_kind_of(head)) in ("VOC", "LabelMe")
