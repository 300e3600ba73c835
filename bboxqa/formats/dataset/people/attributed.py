"""The annotators of all annotations and images."""

from collections.abc import Sequence
from dataclasses import dataclass

from bboxqa.core.arrays import IntArray
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """The annotators of all annotations and images in several files."""

    way: str
    """A description for the user; "" where the files name nobody."""
    author: list[IntArray]
    """list of (N,) int32. By file, the annotator of each annotation as an index into `names`; -1
    where none is named.
    """
    asked: list[list[tuple[str, ...] | None]]
    """By file, who was asked about each image record; None where the record does not say."""
    names: tuple[str, ...]
    """The names of the annotators."""
    numbered: bool = False
    """Whether annotators are only numbered, image by image, since the files name nobody."""
    of_files: bool = False
    """Whether each file was made by one annotator."""
    splits: Sequence[str] = ()
    """The split of each file, where images of several splits have the same names."""
    n_beside: int = 0
    """The number of lists of results at the end, which say nothing about who else was asked."""
    key: str = ""
    """The key on annotations that names annotators; "" for other ways."""


def way_by_key(files: Sequence[AnnotationFile], key: str) -> str:
    """Return how files name annotators by a key on annotations."""
    by_key = f"the key {key!r} on annotations"
    # Users have never seen the keys of translated formats.
    words = [(file.named_by if key == ANNOTATOR_KEYS[0] else "") or by_key for file in files]
    return " and ".join(dict.fromkeys(words))
