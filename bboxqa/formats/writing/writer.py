"""The definition of a writer, with a module `writer` in the folder of each format."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from bboxqa.core.text import count, such_as
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.names import from_place


class Noun(NamedTuple):
    """A noun, or a phrase that begins with it, in both numbers."""

    one: str
    many: str


class Loss(msgspec.Struct, frozen=True):
    """One kind of data that a format cannot hold."""

    n: int
    noun: Noun
    why: str
    example: str = ""
    how: Literal["left out", "changed", "ambiguous"] = "left out"
    """What happens to the data: they are not written, or are read back differently, for sure or
    perhaps."""

    @property
    def what(self) -> str:
        """The noun in the plural, such as "polygons"."""
        return self.noun.many

    def __str__(self) -> str:
        shown = such_as(self.n, self.example) if self.example else ""
        return f"{count(self.n, *self.noun)}{shown}: {self.why}"


class Options(msgspec.Struct, frozen=True):
    """Options besides the format."""

    as_predictions: bool = False
    """Whether to write predictions instead of annotations for Label Studio."""
    parts: Mapping[int, str] = msgspec.field(default_factory=dict)
    """The part of each image, by its id, for a format that lists the images of parts."""


class Written(msgspec.Struct, frozen=True):
    """A file to write."""

    parts: tuple[str, ...]
    """The folders and the name inside the output; empty if the output is the file itself."""
    data: bytes


class Writer(msgspec.Struct, frozen=True):
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
    files : callable
        Yields the files of a content, without the losses, if the sizes that are needed are known.
    holds : frozenset of str
        What is written besides boxes, categories and annotators. Losses are what it does not name:

        - outlines: "polygon", "holes", "mask", "rotation" (sides and an angle), "corners" (the four
          corners of any outline), and "box and outline" if both are written;
        - "keypoints", with "visibility", "area" and "keypoint box" (the box or its extent);
        - lines: "polyline", "line", "cuboid";
        - keys of records such as "score", "attributes" or "source"; "keys" for all of them;
        - "crowd" and "unasked images";
        - what no annotator said: "image ids", "annotation ids", "category ids", "image sizes",
          "unused categories", "descriptions" such as `info`, and "unnamed images".
    keys : callable
        Returns further keys of annotations that are written, given the content.
    losses : callable
        Yields further data that the format cannot hold.
    folder : str
        The folder with the files of an annotator, for formats with a file for each image.
    read_name : callable
        Returns the name of an image as it is read back, from its name and the path of its file.
    needs_sizes : {"all images", "drawn images"} or None
        The images whose width and height are needed: all, or those with annotations.
    is_known_by_suffix : bool
        Whether a file can only be read back if its name ends in one of `suffixes`.
    lists_parts : bool
        Whether the format lists the images of parts, which others write as data sets of their own.
    becomes_text : callable
        Whether an attribute, given by its name and value, is read back as a text though it is none.
    """

    title: str
    layout: Literal["file", "folder", "folder or file"]
    suffixes: tuple[str, ...]
    files: Callable[[Content, Options], Iterator[Written]]
    holds: frozenset[str] = frozenset()
    keys: Callable[[Content], Collection[str]] = lambda _: ()
    losses: Callable[[Content, Options], Iterator[Loss]] = lambda *_: iter(())
    folder: str = ""
    read_name: Callable[[str, str], str] = from_place
    needs_sizes: Literal["all images", "drawn images"] | None = None
    is_known_by_suffix: bool = False
    lists_parts: bool = False
    becomes_text: Callable[[str, object], bool] = lambda *_: False
