"""Images of a file that are, or are related to, images of an earlier file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bboxqa.core.json_values import shortened
from bboxqa.rules.facts.document import Document

_Value = TypeVar("_Value", str, bytes)


@dataclass(frozen=True, slots=True)
class EarlierImage:
    """An image of an earlier file that belongs together with one of a later file."""

    row: int
    """The record of the later file."""
    earlier: int
    """The record of the earlier file."""
    how: str
    """What the image of the later file does, such as "looks like"."""

    def in_words(self, earlier: Document, later: Document) -> str:
        """Return the two images and how they belong together."""
        name, other = (
            shortened(document.once(names_of)[row])
            for document, row in ((later, self.row), (earlier, self.earlier))
        )
        return f"image {name} {self.how} {other} in {earlier.name}"


def names_of(document: Document) -> list[str]:
    """Return the names of the images of a file; "" for none."""
    return document.images.texts("file_name")


def first_rows(values: Sequence[_Value]) -> dict[_Value, int]:
    """Return the first image with each value, without empty values."""
    found: dict[_Value, int] = {}
    for row, value in enumerate(values):
        if value:
            found.setdefault(value, row)
    return found


def same_files(earlier: Document, later: Document) -> Iterator[EarlierImage]:
    """Yield the images that are the same file as an image of an earlier file, or have its bytes."""
    if earlier.disk is None or later.disk is None:
        return
    by_digest, by_file = first_rows(earlier.disk.digest), first_rows(earlier.disk.file)
    for row, (file, digest) in enumerate(zip(later.disk.file, later.disk.digest, strict=True)):
        if file in by_file:
            yield EarlierImage(row, by_file[file], "is the same file as")
        elif digest in by_digest:
            yield EarlierImage(row, by_digest[digest], "has the same bytes as")
