"""File names as other systems write them, and folders and links that cannot be read."""

import os
import re
import unicodedata
from pathlib import Path

IMAGE_SUFFIXES = frozenset({
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".jp2",
    ".avif", ".heic", ".heif", ".ppm", ".pgm", ".tga", ".dng", ".mpo",
})  # fmt: skip

SPLITS = "train|training|val|valid|validation|test|testing"
SPLIT = rf"(?:{SPLITS})(?:20\d\d)?"

_PACKED = re.compile(
    r"(?<=.)(?:\.(?:json|jsonl|ndjson|xml|csv|tsv|txt|tar))?\.(?:zip|gz|tar|tgz)$", re.IGNORECASE
)
# Compiled when first needed, which takes longer than importing this module.
_WITH_SPLIT = (
    r"(?i)(?:(?:instances|person_keypoints|captions|panoptic|stuff|labels|image_info|oidv6)[_-])?"
    rf"(?:(?:(?P<before>.+)[_. -])?(?P<last>{SPLITS})(?:20\d\d)?(?:-annotations-bbox)?"
    rf"|(?P<first>{SPLITS})(?:20\d\d)?[_. -](?P<after>.+))"
)
_OF_CVAT = re.compile(r"(?<=.)_(?:annotations|dataset)_\d{4}(?:_\d\d){5}_.+")
_SAME = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}
_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:/|data:)", re.IGNORECASE)


def normalised_name(name: str) -> str:
    """Return a file name without the differences that some systems ignore."""
    return unicodedata.normalize("NFC", name.replace("\\", "/")).casefold()


def own_name(path: Path) -> str:
    """Return the name of a folder, or of a file without its suffixes, which may name a person.

    Packed files have two suffixes. Other dots belong to the name. CVAT adds the time and format.

    Examples
    --------
    >>> [own_name(Path(name)) for name in ("p/ada.json", "ada.tar.gz", "a.lovelace.xml.zip")]
    ['ada', 'ada', 'a.lovelace']
    >>> own_name(Path("job_7_annotations_2025_06_20_15_12_20_cvat for images 1.1.zip"))
    'job_7'
    """
    packed = _PACKED.search(path.name)
    name = path.name[: packed.start()] if packed else path.stem
    return _OF_CVAT.sub("", path.name if path.is_dir() else name)


def is_foreign(name: str) -> bool:
    """Return whether a name is an absolute path, has a drive letter, or is a URL."""
    return name[:1] in ("/", "\\") or bool(_DRIVE.match(name) or _URL.match(name))


def folder_problem(folder: Path, expected: str = "a folder") -> str:
    """Return why a folder cannot be read, for a message; "" if it can."""
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        return f"{folder}: no such {expected.removeprefix('a ')}"
    except NotADirectoryError:
        return f"{folder}: is a file; expected {expected}"
    except OSError as error:
        return f"{folder}: cannot be read: {error.strerror}"
    return ""


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, or a link to one; False for a link to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a file, or a link to one or to nothing, which reading reports."""
    try:
        return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))  # noqa: PTH110
    except OSError:
        return True


def split_in(name: str) -> tuple[str, str] | None:
    """Return what stands beside the split in the name of a folder or file, and the split.

    Examples
    --------
    >>> split_in("instances_train2017"), split_in("bob_valid"), split_in("contest")
    (('', 'train'), ('bob', 'val'), None)
    >>> split_in("oidv6-train-annotations-bbox"), split_in("test_bob")
    (('', 'train'), ('bob', 'test'))
    """
    found = re.fullmatch(_WITH_SPLIT, name)
    if found is None:
        return None
    split = (found["last"] or found["first"]).lower()
    return found["before"] or found["after"] or "", _SAME.get(split, split)


def is_split(name: str) -> bool:
    """Return whether the name of a folder is that of a split, and of nothing else."""
    found = split_in(name)
    return found is not None and not found[0]
