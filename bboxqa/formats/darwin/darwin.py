"""The format of V7 Darwin JSON 2.0: a folder or an archive of files, or one file."""

from bboxqa.formats.darwin.darwin_heads import is_folder, recognises
from bboxqa.formats.format import translated_format

DARWIN = translated_format(
    "darwin",
    (".json",),
    recognises,
    "bboxqa.formats.darwin.darwin_records:translate_darwin",
    recognises_folder=is_folder,
)
"""V7 Darwin JSON 2.0."""
