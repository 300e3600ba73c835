"""C: ids, names and use of categories, and category maps of several files."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.arrays import distinct
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import folded
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import MANY, Checked, Defect, Rows, record_edit, rule
from bboxqa.rules.document import Document, first_rows

_HIDDEN = "case, blanks or invisible characters"
_JOINERS = "\u200c\u200d\u200e\u200f"


def _visible(name: str) -> str:
    """Return a name without control and zero-width characters, and blanks around it."""
    # Joiners and direction marks are meaningful next to emoji and in non-Latin scripts.
    plain = (
        sign if sign in _JOINERS or unicodedata.category(sign) not in ("Cf", "Cc")
        else " " if sign.isspace() else ""
        for sign in name.strip()
    )  # fmt: skip
    return "".join(plain).strip()


def _root_category(document: Document) -> int:
    """Return the root category that Roboflow adds before all others; -1 if there is none."""
    categories, columns = document.categories, document.annotations
    rows = np.flatnonzero(categories.whole & (categories.id == 0))
    complete = document.complete("annotations") and document.complete("categories")
    if not complete or len(rows) != 1 or len(categories) < 2:
        return -1
    root, name = int(rows[0]), categories.get(int(rows[0]), "name")
    others = (categories.get(row, "supercategory") for row in range(len(categories)) if row != root)
    is_used = (columns.whole["category_id"] & (columns.category_id == 0)).any()
    is_above = isinstance(name, str) and bool(name) and all(other == name for other in others)
    return root if is_above and not is_used else -1


def _example(*categories: dict[str, Any]) -> dict[str, Any]:
    """Return an example of categories, each with an annotation."""
    numbers = [each.get("id", place) for place, each in enumerate(categories, 1)]
    return {
        "categories": list(categories),
        "annotations": [
            {"category_id": number, "bbox": [10 + 40 * place, 10, 20, 30]}
            for place, number in enumerate(numbers)
        ],
    }


_CELLS: dict[str, Any] = {"id": 1, "name": "rbc", "supercategory": "cells"}


@rule(
    "C001 error, safe fix: category id used twice",
    breaks="pycocotools keeps the last category with the id, so the first class is lost.",
    explanation="""Two categories have the same id, usually because lists were joined. Give the
        later one, and its annotations, a new id. It is a warning if the two are equal in all keys;
        the fix removes the copy.""",
    bad={"categories": [{"id": 1, "name": "cat"}, {"id": 1, "name": "cat"}]},
    good=_example({"id": 1}, {"id": 2}),
)
def _repeated_id(document: Document, _settings: ValidateSettings) -> Checked:
    categories = document.categories
    ids = [categories.get(row, "id") for row in range(len(categories))]
    first = first_rows(
        int(number) if is_whole else raw if isinstance(raw, str) else None
        for raw, number, is_whole in zip(ids, categories.id, categories.whole, strict=True)
    )
    repeated = (first >= 0) & (first < np.arange(len(first)))
    texts = np.array([json.dumps(value, sort_keys=True) for value in categories.values])
    copies = repeated & (texts == texts[first])
    copies &= ~np.isin(first, first[repeated & ~copies])

    def says(row: int) -> str:
        name, earlier = (categories.get(each, "name") for each in (row, int(first[row])))
        if copies[row]:
            original = pointer_to("categories", int(first[row]))
            return f"category {shortened(name)} is equal to an earlier one, {original}"
        return f"category id {shortened(ids[row])} is already used by category {shortened(earlier)}"

    mark = lambda row: shortened(ids[row])  # noqa: E731
    yield Rows(repeated & ~copies, says, "categories/id", "a unique id", mark=mark)
    yield Rows(
        copies, says, "categories", "it once", ids.__getitem__,
        edits=partial(record_edit, "categories"), severity=Severity.WARNING, mark=mark,
    )  # fmt: skip


def _names(document: Document, _settings: ValidateSettings) -> Checked:
    """C002, C003, C008 and C009: names that are equal, alike, empty, or have unseen signs."""
    categories, root, at = document.categories, document.once(_root_category), "categories/name"
    names, rows = categories.texts("name"), np.arange(len(categories))
    looks, ids = [*map(folded, names)], [categories.get(row, "id") for row in rows.tolist()]
    first = first_rows(name or None for name in names)
    repeated, with_root = (first >= 0) & (first < rows), (root >= 0) & (first == root)
    with_root[rows == root] = True

    def equals(row: int) -> str:
        why = ", the root category that Roboflow adds" if with_root[row] else ""
        other = shortened(ids[first[row]])
        return f"category name {shortened(names[row])} is already used by id {other}{why}"

    for where, severity in ((~with_root, None), (with_root, Severity.INFO)):
        yield Rows(
            repeated & where, equals, at, "a unique name", severity=severity, code="C002",
            mark=lambda row: shortened(names[row]),
        )  # fmt: skip
    # The first is kept rather than the most used, as all files of a data set must keep the same.
    like = first_rows(
        look if name and row != root else None
        for row, (name, look) in enumerate(zip(names, looks, strict=True))
    ).tolist()

    def resembles(row: int) -> str:
        name, other = (shortened(names[each]) for each in (row, like[row]))
        number = shortened(ids[like[row]])
        return f"category name {name} differs only in {_HIDDEN} from {other} of id {number}"

    yield Rows(
        [row for row, of in enumerate(like) if of >= 0 and names[row] != names[of]],
        resembles, at, "one category", code="C003",
        mark=lambda row: " ".join(sorted((shortened(names[row]), shortened(names[like[row]])))),
    )  # fmt: skip
    empty = [row for row, value in enumerate(categories.values)
             if isinstance(value, dict) and "name" in value and not names[row]]  # fmt: skip
    yield Rows(empty, "category name is {value}", at, "non-empty text", code="C008")
    # C003 reports names that look like others.
    number = Counter(looks)
    odd = [row for row, name in enumerate(names)
           if name != _visible(name) and number[looks[row]] == 1]  # fmt: skip
    says = "category name {value} has invisible characters"
    yield Rows(odd, says, at, "it without them", code="C009")


def _use(document: Document, _settings: ValidateSettings) -> Checked:
    """C004 to C006: categories without annotations, a root category, and gaps in the ids."""
    categories, rows = document.categories, np.arange(len(document.categories))
    if not document.complete("categories"):
        return
    root, name = document.once(_root_category), partial(categories.get, key="name")
    used = np.isin(rows, document.category)
    if document.complete("annotations"):
        # Annotations belong to the first of two categories with the same id; C001 reports the
        # second.
        unused = ~used & categories.named & (categories.find(categories.id) == rows)
        unused &= (rows != root) & used.any()
        if (origin := document.reading.origin) is not None:
            # Shapes without a box are no annotations here, but they are of their categories.
            unused &= ~np.isin(categories.id, [*origin.categories_apart])
        says = "category {value} has no annotations"
        yield Rows(unused, says, "categories", found=name, code="C004")
    says = "category {value} with id 0 is the supercategory of all others and has no annotations"
    yield Rows(
        rows[rows == root], says, "categories", "only classes", name, apart=True, code="C005",
        edits=partial(record_edit, "categories"),
    )  # fmt: skip
    ids = distinct(categories.id[categories.whole & (categories.id >= 0)])
    ids = ids[root >= 0 :]
    if len(ids) and (ids[0], ids[-1]) != (1, len(ids)):
        yield Defect(
            f"category ids go from {ids[0]:,} to {ids[-1]:,}; expected 1 to {len(ids):,}",
            pointer=pointer_to("categories"),
            expected="ids that count from 1 without gaps",
            count=int((ids > np.count_nonzero(ids)).sum()) + int(ids[0] == 0),
            code="C006",
        )


_Known = dict[tuple[str, int | str], tuple[int, str, str]]
"""The id, the name and the file of earlier categories, by id, name and appearance."""


@rule(
    "C007 error: category maps of files contradict each other",
    breaks="A model trained on one file is evaluated on the other with the wrong classes.",
    explanation="""In an earlier file the same id has another name, or the same name has another id.
        Give all files the same list of categories. It is an info finding if the files have no name
        in common. In the example, the earlier file has id 1 for cat.""",
    bad={"categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]},
    good=_example({"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}),
    scope="files",
)
def _contradictions(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Rows]]:
    known: _Known = {}
    for document in documents:
        # For files of annotation tools, the reader has assigned the category ids.
        if not document.complete("categories") or document.reading.origin is not None:
            continue
        # C009 reports characters that are not seen.
        names = [*map(_visible, document.categories.texts("name"))]
        ids = document.categories.id.tolist()
        n_names, n_ids = Counter(names), Counter(ids)
        # Names and ids that a file uses twice are ambiguous.
        clear = {
            row: (ids[row], names[row], document.name)
            for row in np.flatnonzero(document.categories.whole).tolist()
            if names[row] and n_names[names[row]] == n_ids[ids[row]] == 1
        }
        # Files without a common name probably belong to different data sets.
        is_related = not known.keys().isdisjoint(("name", folded(name)) for name in names)
        hint = "" if is_related else "; no name is in both: check that they belong to one data set"
        said: dict[int, str] = {}
        own_keys = {row: (("id", own[0]), ("name", folded(own[1]))) for row, own in clear.items()}
        for row, own in clear.items():
            for key in own_keys[row]:
                number, name, file = known.get(key, own)
                if (number, name) != own[:2]:
                    here = f"{shortened(own[1])} has id {own[0]} here"
                    there = f"{shortened(name)} has id {number} in {file}"
                    said[row] = f"category {here}, and {there}{hint}"
        yield (
            document,
            Rows(
                [*said], said.__getitem__, "categories", "one map for all files",
                document.categories.values.__getitem__, few=MANY if is_related else 0,
                severity=None if is_related else Severity.INFO,
            ),
        )  # fmt: skip
        for row, own in clear.items():
            for key in own_keys[row]:
                known.setdefault(key, own)


RULES = (
    rule(
        "C002 warning: category name used twice",
        breaks="A model learns to distinguish two classes that are the same.",
        explanation="""Two categories have the same name and different ids. Give their annotations
            one id, or rename the later one. It is an info finding for the root category of
            Roboflow.""",
        bad={"categories": [{"name": "cat"}, {"name": "cat"}]},
        good=_example({"name": "cat"}, {"name": "cats"}),
        requires=("C001",),
    )(_names),
    rule(
        "C003 warning: category names that differ only in case, blanks or invisible characters",
        breaks="A model learns to distinguish two classes that are the same.",
        explanation="""Two names differ only in case, blanks, Unicode form or invisible characters.
            Give the annotations of both one category, in all files of a data set.""",
        bad={"categories": [{"name": "cat"}, {"name": "Cat "}]},
        good=_example({"name": "cat"}, {"name": "cart"}),
    )(_names),
    rule(
        "C004 info: category without annotations",
        breaks="Trainers add an output that the model never learns.",
        explanation="""A category is listed, but no annotation has it, which is right in one of
            several files. Remove a category from all files or from none, to keep class numbers.""",
        bad={"categories": [{}, {}]},
        good=_example({}, {}),
    )(_use),
    rule(
        "C005 info, unsafe fix: root category of a Roboflow export",
        breaks="Tools that count categories shift the labels of all others by one.",
        explanation="""The category with id 0 is the supercategory of all others, and no annotation
            has it, as in exports of Roboflow. The unsafe fix removes it; first look at the other
            files of the data set, where annotations may have it.""",
        bad={"categories": [{"id": 0, "name": "cells", "supercategory": "none"}, _CELLS]},
        good=_example(_CELLS, {**_CELLS, "id": 2, "name": "wbc"}),
    )(_use),
    rule(
        "C006 info: category ids that do not count from 1",
        breaks="""CVAT rejects category id 0, Datumaro reads it as no label, and gaps break other
            tools.""",
        explanation="""COCO allows an id 0 and gaps, but many tools use ids as class numbers. Number
            the categories from 1, or check that your tools map ids to classes.""",
        bad=_example({"id": 0}, {"id": 1}),
        good=_example({"id": 2}, {"id": 1}),
    )(_use),
    rule(
        "C008 error: category name is empty or not text",
        breaks="Classes cannot be distinguished, and code that sorts names stops with a TypeError.",
        explanation="""The name of a category is empty, only blanks, null, or not text. Write the
            name that annotators use for the class.""",
        bad={"categories": [{"name": ""}]},
        good={"categories": [{"name": "0"}]},
        requires=("S012",),
    )(_names),
    rule(
        "C009 warning: category name with invisible characters",
        breaks="Code that looks the class up by name does not find it.",
        explanation="""A name has zero-width characters, or blanks or line ends around it. Remove
            them in all files of the data set. The example has U+200B between its letters.""",
        bad={"categories": [{"name": "c\u200bat"}]},
        good={"categories": [{"name": "cat"}]},
    )(_names),
)
