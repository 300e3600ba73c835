"""Values as readable JSON."""

import json
from typing import Any

import msgspec


def json_text(value: Any) -> str:
    """Return a value as indented JSON, with a line end.

    Names that are not UTF-8 are written as their escapes.
    """
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return f"{text}\n"
