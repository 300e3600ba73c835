"""How label files of YOLO and their folders are recognised."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from bboxqa.formats.translation.heads import head_of

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rb"\s*\d+(?:\.0*)?(?:[ \t]+" + _NUMBER + rb"){4,}[ \t]*\r?(?:\n|\Z)")
_SHARES = re.compile(rb"\s*\d+(?:[ \t]+0?\.\d+(?:[eE]-?\d+)?|[ \t]+[01](?:\.0*)?){4}")
_NAMES_KEY = re.compile(rb"^[\"']?names[\"']?\s*:", re.MULTILINE)
_NO_LABELS = re.compile(
    r"(?:.*(?:readme|license|requirements|notes).*|classes|labels|labelmap)\.txt", re.IGNORECASE
)
LISTS = re.compile(r"(?:train|valid?|test|trainval|default)(?:20\d\d)?\.txt", re.IGNORECASE)
"""Names of files that list images."""
_INSIDE = re.compile(r"labels|images|data|obj_[^/]*_data|train|valid?|test", re.IGNORECASE)
_LOOKED_AT, _DEPTH, _SAMPLE = 5000, 6, 8


def is_label_name(name: str) -> bool:
    """Return whether the name of a file may be that of labels."""
    last = PurePosixPath(name).name
    is_other = _NO_LABELS.fullmatch(last) or LISTS.fullmatch(last)
    return last.lower().endswith(".txt") and not is_other


def is_names_file(name: str) -> bool:
    """Return whether the name of a file is that of names of classes."""
    last = PurePosixPath(name).name.lower()
    return last.endswith((".yaml", ".yml", ".names")) or last == "classes.txt"


def is_names_head(name: str, head: bytes) -> bool:
    """Return whether a file begins as one with names of classes."""
    if name.lower().endswith((".yaml", ".yml")):
        return _NAMES_KEY.search(head) is not None
    return b"\0" not in head and bool(head.strip())


def is_label_head(head: bytes, *, strict: bool = False) -> bool:
    """Return whether a file begins with a label.

    With `strict`, its numbers have to be shares of the image.

    Examples
    --------
    >>> is_label_head(b"0 0.5 0.5 0.1 0.2"), is_label_head(b"cat 1 2 3 4")
    (True, False)
    """
    return (_SHARES if strict else _LINE).match(head) is not None and _LINE.match(head) is not None


def is_yolo_folder(folder: Path) -> bool:
    """Return whether a folder is one data set of YOLO; one of several such folders is none."""
    try:
        inside = [each for each in islice(os.scandir(folder), _LOOKED_AT) if each.name[0] != "."]
    except OSError:
        return False
    files = [each.name for each in inside if not each.is_dir()]
    folders = [each.name for each in inside if each.is_dir()]
    others = [folder / each for each in folders if not _INSIDE.fullmatch(each)]
    has_names = any(_is_names(folder / each) for each in files if is_names_file(each))
    if _has_labels(folder, [each for each in files if is_label_name(each)], strict=not has_names):
        return True
    known = [folder / each for each in folders if _INSIDE.fullmatch(each)]
    if any(_holds_labels(each, strict=not has_names) for each in known):
        return True
    return (
        has_names
        and not _are_annotators(others)
        and any(_holds_labels(each, strict=False) for each in others)
    )


def _are_annotators(folders: Sequence[Path]) -> bool:
    """Return whether several folders have labels of the same images."""
    seen: set[str] = set()
    for folder in folders:
        names = {each for _, found in _label_names(folder) for each in found}
        if names & seen:
            return True
        seen |= names
    return False


def _is_names(path: Path) -> bool:
    return is_names_head(path.name, head_of(path))


def _holds_labels(folder: Path, *, strict: bool) -> bool:
    """Return whether a folder has label files, in folders that belong to it."""
    return any(_has_labels(path, names, strict=strict) for path, names in _label_names(folder))


def _label_names(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders of a data set, and the names of their label files."""
    left = _LOOKED_AT
    for path, inside, files in os.walk(folder):
        here = Path(path)
        inside[:] = sorted(each for each in inside if each[0] != ".")
        if "labels" in inside:
            inside[:] = ["labels"]
        deeper = [here / each for each in inside if not _INSIDE.fullmatch(each)]
        if len(here.relative_to(folder).parts) >= _DEPTH:
            inside[:] = []
        elif here.name.lower() == "labels" and len(deeper) > 1 and _are_annotators(deeper):
            inside[:] = [each for each in inside if _INSIDE.fullmatch(each)]
        yield here, [each for each in files[:left] if is_label_name(each)]
        left -= len(files)
        if left <= 0:
            return


def _has_labels(folder: Path, names: list[str], *, strict: bool) -> bool:
    """Return whether the text files of a folder are labels: those that are not empty.

    Where all are empty they are labels if there is nothing else but pictures.
    """
    heads = (head_of(folder / each) for each in sorted(names))
    filled = list(islice((head for head in heads if head.strip()), _SAMPLE))
    if filled:
        right = sum(is_label_head(head, strict=strict) for head in filled)
        return 2 * right > len(filled)
    return bool(names) and _only_images_beside(folder)


def _only_images_beside(folder: Path) -> bool:
    ends = {PurePosixPath(each.name).suffix.lower() for each in os.scandir(folder)}
    return not ends & {".json", ".csv", ".xml", ".parquet", ".zip", ".gz", ".py", ".md"}
