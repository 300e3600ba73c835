"""A review queue: objects to look at again, by annotator."""

from typing import Any

import msgspec

MOST_REVIEWED = 1000
"""The most objects in a queue."""


class ReviewItem(msgspec.Struct, frozen=True):
    """An object for one annotator in a queue, whose document holds the annotations."""

    object: "ReviewObject"
    row: int
    """The annotation among those of the document, maybe a proposed one; -1 for none."""
    place: int
    """The image among those of the document."""


class ReviewObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object that an annotator should look at again."""

    annotator: str
    image: str
    """The name of the image in the data set."""
    id: int | str | None = None
    """The id of the annotation as its file or tool shows it; None if the annotator drew nothing."""
    category: str
    bbox: tuple[float, float, float, float]
    """x, y, width and height in pixels: of the annotation, or of that of somebody else."""
    reason: str = ""
    """Why it is to be looked at, such as "not drawn by ann"."""
    gain: float = 0.0
    """How much agreement would rise if the object were settled."""
    sent: dict[str, Any] | None = None
    """The annotation as the sent file says it: its category and geometry, and its id if the format
    has ids. None if the annotator drew nothing.
    """
    proposed: bool = False
    """Whether the original file lacks the annotation, which is added if the reviewer changes it, or
    says that what stays as it was sent is to be added."""
