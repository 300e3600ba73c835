"""The annotators of a document: who drew what, who was asked, and hiding their names."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import BoolArray, Files, IndexArray, IntArray, distinct_rows
from bboxqa.core.errors import BboxqaError
from bboxqa.core.json_values import shortened
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.core.text import as_written, folded
from bboxqa.formats.records import ASKED_KEYS, annotator_name
from bboxqa.formats.registry import document_of
from bboxqa.formats.sources import as_paths, list_files, people_in_paths
from bboxqa.model.annotations import NO_CHOICES, Choices
from bboxqa.rules.document import Document, first_rows

if TYPE_CHECKING:
    from bboxqa.model.findings import FoundReport

_NAMES = (str, int, float)


class Authorship(msgspec.Struct, frozen=True, eq=False):
    """The annotators of a file."""

    names: tuple[str, ...]
    """All annotators; the codes below are indices into it."""
    author: IntArray
    """(N,) int32. Annotator of each annotation; -1 for unknown."""
    by_records: bool
    """Whether image records, rather than annotations, name the annotator."""
    picture: IndexArray
    """(I,). The first record with the same file name: with `by_records`, an image has several."""
    lists: list[tuple[str, Any]]
    """The key and the value of the list of annotators of each image; "" and None for none."""
    listed: BoolArray
    asked: IndexArray
    """(P, 2) int64. Image record and listed annotator, each pair once."""
    folded: IndexArray
    """(K,) int64. The first of the names that each name equals when they are folded."""


def names_in(value: Any) -> tuple[str, ...] | None:
    """Return the annotators in a list of names, or the keys of an object; None for other values."""
    if type(value) not in (list, dict) or not all(type(name) in _NAMES for name in value):
        return None
    return tuple(annotator_name(name) for name in value if name != "")


def quoted(name: str) -> str:
    """Return the name of an annotator, in which `clean` escaped signs, for a message."""
    return shortened(as_written(name))


def authorship(document: Document) -> Authorship:
    """Return the annotators of a document, from its annotations and from lists on images."""
    number = {name: code for code, name in enumerate(document.annotations.annotator_names)}
    images, n_images = document.images.values, len(document.images)
    records = [image if type(image) is dict else {} for image in images]
    lists: list[tuple[str, Any]] = [
        next(((key, value) for key in ASKED_KEYS if (value := each.get(key))), ("", None))
        for each in records
    ]
    single = [record.get("annotator") for record in records]
    is_single = [type(name) in _NAMES and name != "" for name in single]
    by_records = document.annotator_key is None and any(is_single)
    of_records = [[name] * known for name, known in zip(single, is_single, strict=True)]
    asked = [
        (row, number.setdefault(name, len(number)))
        for row, value in enumerate(of_records if by_records else [value for _, value in lists])
        for name in names_in(value) or ()
    ]
    table = distinct_rows(*np.array(asked, np.int64).reshape(-1, 2).T)[0].T
    listed, picture, author = np.zeros(n_images, np.bool_), np.arange(n_images), document.annotator
    listed[table[:, 0]] = True
    if by_records:
        of_image = np.full(n_images + 1, -1, np.int32)
        of_image[table[:, 0]] = table[:, 1]
        author = of_image[document.image]
        names = [record.get("file_name") for record in records]
        first = first_rows(name if type(name) is str and name else None for name in names)
        picture = np.where(first >= 0, first, picture)
    alike = first_rows(map(folded, number))
    return Authorship(tuple(number), author, by_records, picture, lists, listed, table, alike)


class People:
    """The people that documents name, and after whom files are named that name nobody."""

    def __init__(self, key: Path, source: Files = ()) -> None:
        self._key = key
        # Names that the user gave stand for files, and not the names of these files.
        self._is_named = isinstance(source, Mapping)
        self._names: set[str] = {*source} if isinstance(source, Mapping) else set()
        self._unnamed: list[Path] = []
        # A file that is no key is refused before other files are read.
        pseudonyms_of(key, ())

    def noted(self, document: Document) -> Document:
        """Return a document after noting whom it names."""
        names = document.once(authorship).names
        self._names.update(names)
        if not names and not self._is_named:
            self._unnamed.append(Path(document.name))
        return document

    def pseudonyms(self) -> dict[str, str]:
        """Return the pseudonym of each name."""
        return pseudonyms_of(self._key, self._names | people_in_paths(self._unnamed))

    def hidden(self, report: "FoundReport") -> "FoundReport":
        """Return a report on files with pseudonyms, and without excerpts and fixes."""
        hide = hider(self.pseudonyms())
        texts = "message", "file", "pointer", "ids", "found", "expected", "examples", "key"
        plain = (replace(each, fix=None, edits=(), excerpt="") for each in report.findings)
        findings = [replace(e, **{name: hide(getattr(e, name)) for name in texts}) for e in plain]
        files = [replace(f, name=hide(f.name), unread=hide(f.unread)) for f in report.files]
        notes = hide(report.notes)
        return replace(report, files=tuple(files), findings=tuple(findings), notes=notes)

    def hide_source(
        self, source: Files, pattern: str | None, choices: Choices
    ) -> Callable[[Any], Any]:
        """Return a function that replaces the names of the people of a source in texts."""
        paths = as_paths(source)
        unlisted: set[str] = set()
        try:
            files = [*map(Path, list_files(paths, pattern, choices=choices))]
        except (BboxqaError, OSError):
            entries = [each for path in map(Path, paths) for each in path.rglob("*")]
            unlisted, files = people_in_paths(entries), []
        for file in files:
            with suppress(BboxqaError, OSError):
                document = document_of(file, choices)
                if document is not None:
                    self.noted(Document(document))
        if not self._is_named:
            self._unnamed = files
        return hider(dict.fromkeys(unlisted, "FILE") | self.pseudonyms())


@contextmanager
def names_hidden(
    key: Path | None, source: Files = (), pattern: str | None = None, choices: Choices = NO_CHOICES
) -> Iterator[People | None]:
    """Replace names in errors by pseudonyms, if there is a key; yield the people then."""
    if key is None:
        yield None
        return
    people = People(key, source)
    try:
        yield people
    except BboxqaError as error:
        error.change_texts(people.hide_source(source, pattern, choices))
        raise
