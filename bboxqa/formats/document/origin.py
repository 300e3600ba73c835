"""The origin of a document that was translated from files of an annotation tool."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bboxqa.core.arrays import IndexArray
from bboxqa.model.findings import Spot

WRITTEN_ANGLE = "written_angle"
"""The key of a translated annotation that holds the angle as its tool wrote it."""
STOPPING = ("T001", "T002", "T008", "T010")
"""Codes of defects that would falsify a result."""


class Where(NamedTuple):
    """The location of a record in the user's files."""

    member: str
    """The file inside the source; "" if the source is a single file."""
    at: str | int
    """A JSON pointer, or a line counted from 1."""


@dataclass(frozen=True, slots=True)
class ToolDefect:
    """A defect in a record of the tool's own format."""

    code: str
    """The code of a rule of family T."""
    message: str
    where: Where
    row: int = -1
    """The index of the annotation made from the record; -1 if there is none."""


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A location in the user's own file."""

    file: str
    pointer: str
    """The JSON pointer; "" where locations are lines."""
    spot: Spot
    excerpt: str


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The source from which a document was translated."""

    title: str
    """The format, such as "Label Studio JSON"."""
    defects: Sequence[ToolDefect]
    own_places: Callable[[Sequence[str]], list[OwnPlace]]
    """Called with a pointer of the document, or with "/defects/7" for the eighth of `defects`."""
    place_of: Callable[[int], str]
    """Takes the row of an annotation, and returns where it stands, such as "a.xml:12"."""
    regions_of: Callable[[IndexArray], IndexArray]
    """Takes the rows of annotations, and returns the first row of the region of each; a region has
    several rows if it has several labels.
    """
    image_names: Mapping[int, str] = field(default_factory=dict)
    """The file names of images by those ids that their tool does not show."""
    notes: Sequence[str] = ()
    """What was left out, and how the rest was read."""
    apart: Mapping[str, int] = field(default_factory=dict)
    """The number of annotations without a box, which are not examined, by shape."""
    categories_apart: frozenset[int] = frozenset()
    """The ids of the categories of these annotations."""
