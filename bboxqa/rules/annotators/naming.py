"""A: inconsistent naming of annotators."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray, IntArray, run_starts
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.columns import Kind
from bboxqa.formats.records import ANNOTATOR_KEYS
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.annotators.name_types import and_others, composed_names, two_types
from bboxqa.rules.base.reporting import summary_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits
from bboxqa.rules.facts.authorship import (
    Authorship,
    authorship,
    image_list,
    names_in,
    quoted,
)
from bboxqa.rules.facts.document import Document

# The user who created a record may not be the annotator who drew the box.
_CREATOR = "created_by"


def _inconsistent(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """A001: contradictions in the naming of annotators, one finding per kind."""
    authors = document.once(authorship)
    yield from described_hits(list(_two_names(document)))
    unnamed = list(_unnamed(document, authors))
    of_creator = Severity.WARNING if document.annotator_key == _CREATOR else None
    yield from described_hits(unnamed, of_creator)
    yield from described_hits(list(_malformed_lists(document)))
    yield from described_hits(list(composed_names(document, authors)), of_creator)
    yield from described_hits(list(two_types(document, authors)))
    yield from described_hits(list(_spellings(document, authors)), Severity.WARNING)
    yield from described_hits(list(_no_author(document, authors)), Severity.WARNING)


def _pointer(row: int, key: str) -> str:
    return pointer_to("annotations", row, *key.split("."))


def _annotations_defect(
    document: Document, message: str, rows: IndexArray, key: str, **more: Any
) -> Defect:
    return summary_defect(
        message,
        "annotations",
        rows,
        *key.split("."),
        pointer=_pointer(int(rows[0]), key),
        ids=document.ids(int(rows[0])),
        **more,
    )


def _images_defect(
    document: Document, message: str, rows: Sequence[int], *key: str, **more: Any
) -> Defect:
    return summary_defect(
        message,
        "images",
        rows,
        *key,
        pointer=pointer_to("images", rows[0], *key),
        ids={"image": document.images.get(rows[0], "id")},
        **more,
    )


def _two_names(document: Document) -> Iterator[Defect]:
    """Yield pairs of keys that name different annotators on one annotation."""
    codes = document.annotations.annotator
    used = [key for key in ANNOTATOR_KEYS if key != _CREATOR and (codes[key] >= 0).any()]
    for first, second in combinations(used, 2):
        both = np.flatnonzero((codes[first] >= 0) & (codes[second] >= 0))
        left, right = codes[first][both], codes[second][both]
        # An annotator's name and number differ, but always occur together.
        alike = first.endswith("_id") == second.endswith("_id")
        alike = alike or len(np.intersect1d(left, right)) > 0
        number, name = (left, right) if first.endswith("_id") else (right, left)
        rows = both[left != right if alike else _unusual(number, name)]
        if len(rows):
            yield _annotations_defect(
                document,
                f"{count(len(rows), 'annotation')} with one annotator under {shortened(first)} and "
                f"another under {shortened(second)}; expected the same",
                rows,
                second,
                found=[_name(document, first, rows[0]), _name(document, second, rows[0])],
                expected="one annotator, whichever key is read",
            )


def _name(document: Document, key: str, row: int) -> str:
    columns = document.annotations
    return columns.annotator_names[int(columns.annotator[key][row])]


def _unusual(number: IntArray, name: IntArray) -> BoolArray:
    """Return where a number occurs with a name other than its most frequent one."""
    pair, inverse, times = np.unique(
        np.stack([number, name], 1), axis=0, return_inverse=True, return_counts=True
    )
    order = np.lexsort((-times, pair[:, 0]))
    usual = np.zeros(len(pair), np.bool_)
    usual[order[np.unique(pair[order, 0], return_index=True)[1]]] = True
    result: BoolArray = ~usual[inverse.reshape(-1)]
    return result


def _unnamed(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the records without an annotator if other records name theirs."""
    key = document.annotator_key
    if key is not None:
        is_object = document.annotations.record == Kind.DICT
        rows = np.flatnonzero(is_object & (document.annotator < 0))
        if len(rows):
            columns = document.annotations.annotator
            others = [k for k in ANNOTATOR_KEYS if k != key and (columns[k][rows] >= 0).any()]
            elsewhere = f" (some have {shortened(others[0])})" if others else ""
            yield _annotations_defect(
                document,
                f"{len(rows):,} of {count(int(is_object.sum()), 'annotation')} do not name their "
                f"annotator under {shortened(key)}{elsewhere}; expected it on all",
                rows,
                key,
                expected=f"{key} on every annotation",
            )
    elif authors.by_records:
        images = document.images.values
        missing = [r for r in np.flatnonzero(~authors.listed).tolist() if type(images[r]) is dict]
        if missing:
            yield _images_defect(
                document,
                f"{len(missing):,} of {count(len(images), 'image')} do not name their annotator "
                'under "annotator"; expected it on all',
                missing,
                "annotator",
                expected="annotator on every image",
            )


