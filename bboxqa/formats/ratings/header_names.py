"""Inferring the layout of a table from the names in it.

>>> names_of_annotators("rater_id"), names_of_annotators("u"), names_of_units("image_id")
(True, False, True)
>>> names_of_things("image_id"), names_of_things("subject")
(True, False)
>>> looks_like_annotators(["coder A", "coder B"]), looks_like_annotators(["yes", "no"])
(True, False)
>>> looks_like_units(["u1", "u2", "u3"]), looks_like_units(["ann", "bob", "cara"])
(True, False)
>>> looks_like_pictures(["image_1", "2.jpg"]), looks_like_pictures(["u1", "u2"])
(True, False)
"""

import re
from collections.abc import Sequence

from bboxqa.model.labels import number_of

_KEY = r"([ _-]?(id|name|no|number|index))?"
_PEOPLE = r"(annotator|rater|coder|judge|observer|labell?er|reviewer|worker)"
_THINGS = (
    r"(unit|item|image|img|file(name)?|picture|photo|frame|object|subject|patient|case|sample|"
    r"document|doc|text|sentence|question|recording)"
)
_MAY_RATE = re.compile(rf"(subject|patient|case)s?{_KEY}", re.IGNORECASE)
_ANNOTATORS = re.compile(rf"{_PEOPLE}s?{_KEY}", re.IGNORECASE)
_UNITS = re.compile(rf"{_THINGS}s?{_KEY}", re.IGNORECASE)
_ONE_UNIT = re.compile(rf"(u|q|{_THINGS})[ _-]?\d+(\.\w+)?", re.IGNORECASE)
_ONE_ANNOTATOR = re.compile(rf"{_PEOPLE}([ _-]?\d+|[ _-]\w+|[ _-]?[a-z])", re.IGNORECASE)

_ONE_PICTURE = re.compile(
    r"(image|img|picture|photo|frame)s?[ _-]?\d+(\.\w+)?|.+\.(jpe?g|png|bmp|webp|tiff?)",
    re.IGNORECASE,
)


def names_of_annotators(title: str) -> bool:
    """Return whether a column with this title names annotators, such as "rater_id"."""
    return _ANNOTATORS.fullmatch(title) is not None


def names_of_units(title: str) -> bool:
    """Return whether a column with this title names units, such as "image_id" or "subject"."""
    return _UNITS.fullmatch(title) is not None


def names_of_things(title: str) -> bool:
    """Return whether a column with this title names units that cannot be people."""
    return names_of_units(title) and _MAY_RATE.fullmatch(title) is None


def looks_like_annotators(names: Sequence[str]) -> bool:
    """Return whether there are two or more names, all like rater1 or "coder A"."""
    return len(names) > 1 and all(_ONE_ANNOTATOR.fullmatch(name) for name in names)


def looks_like_units(names: Sequence[str]) -> bool:
    """Return whether there are three or more names, all like u1 or image_2.jpg."""
    return len(names) > 2 and all(_ONE_UNIT.fullmatch(name) for name in names)


def looks_like_pictures(names: Sequence[str]) -> bool:
    """Return whether there are two or more names, all like image_2 or 7.jpg, and so not people."""
    return len(names) > 1 and all(_ONE_PICTURE.fullmatch(name) for name in names)


def are_names(cells: Sequence[str | None], others: set[str]) -> bool | None:
    """Return whether the cells of a first row or column are names rather than ratings.

    `others` are the labels of the rest of the table. None if they do not show it.

    Examples
    --------
    >>> are_names(["u1", "u2"], {"1", "2"}), are_names(["1", "1"], {"1", "2"})
    (True, False)
    >>> print(are_names(["101", "102"], {"1", "2"}))
    None
    """
    labels = {cell for cell in cells if cell is not None}
    if len(labels) < len(cells) or labels <= others:
        return False
    texts = [label for label in labels if number_of(label) is None]
    if texts:
        all_numbers = all(number_of(other) is not None for other in others)
        # Two ratings may by chance occur nowhere else; three hardly do.
        apart = len(cells) > 2 and labels.isdisjoint(others)
        return True if all_numbers or apart else None
    numbers = [float(cell) for cell in cells if cell is not None]
    if not all(number.is_integer() for number in numbers):
        return False
    runs = numbers[0] in {0, 1} and numbers == [numbers[0] + i for i in range(len(numbers))]
    return True if runs and len(numbers) > max(2, len(others)) else None
