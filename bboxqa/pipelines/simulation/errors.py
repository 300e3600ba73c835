"""The errors of simulated annotators, and the parser of their settings."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from bboxqa.core.arrays import FloatArray
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import nearest, unknown_name

_RATE = "a rate from 0 to 1, such as 0.1"
FORMS = {
    "miss": _RATE,
    "extra": _RATE,
    "confuse": "a rate from 0 to 1, such as 0.1, or two categories and a rate: cow/sheep:0.2",
    "jitter": "pixels or percent of a side, such as 2 or 3%",
    "scale": "a factor from 0.1 to 10, such as 1.1",
    "offset": "pixels or percent of a side, to the right and down, such as 5,0 or 10%,-5%",
    "split": _RATE,
    "merge": _RATE,
    "duplicate": _RATE,
    "copy": "another annotator and a share of the images, such as p01:0.3",
}
"""The errors that an annotator can have, and how each is written."""


@dataclass(frozen=True, slots=True)
class Length:
    """A length in pixels, or as a share of the side along which it is measured."""

    amount: float = 0.0
    is_share: bool = False

    def along(self, sides: FloatArray) -> FloatArray:
        """Return the length in pixels for each side."""
        return self.amount * (sides if self.is_share else 1.0 + 0.0 * sides)


@dataclass(frozen=True, slots=True)
class AnnotatorErrors:
    """Rates and sizes of the errors of an annotator; by default there are none.

    `FORMS` says what each means.
    """

    miss: float = 0.0
    extra: float = 0.0
    confuse: float = 0.0
    swaps: tuple[tuple[str, str, float], ...] = ()
    jitter: Length = Length()
    scale: float = 1.0
    offset: tuple[Length, Length] = (Length(), Length())
    split: float = 0.0
    merge: float = 0.0
    duplicate: float = 0.0
    copy: tuple[str, float] | None = None


Settings = Mapping[str, "str | Mapping[str, Any]"] | Sequence[str]
"""Errors by name or pattern of annotators, or texts such as ``"p03: miss=0.1 offset=5,0"``."""


def errors_by_annotator(
    settings: Iterable[Settings], annotators: Sequence[str], categories: Sequence[str]
) -> dict[str, AnnotatorErrors]:
    """Return the errors of each annotator; a later setting replaces an earlier one.

    Raises ConfigError, which names the allowed forms, if a setting is not understood.

    Examples
    --------
    >>> settings = [{"p*": {"miss": 0.1}}, ["p2: miss=0.3 offset=5,0"]]
    >>> found = errors_by_annotator(settings, ["p1", "p2"], ["cow"])
    >>> [errors.miss for errors in found.values()]
    [0.1, 0.3]
    """
    merged: dict[str, dict[str, list[str]]] = {name: {} for name in annotators}
    for each in settings:
        for name, table in each.items() if isinstance(each, Mapping) else map(_named, each):
            matching = [other for other in annotators if other == name or fnmatchcase(other, name)]
            if not matching:
                raise ConfigError(f"annotator {unknown_name(name, annotators)}")
            items = _items(name, table)
            for other in matching:
                merged[other] |= items
    return {name: _errors(name, items, annotators, categories) for name, items in merged.items()}


def _named(text: str) -> tuple[str, str]:
    name, colon, words = text.partition(":")
    if not colon:
        raise ConfigError(
            f"annotator {text!r}: expected a name and errors, such as 'p03: miss=0.1'"
        )
    return name.strip(), words


def _items(who: str, table: str | Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the texts of each error; `confuse` may have several."""
    items: dict[str, list[str]] = {}
    if isinstance(table, Mapping):
        for key, value in table.items():
            listed = value if isinstance(value, list | tuple) else [value]
            texts = [str(each) for each in listed]
            items[key] = texts if key == "confuse" else [",".join(texts)]
        return items
    if not isinstance(table, str):
        raise ConfigError(f"{who} is {table!r}; expected a table of errors")
    try:
        words = shlex.split(table)
    except ValueError as error:
        raise ConfigError(f"{who}: {table.strip()!r} cannot be read: {error}") from None
    for word in words:
        key, sign, value = word.partition("=")
        if not sign:
            raise ConfigError(f"{who}: {word!r} has no value; expected, for example, miss=0.1")
        items.setdefault(key, []).append(value)
    return items


def _errors(
    who: str,
    items: Mapping[str, Sequence[str]],
    annotators: Sequence[str],
    categories: Sequence[str],
) -> AnnotatorErrors:
    values: dict[str, Any] = {}
    for key, texts in items.items():
        if key not in FORMS:
            expected = nearest(key, FORMS) or f"; expected one of {', '.join(FORMS)}"
            raise ConfigError(f"{who}: no error is called {key!r}{expected}")
        if len(texts) > 1 and key != "confuse":
            raise ConfigError(f"{who}: {key} is given twice")
        for text in texts:
            try:
                if key == "confuse" and "/" in text:
                    values["swaps"] = (*values.get("swaps", ()), _swap(who, text, categories))
                elif key == "copy":
                    name, _, share = text.rpartition(":")
                    others = [other for other in annotators if other != who]
                    if name not in others:
                        raise ConfigError(f"{who}: copy {unknown_name(name, others)}")
                    values[key] = name, _number(share)
                else:
                    values[key] = _parsed(key, text)
            except ValueError:
                raise ConfigError(f"{who}: {key} is {text!r}; expected {FORMS[key]}") from None
    if "confuse" in values and len(categories) < 2:
        raise ConfigError(f"{who}: confuse needs two categories; there is one")
    return AnnotatorErrors(**values)


def _parsed(key: str, text: str) -> Any:
    """Return the value of an error; raises ValueError."""
    if key == "offset":
        right, down = text.split(",")
        return _length(right), _length(down)
    if key == "jitter":
        return _length(text, 0.0)
    return _number(text, 0.1, 10.0) if key == "scale" else _number(text)


def _number(text: str, lowest: float = 0.0, highest: float = 1.0) -> float:
    value = float(text)
    if not lowest <= value <= highest:
        raise ValueError(text)
    return value


def _length(text: str, lowest: float = -1e6) -> Length:
    text = text.strip()
    value = _number(text.removesuffix("%"), lowest, 1e6)
    return Length(value / 100, is_share=True) if text.endswith("%") else Length(value)


def _swap(who: str, text: str, categories: Sequence[str]) -> tuple[str, str, float]:
    names, _, rate = text.rpartition(":")
    # Names of categories may have a slash themselves.
    parts = names.split("/")
    for place in range(1, len(parts)):
        first, second = "/".join(parts[:place]), "/".join(parts[place:])
        if first in categories and second in categories and first != second:
            return first, second, _number(rate)
    unknown = next((name for name in parts if name not in categories), None)
    if not unknown:
        raise ValueError(text)
    hint = nearest(unknown, categories) or f"; expected one of {', '.join(categories[:10])}"
    raise ConfigError(f"{who}: no category is called {unknown!r}{hint}")
