"""Pseudonyms for annotators, and the key file that maps names to them."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from secrets import SystemRandom
from typing import Any

from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.files import write_atomically

_FORM = re.compile(r"person-(\d+)")
_LETTER = re.compile(r"[^\W\d_]")
# Shorter names are likely to be ordinary words or symbols as well.
_SHORTEST = 3


def pseudonyms_of(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return a pseudonym for each name, and add the new ones to a file, the key.

    Pseudonyms already in the key stay the same. The key is written atomically and only its owner
    can read it. Raises ConfigError if the file is not a key, and OutputError if it cannot be
    written.
    """
    known = _read(path)
    new = sorted({*names} - known.keys())
    # Numbers in the order of names would reveal that order.
    SystemRandom().shuffle(new)
    used = [int(found[1]) for each in known.values() if (found := _FORM.fullmatch(each))]
    first = max(used, default=0) + 1
    known |= {name: f"person-{number:02d}" for number, name in enumerate(new, first)}
    if new:
        text = json.dumps(dict(sorted(known.items())), ensure_ascii=False, indent=2)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, f"{text}\n".encode("utf-8", "backslashreplace"), private=True)
    return known


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    if not path.is_file():
        raise ConfigError(f"{path}: is no regular file; expected a key of pseudonyms")
    try:
        found: dict[str, str] = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: cannot be read as a key of pseudonyms: {error}") from None
    is_key = isinstance(found, dict) and all(isinstance(each, str) for each in found.values())
    if not is_key or len({*found.values()}) < len(found):
        raise ConfigError(
            f"{path}: is not a key of pseudonyms; expected an object that maps each name to a "
            "pseudonym of its own; name another file to begin a new key"
        )
    return found


def check_key(path: Path, outputs: Iterable[Path | None]) -> None:
    """Refuse a key inside a folder of results, which is passed on to others."""
    for output in outputs:
        if output is not None and path.resolve().is_relative_to(output.resolve()):
            raise OutputError(
                f"{path}: the key of pseudonyms would be in {output}, which is passed on; name a "
                "file elsewhere"
            )


def without_names(value: Any, given: Mapping[str, str], *, any_case: bool = False) -> Any:
    """Return a JSON value with names replaced by pseudonyms, also inside longer texts.

    Inside texts, numbers and names of one or two characters stay, as they may mean something else.

    Parameters
    ----------
    value : object
    given : mapping of str to str
        The pseudonym of each name.
    any_case : bool
        Replace names in texts that people wrote, in upper or lower case; keys only as they are.

    Examples
    --------
    >>> without_names({"by": "ann", "note": ["seen by ann, 7"]}, {"ann": "p1", "7": "p2"})
    {'by': 'p1', 'note': ['seen by p1, 7']}
    >>> without_names(["Seen by Ann, not by Anna"], {"ann": "p1"}, any_case=True)
    ['Seen by p1, not by Anna']
    """
    exact = _replacer(given, re.NOFLAG)
    in_keys = partial(_text, given, exact)
    in_texts = partial(_text, given, _replacer(given, re.IGNORECASE)) if any_case else in_keys
    return _replaced(value, in_keys, in_texts)


def _replacer(given: Mapping[str, str], flags: re.RegexFlag) -> Callable[[str], str]:
    """Return a function that replaces names inside a text."""
    names = sorted(filter(is_telling, given), key=len, reverse=True)
    listed = "|".join(re.escape(name) for name in names)
    pattern = re.compile(rf"(?<!\w)(?:{listed})(?!\w)" if listed else r"(?!)", flags)

    @cache
    def pseudonym(found: str) -> str:
        if found in given:
            return given[found]
        return next(given[name] for name in names if re.fullmatch(re.escape(name), found, flags))

    return lambda text: pattern.sub(lambda found: pseudonym(found[0]), text)


def _text(given: Mapping[str, str], replace: Callable[[str], str], text: str) -> str:
    return given[text] if text in given else replace(text)


def is_telling(name: str) -> bool:
    """Return whether a name found inside a text is likely to be the name of a person.

    Examples
    --------
    >>> [is_telling(name) for name in ("ann", "ann@example.org", "7", "a1")]
    [True, True, False, False]
    """
    return len(name) >= _SHORTEST and _LETTER.search(name) is not None


def _replaced(value: Any, in_keys: Callable[[str], str], in_texts: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return in_texts(value)
    if isinstance(value, Mapping):
        return {
            in_keys(key) if isinstance(key, str) else key: _replaced(each, in_keys, in_texts)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_replaced(each, in_keys, in_texts) for each in value]
    return value
