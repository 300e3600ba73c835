"""Words for numbers and names that a user reads."""

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
# Punctuation that makes a name look like several names, or like the end of a sentence.
_BREAKS = re.compile('[,;:"]')
# Most characters of a name in a sentence.
_LONG = 100

# Control characters, marks of the direction of text, and invisible characters.
_CONTROL = (
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb]"
)
# The escapes that `clean` writes for them.
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4}))")
_DIGITS = re.compile("([0-9]+)")
_TYPED = 20
_LINE_ENDS = {ord("\n"): "\\n", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def clean(text: str) -> str:
    """Return text that is safe to print: control characters and lone surrogates are escaped."""
    if text.isprintable():
        return text
    shown = text.encode("utf-8", "backslashreplace").decode()
    return re.sub(_CONTROL, _escaped, shown)


def one_line(text: str) -> str:
    """Return text as `clean` does, with line ends escaped as well."""
    # Line ends are not printable.
    return text if text.isprintable() else clean(text).translate(_LINE_ENDS)


def as_written(shown: str) -> str:
    """Return the original of a text that `clean` has escaped."""
    return _ESCAPE.sub(_unescaped, shown)


def names_in_words(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as they stand in a sentence: long, blank or punctuated ones are quoted."""
    words = [_in_words(name) for name in names]
    shown = Counter(words)
    return tuple(
        f"{word} ({place})" if shown[word] > 1 else word for place, word in enumerate(words, 1)
    )


def _in_words(name: str) -> str:
    shown = one_line(name)
    if len(name) > _LONG:
        return f"'{one_line(name[: _LONG // 2])}…{one_line(name[-_LONG // 2 :])}'"
    return shown if shown == name and name.strip() and not _BREAKS.search(name) else f"'{shown}'"


def joined(parts: Sequence[str]) -> str:
    """Return parts of a sentence with commas and an "and"."""
    return " and ".join([part for part in (", ".join(parts[:-1]), *parts[-1:]) if part])


def typed_paths(paths: Sequence[object]) -> str:
    """Return the first paths as they are typed, with "…" if there are more."""
    typed = shlex.join(clean(str(each)) for each in paths[:_TYPED])
    return f"{typed} …" if len(paths) > _TYPED else typed


def first_few(items: Sequence[_Item], most: int, shown: Callable[[_Item], str] = str) -> str:
    """Return the first items with commas, as `shown`, and the number of the others."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(map(shown, items[:most])) + more


def such_as(number: int, example: str) -> str:
    """Return an example of several things in brackets, or the one thing that there is."""
    return f" ({'such as ' * (number > 1)}{example})"


def in_natural_order(names: Iterable[str]) -> list[str]:
    """Return names sorted as text, with the numbers in them compared as numbers."""

    def key(name: str) -> tuple[list[tuple[str, int, str]], str]:
        pieces = _DIGITS.split(name)
        # Without leading zeros, more digits mean a larger number.
        numbers = [digits.lstrip("0") for digits in (*pieces[1::2], "")]
        pairs = zip(pieces[::2], numbers, strict=True)
        # The name comes last, as 7 is not 007.
        return [(text, len(number), number) for text, number in pairs], name

    return sorted(names, key=key)


def alike(names: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each two different names that `clean` makes equal."""
    first: dict[str, str] = {}
    names = [*names]
    # Only names with a backslash can be escaped.
    for name in names if "\\" in clean("".join(names)) else ():
        shown = clean(name)
        if "\\" in shown and (before := first.setdefault(shown, name)) != name:
            yield f"{before!r} and {name!r} differ only in escaped characters; rename one of them"


def folded(name: str) -> str:
    """Return a name without differences of case, blanks, Unicode form and invisible characters."""
    visible = "".join(each for each in name if unicodedata.category(each) != "Cf")
    return " ".join(unicodedata.normalize("NFC", visible).split()).casefold()


def nearest(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean …?" with the most similar of the names; empty if none is similar."""
    from difflib import get_close_matches

    names = list(names)
    close = get_close_matches(name, names, 1) or [
        longer for longer in names if name and longer.startswith(name)
    ]
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_name(name: object, names: Sequence[str]) -> str:
    """Return the rest of a message about a name that is not among the expected names."""
    hint = nearest(name, names) if isinstance(name, str) else ""
    return f"is {name!r}; expected one of {', '.join(names)}{hint}"


def quoted(name: str) -> str:
    """Return a name in quotes for a message, shortened if it is long."""
    return _in_words(name) if len(name) > _LONG else repr(name)


def _unescaped(match: re.Match[str]) -> str:
    """Return the character of an escape, or the escape if `clean` does not write it."""
    sign = chr(int(match[1] or match[2], 16))
    return sign if clean(sign) == match[0] else match[0]


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


# Beginnings that spreadsheets take for a formula, also full-width ones; numbers are excepted.
_FORMULA = (
    r"(?i)(?!-?\Z|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\Z)[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]"
)


def guarded(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if re.match(_FORMULA, text.lstrip("'")) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if text[:1] == "'" and re.match(_FORMULA, text.lstrip("'")) else text
