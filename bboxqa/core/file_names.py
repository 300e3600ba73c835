"""File names as other systems write them, and folders that cannot be read."""

import os
import re
import unicodedata
from pathlib import Path, PurePath

IMAGE_SUFFIXES = frozenset({
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".jp2",
    ".avif", ".heic", ".heif", ".ppm", ".pgm", ".tga",
})  # fmt: skip
"""Suffixes of image files, in lower case."""

SPLITS = "train|training|val|valid|validation|test|testing"
"""A pattern of the names of splits of data sets, in lower case."""
SPLIT = rf"(?:{SPLITS})(?:20\d\d)?"
"""A pattern of these names, which may have a year: train2017."""

_PACKED = re.compile(
    r"(?<=.)(?:\.(?:json|jsonl|ndjson|xml|csv|tsv|txt|tar))?\.(?:zip|gz|tar|tgz)$", re.IGNORECASE
)
_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:/|data:)", re.IGNORECASE)


def normalised_name(name: str) -> str:
    r"""Return a file name without the differences that some systems ignore.

    Examples
    --------
    >>> normalised_name("Photos\\A.JPG")
    'photos/a.jpg'
    """
    return unicodedata.normalize("NFC", name.replace("\\", "/")).casefold()


def own_name(file: PurePath) -> str:
    """Return the name of a file without its suffixes, which may name a person.

    Packed files have two suffixes. Other dots belong to the name.

    Examples
    --------
    >>> [own_name(Path(name)) for name in ("p/ada.json", "ada.tar.gz", "a.lovelace.xml.zip")]
    ['ada', 'ada', 'a.lovelace']
    """
    packed = _PACKED.search(file.name)
    return file.name[: packed.start()] if packed else file.stem


def is_foreign(name: str) -> bool:
    r"""Return whether a name is an absolute path, has a drive letter, or is a URL.

    Examples
    --------
    >>> [is_foreign(name) for name in ("/a.jpg", "C:\\a.jpg", "https://b.org/a.jpg", "a/b.jpg")]
    [True, True, True, False]
    """
    return name[:1] in ("/", "\\") or bool(_DRIVE.match(name) or _URL.match(name))


def folder_problem(folder: Path, expected: str = "a folder") -> str:
    """Return why a folder cannot be read, for a message; "" if it can.

    Examples
    --------
    >>> folder_problem(Path("no/where"))
    'no/where: no such folder'
    """
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        return f"{folder}: no such {expected.removeprefix('a ')}"
    except NotADirectoryError:
        return f"{folder}: is a file; expected {expected}"
    except OSError as error:
        return f"{folder}: cannot be read: {error.strerror}"
    return ""
