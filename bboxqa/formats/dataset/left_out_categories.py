"""Leaving out the annotations of categories that a user does not want to measure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import IntArray
from bboxqa.core.errors import ConfigError, NothingToCompareError
from bboxqa.core.text import clean, count, first_few
from bboxqa.formats.dataset.merge import IndexedAnnotations
from bboxqa.formats.records import AnnotationFile

_SHOWN = 3


def left_out_by(category_map: Mapping[str, str]) -> frozenset[str]:
    """Return the categories that a map leaves out: those without a new name.

    Raises ConfigError if another category is renamed to one of them.

    Examples
    --------
    >>> sorted(left_out_by({"Cat": "cat", "shadow": ""}))
    ['shadow']
    """
    names = frozenset(name for name, new in category_map.items() if not new)
    for name, new in category_map.items():
        if new in names:
            raise ConfigError(
                f"--map leaves {new!r} out, and renames {name!r} to it; expected only one of both"
            )
    return names


def without_categories(
    files: Sequence[AnnotationFile],
    indexed: Sequence[IndexedAnnotations],
    authors: Sequence[IntArray],
    categories: Mapping[str, int],
    names: frozenset[str],
) -> tuple[list[AnnotationFile], list[IndexedAnnotations], list[IntArray], dict[str, int]]:
    """Leave out categories and their annotations, of which images and annotators stay.

    Parameters
    ----------
    files, indexed, authors
        The files, their annotations, and who drew these.
    categories : mapping of str to int
        The index of each category.
    names : frozenset of str
        The categories to leave out.

    Returns
    -------
    tuple
        The same without these categories, which have new indices.

    Raises
    ------
    NothingToCompareError
        If there are annotations, and none is left.
    """
    kept = {name: place for place, name in enumerate(sorted({*categories} - names))}
    new = np.full(len(categories), -1, np.int32)
    new[[categories[name] for name in kept]] = [*kept.values()]
    parts, people = [], []
    for part, author in zip(indexed, authors, strict=True):
        category = new[part.category]
        rows = np.flatnonzero(category >= 0)
        parts.append(replace(part.take(rows), category=category[rows]))
        people.append(author[rows])
    if any(map(len, authors)) and not any(map(len, people)):
        shown = first_few(sorted(names & {*categories}), _SHOWN, repr)
        problem = f"--map leaves out the categories of all annotations: {shown}"
        raise NothingToCompareError([problem], "Keep a category that is to be measured.")
    listing = [
        replace(file, categories=[each for each in file.categories if clean(each.name) in kept])
        for file in files
    ]
    return listing, parts, people, kept


def left_out_category_notes(names: frozenset[str], n: int) -> Iterator[str]:
    """Yield a note on the number of annotations that were left out.

    Examples
    --------
    >>> [*left_out_category_notes(frozenset({"shadow"}), 2)]
    ["2 annotations of 'shadow' left out, as --map says"]
    """
    if n:
        shown = first_few(sorted(names), _SHOWN, repr)
        yield f"{count(n, 'annotation')} of {shown} left out, as --map says"
