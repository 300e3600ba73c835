"""What a file format is: how its files are recognised and read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.document.content import RawDocument

Recognises = Callable[[Path], bool]
"""Returns whether a file, or a folder, looks like a format. It looks at the beginning only."""


class Reader(Protocol):
    """Reads one file; who annotated what, and joining with other files, come later."""

    def __call__(self, path: Path, options: ReadOptions, /) -> AnnotationFile:
        """Return the records of a file, with what the options ask for where the format has it.

        Raises DatasetError with everything in the file that cannot be read.
        """


class DocumentReader(Protocol):
    """Reads one source for the rules of `validate`."""

    def __call__(
        self, path: Path, progress: Steps | None = None, memory: int | None = None
    ) -> RawDocument:
        """Return the records of a source, and where each of them stands.

        What is wrong with them is found by the rules. Raises DatasetError if the source cannot be
        read at all.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """A file format of annotations.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        The ends of the names of its files, such as ".json"; others in a folder are not looked at.
        `bboxqa.read_coco` reads those in a folder that `recognises` accepts.
    recognises : callable
        Called with the path of a file; returns whether it looks like this format.
    read : Reader
    document : DocumentReader or None
        None if `bboxqa validate` does not check it.
    recognises_folder : callable or None
        Called with the path of a folder; returns whether all of it is one source of this format.
        A folder of such folders, one for each person, is none. None if sources are files.
    translate : callable or None
        A `bboxqa.formats.translation.translated.Translate`: translates a source into records of
        COCO, with all that `read` leaves out. None for COCO itself.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Recognises
    read: Reader
    document: DocumentReader | None = None
    recognises_folder: Recognises | None = None
    translate: Callable[..., Any] | None = None
