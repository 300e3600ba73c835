"""Sizes of the pictures beside annotations."""

from bboxqa.core.image_opening import SIDEWAYS, opened, turn_of
from bboxqa.formats.translation.members import Member

PICTURES = frozenset(
    (
        ".avif", ".bmp", ".dng", ".gif", ".jfif", ".jp2", ".jpeg", ".jpg", ".mpo", ".pgm", ".png",
        ".ppm", ".tif", ".tiff", ".webp",
    )
)  # fmt: skip
"""Ends of the names of pictures."""


def is_picture(name: str) -> bool:
    """Return whether the name of a file is that of a picture.

    Examples
    --------
    >>> is_picture("images/a.JPG"), is_picture("labels/a.txt")
    (True, False)
    """
    return f".{name.rpartition('.')[2]}".lower() in PICTURES


def size_of_picture(member: Member) -> tuple[int, int] | None:
    """Return width and height of a picture as it is shown; None where it cannot be opened.

    It is not decoded. EXIF may say that it is shown turned.
    """
    try:
        with member.open() as stream, opened(stream) as image:  # type: ignore[arg-type]
            width, height = image.size
            sideways = turn_of(image) in SIDEWAYS
    # Whatever is wrong with a picture, its size is not known.
    except Exception:  # noqa: BLE001
        return None
    return (height, width) if sideways else (width, height)
