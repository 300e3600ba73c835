"""Numbers and names as text, pages, charts, JSON and CSV show them."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any
from unicodedata import bidirectional

import msgspec

from bboxqa.core.text import guarded, one_line
from bboxqa.model.settings import AgreeSettings, ValidateSettings

THE_OTHERS = "the others"
"""What several other annotators are called."""
MINUS = "\N{MINUS SIGN}"
_IOU = ("bbox", "obb", "polygon", "mask", "pixel", "raster")


def measure_of(similarity: str) -> str:
    """Return the name of a similarity's values in text and on pages.

    Examples
    --------
    >>> measure_of("polygon"), measure_of("keypoints"), measure_of("centroid")
    ('IoU', 'OKS', 'centroid')
    """
    if similarity in _IOU:
        return "IoU"
    return "OKS" if similarity == "keypoints" else similarity


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


def estimate_text(value: float, interval: Sequence[float] = (nan, nan)) -> str:
    """Return a number of text with its interval, if it has one; a dash where undefined.

    Examples
    --------
    >>> estimate_text(0.5, (0.25, 0.75)), estimate_text(nan)
    ('0.50 [0.25, 0.75]', '–')
    """
    if isnan(value):
        return "–"
    low, high = interval
    return (
        f"{value:z.2f}" if isnan(low) or isnan(high) else f"{value:z.2f} [{low:z.2f}, {high:z.2f}]"
    )


def difference_text(value: float) -> str:
    """Return a difference with its sign; a dash where undefined."""
    return "–" if isnan(value) else f"{value:+z.4f}"


def json_number(value: float) -> float | None:
    """Return a number for JSON; None where undefined."""
    return None if isnan(value) else float(value)


def json_interval(interval: Sequence[float]) -> list[float] | None:
    """Return the two ends of an interval for JSON; None where undefined."""
    low, high = interval
    return None if isnan(low) or isnan(high) else [float(low), float(high)]


def picked(value: object, *names: str) -> dict[str, Any]:
    """Return attributes for JSON: numbers that are not known are None, pairs are intervals.

    Examples
    --------
    >>> from bboxqa.model.ratings import Estimate
    >>> picked(Estimate(0.5), "value", "interval", "status")
    {'value': 0.5, 'interval': None, 'status': 'ok'}
    """
    return {name: _plain(getattr(value, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    is_pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], float)
    return json_interval(value) if is_pair else value


def json_figure(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a figure of a row of a table for JSON, with its interval.

    Examples
    --------
    >>> json_figure({"f1": 0.5, "f1_low": None, "f1_high": None}, "f1")
    {'value': 0.5, 'interval': None}
    """
    bounds = [row[f"{name}_low"], row[f"{name}_high"]]
    return {"value": row[name], "interval": None if None in bounds else bounds}


