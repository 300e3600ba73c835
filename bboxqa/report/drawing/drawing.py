"""Drawings that can be looked at and saved."""

import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from bboxqa.core.errors import OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.text import one_line
from bboxqa.core.types import AnyPath
from bboxqa.report.charts.figures import page_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 300
_ON_SCREEN = 110
# Characters that some systems refuse in file names.
_UNSAFE = re.compile(r"[^\w.() -]")
_LONGEST = 80
# Metadata that would differ from run to run are left out.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SUFFIXES = tuple(_METADATA)
"""Suffixes of the file formats of drawings."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawing:
    """A drawing of an image.

    Attributes
    ----------
    name : str
        The image.
    by : str
        What colours stand for.
    figure : matplotlib.figure.Figure
    axes : tuple of matplotlib.axes.Axes
        One, or one for each annotator, in pixels of the image.
    notes : tuple of str
        Notes for the reader, such as why the drawing has no pixels.
    read : tuple of Path
        The files that were read, which are not replaced.
    """

    name: str
    by: str
    figure: "Figure"
    axes: tuple["Axes", ...]
    notes: tuple[str, ...] = ()
    read: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return f"<Drawing of {one_line(self.name)!r}>"

    def _repr_png_(self) -> bytes:
        return self._rendered(".png", _ON_SCREEN)

    def save(self, path: AnyPath, *, force: bool = False) -> Path:
        """Write the drawing to a file, and return its path.

        Parameters
        ----------
        path : path
            Ends with .png (300 dots per inch), .svg or .pdf.
        force : bool
            Whether an existing file is replaced.

        Raises
        ------
        OutputError
            If the suffix is another one, the file exists or was read for the drawing, or it cannot
            be written.
        """
        path = Path(path)
        refuse_replacing([path], self.read)
        check_target(path, force=force)
        write_atomically(path, self._rendered(path.suffix.lower(), _DPI))
        return path

    def default_path(self) -> Path:
        """Return the default path of the drawing: a PNG in the current folder."""
        stem = PurePosixPath(self.name.replace("\\", "/")).stem[:_LONGEST]
        return Path(f"{_UNSAFE.sub('_', stem) or 'image'}_{self.by}.png")

    def _rendered(self, suffix: str, dpi: float) -> bytes:
        content = BytesIO()
        metadata = {"Title": one_line(self.name), **_METADATA[suffix]}
        with page_style():
            self.figure.savefig(content, format=suffix[1:], dpi=dpi, metadata=metadata)
        return content.getvalue()


def check_target(path: Path, *, force: bool) -> None:
    """Raise OutputError for a file with another suffix, or one that would be replaced."""
    if path.suffix.lower() not in SUFFIXES:
        expected = ", ".join(SUFFIXES)
        raise OutputError(f"{path}: ends with {path.suffix or 'nothing'!r}; expected {expected}")
    if path.exists() and not force:
        raise OutputError(f"{path}: already exists; move it away, or give --force")
