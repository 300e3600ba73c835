"""Types that functions of several folders have in their signatures."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike

AnyPath = str | PathLike[str]
"""A path as text or as an object."""

Files = AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]
"""A file or folder, several of them, or the file of each annotator by name."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""

Steps = Callable[[int, int], None]
"""Called as ``steps(done, total)``."""
