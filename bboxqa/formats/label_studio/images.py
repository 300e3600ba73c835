"""Which images the tasks of Label Studio show, and how these images are named."""

import base64
import binascii
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.choices import choices
from bboxqa.formats.label_studio.regions import is_on_image
from bboxqa.formats.label_studio.tasks import Task, tasks_of
from bboxqa.formats.translation.collector import Record

# Uploaded files have a prefix before their own name.
_UPLOAD = re.compile(r"(?:.*/)?data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?(.+)", re.DOTALL)
_ENDING = r"\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)"
_PICTURE = re.compile(rf"{_ENDING}\b", re.IGNORECASE)
_WHOLE = re.compile(rf".*{_ENDING}", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"im(?:a?ge?|g)|pic|photo|ocr|frame|url|scan", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,8}\Z")
# Parts of a query that differ between links to one image: signatures, and times that keep
# browsers from showing an old version. Shorter numbers may be those of pages.
_SIGNED = re.compile(
    r"(?:_|rev|v)=\d{10,}\Z"
    r"|(?:x-(?:amz|cos|goog|obs|oss)-[^=]*|(?:access|auth)?[-_]?token|sig(?:nature)?|expires"
    r"|policy|key-pair-id|awsaccesskeyid|googleaccessid|ossaccesskeyid|hmac|usp)(?:=|\Z)"
    r"|sign?=(?!\d{1,9}\Z)",
    re.IGNORECASE,
)
# The short keys of signatures of Azure and of Tencent, which may be anything in other queries.
_STORES = {
    "sig=": re.compile(r"s[eprstv]=|spr=|srt=|sk(?:oid|tid|t|e|s|v)=", re.IGNORECASE),
    "q-signature=": re.compile(r"q-[a-z-]+=", re.IGNORECASE),
}


Images = dict[str, list[str]]
"""The addresses of the images of a task by data key; several of a key are pages."""


class ImageKey(NamedTuple):
    """An image of a task: its address, or the tag that showed it."""

    address: str
    """A value of the task's data; "" if the file does not say which of several a tag shows."""
    tag: str = ""


NO_IMAGE = ImageKey("")
"""The key of the image of a task that names no image."""


def images_of(
    data: dict[str, Any], said: str = "", tags: Callable[[], AbstractSet[str]] = frozenset
) -> Images:
    """Return the addresses of the images of a task by data key; several of a key are pages.

    Words under keys such as "image" are names of images in a task without addresses, and under keys
    that tags are named like, which `tags` returns. Any text or number under the key `said` by the
    user names one.

    Examples
    --------
    >>> images_of({"image": "a.jpg", "pages": ["1.png", {"url": "2.png"}], "text": "a dog"})
    {'image': ['a.jpg'], 'pages': ['1.png', '2.png']}
    >>> images_of({"image": "day1_7"}), images_of({"image": "a.jpg", "image_quality": "good"})
    ({'image': ['day1_7']}, {'image': ['a.jpg']})
    """
    found = {}
    for key, value in data.items():
        pages = [_page(key, each, said) for each in (value if isinstance(value, list) else [value])]
        if pages and all(pages):
            found[key] = pages
    if len(found) <= 1:
        return found
    words = {key for key, pages in found.items() if not all(map(_is_address, pages))}
    if not words or (len(words) == len(found) and said not in found):
        return found
    words -= {said, *tags()}
    return {key: pages for key, pages in found.items() if key not in words}


def _page(key: str, value: Any, said: str) -> str:
    """Return what names an image, which may be inside an object; "" if nothing does."""
    for name, each in value.items() if isinstance(value, dict) else [(key, value)]:
        # Tables that are imported have numbers.
        if name == said and type(each) in (str, int):
            return str(each)
        if isinstance(each, str) and may_be_image(name, each):
            return each
    return ""


def may_be_image(key: str, value: str) -> bool:
    """Return whether a value in the data of a task may name an image.

    Examples
    --------
    >>> values = {"image": "day1_7", "x": "b.png", "photo_quality": "very good", "text": "a dog"}
    >>> [may_be_image(key, value) for key, value in values.items()]
    [True, True, False, False]
    >>> may_be_image("file", "day 1.jpg"), may_be_image("caption", "day1.jpg is dark")
    (True, False)
    """
    if not value:
        return False
    is_named = _KEY.search(key) is not None and (" " not in value or _is_place(value))
    return is_named or _names_picture(value)


def _is_address(value: str) -> bool:
    """Return whether a value that may name an image is no word, such as an answer."""
    return value.startswith("data:") or _is_place(value) or _names_picture(value)


def _is_place(value: str) -> bool:
    """Return whether a value begins like a URL or a path from the root, also with blanks."""
    first = next(iter(value.split(None, 1)), "")
    return first.startswith("/") or "://" in first or "?d=" in first