def number(value: float | None, digits: int = 2) -> str:
    """Return a number for a page or a chart; a dash for None.

    Examples
    --------
    >>> number(0.98765), number(None), number(1234), number(-0.001), number(-0.5)
    ('0.99', '–', '1,234', '0.00', '−0.50')
    """
    if value is None:
        return "–"
    text = f"{value:,}" if isinstance(value, int) else f"{value:z,.{digits}f}"
    return text.replace("-", MINUS)


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share for a page.

    Examples
    --------
    >>> percent(0.256), percent(None)
    ('25.6 %', '–')
    """
    return "–" if value is None else f"{number(100 * value, digits)} %"


def signed(value: float | None, digits: int = 1) -> str:
    """Return a number with its sign; zero has none.

    Examples
    --------
    >>> signed(5.04), signed(-0.01), signed(None)
    ('+5.0', '0.0', '–')
    """
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def interval(bounds: Sequence[float] | None, digits: int = 2) -> str:
    """Return the bounds of an interval in brackets; "" for None.

    Examples
    --------
    >>> interval([0.12, 0.345]), interval(None)
    ('[0.12, 0.34]', '')
    """
    return "" if bounds is None else f"[{number(bounds[0], digits)}, {number(bounds[1], digits)}]"


def figure_text(figure: Mapping[str, Any]) -> str:
    """Return the value of a figure in JSON, and its interval if there is one.

    Examples
    --------
    >>> figure_text({"value": 0.8038, "interval": [0.7677, 0.8383]})
    '0.80 [0.77, 0.84]'
    """
    return f"{number(figure['value'])} {interval(figure['interval'])}".rstrip()


def short_name(name: str, most: int = 28) -> str:
    """Return a name on one line, with its middle cut out if it is longer than `most` characters.

    Examples
    --------
    >>> short_name("a_very_long_name_of_a_category", 15)
    'a_very_…ategory'
    """
    line = one_line(name)
    if len(line) <= most:
        return line
    end = (most - 1) // 2
    return f"{line[: most - 1 - end]}…{line[-end:]}"


def set_apart(name: str) -> str:
    r"""Return a name isolated from the direction of the surrounding text, if it is right-to-left.

    Invisible characters isolate it (UAX 9).

    Examples
    --------
    >>> set_apart("ann"), set_apart("\u05d3\u05e0\u05d4") == "\u2068\u05d3\u05e0\u05d4\u2069"
    ('ann', True)
    """
    if all(bidirectional(sign) not in ("R", "AL", "AN") for sign in name):
        return name
    return f"\u2068{name}\u2069"


def others_of(name: str, every: Collection[str]) -> str:
    """Return what the annotators beside one are called: a single one by name.

    Examples
    --------
    >>> others_of("ann", ["ann", "bob"]), others_of("ann", ["ann", "bob", "eve"])
    ('bob', 'the others')
    """
    others = [each for each in every if each != name]
    return set_apart(short_name(others[0])) if len(others) == 1 else THE_OTHERS


def part_of(shown: int, total: int, noun: str) -> str:
    """Return how many of all items are shown, in words; empty if all are.

    Examples
    --------
    >>> part_of(30, 1203, "categories"), part_of(5, 5, "categories")
    ('30 of 1,203 categories', '')
    """
    return "" if shown == total else f"{shown:,} of {total:,} {noun}"


_TO_QUOTE = re.compile('[,"\r\n]')


def csv_cell(text: str, *, raw: bool = False) -> str:
    r"""Return a text as a cell, quoted as RFC 4180 requires.

    Unless `raw`, a text that a spreadsheet would run as a formula gets a leading apostrophe.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("=1+1", raw=True), csv_cell("-5"), csv_cell("a,b")
    ("'=1+1", '=1+1', '-5', '"a,b"')
    """
    if not raw:
        text = guarded(text)
    return '"{}"'.format(text.replace('"', '""')) if _TO_QUOTE.search(text) else text


def csv_row(values: Iterable[object], *, raw: bool = False) -> str:
    r"""Return values as a row with its end; None is an empty cell.

    Examples
    --------
    >>> csv_row(["@cat", 0.5, None])
    "'@cat,0.5,\n"
    """
    cells = (
        csv_cell(value, raw=raw) if isinstance(value, str) else "" if value is None else str(value)
        for value in values
    )
    return ",".join(cells) + "\n"


def csv_line(values: Iterable[object], *, raw: bool = False) -> str:
    r"""Return values like `csv_row`, but on one line: line ends in texts are escaped.

    Examples
    --------
    >>> print(csv_line(["two\nlines", 1]), end="")
    two\nlines,1
    """
    shown = (one_line(value) if isinstance(value, str) else value for value in values)
    return csv_row(shown, raw=raw)


def in_json(settings: AgreeSettings | ValidateSettings) -> dict[str, Any]:
    """Return settings as they are in a JSON file: lists instead of tuples."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings))
    return found


def json_text(value: Any) -> str:
    """Return a value as indented JSON, with a line end.

    Names that are not UTF-8 are written as their escapes.
    """
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return f"{text}\n"
