"""Types that functions of several folders have in their signatures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol

AnyPath = str | PathLike[str]
"""A path as text or as an object."""

Files = AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]
"""A file or folder, several of them, or the file of each annotator by name."""


class Frame(Protocol):
    """A frame of pandas or polars, a table of pyarrow, or a data set of Hugging Face."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""


class Samples(Protocol):
    """A data set of FiftyOne."""

    def iter_samples(self) -> Iterator[Any]:
        """Return the samples."""


Rows = Sequence[Mapping[str, Any]] | Frame
"""A table in memory."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""

Steps = Callable[[int, int], None]
"""Called as ``steps(done, total)``."""
