"""What lowers agreement: sentences, warnings, tables, and what to look at first."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from bboxqa.model.table import Table

if TYPE_CHECKING:
    from bboxqa.model.results import MeasuredAgreement


REPEATS = "repeats"
"""The name of the table of annotators with themselves, where there were sessions."""


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """Who, what and where lowers agreement at one threshold, in words.

    Attributes
    ----------
    threshold_label : str
        The threshold with what it is a value of, such as "IoU 0.5".
    story : tuple of str
        At most ten sentences, the most useful first.
    warnings : tuple of str
        What may make the figures of agreement mean something else, each with its figure.
    """

    threshold_label: str
    story: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"<{type(self).__name__} at {self.threshold_label}"]
        lines += [f"  {line}" for line in (*self.story, *self.warnings)]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        story = "".join(f"<li>{escape(line)}</li>" for line in self.story)
        warnings = "".join(f"<li>Warning: {escape(line)}</li>" for line in self.warnings)
        return f"<p>{escape(self.threshold_label)}</p><ul>{story}{warnings}</ul>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diagnosis(Story):
    """A story with the tables that it is made of, and what to review first.

    The story has one more sentence: the threshold that the data suggest.

    Attributes
    ----------
    tables : mapping of str to Table
        What each diagnostic found, by its name.
    review : Table
        The objects to look at first, by how much agreement would gain if the annotators settled
        them as most of them drew them: a row for each, with the reason, the people and the boxes.
    review_document : mapping
        The annotations of these objects as a COCO document.
    worst_images : mapping
        The images that cost most agreement, with their objects and all annotations in them.
    """

    tables: Mapping[str, Table]
    review: Table
    review_document: Mapping[str, Any]
    worst_images: Mapping[str, Any]


class Diagnoser(Protocol):
    """Compares the annotations of a result again, to find what lowers agreement."""

    @property
    def is_quick(self) -> bool:
        """Whether the story takes little longer than the result: it is then told unasked."""

    @property
    def why_slow(self) -> str:
        """Why it takes longer; empty where it does not."""

    def keeping(self, n_images: int) -> "Diagnoser":
        """Return one whose diagnosis keeps so many of the worst images, if these are more."""

    def story(self, result: "MeasuredAgreement", /) -> Story:
        """Return who, what and where lowers agreement, in sentences."""

    def diagnosis(self, result: "MeasuredAgreement", /) -> Diagnosis:
        """Return the story with its tables, and what to review first."""
