"""What lowers agreement: sentences, warnings, tables, and the objects to review first."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from bboxqa.model.table import Table

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


REPEATS = "repeats"
"""The name of the table of agreement of annotators with themselves, over sessions."""
OF_KEYPOINTS = ("joints", "joint_annotators")
"""The names of the tables that only key points have."""

EVERYONE = "(all)"
"""The name of all annotators in tables."""
NO_BOX = "(no box)"
"""The category of an annotator who did not draw the object."""
ALL_AGREE = "all agree"
"""The kind of disagreement of an object about which there is none."""


class Line(NamedTuple):
    """A sentence of a story, with whom it is about."""

    text: str
    annotators: tuple[str, ...] = ()
    """The annotators that it is about, not all that it names."""
    see: str = ""
    """The words that name the file or tables with more; "" without."""
    cause: str = ""
    """The kind of disagreement that it explains; "" without."""
    advice: str = ""
    """What to do about it, with a field for whom; "" without."""


class Story(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Sentences on who, what and where lowers agreement at one threshold."""

    threshold_label: str
    """The threshold with its quantity, such as "IoU 0.5"."""
    lines: tuple[Line, ...]
    """At most ten sentences, the most useful first, with the annotators that they are about."""
    warnings: tuple[str, ...]
    """Facts that may make the figures of agreement misleading, each with its figure."""
    advice: str
    """What to do about the kind of disagreement that costs most; "" if none costs 0.01."""

    @property
    def story(self) -> tuple[str, ...]:
        """The text of the lines."""
        return tuple(line.text for line in self.lines)

    def __repr__(self) -> str:
        lines = [f"<{type(self).__name__} at {self.threshold_label}"]
        lines += [f"  {line}" for line in (*self.story, *self.warnings)]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        from html import escape

        story = "".join(f"<li>{escape(line)}</li>" for line in self.story)
        warnings = "".join(f"<li>Warning: {escape(line)}</li>" for line in self.warnings)
        return f"<p>{escape(self.threshold_label)}</p><ul>{story}{warnings}</ul>"


class Diagnosis(Story, frozen=True, eq=False):
    """A story with the tables behind it, and what to review first.

    Its story also names the threshold that the data suggest.
    """

    tables: Mapping[str, Table]
    """The table of each diagnostic, by name."""
    review: Table
    """The objects to review first, one per row, sorted by how much agreement would gain if all
    annotators drew the object as the majority did; with the reason, the annotators and the boxes.
    """
    review_document: Mapping[str, Any]
    """The annotations of these objects as a COCO document."""
    worst_images: Mapping[str, Any]
    """The images that cost the most agreement, with their objects and all their annotations."""
    suggestion: str
    """The line on the threshold that the data suggest; "" if they suggest none."""
    to_review: tuple[ReviewItem, ...] = ()
    """Who should look at which of these objects again, in order of gain."""
