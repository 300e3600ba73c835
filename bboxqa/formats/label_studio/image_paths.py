"""Image names from the URLs under which Label Studio stores images."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qs, unquote, urlsplit

# Uploaded files have a prefix before their own name.
_UPLOAD = re.compile(r"(?:.*/)?data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?(.+)", re.DOTALL)
_ENDING = r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)"
_SUFFIX = re.compile(rf"{_ENDING}\b", re.IGNORECASE)
_PICTURE = re.compile(rf".*{_ENDING}", re.IGNORECASE | re.DOTALL)
# The parts of a query that differ between links to one image: signatures, how it was shared, and
# times that keep browsers from showing an old version. Shorter numbers may be those of pages.
_SIGNED = re.compile(
    r"(?:_|rev|v)=\d{10,}\Z"
    r"|(?:x-(?:amz|cos|goog|obs|oss)-[^=]*|(?:access|auth)?[-_]?token|signature|expires|policy"
    r"|key-pair-id|awsaccesskeyid|googleaccessid|ossaccesskeyid|hmac|usp)(?:=|\Z)"
    r"|sign?=(?!\d{1,9}\Z)",
    re.IGNORECASE,
)
# The short keys of signatures of Azure and of Tencent, which may be anything in other queries.
_OF_AZURE = re.compile(r"s[eprstv]=|spr=|srt=|sk(?:oid|tid|t|e|s|v)=", re.IGNORECASE)
_OF_TENCENT = re.compile(r"q-[a-z-]+=", re.IGNORECASE)
_TAG = re.compile(r"im(?:a?ge?|g)|pic|photo|ocr|frame|url|scan", re.IGNORECASE)


def may_be_image(key: str, value: object) -> bool:
    """Return whether a value in the data of a task, or what is inside it, may name an image.

    Examples
    --------
    >>> values = {"image": "day1_7", "x": "b.png", "photo_quality": "good", "text": "a dog"}
    >>> [may_be_image(key, value) for key, value in values.items()]
    [True, True, True, False]
    >>> may_be_image("file", "day 1.jpg"), may_be_image("caption", "day1.jpg is dark")
    (True, False)
    """
    if not isinstance(value, str) or not value:
        return False
    has_tag = _TAG.search(key) is not None
    return _names_picture(value) or (has_tag and (" " not in value or _is_place(value)))


def is_address(value: str) -> bool:
    """Return whether a value that may name an image is no word, such as an answer.

    Examples
    --------
    >>> [*map(is_address, ["/data/upload/1/a", "s3://shop/a", "a.png", "good", "n/a"])]
    [True, True, True, False, False]
    """
    return value.startswith("data:") or _is_place(value) or _names_picture(value)


def _is_place(value: str) -> bool:
    """Return whether a value begins like a URL or a path from the root, also with blanks."""
    first = next(iter(value.split(None, 1)), "")
    return first.startswith("/") or "://" in first or "?d=" in first


def _names_picture(value: str) -> bool:
    """Return whether a value has the ending of a picture, other than inside of a sentence."""
    if _SUFFIX.search(value) is None:
        return False
    return _is_place(value) or _SUFFIX.search(value.rsplit(None, 1)[-1]) is not None


def image_names(addresses: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """Return the name of each image by its URL: the short name where it is unique.

    Where only the queries of URLs differ, these belong to the names, unless the URLs are of
    `others`: these may be links to thumbnails.

    Examples
    --------
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a%20b.jpg", "s3://shop/day/1.png"]).values()]
    ['a b.jpg', 'day/1.png']
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a.jpg", "/data/upload/2/a.jpg"]).values()]
    ['data/upload/1/0a1b2c3d-a.jpg', 'data/upload/2/a.jpg']
    >>> [*image_names(["https://x.org/a.jpg?page=1", "https://x.org/a.jpg?page=2"]).values()]
    ['a.jpg?page=1', 'a.jpg?page=2']
    """
    paths = {address: path_of(address) for address in dict.fromkeys(addresses)}
    n_addresses = Counter(paths.values())
    wholes = {each: whole_path(each) for each, path in paths.items() if n_addresses[path] > 1}
    paths |= {address: path_of(address) for address in others if address not in paths}
    n_queries = Counter(path for path, _ in {(paths[each], wholes[each]) for each in wholes})
    paths |= {each: whole for each, whole in wholes.items() if n_queries[paths[each]] > 1}
    short = {path: without_upload(path) for path in paths.values()}
    known = Counter(short.values())
    return {
        address: short[path] if known[short[path]] == 1 else path for address, path in paths.items()
    }


def path_of(address: str) -> str:
    """Return the path of a URL, decoded and without host.

    The query belongs to it unless the path ends like the name of a picture.

    Examples
    --------
    >>> path_of("/data/local-files/?d=street/a%201.jpg"), path_of("https://x.org/b/1.jpg?size=2")
    ('street/a 1.jpg', 'b/1.jpg')
    >>> path_of("https://x.org/uc?id=7&token=0a1b")
    'uc?id=7'
    """
    path, query = _parts(address)
    return path if _PICTURE.fullmatch(path) else _with_query(path, query)


def whole_path(address: str) -> str:
    """Return the path of a URL, decoded and without host, and its query without signatures.

    Examples
    --------
    >>> whole_path("https://x.org/b/1.jpg?size=2&X-Amz-Date=20260619T145400Z")
    'b/1.jpg?size=2'
    """
    return _with_query(*_parts(address))


def _with_query(path: str, query: str) -> str:
    """Return a path with its query, apart from signatures."""
    parts = [each for each in query.split("&") if each]
    apart = [
        keys
        for keys, signature in ((_OF_AZURE, "sig="), (_OF_TENCENT, "q-signature="))
        if any(each.lower().startswith(signature) for each in parts)
    ]
    kept = [each for each in parts if not any(keys.match(each) for keys in (_SIGNED, *apart))]
    return f"{path}?{unquote('&'.join(kept))}" if kept else path


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
    asked = parse_qs(parts.query)
    if "d" in asked:
        return asked["d"][0].lstrip("/"), ""
    if "fileuri" in asked and (inner := _decoded(asked["fileuri"][0])):
        return _parts(inner)
    return unquote(parts.path).lstrip("/"), parts.query


def queried(names: Mapping[str, str]) -> set[str]:
    """Return the names, by URL, to which the query belongs only since other paths are equal.

    Examples
    --------
    >>> queried({"/a.jpg?page=1": "a.jpg?page=1", "/b?page=1": "b?page=1"})
    {'a.jpg?page=1'}
    """
    with_query = ((each, name) for each, name in names.items() if "?" in name)
    return {
        name
        for each, name in with_query
        if name not in (path := path_of(each), without_upload(path))
    }


def _decoded(text: str) -> str:
    """Return the URL encoded in base 64; "" if the text is not one."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def without_upload(path: str) -> str:
    """Return a path without what Label Studio puts before the names of uploaded files.

    Examples
    --------
    >>> without_upload("data/upload/1/0a1b2c3d-a b.jpg")
    'a b.jpg'
    """
    found = _UPLOAD.fullmatch(path)
    return found[1] if found else path


def short_path(address: str) -> str:
    """Return the short name of an image, which other images may have as well.

    Examples
    --------
    >>> short_path("/data/upload/1/0a1b2c3d-a%20b.jpg")
    'a b.jpg'
    """
    return without_upload(path_of(address))
