"""The format of V7 Darwin JSON 2.0: a folder or an archive of files, or one file."""

from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.formats.darwin.darwin_heads import is_folder, recognises
from bboxqa.formats.translation.translated_format import translated_format

if TYPE_CHECKING:
    from bboxqa.formats.translation.translated import Add, Translated, Wanted


def translate(path: Path, add: "Add", wanted: "Wanted") -> "Translated":
    """Translate Darwin files; see `bboxqa.formats.translation.translated.Translate`."""
    from bboxqa.formats.darwin.darwin_records import translate_darwin

    return translate_darwin(path, add, wanted)


DARWIN = translated_format("darwin", (".json",), recognises, translate, recognises_folder=is_folder)
"""V7 Darwin JSON 2.0."""
