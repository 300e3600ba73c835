"""Types that functions of several folders have in their signatures."""

from collections.abc import Callable
from os import PathLike

__all__ = ["AnyPath", "Progress", "Steps"]

AnyPath = str | PathLike[str]
"""A path as text or as an object."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""

Steps = Callable[[int, int], None]
"""Called as ``steps(done, total)``."""