def _malformed_lists(document: Document) -> Iterator[Defect]:
    """Yield the images whose list of annotators is malformed."""
    found = [(row, *image_list(image)) for row, image in enumerate(document.images.values)]
    # Most images have the same list, so each distinct list is checked once.
    distinct = {repr(value): value for _, key, value in found if key}
    wrong = {text for text, value in distinct.items() if names_in(value) is None}
    if not wrong:
        return
    odd = [(row, key, value) for row, key, value in found if key and repr(value) in wrong]
    _, key, value = odd[0]
    yield _images_defect(
        document,
        f"{shortened(key)} of {count(len(odd), 'image')} is neither a list of names nor an object "
        f"with names as keys, such as {shortened(value)}",
        [row for row, *_ in odd],
        key,
        found=shortened(value),
        expected='a list of names, or an object {"name": …}',
    )


def _spellings(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the names that differ only in case, blanks or invisible characters."""
    drawn = np.bincount(authors.author[authors.author >= 0], minlength=len(authors.names))
    used = drawn + np.bincount(authors.asked[:, 1], minlength=len(authors.names))
    # The most frequent spelling of each name comes first, and is the one to keep.
    order = np.lexsort((-used, authors.folded))
    order = order[used[order] > 0]
    starts = run_starts(authors.folded[order])
    again = np.ones(len(order), np.bool_)
    again[starts] = False
    rare = order[again].tolist()
    if rare:
        kept = int(order[np.flatnonzero(again)[0] - 1])
        names = [authors.names[kept], authors.names[rare[0]]]
        yield Defect(
            f"annotators {quoted(names[0])} and {quoted(names[1])} {and_others(rare)}differ "
            "only in case, blanks or invisible characters; expected one spelling",
            pointer=_first_place(document, authors, rare[0]),
            found=names,
            expected="one spelling",
            ids={"annotator": names[1]},
            count=int(used[rare].sum()),
            examples=tuple(_first_place(document, authors, code) for code in rare[:3]),
        )


def _first_place(document: Document, authors: Authorship, code: int) -> str:
    rows = np.flatnonzero(authors.author == code)
    if len(rows) and document.annotator_key is not None:
        return _pointer(int(rows[0]), document.annotator_key)
    image = int(authors.asked[authors.asked[:, 1] == code, 0][0])
    key = "annotator" if authors.by_records else image_list(document.images.values[image])[0]
    return pointer_to("images", image, key)


def _no_author(document: Document, authors: Authorship) -> Iterator[Defect]:
    """Yield the images that list several annotators if annotations name none."""
    if document.annotator_key is not None or authors.by_records or not len(document.annotations):
        return
    rows = np.flatnonzero(np.bincount(authors.asked[:, 0], minlength=len(authors.picture)) > 1)
    if len(rows):
        key = image_list(document.images.values[int(rows[0])])[0]
        yield _images_defect(
            document,
            f"{count(len(rows), 'image')} with several annotators under {shortened(key)}, but no "
            "annotation names its own; expected an annotator on each annotation",
            rows.tolist(),
            key,
            expected="a key such as annotator on every annotation",
        )


RULES = (
    Rule(
        code="A001",
        title="annotators are named inconsistently",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""Annotations count for the wrong annotator or for none, so agreement and the search
            for duplicates are wrong; pandas and dicts treat 1 and "1" as two annotators.""",
        explanation="""Annotators are read from annotator, annotator_id, rater, rater_id, created_by
            and attributes.annotator of an annotation, from annotator of an image, and from the
            rater_list or annotators of an image. It is an error if two keys of one annotation name
            different annotators, only some records name an annotator, a list is neither a list of
            names nor an object with names as keys, a name is a number in one place and text in
            another, or an annotation has a list or an object in place of a name. It is a warning if
            names differ only in case, blanks or invisible characters, or if images list several
            annotators while no annotation names one. Such files come from merging exports. Write
            one spelling of every name, under one key, on every annotation.""",
        bad={"annotations": [{"rater": "ann"}, {"bbox": [50, 10, 20, 30]}]},
        good={"annotations": [{"rater": "ann"}, {"rater": "bob", "bbox": [50, 10, 20, 30]}]},
        check=_inconsistent,
    ),
)
