"""Pseudonyms for annotators, and the key file that maps names to them."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from secrets import SystemRandom, token_hex
from typing import Any

from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.files import locked, write_atomically
from bboxqa.core.json_values import cut, pointer_to, shortened
from bboxqa.core.text import names_in_words, one_line

_FORM = re.compile(r"person-(\d+)")
# Names of annotators that do not stand for people.
_NOBODY = re.compile(r"\(not named(?: \d+)?\)|ground truth")
_LETTER = re.compile(r"[^\W\d_]")
# Shorter names are likely to be ordinary words or symbols as well.
_SHORTEST = 3
# The lengths to which messages shorten ids, and lists and objects in place of a name.
_CUTS = 40, 60
# Stands among the names of a key, for the identity of the key.
_THIS_KEY = "(this key)"
_SECONDS_TO_WAIT = 60


def pseudonyms_of(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the pseudonym of each name in a file, the key, after adding the missing ones.

    Data converted with the key may be read with it again: a name that is a pseudonym in the key
    stays, unless its person is among the names.
    """
    wanted = {name for name in names if not _NOBODY.fullmatch(name)}

    def missing(known: Mapping[str, str]) -> dict[str, str]:
        given = {known[name] for name in wanted & known.keys()}
        # Numbers in the order of names would reveal that order.
        new = sorted(wanted - known.keys() - ({*known.values()} - given))
        SystemRandom().shuffle(new)
        used = (int(found[1]) for each in known.values() if (found := _FORM.fullmatch(each)))
        first = max(used, default=0) + 1
        return {name: f"person-{number:02d}" for number, name in enumerate(new, first)}

    known = _with(path, missing)
    known.pop(_THIS_KEY, None)
    return {name: name for name in wanted - known.keys()} | known


def identity_of_key(path: Path) -> str:
    """Return the identity of a key, which stays when names are added; a new key is begun."""
    new = {_THIS_KEY: f"key-{token_hex(16)}"}
    return _with(path, lambda known: {} if _THIS_KEY in known else new)[_THIS_KEY]


def _with(path: Path, missing: Callable[[Mapping[str, str]], dict[str, str]]) -> dict[str, str]:
    """Return the names in a key, after adding those that it is `missing`."""
    known = _read(path)
    if missing(known):
        # Without it, names that other processes add would be lost.
        busy = "another program has kept it locked for a minute"
        with locked(path.with_name(f".{path.name}.lock"), path, busy, _SECONDS_TO_WAIT):
            known = _read(path)
            known |= missing(known)
            text = json.dumps(dict(sorted(known.items())), ensure_ascii=False, indent=2)
            write_atomically(path, f"{text}\n".encode("utf-8", "backslashreplace"), private=True)
    return known


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    if not path.is_file():
        raise ConfigError(f"{path}: is no regular file; expected a key of pseudonyms")
    try:
        found: dict[str, str] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
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


def hider(given: Mapping[str, str]) -> Callable[[Any], Any]:
    """Return a function that replaces names by pseudonyms in a JSON value, also inside of texts.

    Keys are replaced as a whole only. Inside texts, numbers and names of one or two characters
    stay, as they may mean something else.

    Examples
    --------
    >>> hider({"ann": "p1", "7": "p2"})({"by": "ann", "note": ["seen by ann, not by anna or 7"]})
    {'by': 'p1', 'note': ['seen by p1, not by anna or 7']}
    >>> hider({"Lee, Ann": "p1"})("in/train_Lee, Ann.json")
    'in/train_p1.json'
    """
    # The form of a name may be the name of somebody else, who has that pseudonym.
    known = {form: given[name] for name in given for form in _forms(name)} | dict(given)
    # Others found inside a text are not likely to be names of people.
    telling = (each for each in known if len(each) >= _SHORTEST and _LETTER.search(each))
    listed = "|".join(map(re.escape, sorted(telling, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W_])(?:{listed})(?![^\W_])" if listed else r"(?!)")

    def hide(value: Any) -> Any:
        if isinstance(value, str):
            return known.get(value) or pattern.sub(lambda found: known[found[0]], value)
        if isinstance(value, Mapping):
            return {known.get(key, key): hide(each) for key, each in value.items()}
        if isinstance(value, list):
            return [*map(hide, value)]
        return tuple(map(hide, value)) if isinstance(value, tuple) else value

    return hide


def _forms(name: str) -> set[str]:
    """Return the forms in which texts show a name: escaped, quoted for a shell, or shortened."""
    shown = one_line(name)
    cuts = {cut(shown, length) for length in _CUTS}
    quoted = {name.replace("'", "'\"'\"'"), *names_in_words([name]), pointer_to(name)[1:]}
    return {shown, *cuts, *quoted, shortened(name)[1:].removesuffix('"')}
