"""The definition of a writer."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.losses import Loss


@dataclass(frozen=True, slots=True)
class Options:
    """Options besides the format."""

    as_predictions: bool = False
    """Whether to write predictions instead of annotations for Label Studio."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file to write."""

    parts: tuple[str, ...]
    """The folders and the name inside the output; empty if the output is the file itself."""
    data: bytes


def _never(_name: str, _value: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Writer:
    """A format in which annotations can be written.

    Attributes
    ----------
    title : str
        The name in messages.
    layout : {"file", "folder", "folder or file"}
        The kind of output. "folder or file" is a single file, for one annotator, if the output name
        ends in the first of `suffixes`.
    suffixes : tuple of str
        The suffixes of the written files.
    losses : callable
        Yields the data that the format cannot hold.
    files : callable
        Yields the files of a content, without the losses, if the sizes that are needed are known.
    needs_sizes : {"all images", "drawn images"} or None
        The images whose width and height are needed: all, or those with annotations.
    is_known_by_suffix : bool
        Whether a file can only be read back if its name ends in one of `suffixes`.
    has_keypoints : bool
        Whether annotations with key points but no box are written.
    adds_boxes : bool
        Whether these are read back with the extent of their points as box.
    has_sizes : bool
        Whether the sizes of images are written; otherwise readers take them from the pictures.
    holds : collection of str
        What is written of "descriptions" (keys such as `info`), "unused categories", and the ids of
        "images", "annotations" and "categories".
    becomes_text : callable
        Whether an attribute, given by its name and value, is read back as a text though it is none.
    lines : collection of str
        The shapes without a box that are written if their points are known.
    """

    title: str
    layout: Literal["file", "folder", "folder or file"]
    suffixes: tuple[str, ...]
    losses: Callable[[Content, Options], Iterator[Loss]]
    files: Callable[[Content, Options], Iterator[Written]]
    needs_sizes: Literal["all images", "drawn images"] | None = None
    is_known_by_suffix: bool = False
    has_keypoints: bool = False
    adds_boxes: bool = False
    has_sizes: bool = True
    holds: Collection[str] = ()
    becomes_text: Callable[[str, object], bool] = _never
    lines: Collection[str] = ()
