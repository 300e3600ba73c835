"""Images of a file that are, or are related to, images of an earlier file."""

from collections.abc import Iterator
from dataclasses import dataclass

from bboxqa.core.json_values import shortened
from bboxqa.rules.facts.document import Document


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
            shortened(document.images.texts("file_name")[row])
            for document, row in ((later, self.row), (earlier, self.earlier))
        )
        return f"image {name} {self.how} {other} in {earlier.name}"


def same_files(earlier: Document, later: Document) -> Iterator[EarlierImage]:
    """Yield the images that are the same file as an image of an earlier file, or have its bytes."""
    if earlier.disk is None or later.disk is None:
        return
    digests = reversed(list(enumerate(earlier.disk.digest)))
    by_digest = {digest: row for row, digest in digests if digest}
    by_file = {file: row for row, file in reversed(list(enumerate(earlier.disk.file))) if file}
    for row, (file, digest) in enumerate(zip(later.disk.file, later.disk.digest, strict=True)):
        if file in by_file:
            yield EarlierImage(row, by_file[file], "is the same file as")
        elif digest in by_digest:
            yield EarlierImage(row, by_digest[digest], "has the same bytes as")
