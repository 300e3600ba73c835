"""Numbers in text, with four decimals, and in JSON, with null where they are undefined."""

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any


def decimal(value: float | None) -> str:
    """Return a number with four decimals, and zero without a sign; empty where undefined.

    Examples
    --------
    >>> decimal(2 / 3), decimal(-1e-9), decimal(None)
    ('0.6667', '0.0000', '')
    """
    return "" if value is None or isnan(value) else f"{value:z.4f}"


def interval_text(interval: Sequence[float] | None) -> str:
    """Return an interval in brackets; empty where undefined.

    Examples
    --------
    >>> interval_text((0.25, 0.75)), interval_text((float("nan"), 1))
    ('[0.2500, 0.7500]', '')
    """
    low, high = interval or (nan, nan)
    return "" if isnan(low) or isnan(high) else f"[{decimal(low)}, {decimal(high)}]"


def json_number(value: float) -> float | None:
    """Return a number for JSON; None where undefined."""
    return None if isnan(value) else float(value)


def json_interval(interval: Sequence[float]) -> list[float] | None:
    """Return the two ends of an interval for JSON; None where undefined."""
    low, high = interval
    return None if isnan(low) or isnan(high) else [float(low), float(high)]


def json_figure(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a figure of a row of a table for JSON, with its interval.

    Examples
    --------
    >>> json_figure({"f1": 0.5, "f1_low": None, "f1_high": None}, "f1")
    {'value': 0.5, 'interval': None}
    """
    bounds = [row[f"{name}_low"], row[f"{name}_high"]]
    return {"value": row[name], "interval": None if None in bounds else bounds}
