"""The format of Datumaro JSON: a file, or the subsets of a data set in a folder or archive."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.datumaro.datumaro_heads import is_folder, recognises
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate Datumaro files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.datumaro.datumaro_records import translate_datumaro

    return translate_datumaro(path, add, wanted)


DATUMARO = translated_format(
    "datumaro", (".json",), recognises, translate, recognises_folder=is_folder
)
"""Datumaro JSON."""
