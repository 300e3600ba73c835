"""Formats by name; a new one is a module of its own and one line here."""

from collections.abc import Iterator
from pathlib import Path

from bboxqa.core.plugins import plugins
from bboxqa.formats.coco.strict import COCO
from bboxqa.formats.format import Format

GROUP = "bboxqa.formats"
"""Entry points of this group are the formats of other packages, by name."""

FORMATS: dict[str, Format] = {
    "coco": COCO,
}


def names() -> tuple[str, ...]:
    """Return the names of all formats, those of other packages last.

    Examples
    --------
    >>> names()
    ('coco',)
    """
    return tuple(dict.fromkeys((*FORMATS, *plugins(GROUP))))


def format_of(path: Path) -> Format:
    """Return the format of a file; COCO where no format recognises it.

    Packages are asked only about a file that no built-in format recognises. Raises ConfigError if a
    package that offers a format is broken, or its format has the name of a built-in one.
    """
    if not path.is_file():
        return COCO
    for each in FORMATS.values():
        if each.recognises(path):
            return each
    return next((each for each in _added() if each.recognises(path)), COCO)


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all formats, without repetition.

    Raises ConfigError if a package that offers a format is broken, or its format has the name of a
    built-in one.
    """
    formats = (*FORMATS.values(), *_added())
    return tuple(dict.fromkeys(suffix for each in formats for suffix in each.suffixes))


def _added() -> Iterator[Format]:
    for name, plugin in plugins(GROUP).items():
        if name in FORMATS:
            plugin.refuse_built_in()
        yield plugin.load(Format)
