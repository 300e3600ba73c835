"""The files of an annotation tool from which a document was translated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bboxqa.model.findings import Spot

STOPPING = ("T001", "T002", "T008", "T010")
"""Rules about defects that would falsify a result."""


class Where(NamedTuple):
    """Where a record stands in the files of the user."""

    member: str
    """The file below the source; "" where the source is one file."""
    at: str | int
    """A JSON pointer, or a line from 1 on."""


@dataclass(frozen=True, slots=True)
class ToolDefect:
    """What is wrong with a record of the tool's own format."""

    code: str
    """That of a rule of family T."""
    message: str
    where: Where
    row: int = -1
    """The annotation that was made of the record; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A place in the user's own file."""

    file: str
    pointer: str
    """"" where places are lines."""
    spot: Spot
    excerpt: str


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What a document was translated from."""

    title: str
    """The format, such as "Label Studio JSON"."""
    defects: Sequence[ToolDefect]
    own_places: Callable[[Sequence[str]], list[OwnPlace]]
    """Takes pointers of the document, and "/defects/7" for the eighth of `defects`."""
    place_of: Callable[[int], str]
    """Takes the row of an annotation, and returns where it stands, such as "a.xml:12"."""
