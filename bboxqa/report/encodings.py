"""Values as cells and rows of CSV, and as readable JSON."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from bboxqa.core.text import guarded, one_line
from bboxqa.model.settings import AgreeSettings, ValidateSettings

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
