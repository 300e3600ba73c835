"""Looking up image sizes that the user supplies, one for all images or one per image."""

from collections.abc import Iterator, Mapping

from bboxqa.formats.choices import GivenSize, choices
from bboxqa.formats.translation.picture_sizes import is_picture

# Prefix of complete names, to distinguish them from ends of names.
_WHOLE = "/"


def given_size(name: str) -> tuple[int, int] | None:
    """Return the size that the user supplied for an image; None if there is none.

    With sizes by name, the size of the image with the same path is returned, or else of an image
    for which one path is the end of the other, with or without suffix. None if such images have
    different sizes.
    """
    given = choices().image_size
    if given is None or isinstance(given, tuple):
        return given
    return _found(given, name) or _found(given, _without_suffix(_plain(name)))


def given_words() -> str:
    """Return a phrase on the supplied sizes, for a note."""
    given = choices().image_size
    return (
        f"{given[0]} × {given[1]} pixels, as given"
        if isinstance(given, tuple)
        else "sizes as given"
    )


def by_ends(sizes: Mapping[str, tuple[int, int]]) -> dict[str, GivenSize]:
    """Return sizes by all ends of image paths; None where images with that end differ.

    Examples
    --------
    >>> sizes = by_ends({"day/a.jpg": (64, 48), "night/a.jpg": (32, 24)})
    >>> sizes["day/a"], sizes["a.jpg"]
    ((64, 48), None)
    """
    found: dict[str, GivenSize] = {}
    for name, size in sizes.items():
        plain = _plain(name)
        # Processes have to agree on the order, by which a batch recognises the same settings.
        for path in dict.fromkeys((plain, _without_suffix(plain))):
            for end in (_WHOLE + path, *_ends(path)):
                found[end] = size if found.get(end, size) == size else None
    return found


def _found(given: Mapping[str, GivenSize], name: str) -> GivenSize:
    plain = _plain(name)
    if plain in given:
        return given[plain]
    # The user may have given names without folders.
    return next((given[_WHOLE + end] for end in _ends(plain) if _WHOLE + end in given), None)


def _ends(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[first:]) for first in range(len(parts)))


def _plain(name: str) -> str:
    return name.replace("\\", "/").removeprefix("./").strip("/")


def _without_suffix(path: str) -> str:
    return path.rpartition(".")[0] if is_picture(path) else path
