"""Annotators whose names are written both as numbers and as text, or as lists and objects."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.records import annotator_name
from bboxqa.rules.base.rule import Defect
from bboxqa.rules.facts.authorship import Authorship, image_list, names_in
from bboxqa.rules.facts.document import Document


def composed_names(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the annotations with a list, or an object, in place of the name of their annotator."""
    key = document.annotator_key
    codes = [code for code, name in enumerate(authors.names) if name.startswith(("[", "{"))]
    if key is None or not codes:
        return
    rows = np.flatnonzero(np.isin(authors.author, codes)).tolist()
    types = {row: type(_value(document.record(row), key)) for row in rows}
    for kind, words in ((list, "a list"), (dict, "an object")):
        odd = [row for row in rows if types[row] is kind]
        if not odd:
            continue
        pointers = [pointer_to("annotations", row, *key.split(".")) for row in odd[:3]]
        value = shortened(_value(document.record(odd[0]), key))
        yield Defect(
            f"{count(len(odd), 'annotation')} with {words} under {shortened(key)}, such as "
            f"{value}; expected the name of one annotator",
            pointer=pointers[0],
            found=value,
            expected="a name",
            ids=document.ids(odd[0]),
            count=len(odd),
            examples=tuple(pointers),
        )


def two_types(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the annotators that are written both as a number (1) and as text ("1")."""
    if not any(_is_number(name) for name in authors.names):
        return
    texts, numbers = _written(document)
    # Most images name the same annotators, which are checked once.
    distinct = {repr(_lists_of(image)): image for image in document.images.values}
    for name in (name for image in distinct.values() for name in _named_by(image)):
        (texts if type(name) is str else numbers).add(annotator_name(name))
    both = {name for name in texts & numbers if _is_number(name)}
    if not both:
        return
    # The search in the text of the file is only a hint; the records decide.
    places: dict[str, dict[bool, list[str]]] = {name: {True: [], False: []} for name in both}
    for value, pointer in _everywhere(document, authors, both):
        if value is not None and annotator_name(value) in both:
            places[annotator_name(value)][type(value) is str].append(pointer)
    names = sorted(name for name in both if all(places[name].values()))
    rare = [pointer for name in names for pointer in min(places[name].values(), key=len)]
    if names:
        yield Defect(
            f"annotator {names[0]} {and_others(names)}is written as a number in some places and "
            "as text in others; expected one type",
            pointer=rare[0],
            found=names,
            expected="one type",
            ids={"annotator": names[0]},
            count=len(rare),
            examples=tuple(rare[:3]),
        )


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def and_others(names: Sequence[Any]) -> str:
    """Return a phrase with the number of names after the first one."""
    return f"(and {len(names) - 1:,} more) " if len(names) > 1 else ""


def _lists_of(image: Any) -> tuple[Any, Any]:
    """Return the list of annotators of an image, and its single annotator."""
    single = image.get("annotator") if type(image) is dict else None
    return image_list(image)[1], single


def _named_by(image: Any) -> list[Any]:
    """Return the annotators of an image as written; keys of objects are always text."""
    value, single = _lists_of(image)
    if type(value) is list and names_in(value) is not None:
        return value
    return [single] if type(single) in (str, int, float) else []


def _everywhere(
    document: Document, authors: Authorship, names: set[str]
) -> Iterator[tuple[Any, str]]:
    """Yield annotators as written, with the pointer to each."""
    key = document.annotator_key
    if key is not None:
        codes = [code for code, name in enumerate(authors.names) if name in names]
        for row in np.flatnonzero(np.isin(authors.author, codes)).tolist():
            yield _value(document.record(row), key), pointer_to("annotations", row, *key.split("."))
    for row, image in enumerate(document.images.values):
        name = image_list(image)[0]
        for place, value in enumerate(_named_by(image)):
            keys = (name, place) if name else ("annotator",)
            yield value, pointer_to("images", row, *keys)


def _written(document: Document) -> tuple[set[str], set[str]]:
    """Return integers written as text, and as numbers, under the key, by searching the file."""
    key = document.annotator_key
    if key is None:
        return set(), set()
    last = re.escape(key.rpartition(".")[2].encode())
    text, (_, *span) = document.reading.text, document.reading.spans["annotations"]
    forms = [re.compile(rb'"%s"\s*:\s*%s' % (last, form)) for form in (rb'"(-?\d+)"', rb"(-?\d+)")]
    there = [form.search(text, *span) is not None for form in forms]
    if all(there):
        texts, numbers = ({one[1].decode() for one in f.finditer(text, *span)} for f in forms)
        return texts, numbers
    # If only one of the two notations occurs, all names are written that way.
    names = set(document.annotations.annotator_names)
    return names if there[0] else set(), names if there[1] else set()


def _value(record: dict[str, Any], key: str) -> Any:
    first, _, rest = key.partition(".")
    value = record.get(first)
    return value.get(rest) if rest and type(value) is dict else value
