"""Which image of a task a region is about."""

import re
from typing import Any, NamedTuple

from bboxqa.formats.label_studio.image_paths import is_image

_NUMBER = re.compile(r"\d+$")


class ImageKey(NamedTuple):
    """An image of a task, by the key of its data and the page, or by the tag that showed it."""

    address: str
    """"" where the file does not say which of several images a tag shows."""
    tag: str = ""


NO_IMAGE = ImageKey("")
"""The image of a task that names none."""


def images_of(data: dict[str, Any]) -> dict[str, list[str]]:
    """Return the addresses of the images of a task, by the key of its data; several are pages.

    Examples
    --------
    >>> images_of({"image": "a.jpg", "pages": ["1.png", {"url": "2.png"}], "text": "a dog"})
    {'image': ['a.jpg'], 'pages': ['1.png', '2.png']}
    """
    found = {}
    for key, value in data.items():
        pages = [_page(key, each) for each in (value if isinstance(value, list) else [value])]
        if pages and all(pages):
            found[key] = pages
    return found


def _page(key: str, value: Any) -> str:
    """Return the address of an image, which may be inside of an object; empty if it is none."""
    inside = value.items() if isinstance(value, dict) else [(key, value)]
    return next((each for name, each in inside if is_image(name, each)), "")


def image_of(images: dict[str, list[str]], result: dict[str, Any]) -> ImageKey | None:
    """Return the image that a result is about; None where its task has none.

    Of several images, the one under the name of the tag, or under a name that ends with the same
    number. Which one another tag shows stands in the settings of the project only.

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
    tag = result.get("to_name")
    name = tag if isinstance(tag, str) else ""
    key = next(iter(images)) if len(images) == 1 else name
    if key not in images:
        number = _NUMBER.search(name)
        alike = [each for each in images if number and _same_number(each, number[0])]
        if len(alike) != 1:
            return ImageKey("", name or "image")
        key = alike[0]
    pages, page = images[key], result.get("item_index")
    if page is None and (number := _NUMBER.search(name)):
        # A tag that is repeated for each page.
        page = int(number[0]) if len(pages) > 1 and len(number[0]) < 9 else 0
    place = page if isinstance(page, int) and 0 <= page < len(pages) else 0
    return ImageKey(pages[place])


def _same_number(key: str, number: str) -> bool:
    found = _NUMBER.search(key)
    return found is not None and found[0].lstrip("0") == number.lstrip("0")
