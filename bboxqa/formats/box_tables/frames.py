"""Tables in memory: pandas and polars data frames, pyarrow tables, lists of dicts."""

from collections.abc import Mapping
from math import isinf
from typing import Any

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.formats.box_tables.columns import columns_of
from bboxqa.formats.tables.rows import NAMED_ONCE, repeated_name
from bboxqa.model.choices import Choices

_SAY = 'Say what its columns hold: with bboxqa.reading(columns={"image": NAME, "x": NAME, …}):'


def rows_in(source: object, choices: Choices) -> list[dict[str, Any]] | None:
    """Return the rows of a table; None if the value is not a table.

    Examples
    --------
    >>> from bboxqa.model.choices import NO_CHOICES
    >>> rows_in([{"image": "a.jpg", "x": 1}], NO_CHOICES), rows_in(["a.json"], NO_CHOICES)
    ([{'image': 'a.jpg', 'x': 1}], None)
    """
    if isinstance(source, list | tuple):
        is_table = bool(source) and all(isinstance(each, Mapping) for each in source)
        return [dict(each) for each in source] if is_table else None
    # The methods of polars, pyarrow, Hugging Face and pandas, none of which has to be installed.
    named = (("to_dicts", ()), ("to_pylist", ()), ("to_list", ()), ("to_dict", ("records",)))
    for name, arguments in named:
        if hasattr(source, "shape") and hasattr(source, name):
            _refuse_repeated(source, choices)
            found: list[dict[str, Any]] = getattr(source, name)(*arguments)
            return found
    return None


def _refuse_repeated(frame: Any, choices: Choices) -> None:
    """Refuse a frame with several columns of a name that is used: rows would have the last one."""
    names = getattr(frame, "column_names", None) or [*getattr(frame, "columns", ())]
    header = [str(name) for name in names]
    used = [*columns_of(header, choices.columns).of.values()]
    if problem := repeated_name(header, used):
        raise DatasetError([f"the table {problem}"], NAMED_ONCE)


def table_bytes(rows: list[dict[str, Any]], choices: Choices) -> bytes:
    """Return rows as JSON lines; raises DatasetError if no columns hold boxes."""
    header = list(dict.fromkeys(str(name) for row in rows for name in row))
    problem = columns_of(header, choices.columns).problem if rows else "no rows"
    if problem:
        raise DatasetError([f"the table has {problem}"], _SAY)
    encoder = msgspec.json.Encoder(enc_hook=_plain)
    # The first row gets all columns, since readers take the header from it.
    empty = dict.fromkeys(header)
    lines = (
        encoder.encode({**empty, **{str(k): _cell(v) for k, v in row.items()}}) for row in rows
    )
    try:
        return b"\n".join(lines) + b"\n"
    except (UnicodeEncodeError, RecursionError) as error:
        raise DatasetError([f"the table holds a value that JSON cannot hold: {error}"]) from None


def _cell(value: Any) -> Any:
    """Return a value; infinity as text, as JSON would have it as a missing value."""
    return str(float(value)) if isinstance(value, float) and isinf(value) else value


def _plain(value: Any) -> Any:
    """Convert a numpy or pandas value to one that JSON can hold."""
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    for name in ("tolist", "item", "isoformat"):
        if hasattr(value, name):
            return _cell(getattr(value, name)())
    # Pillow images become their file name; `Decimal` and others become text.
    return getattr(value, "filename", None) or str(value)
