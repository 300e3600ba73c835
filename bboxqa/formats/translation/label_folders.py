"""Recognising data set folders of formats with one label file per image."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from bboxqa.core.file_names import SPLIT, is_folder
from bboxqa.formats.splits import is_split
from bboxqa.formats.translation.heads import as_utf8, is_archive
from bboxqa.formats.translation.members import head_of, readable_members

_OF_LABELS = re.compile(r"labels|labeltxt.*|annfiles|annotations?|xmls?|jsons?", re.IGNORECASE)
OF_CONTENT = rf"{_OF_LABELS.pattern}|images|jpegimages|data|obj_.*_data"
"""A pattern of the names of folders that say what is inside, in lower case."""
OF_PICTURES = re.compile(r"(?:jpeg)?images?|imgs?|frames?|pics?|pictures?|photos?", re.IGNORECASE)
"""Names of folders of pictures."""
INSIDE = re.compile(rf"{OF_CONTENT}|{SPLIT}", re.IGNORECASE)
"""Names of folders that belong to the data set of their parent folder."""
_OF_OTHERS = {".csv", ".gz", ".json", ".md", ".parquet", ".py", ".xml", ".zip"}
LOOKED_AT = 5000
"""The most files of a folder that are looked at."""
_DEPTH, _SAMPLE, _SAMPLE_OF_ARCHIVE = 6, 8, 20
_NO_LABELS = {
    f"{name}.txt"
    for name in (
        "classes", "predefined_classes", "labels", "labelmap", "info", "guidelines", "instructions",
        "comments", "todo", "changes", "changelog", "credits", "errors", "output", "results",
        "stats", "skipped", "filelist", "file_list", "image_list", "image_names",
    )
}  # fmt: skip
# CVAT writes train.txt, and FiftyOne images.txt.
_LIST = rf"(?:{SPLIT}|(?:trainval|default|images)(?:20\d\d)?)\.txt"
LISTS = re.compile(_LIST, re.IGNORECASE)
"""Names of files that list images."""
_NO_LABEL = re.compile(rf"readme|license|requirements|notes|(?:\A|[-_])logs?\.txt|\A{_LIST}\Z")


def is_of_labels(name: str) -> bool:
    """Return whether a folder holds labels, by its name."""
    return _OF_LABELS.fullmatch(name) is not None


def is_label_name(name: str) -> bool:
    """Return whether a file may be a label file, by its name."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(".txt") and last not in _NO_LABELS and not _NO_LABEL.search(last)


def may_have_labels(name: str) -> bool:
    """Return whether a file may have the labels of an image in any format, by its name."""
    return is_label_name(name) or name.lower().endswith((".json", ".xml"))


def holds_labels(name: str, head: Callable[[], bytes], is_label: Callable[[bytes], bool]) -> bool:
    """Return whether a file named like a list or a note holds labels: those of license_plate.jpg.

    Parameters
    ----------
    name : str
    head : callable
        Returns the beginning of the file.
    is_label : callable
        Returns whether a file with this beginning holds labels.
    """
    if is_label_name(name) or not name.lower().endswith(".txt"):
        return False
    text = as_utf8(head())
    # Files without labels are empty.
    is_empty = not text.strip() and is_of_labels(PurePosixPath(name).parent.name)
    return is_empty or is_label(text)


