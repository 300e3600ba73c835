"""Figures: single numbers with their interval, or with the reason why there is none."""

from dataclasses import dataclass
from math import isnan, nan

Interval = tuple[float, float]
NONE: Interval = (nan, nan)
"""The bounds of an interval that is not known."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that is shown. Text, page and JSON render the same list of figures.

    Attributes
    ----------
    name : str
        The name of the number in JSON and in tables, such as "alpha" or "f1".
    value : float
        NaN where undefined or without meaning.
    interval : tuple of float
        The bounds of its 95 % interval; NaN where there is none.
    reason : str
        Why there is no value, or a caution for who reads it; "" where there is nothing to say.
    n : int, optional
        How many units, pairs or images it is computed from, where that is shown.

    Examples
    --------
    >>> Figure("f1", 0.5, (0.25, 0.75)).is_known, Figure("alpha", reason="one category").is_known
    (True, False)
    """

    name: str
    value: float = nan
    interval: Interval = NONE
    reason: str = ""
    n: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return not isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return not (isnan(self.interval[0]) or isnan(self.interval[1]))
