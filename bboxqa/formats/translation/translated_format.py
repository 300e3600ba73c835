"""Defining formats by a translation, which is imported when a file is read."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.format import Format, Recognises

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translate, Translated, Wanted


def translated_format(
    name: str,
    suffixes: tuple[str, ...],
    recognises: Recognises,
    translate: "Translate | str",
    *,
    recognises_folder: Recognises | None = None,
    folders_in_parts: Callable[[Path], list[Path]] | None = None,
) -> Format:
    """Return a format whose files are translated into COCO records.

    The parameters are the same as in `bboxqa.formats.format.Format`, plus `translate`: a function,
    or as "module:name" one that is imported when a file is read.
    """
    if isinstance(translate, str):
        translate = partial(_translated, translate)
    return Format(
        name,
        suffixes,
        recognises,
        partial(_read, translate),
        document=partial(_document, translate),
        recognises_folder=recognises_folder,
        folders_in_parts=folders_in_parts,
        translate=translate,
    )


def _translated(place: str, path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    translate: Translate = resolve_name(place)
    return translate(path, add, wanted)


def _read(translate: "Translate", path: Path, options: ReadOptions) -> AnnotationFile:
    from bboxqa.formats.translation.reading import read_file

    return read_file(translate, path, options)


def _document(translate: "Translate", path: Path, progress: Steps | None = None) -> RawDocument:
    from bboxqa.formats.translation.reading import read_document

    return read_document(translate, path, progress)
