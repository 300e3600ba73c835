"""Types used in the signatures of several folders."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol

AnyPath = str | PathLike[str]
"""A path as a string or a path object."""

Files = AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath | Sequence[AnyPath]]
"""A file or folder, several of them, or a mapping from annotators to one or several."""


class Frame(Protocol):
    """A pandas or polars data frame, a pyarrow table, or a Hugging Face data set."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""


Rows = Sequence[Mapping[str, Any]] | Frame
"""A table in memory."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""

Steps = Callable[[int, int], None]
"""Called as ``steps(done, total)``."""
