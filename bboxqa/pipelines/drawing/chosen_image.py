"""The image that a user means by a name or an id."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any
from unicodedata import normalize

from bboxqa.core.errors import DatasetError
from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.text import clean, count, nearest
from bboxqa.model.file_places import id_as_name

_EXAMPLES = 3
# Most characters of an example.
_LONGEST = 60


def name_of_record(record: object) -> str:
    """Return how an image record is called: its file name, or its id where it has none.

    Examples
    --------
    >>> name_of_record({"id": 7, "file_name": "a.png"}), name_of_record({"id": 7})
    ('a.png', '(id 7)')
    """
    if not isinstance(record, dict):
        return ""
    name = record.get("file_name")
    return clean(name if isinstance(name, str) and name else id_as_name(record.get("id")))


def chosen_image(
    wanted: str | int, names: Sequence[str], records: Callable[[], Iterable[object]]
) -> str:
    """Return the image name that matches a name or an id; names are tried first.

    The suffix of a file name may be left out, or given where the data have none. The middle of a
    long name may be "…", as in tables.

    Raises DatasetError if no image matches, or several images have the id.

    Parameters
    ----------
    wanted : str or int
    names : sequence of str
    records : callable
        Returns the image records, which are read only to look for an id.

    Examples
    --------
    >>> chosen_image("0", ["a.png"], lambda: [{"id": 0, "file_name": "a.png"}])
    'a.png'
    >>> chosen_image("b/a", ["b/a.png"], lambda: [])
    'b/a.png'
    >>> chosen_image("long…1.png", ["long_name_1.png", "long_name_2.png"], lambda: [])
    'long_name_1.png'
    """
    if isinstance(wanted, str) and wanted in names:
        return wanted
    known = set(names)
    found = {name_of_record(record) for record in records() if _id_of(record) == str(wanted)}
    found &= known
    if len(found) == 1:
        return found.pop()
    if found:
        several = ", ".join(repr(name) for name in sorted(found))
        raise DatasetError(
            [f"several images have the id {wanted}: {several}"], "Name the image by its file."
        )
    form = normalize("NFC", str(wanted))
    same = [name for name in names if normalize("NFC", name) == form]
    same = same or [name for name in names if _is_with_ending(str(wanted), name)]
    same = same or [name for name in names if _is_shortened(str(wanted), name)]
    if len(same) == 1:
        return same[0]
    raise DatasetError([f"there is no image {wanted!r} among {_described(str(wanted), names)}"])


def _is_with_ending(wanted: str, name: str) -> bool:
    """Return whether two names are equal except for a suffix that one of them lacks."""
    longer, shorter = sorted((wanted, name), key=len, reverse=True)
    ending = longer.removeprefix(shorter)
    return ending != longer and ending.lower() in IMAGE_SUFFIXES


def _is_shortened(wanted: str, name: str) -> bool:
    """Return whether a text is a name without its middle."""
    before, cut, after = wanted.partition("…")
    return cut != "" and name.startswith(before) and name.removeprefix(before).endswith(after)


def _id_of(record: object) -> str:
    value: Any = record.get("id") if isinstance(record, dict) else None
    return "" if value is None else str(value)


def _in_part(name: str) -> str:
    """Return a name in quotes, without its middle if it is long."""
    shown = repr(name)
    half = _LONGEST // 2
    return shown if len(shown) <= _LONGEST else f"{shown[:half]}…{shown[-half:]}"


def _described(wanted: str, names: Sequence[str]) -> str:
    """Return the number of images, with a suggestion or examples."""
    number = count(len(names), "image")
    last = PurePosixPath(wanted.replace("\\", "/")).name
    same = [name for name in names if PurePosixPath(name).name == last]
    if same:
        return f"{number}; did you mean {same[0]!r}?"
    if hint := nearest(wanted, names):
        return number + hint
    examples = ", ".join(_in_part(name) for name in names[:_EXAMPLES])
    return f"{number}, such as {examples}" if examples else number
