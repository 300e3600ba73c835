"""A note on folders of labels beside the one that a data set has, which may be by other people.

The note does not say names of folders if it is `hidden`.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.commands import typed_paths
from bboxqa.formats.registry import format_of, is_source_of
from bboxqa.formats.task_files import is_split
from bboxqa.formats.translation.label_folders import is_label_name, is_of_labels

# The most names that the note shows.
_SHOWN = 3
_LOOKED_AT = 5000


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
    labels = {each: {*_labels_in(each)} for each in inside if is_source_of(found, each)}
    shared = [
        each
        for each, names in labels.items()
        if any(other != each and names & labels[other] for other in labels)
    ]
    return shared if any(is_of_labels(each.name) for each in shared) else []


def _labels_in(folder: Path) -> Iterator[Path]:
    """Yield the paths of the first files in a folder that may be labels, by their names."""
    files = ((Path(here), name) for here, _, names in os.walk(folder) for name in names)
    for here, name in islice(files, _LOOKED_AT):
        if is_label_name(name) or name.lower().endswith((".json", ".xml")):
            yield (here / name).relative_to(folder)
