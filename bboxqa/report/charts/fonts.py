"""Fonts for names in any script."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache

from bboxqa.core.text import count

_DEFAULT = "DejaVu Sans"
# A font with a box for every character, which helps nobody.
_NO_FONT = "Last Resort"
_FIRST = ("Noto Sans CJK", "Noto Sans", "Noto")
_IDEOGRAPHS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC")
_SHOWN = 3


@contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[str]:
    """Use fonts that can show `texts` inside the context; yield the characters that no font has.

    Fonts other than the default one are looked for only if they are needed.
    """
    import matplotlib as mpl
    from matplotlib import font_manager

    signs = {sign for text in texts for sign in text if sign.isprintable()}
    missing = signs - _signs(str(font_manager.findfont(_DEFAULT)))
    if not missing:
        yield ""
        return
    families, missing = families_of(missing, _installed())
    before = mpl.rcParams["font.family"]
    mpl.rcParams["font.family"] = [_DEFAULT, *families]
    try:
        yield "".join(sorted(missing))
    finally:
        mpl.rcParams["font.family"] = before


def families_of(missing: set[str], fonts: Iterable[tuple[str, str]]) -> tuple[list[str], set[str]]:
    """Return the families of fonts that have the characters, and characters that none has.

    `fonts` are families with the paths of their files; the first one with a character is used.
    """
    families = []
    for name, path in fonts:
        if not missing:
            break
        shown = missing & _signs(path)
        if shown:
            families.append(name)
            missing = missing - shown
    return families, missing


def missing_note(signs: str) -> str:
    """Return a note on characters that no font has, with the remedy.

    Examples
    --------
    >>> missing_note("日")
    'no font has 日, which is a box in PNG and PDF: install fonts-noto-cjk, or another font'
    """
    shown = list(signs[:_SHOWN])
    more = len(signs) - len(shown)
    if more:
        shown.append(count(more, "more sign"))
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    packages = " and ".join(sorted({_package(sign) for sign in signs}))
    which = "which PNG and PDF show as boxes" if len(signs) > 1 else "which is a box in PNG and PDF"
    return f"no font has {listed}, {which}: install {packages}, or another font"


def _package(sign: str) -> str:
    """Return the package of Debian and Ubuntu with a font that can be drawn."""
    name = unicodedata.name(sign, "")
    if name.startswith(_IDEOGRAPHS):
        return "fonts-noto-cjk"
    # Colour fonts hold bitmaps, which matplotlib does not draw.
    return "fonts-symbola" if unicodedata.category(sign) == "So" else "fonts-noto"


def _installed() -> Sequence[tuple[str, str]]:
    """Return the family and path of each font that can be drawn, large fonts first."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    # Matplotlib caches the list on disk; it may name fonts that no longer exist.
    for path in sorted({*font_manager.findSystemFonts()} - known):
        # A font that cannot be opened cannot draw; signs that no font has are noted below a chart.
        with suppress(OSError, RuntimeError):
            manager.addfont(path)
    found = {
        entry.name: entry.fname
        for entry in reversed(manager.ttflist)
        if entry.style == "normal" and not entry.name.startswith(_NO_FONT)
    }
    return sorted(found.items(), key=lambda each: (_rank(each[0]), each[0]))


def _rank(family: str) -> int:
    """Return the index of the first prefix that matches a family."""
    fitting = [place for place, begin in enumerate(_FIRST) if family.startswith(begin)]
    return min(fitting, default=len(_FIRST))


@cache
def _signs(path: str) -> frozenset[str]:
    """Return the characters of a font; none if it cannot be read."""
    from matplotlib import font_manager

    try:
        return frozenset(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()
