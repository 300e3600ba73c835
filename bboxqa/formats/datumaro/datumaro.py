"""The format of Datumaro JSON: a file, or the subsets of a data set in a folder or archive."""

from bboxqa.formats.datumaro.datumaro_heads import is_folder, recognises
from bboxqa.formats.format import translated_format

DATUMARO = translated_format(
    "datumaro",
    (".json",),
    recognises,
    "bboxqa.formats.datumaro.datumaro_records:translate_datumaro",
    recognises_folder=is_folder,
)
"""Datumaro JSON."""
