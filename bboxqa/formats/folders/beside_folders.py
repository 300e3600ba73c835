"""A note on folders of labels beside the one that a data set has, which may be by other people.

The note does not say names of folders if it is `hidden`.
"""

from collections.abc import Iterable
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.registry import format_of, is_source_of
from bboxqa.formats.task_files import is_split
from bboxqa.formats.translation.label_folders import files_below, is_of_labels, may_have_labels

# The most names that the note shows.
_SHOWN = 3


def of_same_images(sources: Iterable[Path], *, hidden: bool = False) -> list[str]:
    """Return a note on sources that hold several folders with labels of the same images, if any.

    In labels, labels_bob and images, only labels are part of a data set of YOLO.
    """
    beside = ((each, _of_same_images(each)) for each in sources if each.is_dir())
    found = [(source, folders) for source, folders in beside if folders]
    if not found:
        return []
    source, folders = found[0]
    names = first_few(folders, _SHOWN, lambda each: one_line(each.name))
    more = f", and so in {count(len(found) - 1, 'other folder')}" if len(found) > 1 else ""
    called = f"{one_line(str(source))}: folders with labels of images of the same names"
    called += "" if hidden else f" ({names})"
    typed = "FOLDER FOLDER …" if hidden else typed_paths(folders)
    return [
        f"{called} do not count as annotators{more}; if each is by another: bboxqa agree {typed}"
    ]


def _of_same_images(source: Path) -> list[Path]:
    """Return the folders in a source with labels of the same images; empty if there are none."""
    inside = [each for each in folders_in(source) if not is_split(each.name)]
    if len(inside) < 2 or not any(is_of_labels(each.name) for each in inside):
        return []
    found = format_of(source)
    labels = {
        each: {file.relative_to(each) for file in files_below(each) if may_have_labels(file.name)}
        for each in inside
        if is_source_of(found, each)
    }
    shared = [
        each
        for each, names in labels.items()
        if any(other != each and names & labels[other] for other in labels)
    ]
    return shared if any(is_of_labels(each.name) for each in shared) else []
