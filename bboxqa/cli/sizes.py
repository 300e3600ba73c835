"""Sizes of memory as people write them."""

import re
from typing import Any

import click

__all__ = ["Size"]

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
        return int(float(number) * factor)
