"""Sizes of memory as people write them."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["Size", "memory_option"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes such as 2GB, 500 MB or 1GiB.

    Examples
    --------
    >>> Size().convert("2GB", None, None), Size().convert("1GiB", None, None)
    (2000000000, 1073741824)
    """

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        found = _SIZE.fullmatch(str(value).strip())
        if found is None:
            self.fail(
                f"{value!r} is no size; expected a number and a unit, such as 2GB", param, ctx
            )
        number, unit, binary = found.groups()
        factor = _UNITS[unit.upper()]
        if binary:
            factor = 1 << 10 * "KMGT".index(unit.upper()) + 10 if unit else 1
        size = int(float(number) * factor)
        if size == 0:
            self.fail(f"{value!r} is nothing to get by with; expected more than 0", param, ctx)
        return size


def memory_option(more: str = "") -> Callable[[_Command], _Command]:
    """Return the option that limits what is held in memory.

    Parameters
    ----------
    more : str
        Goes at the end of its help.
    """
    text = (
        "Memory to get by with, such as 2GB: what is read then goes to temporary files, and the "
        f"result is the same; files that need more are refused. Default no limit. {more}"
    )
    return click.option("--memory", type=Size(), metavar="SIZE", help=text.strip())
