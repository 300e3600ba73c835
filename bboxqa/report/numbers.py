"""Numbers and names as text, pages, charts, JSON and CSV show them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

import msgspec

from bboxqa.core.text import guarded, one_line
from bboxqa.model.settings import AgreeSettings, ValidateSettings

MINUS = "\N{MINUS SIGN}"
_MEASURES = dict.fromkeys(("bbox", "obb", "polygon", "mask", "pixel", "raster"), "IoU")


def measure_of(similarity: str) -> str:
    """Return the name of a similarity's values in text and on pages, such as "IoU"."""
    return (_MEASURES | {"keypoints": "OKS"}).get(similarity, similarity)


def decimal(value: float | None, digits: int = 4) -> str:
    """Return a number with so many decimals, and zero without a sign; empty where undefined."""
    return "" if value is None or isnan(value) else f"{value:z.{digits}f}"


def interval_text(interval: Sequence[float] | None, digits: int = 4) -> str:
    """Return an interval in brackets; empty where undefined."""
    low, high = (decimal(end, digits) for end in interval or (None, None))
    return f"[{low}, {high}]" if low and high else ""


def estimate_text(value: float | None, interval: Sequence[float] | None = None) -> str:
    """Return a number with its interval, if it has one; a dash where undefined."""
    return f"{decimal(value, 2) or '–'} {interval_text(interval, 2)}".rstrip()


def figure_text(figure: Mapping[str, Any]) -> str:
    """Return the value of a figure in JSON with its interval, as a page shows it."""
    return estimate_text(figure["value"], figure["interval"]).replace("-", MINUS)


def difference_text(value: float) -> str:
    """Return a difference with its sign; a dash where undefined."""
    return "–" if isnan(value) else f"{value:+z.4f}"


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
    """Return a share for a page, such as "12.3 %"."""
    return "–" if value is None else f"{number(100 * value, digits)} %"


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign."""
    return f"{value:+,.{digits}f}".replace("-", MINUS)


def json_value(value: Any) -> Any:
    """Return a value for JSON: a number or a pair of numbers that is not known is None."""
    if isinstance(value, float):
        return None if isnan(value) else float(value)
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], float):
        return None if any(map(isnan, value)) else [*map(float, value)]
    return value


def picked(value: object, *names: str) -> dict[str, Any]:
    """Return attributes for JSON, as `json_value` does."""
    return {name: json_value(getattr(value, name)) for name in names}


def json_figure(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a figure of a row of a table for JSON, with its interval."""
    bounds = [row[f"{name}_low"], row[f"{name}_high"]]
    return {"value": row[name], "interval": None if None in bounds else bounds}


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


def part_of(shown: int, total: int, noun: str) -> str:
    """Return how many of all items are shown, as "30 of 1,203 categories"; empty if all are."""
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
    """Return values as a row with its end; None is an empty cell."""
    texts = (
        (v, raw) if isinstance(v, str) else ("" if v is None else str(v), True) for v in values
    )
    return ",".join(csv_cell(text, raw=is_raw) for text, is_raw in texts) + "\n"


def csv_line(values: Iterable[object], *, raw: bool = False) -> str:
    """Return values like `csv_row`, but on one line: line ends in texts are escaped."""
    return csv_row((one_line(v) if isinstance(v, str) else v for v in values), raw=raw)


def in_json(settings: AgreeSettings | ValidateSettings) -> dict[str, Any]:
    """Return settings as they are in a JSON file: lists instead of tuples."""
    return dict(msgspec.json.decode(msgspec.json.encode(settings)))


def json_text(value: Any) -> str:
    """Return a value as indented JSON, with a line end."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return f"{text}\n"
