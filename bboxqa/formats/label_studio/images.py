"""The images of Label Studio's tasks: which values of their data they are, and their names."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_ENDING = r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)"
_PICTURE = re.compile(rf"{_ENDING}(?:[?#&]\S*)?\Z", re.IGNORECASE)
_WHOLE = re.compile(rf".*{_ENDING}", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"im(?:a?ge?|g)|pic|photo|ocr|frame|url|scan", re.IGNORECASE)
# Uploaded files have a prefix before their own name.
_UPLOAD = re.compile(r"(?:.*/)?data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?(?=.)", re.DOTALL)

Images = dict[str, list[str]]
"""The addresses of the images of a task by data key; several of a key are pages."""


def images_of(data: dict[str, Any], said: str = "") -> Images:
    """Return the addresses of the images of a task by data key; several of a key are pages.

    Words under keys such as "image" are names of images in a task without addresses. Any text or
    number under the key `said` by the user is the only image.

    Examples
    --------
    >>> images_of({"image": "a.jpg", "pages": ["1.png", "2.png"], "text": "a dog"})
    {'image': ['a.jpg'], 'pages': ['1.png', '2.png']}
    >>> images_of({"image": "day1_7"}), images_of({"image": "a.jpg", "image_quality": "good"})
    ({'image': ['day1_7']}, {'image': ['a.jpg']})
    """
    listed = {key: each if isinstance(each, list) else [each] for key, each in data.items()}
    if listed.get(said):
        return {said: [str(each) for each in listed[said]]}
    ranks = {key: min((_rank(key, v) for v in values), default=0) for key, values in listed.items()}
    best = max(ranks.values(), default=0)
    return {key: listed[key] for key, rank in ranks.items() if rank == best > 0}


def _rank(key: str, value: object) -> int:
    """Return 2 for the address of an image, 1 for a word that may name one, else 0."""
    if not isinstance(value, str) or not value:
        return 0
    first = value.partition(" ")[0]
    is_place = first.startswith(("/", "data:")) or "://" in first or "?d=" in first
    is_named = _KEY.search(key) is not None
    if _PICTURE.search(value) or (is_named and is_place):
        return 2
    return int(is_named and " " not in value)


def may_be_image(key: str, value: str) -> bool:
    """Return whether a value in the data of a task may name an image.

    Examples
    --------
    >>> values = {"image": "day1_7", "x": "b.png", "photo_quality": "very good", "text": "a dog"}
    >>> [may_be_image(key, value) for key, value in values.items()]
    [True, True, False, False]
    """
    return _rank(key, value) > 0


def image_names(addresses: Iterable[str]) -> dict[str, str]:
    """Return the name of each image by its address: the short name where it is unique.

    Queries of URLs belong to names where the path names no picture, or is that of several URLs.

    Examples
    --------
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a%20b.jpg", "s3://shop/day/1.png"]).values()]
    ['a b.jpg', 'day/1.png']
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a.jpg", "/data/upload/2/a.jpg"]).values()]
    ['data/upload/1/0a1b2c3d-a.jpg', 'data/upload/2/a.jpg']
    >>> [*image_names(["https://x.org/a.jpg?page=1", "https://x.org/a.jpg?page=2"]).values()]
    ['a.jpg?page=1', 'a.jpg?page=2']
    """
    names = {address: short_path(address) for address in dict.fromkeys(addresses)}
    for whole in (_path, _path_with_query):
        known = Counter(names.values())
        names = {
            address: name if known[name] == 1 else whole(address) for address, name in names.items()
        }
    return names


def short_path(address: str) -> str:
    """Return the short name of an image, which other images may have as well.

    Examples
    --------
    >>> short_path("/data/upload/1/0a1b2c3d-a%20b.jpg"), short_path("https://x.org/b/1.jpg?size=2")
    ('a b.jpg', 'b/1.jpg')
    """
    return _UPLOAD.sub("", _path(address), 1)


def _path(address: str) -> str:
    """Return the path of a URL, decoded and without host; with its query if it is no picture's."""
    path, _ = _parts(address)
    return path if _WHOLE.fullmatch(path) else _path_with_query(address)


def _path_with_query(address: str) -> str:
    path, query = _parts(address)
    return f"{path}?{unquote(query)}" if query else path


def _parts(address: str) -> tuple[str, str]:
    """Return the path of a URL, decoded, and its query as it is."""
    if address.startswith("data:"):
        return "", ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, ""
    is_key = "://" in address and parts.scheme not in ("http", "https")
    if is_key or not (parts.scheme or parts.query):
        # Names of files and keys of stores may contain a number sign.
        name = address.partition("://")[2].partition("/")[2] if is_key else address
        return unquote(name).lstrip("/"), ""
    # Files that Label Studio serves from a folder are in the query.
    if of_folder := parse_qs(parts.query).get("d"):
        return of_folder[0].lstrip("/"), ""
    return unquote(parts.path).lstrip("/"), parts.query
