"""What a file format is: how its files are recognised and read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bboxqa.core.types import Steps
from bboxqa.formats.annotations.columns import AnnotationFile


class Reader(Protocol):
    """Reads one file; who annotated what, and joining with other files, come later."""

    def __call__(
        self,
        path: Path,
        /,
        *,
        keys: tuple[str, ...],
        segmentation: bool,
        digest: bool,
        memory: int | None,
        progress: Steps | None,
    ) -> AnnotationFile:
        """Return the records of a file.

        Parameters
        ----------
        path : Path
        keys : tuple of str
            The keys to look at: of the annotator, the session and the time.
        segmentation : bool
            Whether to read the outlines.
        digest : bool
            Whether to compute the digest of the file.
        memory : int or None
            Limits memory, in bytes; larger columns are kept in temporary files.
        progress : callable or None
            Called as ``progress(done, total)`` with bytes.

        Raises
        ------
        DatasetError
            With everything in the file that cannot be read.
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
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Path], bool]
    read: Reader
