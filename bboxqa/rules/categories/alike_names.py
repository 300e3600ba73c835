"""Names that look alike, and characters in names that are not seen."""

import unicodedata

# Letters of other alphabets, dashes and quotation marks, with the characters that they look like.
_LOOK_ALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜҮѴӀаеорсухѕіјһԁӏԛԝүѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧοօսɑɡ‐‑‒–—−’‘",
    "ABESIJKMHOPCTYXQWYVIaeopcyxsijhdlqwyvABEZHIKMNOPTYXoouag------''",
)
# Decompositions of letters that differ in width or font only.
_FORMS = ("<wide>", "<narrow>", "<font>")


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def appearance(name: str) -> str:
    """Return a name without zero-width characters, and with Latin letters for look-alikes."""
    plain = (
        unicodedata.normalize("NFKC", sign)
        if unicodedata.decomposition(sign).startswith(_FORMS)
        else sign
        for sign in name
    )
    text = unicodedata.normalize("NFC", "".join(plain)).translate(_LOOK_ALIKES)
    return _folded("".join(sign for sign in text if unicodedata.category(sign) != "Cf"))


def difference(name: str, other: str) -> str:
    """Return a phrase on how two names that look the same differ."""
    if _folded(name) == _folded(other):
        return "case or blanks"
    odd = sorted({sign for sign in name + other if not sign.isascii()} - (set(name) & set(other)))
    return f"look-alike or invisible characters ({', '.join(f'U+{ord(s):04X}' for s in odd)})"


def unseen_signs(name: str) -> set[str]:
    """Return the zero-width and control characters in a name, and blanks at its ends.

    Joiners and direction marks are meaningful next to emoji and in non-Latin scripts.
    """
    is_plain = all(
        sign.isascii() or unicodedata.name(sign, "").startswith("LATIN")
        for sign in name
        if unicodedata.category(sign)[0] in "LS"
    )
    odd = {sign for sign in name if unicodedata.category(sign) in ("Cf", "Cc")}
    odd |= {" "} if name != name.strip(" ") else set()
    return odd if is_plain else odd - set("\u200c\u200d\u200e\u200f")


def without_unseen(name: str) -> str:
    r"""Return a name without zero-width and control characters, and without blanks at its ends.

    Examples
    --------
    >>> without_unseen("c\u200bat\n"), without_unseen("a\tb")
    ('cat', 'a b')
    """
    unseen = unseen_signs(name)
    return "".join(
        sign if sign not in unseen else " " if sign.isspace() else "" for sign in name
    ).strip()
