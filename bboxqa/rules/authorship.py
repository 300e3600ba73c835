"""The annotators of annotations, and the annotators that images list."""

from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, distinct_rows
from bboxqa.core.json_values import shortened
from bboxqa.core.text import as_written, folded
from bboxqa.formats.records import ASKED_KEYS, annotator_name
from bboxqa.rules.document import Document, first_rows

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
    """(I,) int64. The first image record with the same file name; with `by_records`, an image file
    has several records."""
    listed: BoolArray
    """(I,) bool. Whether an image lists its annotators."""
    asked: IndexArray
    """(P, 2) int64. Image record and listed annotator, each pair once."""

    @property
    def folded(self) -> IndexArray:
        """(K,) int64. The first of the names that each name equals when they are folded."""
        return first_rows(map(folded, self.names))


def image_list(image: Any) -> tuple[str, Any]:
    """Return the key and value of the list of annotators of an image.

    An empty list does not count, since some tools write one on every image.

    Examples
    --------
    >>> image_list({"rater_list": ["r1", "r2"]}), image_list({"annotators": []})
    (('rater_list', ['r1', 'r2']), ('', None))
    """
    if type(image) is dict:
        for key in ASKED_KEYS:
            if value := image.get(key):
                return key, value
    return "", None


def names_in(value: Any) -> tuple[str, ...] | None:
    """Return the annotators in a list of names, or the keys of an object; None for other values.

    Examples
    --------
    >>> names_in(["r1", 2]), names_in({"r1": []}), names_in("r1, r2"), names_in([{"id": 1}])
    (('r1', '2'), ('r1',), None, None)
    """
    if type(value) not in (list, dict) or not all(type(name) in _NAMES for name in value):
        return None
    return tuple(annotator_name(name) for name in value if name != "")


def quoted(name: str) -> str:
    r"""Return the name of an annotator, in which `clean` escaped signs, for a message.

    Examples
    --------
    >>> print(quoted("ann"), quoted(r"bob \u202e"))
    "ann" "bob \u202e"
    """
    return shortened(as_written(name))


def authorship(document: Document) -> Authorship:
    """Return the annotators of a document, from its annotations and from lists on images."""
    number = {name: code for code, name in enumerate(document.annotations.annotator_names)}
    images, n_images = document.images.values, len(document.images)
    records = [image if type(image) is dict else {} for image in images]
    single = [record.get("annotator") for record in records]
    is_single = [type(name) in _NAMES and name != "" for name in single]
    by_records = document.annotator_key is None and any(is_single)
    known: dict[str, tuple[str, ...]] = {}
    asked: list[tuple[int, int]] = []
    for row, record in enumerate(records):
        value = [single[row]] if by_records and is_single[row] else None
        value = value if by_records else image_list(record)[1]
        if value is not None:
            # Most images have the same list, so each distinct list is converted once.
            text = repr(value)
            if text not in known:
                known[text] = names_in(value) or ()
            asked += [(row, number.setdefault(name, len(number))) for name in known[text]]
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
    return Authorship(tuple(number), author, by_records, picture, listed, table)
