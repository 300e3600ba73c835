"""Images of a file that are, or are related to, images of an earlier file."""

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