@dataclass(frozen=True, slots=True)
class LabelFolders:
    """Recognises the folders of a format."""

    is_name: Callable[[str], bool]
    """Returns whether a file may be a label file, by its name."""
    is_label: Callable[[bytes, bool], bool]
    """Called with the beginning of a file, and with whether nothing else indicates the format;
    returns whether the file holds labels.
    """
    may_be_empty: bool = False
    """Whether label files without labels are empty."""

    def is_one_source(self, folder: Path, *, is_marked: bool = False) -> bool:
        """Return whether a folder is one data set, and not the parent of several.

        `is_marked` says whether another file indicates the format.
        """
        try:
            inside = [each for each in islice(os.scandir(folder), LOOKED_AT) if each.name[0] != "."]
        except OSError:
            return False
        files = [each.name for each in inside if not is_folder(each)]
        if self._has_labels(folder, files, strict=not is_marked):
            return True
        folders = [folder / each.name for each in inside if is_folder(each)]
        known = [each for each in folders if INSIDE.fullmatch(each.name)]
        if any(self._holds_labels(each, strict=not is_marked) for each in known):
            return True
        others = [each for each in folders if each not in known]
        # Several folders may be by a person each, also in other formats.
        held = [
            each
            for each in others
            if any(may_have_labels(name) for _, files in files_by_folder(each) for name in files)
        ]
        return is_marked and len(held) == 1 and self._holds_labels(held[0])

    def is_archive(self, path: Path, is_mark: Callable[[str], bool] | None = None) -> bool:
        """Return whether a file is an archive of label files.

        `is_mark` returns whether the name of a member indicates the format.
        """
        if not is_archive(head_of(path)):
            return False
        members = readable_members(path)
        is_marked = is_mark is not None and any(is_mark(each.name) for each in members)
        are_named = (each for each in members if self._is_named(each.name, each.head))
        labels = list(islice(are_named, _SAMPLE_OF_ARCHIVE))
        heads = [head for each in labels if (head := as_utf8(each.head())).strip()]
        if not heads:
            return self.may_be_empty and is_marked and bool(labels)
        return 2 * sum(self.is_label(head, not is_marked) for head in heads) > len(heads)

    def _may_be_label(self, folder: Path, name: str) -> bool:
        return self._is_named(name, lambda: head_of(folder / name))

    def _is_named(self, name: str, head: Callable[[], bytes]) -> bool:
        if self.is_name(name):
            return True
        return holds_labels(name, head, lambda data: self.is_label(data, True))

    def folders_in_parts(self, folder: Path) -> list[Path]:
        """Return the folders of labels in a data set, each of which may be by one person.

        A folder that holds all labels is entered. Empty if labels are beside the folders, or if
        the folders are splits of the data set.
        """
        while True:
            inside, files = folders_and_files(folder, LOOKED_AT)
            if self._has_labels(folder, files, strict=False):
                return []
            held = [each for name in inside if self._holds_labels(each := folder / name)]
            if len(held) != 1:
                return [] if any(is_split(each.name) for each in held) else held
            folder = held[0]

    def _holds_labels(self, folder: Path, *, strict: bool = False) -> bool:
        """Return whether a folder has labels, directly or in folders that belong to it."""
        found = files_by_folder(folder)
        return any(self._has_labels(path, files, strict=strict) for path, files in found)

    def _has_labels(self, folder: Path, files: Sequence[str], *, strict: bool) -> bool:
        """Return whether most of a sample of non-empty label files hold labels.

        One file is enough if another file indicates the format and `strict` is False. Files that
        are all empty may be labels if the folder has nothing else but images.
        """
        ordered = sorted(files)
        # Logs and the like have similar names, so that the first files may all be such.
        step = max(1, len(ordered) // _SAMPLE)
        spread = chain.from_iterable(ordered[first::step] for first in range(step))
        named = (each for each in spread if self._may_be_label(folder, each))
        heads = (as_utf8(head_of(folder / each)) for each in named)
        filled = list(islice((head for head in heads if head.strip()), _SAMPLE))
        if filled:
            n_labels = sum(self.is_label(head, strict) for head in filled)
            return 2 * n_labels > len(filled) if strict else n_labels > 0
        is_named = any(self._may_be_label(folder, each) for each in files)
        return self.may_be_empty and is_named and _has_images_only(folder)


def files_by_folder(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders of a data set, and the names of their files."""
    left = LOOKED_AT
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        inside, files = folders_and_files(here, left)
        yield here, files
        left -= len(files)
        if left <= 0:
            return
        if "labels" in inside:
            inside = ["labels"]
        if len(here.relative_to(folder).parts) >= _DEPTH:
            inside = []
        waiting += [here / each for each in reversed(inside) if not (here / each).is_symlink()]


def folders_and_files(folder: Path, most: int) -> tuple[list[str], list[str]]:
    """Return names in a folder up to the first `most` files: of folders, sorted, and of files."""
    folders: list[str] = []
    files: list[str] = []
    with suppress(OSError), os.scandir(folder) as found:
        for each in found:
            if not is_folder(each):
                files.append(each.name)
                if len(files) == most:
                    break
            elif each.name[0] != ".":
                folders.append(each.name)
    return sorted(folders), files


def _has_images_only(folder: Path) -> bool:
    return not {PurePosixPath(each.name).suffix.lower() for each in os.scandir(folder)} & _OF_OTHERS