def _names_picture(value: str) -> bool:
    """Return whether a value has the ending of a picture, other than inside of a sentence."""
    if _PICTURE.search(value) is None:
        return False
    return _is_place(value) or _PICTURE.search(value.rsplit(None, 1)[-1]) is not None


def image_of(images: Images, result: dict[str, Any], said: str = "") -> ImageKey:
    """Return the image that a result is on.

    Of several images, it is the one under the key that is named like the tag, else the one under
    the key `said` by the user. Else only the settings of the project tell what the tag shows.

    Examples
    --------
    >>> image_of({"left": ["a.jpg"], "right": ["b.jpg"]}, {"to_name": "right"})
    ImageKey(address='b.jpg', tag='')
    >>> image_of({"left": ["a.jpg"], "right": ["b.jpg"]}, {"to_name": "x"})
    ImageKey(address='', tag='x')
    """
    if not images:
        return NO_IMAGE
    key = key_of(images, result, said)
    if not key:
        return ImageKey("", tag_of(result) or "image")
    pages, page = images[key], result.get("item_index")
    if page is None and len(pages) > 1 and (found := _NUMBER.search(tag_of(result))):
        # A tag that is repeated for each page has its number.
        page = int(found[0])
    return ImageKey(pages[page if isinstance(page, int) and 0 <= page < len(pages) else 0])


def tag_of(result: dict[str, Any]) -> str:
    """Return the tag that a result is on; "" if it names none."""
    tag = result.get("to_name")
    return tag if isinstance(tag, str) else ""


def key_of(images: Images, result: dict[str, Any], said: str = "") -> str:
    """Return the data key of the image that a result is on; "" if it is not known."""
    tag = tag_of(result)
    if tag in images:
        return tag
    if len(images) == 1:
        return next(iter(images))
    return said if said in images else ""


def image_names(addresses: Iterable[str]) -> dict[str, str]:
    """Return the name of each image by its URL: the short name where it is unique.

    Where only the queries of URLs differ, these belong to the names.

    Examples
    --------
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a%20b.jpg", "s3://shop/day/1.png"]).values()]
    ['a b.jpg', 'day/1.png']
    >>> [*image_names(["/data/upload/1/0a1b2c3d-a.jpg", "/data/upload/2/a.jpg"]).values()]
    ['data/upload/1/0a1b2c3d-a.jpg', 'data/upload/2/a.jpg']
    >>> [*image_names(["https://x.org/a.jpg?page=1", "https://x.org/a.jpg?page=2"]).values()]
    ['a.jpg?page=1', 'a.jpg?page=2']
    """
    paths = {address: _path_of(address) for address in dict.fromkeys(addresses)}
    wholes = {address: _path_of(address, whole=True) for address in paths}
    n_queries = Counter(path for path, _ in {(paths[each], wholes[each]) for each in paths})
    paths = {each: wholes[each] if n_queries[path] > 1 else path for each, path in paths.items()}
    short = {path: _without_upload(path) for path in paths.values()}
    known = Counter(short.values())
    return {
        address: short[path] if known[short[path]] == 1 else path for address, path in paths.items()
    }


def short_path(address: str) -> str:
    """Return the short name of an image, which other images may have as well.

    Examples
    --------
    >>> short_path("/data/upload/1/0a1b2c3d-a%20b.jpg"), short_path("https://x.org/b/1.jpg?size=2")
    ('a b.jpg', 'b/1.jpg')
    """
    return _without_upload(_path_of(address))


def _path_of(address: str, *, whole: bool = False) -> str:
    """Return the path of a URL, decoded and without host.

    Its query belongs to it, apart from signatures, if the path names no picture, or if `whole`.
    """
    path, query = _parts(address)
    if _WHOLE.fullmatch(path) and not whole:
        return path
    signs = [_SIGNED, *(keys for sign, keys in _STORES.items() if sign in query.lower())]
    parts = query.split("&")
    kept = [each for each in parts if each and not any(sign.match(each) for sign in signs)]
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


