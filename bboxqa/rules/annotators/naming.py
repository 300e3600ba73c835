"""Whether a file names its annotators in one way."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, run_starts
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, annotator_name
from bboxqa.formats.document.annotation_columns import Kind
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.authorship import Authorship, authorship, image_list, names_in
from bboxqa.rules.facts.document import Document

__all__ = ["RULES"]

# Who made a record need not be who drew the box.
_MAKER = "created_by"


def _inconsistent(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """Yield the ways in which the naming of annotators contradicts itself, each once."""
    known = document.once(authorship)
    yield from described_hits(list(_two_names(document)))
    unnamed = list(_unnamed(document, known))
    maker = document.annotator_key == _MAKER
    yield from described_hits(unnamed, Severity.WARNING if maker else None)
    yield from described_hits(list(_odd_lists(document)))
    yield from described_hits(list(_two_types(document, known)))
    yield from described_hits(list(_spellings(document, known)), Severity.WARNING)
    yield from described_hits(list(_nobody(document, known)), Severity.WARNING)


def _pointer(row: int, key: str) -> str:
    return pointer_to("annotations", row, *key.split("."))


def _of_annotations(rows: IndexArray, key: str) -> dict[str, Any]:
    """Return where annotations name their annotator, as arguments of `Defect`."""
    pointers = tuple(_pointer(int(row), key) for row in rows[:3])
    return {"pointer": pointers[0], "count": len(rows), "examples": pointers}


def _of_images(rows: list[int], *key: str) -> dict[str, Any]:
    pointers = tuple(pointer_to("images", row, *key) for row in rows[:3])
    return {"pointer": pointers[0], "count": len(rows), "examples": pointers}


def _two_names(document: Document) -> Iterator[Defect]:
    """Yield pairs of keys that name different people on one annotation."""
    codes = document.annotations.annotator
    used = [key for key in ANNOTATOR_KEYS if key != _MAKER and (codes[key] >= 0).any()]
    for first, second in combinations(used, 2):
        both = np.flatnonzero((codes[first] >= 0) & (codes[second] >= 0))
        left, right = codes[first][both], codes[second][both]
        # A name and a number of the same person differ, but always go together.
        alike = first.endswith("_id") == second.endswith("_id")
        alike = alike or len(np.intersect1d(left, right)) > 0
        number, name = (left, right) if first.endswith("_id") else (right, left)
        rows = both[left != right if alike else _unusual(number, name)]
        if len(rows):
            yield Defect(
                f"{count(len(rows), 'annotation')} with one annotator under {shortened(first)} and "
                f"another under {shortened(second)}; expected the same",
                found=[_name(document, first, rows[0]), _name(document, second, rows[0])],
                expected="one annotator, whichever key is read",
                ids=document.ids(int(rows[0])),
                **_of_annotations(rows, second),
            )


def _name(document: Document, key: str, row: int) -> str:
    columns = document.annotations
    return columns.annotator_names[int(columns.annotator[key][row])]


def _unusual(number: IntArray, name: IntArray) -> BoolArray:
    """Return where a number goes with another name than it mostly does."""
    pair, inverse, times = np.unique(
        np.stack([number, name], 1), axis=0, return_inverse=True, return_counts=True
    )
    order = np.lexsort((-times, pair[:, 0]))
    usual = np.zeros(len(pair), np.bool_)
    usual[order[np.unique(pair[order, 0], return_index=True)[1]]] = True
    result: BoolArray = ~usual[inverse.reshape(-1)]
    return result


def _unnamed(document: Document, known: Authorship) -> Iterator[Defect]:
    """Yield that some records name their annotator and others do not."""
    key = document.annotator_key
    if key is not None:
        is_object = document.annotations.record == Kind.DICT
        rows = np.flatnonzero(is_object & (document.annotator < 0))
        if len(rows):
            columns = document.annotations.annotator
            others = [k for k in ANNOTATOR_KEYS if k != key and (columns[k][rows] >= 0).any()]
            elsewhere = f" (some have {shortened(others[0])})" if others else ""
            yield Defect(
                f"{len(rows):,} of {count(int(is_object.sum()), 'annotation')} do not name their "
                f"annotator under {shortened(key)}{elsewhere}; expected it on all",
                expected=f"{key} on every annotation",
                ids=document.ids(int(rows[0])),
                **_of_annotations(rows, key),
            )
    elif known.by_records:
        images = document.images.values
        missing = [r for r in np.flatnonzero(~known.listed).tolist() if type(images[r]) is dict]
        if missing:
            yield Defect(
                f"{len(missing):,} of {count(len(images), 'image')} do not name their annotator "
                'under "annotator"; expected it on all',
                expected="annotator on every image",
                ids={"image": document.images.get(missing[0], "id")},
                **_of_images(missing, "annotator"),
            )


def _odd_lists(document: Document) -> Iterator[Defect]:
    """Yield that images say who was asked in a way that cannot be read."""
    found = [(row, *image_list(image)) for row, image in enumerate(document.images.values)]
    # Most images say the same, which is looked at once.
    distinct = {repr(value): value for _, key, value in found if key}
    wrong = {text for text, value in distinct.items() if names_in(value) is None}
    if not wrong:
        return
    odd = [(row, key, value) for row, key, value in found if key and repr(value) in wrong]
    row, key, value = odd[0]
    yield Defect(
        f"{shortened(key)} of {count(len(odd), 'image')} is no list of names and no object with "
        f"names as keys, such as {shortened(value)}",
        found=shortened(value),
        expected='a list of names, or an object {"name": …}',
        ids={"image": document.images.get(row, "id")},
        **_of_images([row for row, *_ in odd], key),
    )


def _two_types(document: Document, known: Authorship) -> Iterator[Defect]:
    """Yield that an annotator is 1 in one place and "1" in another."""
    if not any(_is_number(name) for name in known.names):
        return
    texts, numbers = _written(document)
    # Most images say the same, which is looked at once.
    distinct = {repr(_said_by(image)): image for image in document.images.values}
    for name in (name for image in distinct.values() for name in _named_by(image)):
        (texts if type(name) is str else numbers).add(annotator_name(name))
    both = {name for name in texts & numbers if _is_number(name)}
    if not both:
        return
    # The text of a file can be misread; its records cannot.
    places: dict[str, dict[bool, list[str]]] = {name: {True: [], False: []} for name in both}
    for value, pointer in _everywhere(document, known, both):
        if value is not None and annotator_name(value) in both:
            places[annotator_name(value)][type(value) is str].append(pointer)
    names = sorted(name for name in both if all(places[name].values()))
    rare = [pointer for name in names for pointer in min(places[name].values(), key=len)]
    if names:
        yield Defect(
            f"annotator {names[0]} {_and_others(names)}is written as a number in some places and "
            "as text in others; expected one of the two",
            pointer=rare[0],
            found=names,
            expected="one type",
            ids={"annotator": names[0]},
            count=len(rare),
            examples=tuple(rare[:3]),
        )


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _and_others(names: Sequence[Any]) -> str:
    return f"(and {len(names) - 1:,} more) " if len(names) > 1 else ""


def _said_by(image: Any) -> tuple[Any, Any]:
    own = image.get("annotator") if type(image) is dict else None
    return image_list(image)[1], own


def _named_by(image: Any) -> list[Any]:
    """Return whom an image names, each as it is written; keys of objects are always text."""
    value, own = _said_by(image)
    if type(value) is list and names_in(value) is not None:
        return value
    return [own] if type(own) in (str, int, float) else []


def _everywhere(
    document: Document, known: Authorship, names: set[str]
) -> Iterator[tuple[Any, str]]:
    """Yield annotators as they are written, and where."""
    key = document.annotator_key
    if key is not None:
        codes = [code for code, name in enumerate(known.names) if name in names]
        for row in np.flatnonzero(np.isin(known.author, codes)).tolist():
            yield _value(document.record(row), key), _pointer(row, key)
    for row, image in enumerate(document.images.values):
        name = image_list(image)[0]
        for place, value in enumerate(_named_by(image)):
            yield (
                value,
                pointer_to("images", row, name, place)
                if name
                else pointer_to("images", row, "annotator"),
            )


def _written(document: Document) -> tuple[set[str], set[str]]:
    """Return the whole numbers that seem to stand under the key as text, and as numbers."""
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
    # Where one of the two is nowhere, all are the other.
    names = set(document.annotations.annotator_names)
    return names if there[0] else set(), names if there[1] else set()


def _value(record: dict[str, Any], key: str) -> Any:
    first, _, rest = key.partition(".")
    value = record.get(first)
    return value.get(rest) if rest and type(value) is dict else value


def _spellings(document: Document, known: Authorship) -> Iterator[Defect]:
    """Yield names that differ only in case or blanks."""
    drawn = np.bincount(known.author[known.author >= 0], minlength=len(known.names))
    used = drawn + np.bincount(known.asked[:, 1], minlength=len(known.names))
    # Of each name the most frequent spelling comes first, and is the one to keep.
    order = np.lexsort((-used, known.folded))
    order = order[used[order] > 0]
    starts = run_starts(known.folded[order])
    again = np.ones(len(order), np.bool_)
    again[starts] = False
    rare = order[again].tolist()
    if rare:
        kept = int(order[np.flatnonzero(again)[0] - 1])
        names = [known.names[kept], known.names[rare[0]]]
        yield Defect(
            f"annotators {shortened(names[0])} and {shortened(names[1])} "
            f"{_and_others(rare)}differ only "
            "in case or blanks; expected one spelling",
            pointer=_first_place(document, known, rare[0]),
            found=names,
            expected="one spelling",
            ids={"annotator": names[1]},
            count=int(used[rare].sum()),
            examples=tuple(_first_place(document, known, code) for code in rare[:3]),
        )


def _first_place(document: Document, known: Authorship, code: int) -> str:
    rows = np.flatnonzero(known.author == code)
    if len(rows) and document.annotator_key is not None:
        return _pointer(int(rows[0]), document.annotator_key)
    image = int(known.asked[known.asked[:, 1] == code, 0][0])
    key = "annotator" if known.by_records else image_list(document.images.values[image])[0]
    return pointer_to("images", image, key)


def _nobody(document: Document, known: Authorship) -> Iterator[Defect]:
    """Yield that images name several annotators, and annotations none."""
    if document.annotator_key is not None or known.by_records or not len(document.annotations):
        return
    rows = np.flatnonzero(np.bincount(known.asked[:, 0], minlength=len(known.picture)) > 1)
    if len(rows):
        key = image_list(document.images.values[int(rows[0])])[0]
        yield Defect(
            f"{count(len(rows), 'image')} with several annotators under {shortened(key)}, but no "
            "annotation names its own; expected an annotator on each annotation",
            expected="a key such as annotator on every annotation",
            ids={"image": document.images.get(int(rows[0]), "id")},
            **_of_images(rows.tolist(), key),
        )


RULES = (
    Rule(
        code="A001",
        title="annotators are named inconsistently",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Annotations are counted for the wrong annotator or for none, so agreement and the
            search for duplicates are wrong; pandas and dict look-ups take 1 and "1" for two
            people.""",
        explanation="""Annotators are looked for under annotator, annotator_id, rater, rater_id,
            created_by and attributes.annotator of an annotation, under annotator of an image, and
            in the rater_list or annotators of an image. It is an error if two keys of one
            annotation name different people, some records name nobody while others do, a list is
            neither a list of names nor an object with names as keys, or a name is a number in one
            place and text in another. It is a warning if names differ only in case or blanks, or if
            images list several annotators while no annotation names one. Such files come from
            merging exports. Write every name in one way, under one key, on every annotation.""",
        bad={"annotations": [{"rater": "ann"}, {"bbox": [50, 10, 20, 30]}]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob", "bbox": [50, 10, 20, 30]}]},
        check=_inconsistent,
    ),
)
