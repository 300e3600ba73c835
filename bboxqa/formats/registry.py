"""The registry of formats: to add one, write a module and add a line here."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.files import Identity, identity_of
from bboxqa.core.plugins import plugins
from bboxqa.formats.box_tables.box_table import BOX_TABLE, has_columns
from bboxqa.formats.coco.reader import COCO, COCO_ARCHIVE, is_surely_coco
from bboxqa.formats.cvat.format import CVAT
from bboxqa.formats.darwin.format import DARWIN
from bboxqa.formats.datumaro.format import DATUMARO
from bboxqa.formats.document import RawDocument
from bboxqa.formats.dota.dota import DOTA
from bboxqa.formats.format import Format
from bboxqa.formats.label_studio.format import LABEL_STUDIO
from bboxqa.formats.labelme.labelme import LABELME
from bboxqa.formats.member import is_archive
from bboxqa.formats.records import WHOLE
from bboxqa.formats.source import archive_around, head_of
from bboxqa.formats.supervisely.format import SUPERVISELY
from bboxqa.formats.via.format import VIA
from bboxqa.formats.voc.voc import VOC
from bboxqa.formats.yolo.yolo import YOLO
from bboxqa.model.choices import NO_CHOICES, Choices

GROUP = "bboxqa.formats"
"""The group of entry points by which other packages add formats."""

FORMATS: dict[str, Format] = {
    "coco": COCO,
    "coco-archive": COCO_ARCHIVE,
    "label-studio": LABEL_STUDIO,
    "cvat": CVAT,
    "supervisely": SUPERVISELY,
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
SURE = 2
# The number of archives whose formats are kept, more than annotators usually are.
_ARCHIVES = 32
# The number of files in archives whose formats are kept: each is asked about several times.
_FOLDERS = 256
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


def format_of(path: Path, choices: Choices = NO_CHOICES) -> Format:
    """Return the format of a file or folder; COCO if no format recognises it.

    It is the one that is most sure of it, or that the user chose of several. Raises ConfigError if
    a package that offers a format cannot be imported, or if its format has the name of a built-in
    one.
    """
    found = formats_of(path, choices)
    if len(found) > 1:
        found = [each for each in found if short_name(each) == choices.from_format] or found
    return found[0] if found else COCO


def document_of(path: Path, choices: Choices) -> RawDocument | None:
    """Return the records of a source with their places; None if its format is not checked."""
    read = format_of(path, choices).document
    return None if read is None else read(path, replace(WHOLE, choices=choices))


def formats_of(path: Path, choices: Choices = NO_CHOICES) -> list[Format]:
    """Return the formats that are most sure of a file or folder; several if it holds several.

    If the user says what the columns of tables hold, any table is one of boxes.
    """
    if path.is_dir():
        return _formats_of_folder(path) or _formats_of_parts(path)
    if not path.is_file():
        return [(format_inside(path) or COCO_ARCHIVE)] if archive_around(path) else []
    if is_surely_coco(path):
        return [COCO]
    if is_archive(head_of(path)):
        return [*_formats_of_archive(path, identity_of(path))]
    found = _most_sure(path)
    return found if found or not choices.columns or not has_columns(path) else [BOX_TABLE]


def short_name(found: Format) -> str:
    """Return the name of a format for --from: COCO JSON is one format in an archive as well."""
    return COCO.name if found is COCO_ARCHIVE else found.name


def format_inside(path: Path) -> Format | None:
    """Return the format of a file inside an archive; None if no format recognises it."""
    archive = archive_around(path)
    return None if archive is None else _format_inside(path, identity_of(archive))


@lru_cache(_FILES_INSIDE)
def _format_inside(path: Path, identity: Identity) -> Format | None:
    del identity
    return next((each for each in _most_sure(path) if each is not COCO), None)


# Formats open all files of an archive, and reading one asks several times.
@lru_cache(_ARCHIVES)
def _formats_of_archive(path: Path, identity: Identity) -> tuple[Format, ...]:
    del identity
    return tuple(_most_sure(path))


def _most_sure(path: Path) -> list[Format]:
    """Return the formats that are most sure of a file."""
    sure = {each: confidence(each, path) for each in all_formats()}
    most = max(sure.values())
    return [each for each, value in sure.items() if value == most and most]


def confidence(found: Format, path: Path) -> int:
    """Return how sure a format is of a file: 0 no, 1 maybe, 2 sure."""
    answer = found.recognises(path)
    return SURE if answer is True else int(answer)


def is_source(folder: Path) -> bool:
    """Return whether a folder is one source, rather than a folder of several sources."""
    return bool(_formats_of_folder(folder))


def is_of_one_image(file: Path) -> bool:
    """Return whether the format of a file has one file per image."""
    return format_of(file) in OF_ONE_IMAGE


def _formats_of_folder(folder: Path) -> list[Format]:
    try:
        return [*_formats_recognising(folder, identity_of(folder))]
    except OSError:
        return []


# Reading a data set asks about a folder more than ten times.
@lru_cache(_FOLDERS)
def _formats_recognising(folder: Path, identity: Identity) -> tuple[Format, ...]:
    del identity
    return tuple(each for each in all_formats() if is_source_of(each, folder))


def _formats_of_parts(folder: Path) -> list[Format]:
    """Return the common format of the subfolders that are sources; none if they have several."""
    try:
        found = {each for inside in folders_in(folder) for each in _formats_of_folder(inside)}
    except OSError:
        return []
    return [*found] if len(found) == 1 else []


def is_source_of(found: Format, folder: Path) -> bool:
    """Return whether a folder is one source of a format."""
    try:
        return found.recognises_folder is not None and bool(found.recognises_folder(folder))
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
