"""The definition of a file format: how its files are recognised and read."""

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import msgspec

from bboxqa.formats.document import RawDocument
from bboxqa.formats.records import AnnotationFile, ReadSettings
from bboxqa.formats.source import SourcePath

if TYPE_CHECKING:
    from bboxqa.formats.translation.collector import Translate

_READING = "bboxqa.formats.translation.reading"
Recognises = Callable[[SourcePath], int]
"""Returns how sure a format is of a file or folder, by the beginning of files only: 0 no, 1 maybe,
2 sure. True is sure.
"""


Reader = Callable[[SourcePath, ReadSettings], AnnotationFile]
"""Returns the records of a file, with what the settings ask for where the format has it;
attribution and joining with other files come later. Raises DatasetError with everything in the file
that cannot be read.
"""
DocumentReader = Callable[[SourcePath, ReadSettings], RawDocument]
"""Returns the records of a source with their positions, for the rules of `validate`, which find
defects in them. Raises DatasetError if the source cannot be read at all.
"""


class Format(msgspec.Struct, frozen=True):
    """A file format of annotations."""

    name: str
    suffixes: tuple[str, ...]
    """The suffixes of its files, such as ".json"; other files in a folder are ignored. Of a folder,
    `bboxqa.read` reads the files that `recognises` accepts."""
    recognises: Recognises | None
    """Called with the path of a file; returns whether it looks like this format, or how sure it is.
    The format that is most sure reads the file; there is no order of formats. None if sources are
    folders."""
    read: Reader
    document: DocumentReader | None = None
    """None if `bboxqa validate` does not check the format."""
    recognises_folder: Recognises | None = None
    """Called with the path of a folder; returns whether the whole folder is one source of this
    format. It is not if it contains such folders, one per annotator. None if sources are files."""
    folders_in_parts: Callable[[SourcePath], list[SourcePath]] | None = None
    """Called with the path of such a folder; returns its folders of labels that may be by one
    person each, as ann and bob of `labels/ann`, `labels/bob`. None if there are none."""


def translated_format(
    name: str,
    suffixes: tuple[str, ...],
    recognises: Recognises | None,
    translate: "Translate | str",
    *,
    recognises_folder: Recognises | None = None,
    folders_in_parts: Callable[[SourcePath], list[SourcePath]] | None = None,
) -> Format:
    """Return a format whose files are translated into COCO records.

    The parameters are the same as in `bboxqa.formats.format.Format`, plus `translate`: a function,
    or as "module:name" one that is imported when a file is read.
    """
    if isinstance(translate, str):
        translate = partial(_called, translate)
    return Format(
        name,
        suffixes,
        recognises,
        partial(_called, f"{_READING}:read_file", translate),
        document=partial(_called, f"{_READING}:read_document", translate),
        recognises_folder=recognises_folder,
        folders_in_parts=folders_in_parts,
    )


def _called(place: str, *given: Any) -> Any:
    """Return what the function "module:name" returns, which is imported when it is called."""
    return resolve_name(place)(*given)
