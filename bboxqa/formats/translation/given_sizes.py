"""Sizes of images that the user gives: one for all, or one for each by its name."""

from collections.abc import Iterator, Mapping

from bboxqa.formats.translation.choices import GivenSize, choices
from bboxqa.formats.translation.picture_sizes import is_picture

# It begins what is a name as it was given, and no part of one.
_WHOLE = "/"


def given_size(name: str) -> tuple[int, int] | None:
    """Return the size that the user gives for an image; None without one.

    Of sizes by name, that of the image whose path is the same, or whose path ends as the other one
    does, with or without suffix. Where images of several sizes end so, there is none.
    """
    given = choices().image_size
    if given is None or isinstance(given, tuple):
        return given
    return _found(given, name) or _found(given, _without_suffix(_plain(name)))


def given_words() -> str:
    """Return what the user gives as sizes, for a note."""
    given = choices().image_size
    return (
        f"{given[0]} × {given[1]} pixels, as given"
        if isinstance(given, tuple)
        else "sizes as given"
    )


def by_ends(sizes: Mapping[str, tuple[int, int]]) -> dict[str, GivenSize]:
    """Return sizes by all ends of the paths of images; None where images differ.

    Examples
    --------
    >>> sizes = by_ends({"day/a.jpg": (64, 48), "night/a.jpg": (32, 24)})
    >>> sizes["day/a"], sizes["a.jpg"]
    ((64, 48), None)
    """
    found: dict[str, GivenSize] = {}
    for name, size in sizes.items():
        plain = _plain(name)
        for path in {plain, _without_suffix(plain)}:
            for end in (_WHOLE + path, *_ends(path)):
                found[end] = size if found.get(end, size) == size else None
    return found


def _found(given: Mapping[str, GivenSize], name: str) -> GivenSize:
    plain = _plain(name)
    if plain in given:
        return given[plain]
    # The user may give names without folders.
    return next((given[_WHOLE + end] for end in _ends(plain) if _WHOLE + end in given), None)


def _ends(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[first:]) for first in range(len(parts)))


def _plain(name: str) -> str:
    return name.replace("\\", "/").removeprefix("./").strip("/")


def _without_suffix(path: str) -> str:
    return path.rpartition(".")[0] if is_picture(path) else path
