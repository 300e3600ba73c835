"""Folders of formats with one file per image, labels or masks, and the places of their images."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import PureWindowsPath
from typing import TypeVar
from unicodedata import normalize

import msgspec

from bboxqa.core.file_names import SPLIT, is_split
from bboxqa.formats.heads import as_utf8, begins, is_names_file, is_names_head
from bboxqa.formats.member import Member
from bboxqa.formats.source import SourcePath

_Found = TypeVar("_Found")
# Patterns without regard to case, which are compiled where there are folders.
_OF_LABELS = r"(?:yolo_?)?labels|labeltxt.*|annfiles|annotations?|xmls?|jsons?"
OF_CONTENT = rf"{_OF_LABELS}|images|jpegimages|data|obj_.*_data"
OF_PICTURES = re.compile(r"(?:jpeg)?images?|imgs?|frames?|pics?|pictures?|photos?", re.IGNORECASE)
INSIDE = rf"(?i){OF_CONTENT}|{SPLIT}"
"""Names of folders that belong to the data set of their parent folder."""
_OF_OTHERS = (".csv", ".gz", ".json", ".md", ".parquet", ".py", ".xml", ".zip")
LOOKED_AT = 5000
_DEPTH, _SAMPLE = 6, 8
# CVAT writes train.txt, and FiftyOne images.txt.
LISTS = rf"(?:{SPLIT}|(?:trainval|default|images)(?:20\d\d)?)\.txt"
_NO_LABELS = (
    rf"{LISTS}|(?:readme(?:\.\w+)?|license|requirements|notes|logs?|(?:predefined_)?classes"
    r"|labels|labelmap|info|results|(?:file|image)_?list)\.txt"
)
_PLACES = rf"(?i){OF_CONTENT}|exports?"
"""Folders whose names do not belong to image names."""
_FOLDERS = 4
_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".gif", ".pgm")
OF_MASKS = r"masks?|segmentation(?:class|object)(?:png)?"


def is_label_name(name: str) -> bool:
    """Return whether a file may be a label file, by its name."""
    last = name.rpartition("/")[2]
    return last.lower().endswith(".txt") and not re.fullmatch(_NO_LABELS, last, re.IGNORECASE)


def holds_labels(member: Member, kind: str) -> bool:
    """Return whether a file is named like labels, or like a list or a note and holds labels.

    Of images without objects they are empty: in a folder of labels, readme.txt is that of an image.
    """
    if is_label_name(member.name) or not member.name.lower().endswith(".txt"):
        return member.name.lower().endswith(".txt")
    text, folder = as_utf8(member.head()).strip(), member.folder.rpartition("/")[2]
    return begins(kind, text) if text else bool(re.fullmatch(_OF_LABELS, folder, re.IGNORECASE))


class LabelFolders(msgspec.Struct, frozen=True):
    """Recognises folders and archives of a format with a label file for each image."""

    suffix: str
    kind: str
    """How label files begin; see `bboxqa.formats.heads.begins`."""

    def is_one_source(self, folder: SourcePath) -> bool:
        """Return whether a folder is one data set, and not the parent of several."""
        names = folder.names.files if self.kind == "YOLO" else ()
        described = (each for each in names if is_names_file(each))
        strict = not any(is_names_head(each, (folder / each).head) for each in described)
        state = folder.once(self._state, strict)
        if state == "labels" or (state == "empty" and self.kind == "YOLO"):
            return True
        known = (each for each in folder.folders if re.fullmatch(INSIDE, each.name))
        return any(self._holds_labels(each, strict=strict) for each in known)

    def folders_in_parts(self, folder: SourcePath) -> list[SourcePath]:
        """Return the folders of labels in a data set, each of which may be by one person."""
        # Here empty files are labels in all formats: others beside them are known by now.
        known = ("labels", "empty")
        return _parts(folder, lambda e: e.once(self._state, False) in known, self._holds_labels)

    def _holds_labels(self, folder: SourcePath, *, strict: bool = False) -> bool:
        """Return whether a folder has labels, directly or in folders that belong to it."""
        is_empty = False
        for here, _ in files_by_folder(folder):
            state = here.once(self._state, strict)
            if state in ("labels", "other"):
                # Empty files beside labels of another format are of that format.
                return state == "labels"
            is_empty = is_empty or state == "empty"
        # Label files of YOLO without labels are empty.
        return is_empty and self.kind == "YOLO"

    def _state(self, folder: SourcePath, strict: bool) -> str:
        """Return what most of a sample of files are: "labels", "other", "empty", or "" for none."""
        files = folder.names.files[:LOOKED_AT]
        ends = [each for each in files if each.lower().endswith(self.suffix)]
        named = [each for each in ends if self.suffix != ".txt" or is_label_name(each)]
        # Labels may be named like notes.
        found = named or ends
        # Logs and the like have similar names, so that the first files may all be such.
        step = max(1, len(found) // _SAMPLE)
        spread = chain.from_iterable(found[first::step] for first in range(step))
        heads = (as_utf8((folder / each).head) for each in spread)
        filled = list(islice((head for head in heads if head.strip()), _SAMPLE))
        n_labels = sum(begins(self.kind, head, strict=strict) for head in filled)
        if filled and (named or n_labels):
            are_labels = 2 * n_labels > len(filled) if strict else n_labels > 0
            return "labels" if are_labels else "other"
        # Nothing but images is beside empty labels.
        has_others = any(each.lower().endswith(_OF_OTHERS) for each in files)
        return "empty" if named and not has_others else ""


def _parts(
    folder: SourcePath, has: Callable[[SourcePath], bool], holds: Callable[[SourcePath], bool]
) -> list[SourcePath]:
    """Return the folders that hold labels or masks, after entering one that holds all."""
    while not has(folder):
        inside = [each for each in folder.folders if holds(each)]
        if len(inside) != 1:
            return [] if any(is_split(each.name) for each in inside) else inside
        (folder,) = inside
    return []


def has_empty_labels_only(folder: SourcePath) -> bool:
    """Return whether a folder has label files, all of which are empty."""
    files = ((here / each, each) for here, files in files_by_folder(folder) for each in files)
    are_filled = (bool(as_utf8(path.head).strip()) for path, name in files if is_label_name(name))
    return next(are_filled, True) is False and not any(are_filled)


def files_by_folder(folder: SourcePath) -> Iterator[tuple[SourcePath, Sequence[str]]]:
    """Yield the folders of a data set, and the names of their files; none of a file."""
    left, waiting = LOOKED_AT, [(folder, 0)] if folder.is_folder else []
    while waiting and left > 0:
        here, depth = waiting.pop()
        files = here.names.files[:left]
        yield here, files
        left -= len(files)
        inside = ["labels"] if "labels" in here.names.folders else here.names.folders
        below = [each for each in inside if each not in here.names.links]
        waiting += [(here / each, depth + 1) for each in reversed(below) if depth < _DEPTH]


def place_of(name: str) -> str:
    r"""Return the place of an image from the path of its label file, its image file, or a list.

    Folders that name their content are removed, except for splits.

    Examples
    --------
    >>> place_of("data/set/labels/train/a/b.txt"), place_of("train/images/b.jpg")
    ('train/a/b', 'train/b')
    >>> place_of("valid/img/b.jpg"), place_of("labels/img/b.txt"), place_of("clip/img/b.jpg")
    ('valid/b', 'img/b', 'clip/img/b')
    >>> place_of("data/obj_train_data/b.c.jpg"), place_of("C:\\x\\images\\b.jpg"), place_of("b.png")
    ('b.c', 'b', 'b')
    """
    folder, _, last = without_suffix(name.replace("\\", "/")).rpartition("/")
    return _place_of_folder(folder) + last


@lru_cache(1024)
def _place_of_folder(name: str) -> str:
    """Return the prefix of the places of all images of a folder."""
    folders = name.split("/")
    known = [place for place, each in enumerate(folders) if re.fullmatch(_PLACES, each)]
    if known:
        before, behind = folders[: known[-1]], folders[known[-1] + 1 :]
        split = [each for each in before[-1:] if is_split(each)]
        folders = [*split, *behind]
    elif folders[0] == "" or ":" in folders[0]:
        folders = []
    else:
        # Deeper ones may be those of clips: clip1/frames/a.jpg.
        first = int(is_split(folders[0]))
        is_of_pictures = [*map(OF_PICTURES.fullmatch, folders[first : first + 1])]
        folders = [*folders[:first], *folders[first + any(is_of_pictures) :]]
    return "".join(f"{each}/" for each in folders if each not in ("", ".", ".."))


def without_suffix(name: str) -> str:
    """Return a path without the suffix of its last part."""
    stem, point, suffix = name.rpartition(".")
    return stem if point and "/" not in suffix and stem and stem[-1] != "/" else name


# Roboflow writes photo.jpg as photo_jpg.rf.0123456789abcdef0123456789abcdef.jpg.
_ROBOFLOW = re.compile(r"(?:_(?:jpe?g|png|bmp|tiff?|webp))?\.rf\.[0-9A-Za-z]{8,}\Z", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}\Z")


def original_of(name: str) -> str:
    """Return the name of an image without its suffix and what Roboflow adds to names of copies."""
    return _ROBOFLOW.sub("", _SUFFIX.sub("", name))


def path_below(name: str) -> str:
    """Return the part of a path that does not depend on the computer."""
    if PureWindowsPath(name).drive or name.startswith(("/", "\\")):
        return PureWindowsPath(name).name
    parts = name.replace("\\", "/").split("/")
    return PureWindowsPath(name).name if ".." in parts else "/".join(parts)


def by_place(members: Sequence[Member]) -> dict[str, Member]:
    """Return files by the places of their images, or by full paths if places are not unique."""
    places = [place_of(member.inner) for member in members]
    known = Counter(places)
    return {
        place if known[place] == 1 else without_suffix(member.inner): member
        for place, member in zip(places, members, strict=True)
    }


def spelled_as(found: Mapping[str, _Found], labelled: Collection[str]) -> dict[str, _Found]:
    """Return what is found by place with the places of label files, where letters are the same.

    macOS decomposes letters with marks in names of files (Unicode form NFD), which others compose.
    """
    lacking = (each for each in labelled if not each.isascii() and each not in found)
    of = {normalize("NFC", each): each for each in lacking}
    return {of.get(normalize("NFC", place), place) if of else place: each
            for place, each in found.items()}  # fmt: skip


def ends_of(place: str) -> Iterator[str]:
    """Yield the ends of a place, from that with most folders to its name."""
    parts = place.rsplit("/", _FOLDERS + 1)[-_FOLDERS - 1 :]
    for first in range(len(parts)):
        yield "/".join(parts[first:])


def is_mask_name(name: str) -> bool:
    """Return whether a file may be a mask, by its name: a picture without loss."""
    return name.lower().endswith(_SUFFIXES)


def holds_masks(source: SourcePath) -> bool:
    """Return whether a folder or an archive holds pictures that may be masks."""
    return any(is_mask_name(name) for _, names in files_by_folder(source) for name in names)


def people_of_masks(folder: SourcePath, *, by_image: bool) -> list[SourcePath]:
    """Return the folders in a folder, each of which is by one person; none if all is by one."""

    def holds(here: SourcePath) -> bool:
        return not OF_PICTURES.fullmatch(here.name) and holds_masks(here)

    def has(here: SourcePath) -> bool:
        return any(map(_has_masks, filter(holds, here.folders))) if by_image else _has_masks(here)

    return _parts(folder, has, holds)


def _has_masks(folder: SourcePath) -> bool:
    """Return whether masks are directly in a folder, or in one inside that says so."""
    of_masks = (e for e in folder.folders if re.fullmatch(OF_MASKS, e.name, re.IGNORECASE))
    return any(map(is_mask_name, folder.names.files)) or any(map(_has_masks, of_masks))
