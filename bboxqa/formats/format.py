"""The definition of a file format: how its files are recognised and read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.document.content import RawDocument

Recognises = Callable[[Path], bool]
"""Returns whether a file or folder looks like a format, by the beginning of files only."""


class Reader(Protocol):
    """Reads one file; attribution and joining with other files come later."""

    def __call__(self, path: Path, options: ReadOptions, /) -> AnnotationFile:
        """Return the records of a file, with what the options ask for where the format has it.

        Raises DatasetError with everything in the file that cannot be read.
        """


class DocumentReader(Protocol):
    """Reads one source for the rules of `validate`."""

    def __call__(self, path: Path, progress: Steps | None = None) -> RawDocument:
        """Return the records of a source, with their positions.

        The rules find defects in the records. Raises DatasetError if the source cannot be read at
        all.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """A file format of annotations.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        The suffixes of its files, such as ".json"; other files in a folder are ignored. Of a
        folder, `bboxqa.read_coco` reads the files that `recognises` accepts.
    recognises : callable
        Called with the path of a file; returns whether it looks like this format.
    read : Reader
    document : DocumentReader or None
        None if `bboxqa validate` does not check the format.
    recognises_folder : callable or None
        Called with the path of a folder; returns whether the whole folder is one source of this
        format. It is not if it contains such folders, one per annotator. None if sources are files.
    folders_in_parts : callable or None
        Called with the path of such a folder; returns its folders of labels that may be by one
        person each, as ann and bob of `labels/ann`, `labels/bob`. None if there are none.
    translate : callable or None
        A `bboxqa.formats.translation.translated.Translate`, which translates a source into COCO
        records, including everything that `read` omits. None for COCO itself.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Recognises
    read: Reader
    document: DocumentReader | None = None
    recognises_folder: Recognises | None = None
    folders_in_parts: Callable[[Path], list[Path]] | None = None
    translate: Callable[..., Any] | None = None