def _decoded(text: str) -> str:
    """Return the URL encoded in base 64; "" if the text is not one."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _without_upload(path: str) -> str:
    """Return a path without what Label Studio puts before the names of uploaded files."""
    found = _UPLOAD.fullmatch(path)
    return found[1] if found else path


_LISTED = 5


class TaskImages:
    """The images of the tasks of a file, given its text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.said = choices().columns.get("image", "")
        """The data key under which the user says that the image is; "" for none."""
        # Records of images with what names them, and the label of their task.
        self._records: list[tuple[Record, ImageKey, str]] = []
        # The data by which tasks of one id are told apart, by id.
        self._told: dict[str, dict[str, int]] = defaultdict(dict)
        # The digest of what each task shows, by label.
        self._data: dict[str, str] = {}
        # The data keys of images, and of tasks without images.
        self._keys: dict[str, None] = {}
        self._data_keys: dict[str, None] = {}
        # Of tasks with several images: the keys, and those that somebody drew on.
        self._several: dict[str, None] = {}
        self._drawn: set[str] = set()

    def images_of(self, task: Task) -> Images:
        """Return the addresses of the images of a task by data key."""
        return images_of(task.data, self.said, lambda: self._tags)

    def tell_apart(self, task: Task, images: Images) -> None:
        """Number a task that shares its id with another one, as merged exports have them."""
        # Rows of JSON-MIN hold answers among the data.
        told = images or ({} if task.has_answers else task.data)
        known = self._told[task.name]
        place = known.setdefault(_digest(told), len(known))
        if place:
            task.name = f"{task.name} ({place + 1})"
        if not images:
            self._data_keys |= dict.fromkeys(task.data)
        # Links to one image differ in their signatures.
        values = [(key, each if isinstance(each, list) else [each]) for key, each in told.items()]
        self._data[task.label] = _digest(
            sorted((key, [_shown(each) for each in pages]) for key, pages in values)
        )

    def of_task(self, task: Task, images: Images) -> set[ImageKey]:
        """Return the images of a task about which annotators were asked.

        Of tasks with several, these are all, with nothing drawn on some, unless the user says one;
        the tags of the file are images where none of them is named like a data key.
        """
        self._keys |= dict.fromkeys(images)
        pages = {ImageKey(page) for pages in images.values() for page in pages}
        if len(images) <= 1:
            return pages
        drawn = {image_of(images, each, self.said) for each in _on_images(task)}
        if self.said in images:
            return {*drawn, *map(ImageKey, images[self.said])}
        if self._tags and not self._tags & images.keys():
            return {ImageKey("", tag or "image") for tag in self._tags}
        self._several |= dict.fromkeys(images)
        self._drawn |= self._tags & images.keys()
        return {*pages, *drawn}

    # Only files with several images in a task are read again.
    @cached_property
    def _tags(self) -> AbstractSet[str]:
        """The tags that regions of the file are on."""
        results = (result for task in tasks_of(self._text) for result in _on_images(task))
        return {tag_of(result) for result in results}

    def add(self, record: Record, key: ImageKey, label: str) -> None:
        """Add the record of an image of the task with a label."""
        self._records.append((record, key, label))

    def name(self) -> None:
        """Name the images of all records."""
        names = image_names(key.address for _, key, _ in self._records)
        for record, key, label in self._records:
            named = names.get(key.address)
            record["file_name"] = named or (f"{label}/{key.tag}" if key.tag else label)

    def numbered(self) -> dict[str, str]:
        """Return the digest of what tasks show, by the names of images that are their numbers."""
        return {
            record["file_name"]: self._data[label]
            for record, key, label in self._records
            if not short_path(key.address)
        }

    def notes(self) -> Iterator[str]:
        """Yield notes on the user's key, and on images that are named by their tasks."""
        if self.said and self._keys and self.said not in self._keys:
            known = ", ".join(repr(one_line(each)) for each in self._keys)
            no_image = f"--columns image={one_line(self.said)} names no image"
            yield f"{no_image}: tasks have images under {known}"
        if undrawn := [each for each in self._several if each not in self._drawn]:
            keys = first_few(undrawn, _LISTED, lambda each: repr(one_line(each)))
            some = f"nobody drew on the images under {keys} in the data of tasks, which count as"
            yield f"{some} empty; if these are no images to annotate: --columns image=KEY"
        if number := sum(bool(key.tag) for _, key, _ in self._records):
            tagged = f"{count(number, 'image')} named by task and tag, as the file does not say"
            yield f"{tagged} which of several images of a task a tag shows. {self.advice()}"
        if number := sum(key == NO_IMAGE for _, key, _ in self._records):
            numbered = "named by the number of its task: no value of data names an image"
            yield f"{count(number, 'image')} {numbered}. {self.advice()}"

    def advice(self) -> str:
        """Return how to name images that are named by tasks."""
        if any(key.address.startswith("data:") for _, key, _ in self._records):
            return "Give images a URL in place of their content, by which they can be told apart."
        is_unnamed = any(key == NO_IMAGE for _, key, _ in self._records)
        keys = first_few(sorted(self._data_keys if is_unnamed else self._keys), _LISTED, one_line)
        if not keys:
            return "Name the image of each task in its data, under the key image."
        return (
            f"Say which key of the data has the image: --columns image=KEY (one of: {keys}); if "
            "several tags show one image each, set to_name of each region to its key"
        )


def _shown(value: Any) -> Any:
    return (short_path(value) or value) if isinstance(value, str) else value


def _digest(value: object) -> str:
    # An address may be a whole picture.
    encoded = msgspec.json.encode(value, order="deterministic")
    return blake2b(encoded, digest_size=16).hexdigest()


def _on_images(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the results of a task that are shapes in an image, and that count."""
    for work in task.works:
        if not work.is_cancelled and not (work.is_prediction and task.is_reviewed):
            yield from (result for _, result in work.results if is_on_image(result))
