"""The records of COCO files, with the keys that are read; other keys are skipped."""

import json
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.text import clean

ANNOTATOR_KEYS = (
    "annotator",
    "annotator_id",
    "rater",
    "rater_id",
    "created_by",
    "attributes.annotator",
)
"""The keys that may name the annotator of an annotation, in order of preference."""

ASKED_KEYS = ("rater_list", "annotators")
"""The keys that may list the annotators of an image, in order of preference."""

LISTS = ("images", "annotations", "categories")
"""The lists of records in a COCO file."""

ID_KEYS = ("id", "image_id", "category_id")
"""The keys of an annotation that hold ids."""

_MOST_JOINTS, _JOINTS_EACH = 2_000_000, 20

Id = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | str
# Programs other than ours may store values of any type under these keys.
Loose = int | float | str | bool | list[Any] | dict[str, Any] | None


ID_EXPECTED = "a whole number, or text"
"""The expected value in messages about a value that is not an id."""


class Image(msgspec.Struct, gc=False):
    """An image record."""

    id: Id
    file_name: str | None = None
    width: float | None = None
    height: float | None = None
    annotator: Loose = None
    rater_list: list[Any] | dict[str, Any] | None = None
    annotators: list[Any] | dict[str, Any] | None = None


class Category(msgspec.Struct, gc=False):
    """A category record."""

    id: Id
    name: str
    supercategory: Loose = None
    keypoints: Loose = None
    skeleton: Loose = None
    isthing: Loose = None


def most_joints(n_given: int) -> int:
    """Return how many joints lists may have with those that they omit, if `n_given` are given.

    The names of a category are few characters for a joint of each of its annotations.
    """
    return max(_MOST_JOINTS, _JOINTS_EACH * n_given)


def whole_number(value: object) -> int | None:
    """Return an id as an integer; None if it is not a whole number.

    Examples
    --------
    >>> whole_number(7), whole_number("7"), whole_number(7.0), whole_number("a"), whole_number(True)
    (7, 7, 7, None, None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value) if len(value) < 20 else None
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    return None


def is_id(value: object) -> bool:
    """Return whether a value is an id: a whole number in any notation, or a text.

    Examples
    --------
    >>> is_id(7), is_id("im_1"), is_id(" "), is_id(1.5), is_id(None)
    (True, True, False, False, False)
    """
    return whole_number(value) is not None or (isinstance(value, str) and value.strip() != "")


@lru_cache(1 << 16)
def _text_number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) or 1


def id_number(value: object) -> int:
    """Return an integer for an id; equal ids get the same integer, different ids different ones.

    Whole numbers in any notation are returned as they are; other texts and fractions get a 64-bit
    hash. Values that are not ids get 0.

    Examples
    --------
    >>> id_number("7"), id_number(None), id_number("im_1") == id_number("im_1") != id_number("im_2")
    (7, 0, True)
    """
    number = whole_number(value)
    if number is not None:
        return number
    return _text_number(str(value)) if isinstance(value, str | float) else 0


def ids_of(records: Sequence[Image | Category]) -> IndexArray:
    """Return the `id_number` of each record, (N,) int64.

    Examples
    --------
    >>> ids_of([Image(7), Image("8")]).tolist()
    [7, 8]
    """
    ids = (each.id for each in records)
    numbers = (each if type(each) is int else id_number(each) for each in ids)
    return np.fromiter(numbers, np.int64, len(records))


def annotator_name(value: object) -> str:
    """Return the name of an annotator as text, from a value of any type.

    Examples
    --------
    >>> annotator_name("ann"), annotator_name(3), annotator_name(3.0)
    ('ann', '3', '3')
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean(json.dumps(value, ensure_ascii=False))


def extent_of(keypoints: Sequence[float]) -> list[float] | None:
    """Return the box around the labelled key points as x, y, width, height; None if there are none.

    Examples
    --------
    >>> extent_of([5, 1, 2, 0, 0, 0, 3, 9, 1])
    [3, 1, 2, 8]
    """
    points = zip(keypoints[::3], keypoints[1::3], keypoints[2::3], strict=False)
    labelled = [(x, y) for x, y, visibility in points if visibility > 0]
    if not labelled:
        return None
    columns = [*zip(*labelled, strict=True)]
    (left, top), (right, bottom) = map(min, columns), map(max, columns)
    return [left, top, right - left, bottom - top]


def image_type(keys: Sequence[str]) -> type[Image]:
    """Return the type of image records with a field for each key other than annotator keys."""
    added = [
        (image_field(key), Loose, msgspec.field(default=None, name=key))
        for key in dict.fromkeys(keys)
        if key not in ANNOTATOR_KEYS and image_field(key) != key
    ]
    if not added:
        return Image
    result: Any = msgspec.defstruct("KeyedImage", added, bases=(Image,), gc=False)
    return result  # type: ignore[no-any-return]


def image_field(key: str) -> str:
    """Return the field of an image record for a top-level key."""
    known = key in Image.__struct_fields__
    return key if known else f"key_{key.encode('utf-8', 'surrogatepass').hex()}"
