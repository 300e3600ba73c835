"""What a writer is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.losses import Loss


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked for besides a format."""

    as_predictions: bool = False
    """Whether Label Studio gets predictions in place of annotations."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file to write."""

    parts: tuple[str, ...]
    """The folders and the name below the output; none where that is the file."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Writer:
    """A format that annotations are written in.

    Attributes
    ----------
    title : str
        As messages name it.
    layout : {"file", "folder", "folder or file"}
        What is written. "folder or file" is a file for one annotator if the name of the output ends
        in the first of `suffixes`.
    suffixes : tuple of str
        Of the files that are written.
    losses : callable
        Yields what the format cannot hold.
    files : callable
        Yields the files of a content, without what cannot be held. Raises DatasetError if it lacks
        what the format needs.
    is_known_by_suffix : bool
        Whether a file is only read if its name ends in one of `suffixes`.
    has_keypoints : bool
        Whether it writes annotations that have key points and no box.
    """

    title: str
    layout: Literal["file", "folder", "folder or file"]
    suffixes: tuple[str, ...]
    losses: Callable[[Content, Options], Iterator[Loss]]
    files: Callable[[Content, Options], Iterator[Written]]
    is_known_by_suffix: bool = False
    has_keypoints: bool = False
