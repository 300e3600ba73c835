"""Of which split of a data set each file is, by its name or that of its folder."""

from collections.abc import Sequence
from pathlib import Path

from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.picture_folders import split_of


def are_splits(documents: Sequence[Document], one: int, other: int) -> bool:
    """Return whether two files are named as different splits."""
    split, another = (split_of(Path(documents[each].name)) for each in (one, other))
    return bool(split and another) and split != another
