"""Sizes of the pictures beside a table, as image folders of Hugging Face have them."""

from functools import partial
from pathlib import Path

from bboxqa.formats.translation.member import MAX_SIZE, Member, opened_file
from bboxqa.formats.translation.picture_sizes import is_picture, size_of_picture

_STEM = "metadata"


def size_beside(table: Path, name: str) -> tuple[int, int] | None:
    """Return the size of a picture that a table called metadata names by its path from there.

    None for other tables, and where there is no such picture in the folder of the table.
    """
    if table.stem != _STEM or not is_picture(name):
        return None
    try:
        folder = table.parent.resolve()
        picture = (folder / name).resolve()
        if not picture.is_relative_to(folder) or not picture.is_file():
            return None
    except (OSError, ValueError, RuntimeError):
        # The name is too long for a path, or has a null character.
        return None
    return size_of_picture(Member(name, str(picture), MAX_SIZE, partial(opened_file, picture)))
