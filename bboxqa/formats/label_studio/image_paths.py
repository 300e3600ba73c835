"""Image names from the URLs under which Label Studio stores images."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import parse_qs, unquote, urlsplit

# Uploaded files have a prefix before their own name.
_UPLOAD = re.compile(r"(?:.*/)?data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?(.+)", re.DOTALL)
_SUFFIX = re.compile(r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)\b", re.IGNORECASE)
_TAG = re.compile(r"im(?:a?ge?|g)|pic|photo|ocr|frame|url|scan", re.IGNORECASE)


def is_image(key: str, value: object) -> bool:
    """Return whether a value in the data of a task is the URL of an image.

    Examples
    --------
    >>> is_image("image", "/data/upload/1/a"), is_image("x", "b.png"), is_image("text", "a dog")
    (True, True, False)
    """
    if not isinstance(value, str) or not value:
        return False
    return _SUFFIX.search(value) is not None or (_TAG.search(key) is not None and " " not in value)


def image_names(addresses: Iterable[str]) -> dict[str, str]:
    """Return the name of each image by its URL: the short name where it is unique.

    Examples
    --------
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a%20b.jpg", "s3://shop/day/1.png"]).values()]
    ['a b.jpg', 'day/1.png']
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a.jpg", "/data/upload/2/a.jpg"]).values()]
    ['data/upload/1/0a1b2c3d-a.jpg', 'data/upload/2/a.jpg']
    """
    paths = {address: path_of(address) for address in dict.fromkeys(addresses)}
    short = {path: _short(path) for path in paths.values()}
    known = Counter(short.values())
    return {
        address: short[path] if known[short[path]] == 1 else path for address, path in paths.items()
    }


def path_of(address: str) -> str:
    """Return the path of a URL, decoded and without host.

    Examples
    --------
    >>> path_of("/data/local-files/?d=street/a%201.jpg"), path_of("https://x.org/b/1.jpg?size=2")
    ('street/a 1.jpg', 'b/1.jpg')
    """
    if address.startswith("data:"):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    if not parts.scheme and not parts.query:
        # A file name may contain a number sign.
        return unquote(address).lstrip("/")
    asked = parse_qs(parts.query)
    if "d" in asked:
        return asked["d"][0].lstrip("/")
    if "fileuri" in asked and (inner := _decoded(asked["fileuri"][0])):
        return path_of(inner)
    return unquote(parts.path).lstrip("/")


def _decoded(text: str) -> str:
    """Return the URL encoded in base 64; "" if the text is not one."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _short(path: str) -> str:
    found = _UPLOAD.fullmatch(path)
    return found[1] if found else path


def short_path(address: str) -> str:
    """Return the short name of an image, which other images may have as well.

    Examples
    --------
    >>> short_path("/data/upload/1/0a1b2c3d-a%20b.jpg")
    'a b.jpg'
    """
    return _short(path_of(address))
