"""The registry of formats: to add one, write a module and add a line here."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.files import Identity, identity_of
from bboxqa.core.plugins import plugins
from bboxqa.core.remembered import once
from bboxqa.formats.box_tables.box_table import BOX_TABLE
from bboxqa.formats.coco.reader import COCO, COCO_ARCHIVE, begins_as_coco, is_surely_coco
from bboxqa.formats.cvat.format import CVAT
from bboxqa.formats.darwin.format import DARWIN
from bboxqa.formats.datumaro.format import DATUMARO
from bboxqa.formats.dota.dota import DOTA
from bboxqa.formats.format import Format
from bboxqa.formats.label_folders import is_label_name
from bboxqa.formats.label_studio.format import LABEL_STUDIO
from bboxqa.formats.labelme.labelme import LABELME
from bboxqa.formats.member import is_archive
from bboxqa.formats.source import archive_around, head_of, members_of, members_with
from bboxqa.formats.supervisely.format import SUPERVISELY
from bboxqa.formats.via.format import VIA
from bboxqa.formats.voc.voc import VOC
from bboxqa.formats.yolo.yolo import YOLO

GROUP = "bboxqa.formats"
"""The group of entry points by which other packages add formats."""

FORMATS: dict[str, Format] = {
    "coco": COCO,
    "coco-archive": COCO_ARCHIVE,
    "label-studio": LABEL_STUDIO,
    "cvat": CVAT,
    "supervisely": SUPERVISELY,
    # DOTA precedes YOLO, which also accepts empty label files.
    "dota": DOTA,
    "yolo": YOLO,
    "via": VIA,
    "darwin": DARWIN,
    "datumaro": DATUMARO,
    "table": BOX_TABLE,
    "voc": VOC,
    "labelme": LABELME,
}

_TITLES = {
    "coco": "COCO JSON", "coco-archive": "COCO JSON", "label-studio": "Label Studio",
    "cvat": "CVAT", "supervisely": "Supervisely", "dota": "DOTA", "yolo": "YOLO", "via": "VIA",
    "darwin": "Darwin", "datumaro": "Datumaro", "table": "tables of boxes", "voc": "Pascal VOC",
    "labelme": "LabelMe",
}  # fmt: skip
OF_ONE_IMAGE = (DARWIN, VOC, LABELME)
"""Formats with one image per file."""
_OF_LABEL_FILES = (*OF_ONE_IMAGE, SUPERVISELY, DOTA, YOLO)
_LOOKED_AT = 50
# The number of archives whose formats are kept, more than annotators usually are.
_ARCHIVES = 32
# The number of files in archives whose formats are kept: each is asked about several times.
_FILES_INSIDE = 1 << 15


def names() -> tuple[str, ...]:
    """Return the names of all formats, with formats of other packages last.

    Examples
    --------
    >>> names()[:1], "cvat" in names()
    (('coco',), True)
    """
    return tuple(dict.fromkeys((*FORMATS, *plugins(GROUP))))


def title_of(found: Format) -> str:
    """Return what messages call a format: the name of its tool, or its own if it was added.

    Examples
    --------
    >>> title_of(LABEL_STUDIO)
    'Label Studio'
    """
    return _TITLES.get(found.name, found.name)


def format_of(path: Path) -> Format:
    """Return the format of a file or folder; COCO if no format recognises it.

    COCO JSON is recognised by its first list. Formats of other packages are tried only if no
    built-in format recognises the file. Raises ConfigError if a package that offers a format cannot
    be imported, or if its format has the name of a built-in one.
    """
    if path.is_dir():
        return _format_of_source(path) or _format_of_parts(path) or COCO
    if not path.is_file():
        return (format_inside(path) or COCO_ARCHIVE) if archive_around(path) else COCO
    if is_surely_coco(path):
        return COCO
    if is_archive(head_of(path)):
        found = _format_of_archive(path, identity_of(path))
    else:
        found = _built_in(path)
    return found or next((each for each in _added() if each.recognises(path)), COCO)


def format_inside(path: Path) -> Format | None:
    """Return the built-in format of a file inside an archive; None if no format recognises it."""
    archive = archive_around(path)
    return None if archive is None else _format_inside(path, identity_of(archive))


@lru_cache(_FILES_INSIDE)
def _format_inside(path: Path, identity: Identity) -> Format | None:
    del identity
    found = _built_in(path)
    return None if found is COCO else found


# Formats open all files of an archive, and reading one asks several times.
@lru_cache(_ARCHIVES)
def _format_of_archive(path: Path, identity: Identity) -> Format | None:
    del identity
    found = _built_in(path)
    return COCO_ARCHIVE if found in _OF_LABEL_FILES and _is_beside_coco(path) else found


def _is_beside_coco(archive: Path) -> bool:
    """Return whether the labels in an archive are beside COCO JSON, which is read instead.

    As in a folder, COCO JSON is beside labels in its own folder and in folders below, also if it is
    in `annotations`.
    """
    members = [each for each in members_of(archive) if each.name]
    sources = sorted(members_with(members, ".json"), key=lambda each: each.name.count("/"))
    coco = [each for each in islice(sources, _LOOKED_AT) if begins_as_coco(each.head())]
    around = tuple({_folder_of_data(each.name) for each in coco})
    others = (each.name for each in members if each not in coco)
    labels = [
        each for each in others if is_label_name(each) or each.lower().endswith((".json", ".xml"))
    ]
    return bool(coco and labels) and all(each.startswith(around) for each in labels)


def _folder_of_data(name: str) -> str:
    """Return the folder around COCO JSON and its images, "" for the whole archive.

    Examples
    --------
    >>> [_folder_of_data(name) for name in ("a.json", "annotations/a.json", "p/a.json")]
    ['', '', 'p/']
    """
    folder = f"{name.rpartition('/')[0]}/"
    return re.sub(r"(?:\A|(?<=/))annotations/\Z", "", folder).removeprefix("/")


def _built_in(path: Path) -> Format | None:
    """Return the built-in format that recognises a file."""
    # COCO accepts all other JSON.
    last = (COCO_ARCHIVE, COCO)
    formats = (*(each for each in FORMATS.values() if each not in last), *last)
    return next((each for each in formats if each.recognises(path)), None)


def is_source(folder: Path) -> bool:
    """Return whether a folder is one source, rather than a folder of several sources."""
    return _format_of_source(folder) is not None


def is_of_one_image(file: Path) -> bool:
    """Return whether the format of a file has one file per image."""
    return format_of(file) in OF_ONE_IMAGE


@once(str)
def _format_of_source(folder: Path) -> Format | None:
    return next((each for each in all_formats() if is_source_of(each, folder)), None)


def _format_of_parts(folder: Path) -> Format | None:
    """Return the common format of the subfolders that are sources; None if they have several."""
    try:
        found = {_format_of_source(each) for each in folders_in(folder)} - {None}
    except OSError:
        return None
    return found.pop() if len(found) == 1 else None


def is_source_of(found: Format, folder: Path) -> bool:
    """Return whether a folder is one source of a format."""
    try:
        return found.recognises_folder is not None and found.recognises_folder(folder)
    except OSError:
        # Reading the files of the folder reports the error.
        return False


def all_formats() -> Iterator[Format]:
    """Yield the built-in formats, and those of other packages."""
    yield from FORMATS.values()
    yield from _added()


def suffixes(*, only_checked: bool = False) -> tuple[str, ...]:
    """Return the distinct suffixes of all formats, or of the formats that `validate` checks.

    Raises ConfigError if a package that offers a format cannot be imported, or if its format has
    the name of a built-in one.
    """
    wanted = (each for each in all_formats() if not only_checked or each.document is not None)
    return tuple(dict.fromkeys(suffix for each in wanted for suffix in each.suffixes))


def _added() -> Iterator[Format]:
    for name, plugin in plugins(GROUP).items():
        if name in FORMATS:
            plugin.refuse_built_in()
        yield plugin.load(Format)
