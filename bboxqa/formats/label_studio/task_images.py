"""Finding the image of a task that a region belongs to."""

import string
from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from bboxqa.formats.label_studio.image_paths import is_address, may_be_image
from bboxqa.formats.translation.choices import choices


class ImageKey(NamedTuple):
    """An image of a task, given by data key and page, or by the tag that showed it."""

    address: str
    """The data key; "" if the file does not say which of several images a tag shows."""
    tag: str = ""


NO_IMAGE = ImageKey("")
"""The key of the image of a task that names no image."""
UNTAGGED = "image"
"""The tag of results that name none."""


class Tags(NamedTuple):
    """The tags that the regions of a file are on."""

    names: AbstractSet[str] = frozenset()
    numbers: AbstractSet[str] = frozenset()
    """The numbers at the ends of names; see `end_number`."""


def images_of(data: dict[str, Any], tags: Callable[[], Tags] = Tags) -> dict[str, list[str]]:
    """Return the URLs of the images of a task by data key; several URLs of a key are pages.

    Words under keys such as "image" are names of images in a task without addresses, and under
    keys that tags are named like. Others are answers to questions, as JSON-MIN has them. Any text
    or number under the key of the user's image names one.

    Parameters
    ----------
    data : dict
        The data of the task.
    tags : callable
        Returns the tags that the regions of the file are on; only called if there are words.

    Examples
    --------
    >>> images_of({"image": "a.jpg", "pages": ["1.png", {"url": "2.png"}], "text": "a dog"})
    {'image': ['a.jpg'], 'pages': ['1.png', '2.png']}
    >>> images_of({"image": "day1_7"}), images_of({"image": "a.jpg", "image_quality": "good"})
    ({'image': ['day1_7']}, {'image': ['a.jpg']})
    >>> images_of({"image": "day1_7", "url": "https://x.org/7"}, lambda: Tags({"image"}))
    {'image': ['day1_7'], 'url': ['https://x.org/7']}
    """
    found = {}
    said = choices().columns.get("image", "")
    for key, value in data.items():
        pages = [_page(key, each, said) for each in (value if isinstance(value, list) else [value])]
        if pages and all(pages):
            found[key] = pages
    if len(found) <= 1:
        return found
    words = {key for key, pages in found.items() if not all(map(is_address, pages))}
    if not words or (len(words) == len(found) and said not in found):
        return found
    words -= {said, *_named_keys(found, tags())}
    return {key: pages for key, pages in found.items() if key not in words}


def _named_keys(images: dict[str, list[str]], tags: Tags) -> AbstractSet[str]:
    """Return the data keys that `known_key` has for any of the tags."""
    numbers = {key: end_number(key) for key in images}
    times = Counter(numbers.values())
    alike = {key for key, each in numbers.items() if times[each] == 1 and each in tags.numbers}
    return alike | (images.keys() & tags.names)


def _page(key: str, value: Any, said: str) -> str:
    """Return what names an image, which may be inside an object; "" if nothing does."""
    inside = value.items() if isinstance(value, dict) else [(key, value)]
    for name, each in inside:
        # Tables that are imported have numbers.
        if name == said and type(each) in (str, int):
            return str(each)
        if isinstance(each, str) and may_be_image(name, each):
            return each
    return ""


def image_of(images: dict[str, list[str]], result: dict[str, Any]) -> ImageKey | None:
    """Return the image that a result belongs to; None if its task has no image.

    Of several images, it is the image under the key named like the tag, or under a key that ends
    with the same number. For other tags, only the settings of the project tell which image they
    show, or the user does.

    Examples
    --------
    >>> image_of({"left": ["a.jpg"], "right": ["b.jpg"]}, {"to_name": "right"})
    ImageKey(address='b.jpg', tag='')
    >>> image_of({"image1": ["a.jpg"], "image2": ["b.jpg"]}, {"to_name": "img-2"})
    ImageKey(address='b.jpg', tag='')
    >>> image_of({"left": ["a.jpg"], "right": ["b.jpg"]}, {"to_name": "x"})
    ImageKey(address='', tag='x')
    """
    if not images:
        return None
    name = tag_of(result)
    key = key_of(images, name)
    if not key:
        return ImageKey("", name or UNTAGGED)
    pages, page = images[key], result.get("item_index")
    if page is None and (number := end_number(name)):
        # The tag is repeated for each page.
        page = int(number) if len(pages) > 1 and len(number) < 9 else 0
    place = page if isinstance(page, int) and 0 <= page < len(pages) else 0
    return ImageKey(pages[place])


def tag_of(result: dict[str, Any]) -> str:
    """Return the tag that a result is on; "" if it names none."""
    tag = result.get("to_name")
    return tag if isinstance(tag, str) else ""


def key_of(images: dict[str, list[str]], tag: str) -> str:
    """Return the data key of the image that a tag shows, or else the user's; "" if not known."""
    return known_key(images, tag) or said_key(images)


def known_key(images: dict[str, list[str]], tag: str) -> str:
    """Return the data key of the image that a tag shows; "" if the file does not say it."""
    key = next(iter(images)) if len(images) == 1 else tag
    if key in images:
        return key
    number = end_number(tag)
    alike = [each for each in images if number and end_number(each) == number]
    return alike[0] if len(alike) == 1 else ""


def said_key(images: dict[str, list[str]]) -> str:
    """Return the data key of the image that tags show, as the user says; "" if nothing is said."""
    key = choices().columns.get("image", "")
    return key if key in images else ""


def end_number(name: str) -> str:
    """Return the number at the end of a name, without zeros in front; "" if there is none.

    Examples
    --------
    >>> [*map(end_number, ["img-02", "page0", "photo"])]
    ['2', '0', '']
    """
    digits = name[len(name.rstrip(string.digits)) :]
    return digits.lstrip("0") or digits[:1]
