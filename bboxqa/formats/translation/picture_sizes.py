"""Sizes of the image files that come with annotations."""

from operator import attrgetter
from typing import IO

from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.image_opening import SIDEWAYS, opened, turn_of
from bboxqa.core.remembered import once
from bboxqa.formats.translation.member import ZIP_ERRORS, Member


def is_picture(name: str) -> bool:
    """Return whether a file is an image, by its name.

    Examples
    --------
    >>> is_picture("images/a.JPG"), is_picture("labels/a.txt")
    (True, False)
    """
    return f".{name.rpartition('.')[2]}".lower() in IMAGE_SUFFIXES


# Annotators share the pictures that they annotate.
@once(attrgetter("shown"))
def size_of_picture(member: Member) -> tuple[int, int] | None:
    """Return `size_in` the content of an image file; None if it cannot be read."""
    try:
        with member.open() as stream:
            return size_in(stream)
    except ZIP_ERRORS:
        return None


def size_in(stream: IO[bytes]) -> tuple[int, int] | None:
    """Return width and height of an image as displayed; None if it is not read.

    The image is not decoded. Its EXIF orientation is applied.
    """
    try:
        with opened(stream) as image:  # type: ignore[arg-type]
            width, height = image.size
            sideways = turn_of(image) in SIDEWAYS
    # Any error means that the size is unknown.
    except Exception:  # noqa: BLE001
        return None
    return (height, width) if sideways else (width, height)
