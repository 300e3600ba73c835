"""Pseudonyms for annotators, and the key file that maps names to them."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from secrets import SystemRandom, token_hex
from typing import Any

from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.file_names import SPLIT
from bboxqa.core.files import write_atomically
from bboxqa.core.json_values import cut, pointer_to, shortened
from bboxqa.core.text import names_in_words, one_line

_FORM = re.compile(r"person-(\d+)")
_LETTER = re.compile(r"[^\W\d_]")
# Shorter names are likely to be ordinary words or symbols as well.
_SHORTEST = 3
_LEFT_OUT = re.compile(r"\b(?:file|folder|picture)s?\b[^()']* left out")
# Parentheses, maybe with others inside.
_EXAMPLE = re.compile(r" \((?:[^()]|\([^()]*\))*\)")
# Stands among the names of a key, for the identity of the key.
_THIS_KEY = "(this key)"
_SECONDS_TO_WAIT = 60


def pseudonyms_of(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the pseudonym of each name in a file, the key, after adding the missing ones.

    Pseudonyms already in the key stay the same. Data converted with the key may be read with it
    again: a name that is a pseudonym in the key stays, unless its person is among the names. The
    key is written atomically, only its owner can read it, and several processes may add names at
    the same time. Raises ConfigError if the file is not a key, and OutputError if it cannot be
    written.
    """
    wanted = {*names}
    known = _read(path)
    if _missing(wanted, known):
        with _locked(path):
            known = _read(path)
            known |= _numbered(_missing(wanted, known), known.values())
            _write(path, known)
    known.pop(_THIS_KEY, None)
    return {name: name for name in wanted - known.keys()} | known


def _missing(names: set[str], known: Mapping[str, str]) -> set[str]:
    """Return the names that have no pseudonym, and are none."""
    given = {known[name] for name in names & known.keys()}
    return names - known.keys() - ({*known.values()} - given)


def has_pseudonym(text: str) -> bool:
    """Return whether a text may have a pseudonym in it.

    Examples
    --------
    >>> has_pseudonym("jobs/person-03.xml"), has_pseudonym("jobs/person.xml")
    (True, False)
    """
    return _FORM.search(text) is not None


def identity_of_key(path: Path) -> str:
    """Return the identity of a key, which stays when names are added; a new key is begun."""
    known = _read(path)
    if _THIS_KEY not in known:
        with _locked(path):
            known = {_THIS_KEY: f"key-{token_hex(16)}"} | _read(path)
            _write(path, known)
    return known[_THIS_KEY]


def _numbered(names: Iterable[str], used: Iterable[str]) -> dict[str, str]:
    """Return new pseudonyms for names, with the numbers after those that are used."""
    new = sorted(names)
    # Numbers in the order of names would reveal that order.
    SystemRandom().shuffle(new)
    first = max((int(found[1]) for each in used if (found := _FORM.fullmatch(each))), default=0) + 1
    return {name: f"person-{number:02d}" for number, name in enumerate(new, first)}


def _write(path: Path, known: Mapping[str, str]) -> None:
    text = json.dumps(dict(sorted(known.items())), ensure_ascii=False, indent=2)
    write_atomically(path, f"{text}\n".encode("utf-8", "backslashreplace"), private=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing the key, as their names would be lost."""
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=_SECONDS_TO_WAIT)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise OutputError(f"{path}: another program has kept it locked for a minute") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


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


def spellings(given: Mapping[str, str]) -> dict[str, str]:
    """Return the pseudonyms of names and of all forms in which texts show these names.

    Texts escape signs that are not safe to print, and shorten long names.

    Examples
    --------
    >>> list(spellings({"Lee, Ann": "person-01"}))
    ['Lee, Ann', "'Lee, Ann'"]
    """
    forms = {
        form: given[name]
        for name in given
        for form in (
            one_line(name),
            *names_in_words([name]),
            shortened(name)[1:].removesuffix('"'),
            # As an id, and as a list or an object in place of a name.
            *(cut(one_line(name), length) for length in (40, 60)),
            pointer_to(name)[1:],
            # As in a command that the shell reads.
            name.replace("'", "'\"'\"'"),
        )
    }
    # The form of a name may be the name of somebody else, who has that pseudonym.
    return {**forms, **given}


def without_names(value: Any, given: Mapping[str, str], *, any_case: bool = False) -> Any:
    """Return a JSON value with names replaced by pseudonyms, also inside longer texts.

    Inside texts, numbers and names of one or two characters stay, as they may mean something else.
    A split may be joined to a name, as in train_ann.

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
    >>> without_names(["val2017_ann.json", "my_ann.json"], {"ann": "p1"})
    ['val2017_p1.json', 'my_ann.json']
    """
    exact = _replacer(given, re.NOFLAG)
    in_keys = partial(_text, given, exact)
    in_texts = partial(_text, given, _replacer(given, re.IGNORECASE)) if any_case else in_keys
    return _replaced(value, in_keys, in_texts)


def without_examples(notes: Iterable[str]) -> list[str]:
    """Return notes without examples of files that are left out, which may be named after others.

    Examples
    --------
    >>> without_examples(["1 file left out: no labels (such as bob_2.txt)", "1 box (such as 7)"])
    ['1 file left out: no labels', '1 box (such as 7)']
    """
    return [_EXAMPLE.sub("", note) if _LEFT_OUT.search(note) else note for note in notes]


def _replacer(given: Mapping[str, str], flags: re.RegexFlag) -> Callable[[str], str]:
    """Return a function that replaces names inside a text."""
    names = sorted(filter(is_telling, given), key=len, reverse=True)
    listed = "|".join(re.escape(name) for name in names)
    split = rf"(?i:{SPLIT})"
    around = rf"(?<!\w)((?:{split}_)?)({listed})(?=(?:_{split})?(?!\w))"
    pattern = re.compile(around if listed else r"(?!)", flags)

    @cache
    def pseudonym(found: str) -> str:
        if found in given:
            return given[found]
        return next(given[name] for name in names if re.fullmatch(re.escape(name), found, flags))

    return lambda text: pattern.sub(lambda found: found[1] + pseudonym(found[2]), text)


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
