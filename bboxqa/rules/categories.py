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


@rule(
    "C002 warning: category name used twice",
    breaks="A model learns to distinguish two classes that are the same.",
    explanation="""Two categories have the same name and different ids. Give their annotations one
        id, or rename the later one. It is an info finding for the root category of Roboflow.""",
    bad={"categories": [{"name": "cat"}, {"name": "cat"}]},
    good=_example({"name": "cat"}, {"name": "cats"}),
    requires=("C001",),
)
def _repeated_name(document: Document, _settings: ValidateSettings) -> Checked:
    names, root = document.categories.texts("name"), document.once(_root_category)
    first, rows = first_rows(name or None for name in names), np.arange(len(names))
    repeated, with_root = (first >= 0) & (first < rows), (root >= 0) & (first == root)
    with_root[rows == root] = True

    def says(row: int) -> str:
        other = shortened(document.categories.get(int(first[row]), "id"))
        why = ", the root category that Roboflow adds" if with_root[row] else ""
        return f"category name {shortened(names[row])} is already used by id {other}{why}"

    for where, severity in ((~with_root, None), (with_root, Severity.INFO)):
        yield Rows(
            repeated & where, says, "categories/name", "a unique name", severity=severity,
            mark=lambda row: shortened(names[row]),
        )  # fmt: skip


@rule(
    "C003 warning: category names that differ only in case, blanks or invisible characters",
    breaks="A model learns to distinguish two classes that are the same.",
    explanation="""Two names differ only in case, blanks, Unicode form or invisible characters. Give
        the annotations of both one category, in all files of a data set.""",
    bad={"categories": [{"name": "cat"}, {"name": "Cat "}]},
    good=_example({"name": "cat"}, {"name": "cart"}),
)
def _nearly_repeated_name(document: Document, _settings: ValidateSettings) -> Checked:
    names, root = document.categories.texts("name"), document.once(_root_category)
    # The first is kept rather than the most used, as all files of a data set must keep the same.
    first = first_rows(
        folded(name) if name and row != root else None for row, name in enumerate(names)
    ).tolist()

    def says(row: int) -> str:
        name, other = (shortened(names[each]) for each in (row, first[row]))
        number = shortened(document.categories.get(first[row], "id"))
        return f"category name {name} differs only in {_HIDDEN} from {other} of id {number}"

    rows = [row for row, at in enumerate(first) if at >= 0 and names[row] != names[at]]
    yield Rows(
        rows, says, "categories/name", "one category",
        mark=lambda row: " ".join(sorted((shortened(names[row]), shortened(names[first[row]])))),
    )  # fmt: skip


@rule(
    "C004 info: category without annotations",
    breaks="Trainers add an output that the model never learns.",
    explanation="""A category is listed, but no annotation has it, which is right in one of several
        files. Remove a category from all files or from none, to keep class numbers.""",
    bad={"categories": [{}, {}]},
    good=_example({}, {}),
)
def _unused(document: Document, _settings: ValidateSettings) -> Checked:
    if not (document.complete("annotations") and document.complete("categories")):
        return
    categories, rows = document.categories, np.arange(len(document.categories))
    used = np.isin(rows, document.category)
    # Annotations belong to the first of two categories with the same id; C001 reports the second.
    unused = ~used & categories.named & (categories.find(categories.id) == rows)
    unused &= (rows != document.once(_root_category)) & used.any()
    if (origin := document.reading.origin) is not None:
        # Shapes without a box are no annotations here, but they are of their categories.
        unused &= ~np.isin(categories.id, [*origin.categories_apart])
    name = partial(categories.get, key="name")
    yield Rows(unused, "category {value} has no annotations", "categories", found=name)


@rule(
    "C005 info, unsafe fix: root category of a Roboflow export",
    breaks="Tools that count categories shift the labels of all others by one.",
    explanation="""The category with id 0 is the supercategory of all others, and no annotation has
        it, as in exports of Roboflow. The unsafe fix removes it; first look at the other files of
        the data set, where annotations may have it.""",
    bad={"categories": [{"id": 0, "name": "cells", "supercategory": "none"}, _CELLS]},
    good=_example(_CELLS, {**_CELLS, "id": 2, "name": "wbc"}),
)
def _synthetic_root(document: Document, _settings: ValidateSettings) -> Checked:
    root, name = document.once(_root_category), partial(document.categories.get, key="name")
    says = "category {value} with id 0 is the supercategory of all others and has no annotations"
    edits, rows = partial(record_edit, "categories"), [root] if root >= 0 else []
    yield Rows(rows, says, "categories", "only classes", name, edits=edits, apart=True)


@rule(
    "C006 info: category ids that do not count from 1",
    breaks="CVAT rejects category id 0, Datumaro reads it as no label, and gaps break other tools.",
    explanation="""COCO allows an id 0 and gaps, but many tools use ids as class numbers. Number the
        categories from 1, or check that your tools map ids to classes.""",
    bad=_example({"id": 0}, {"id": 1}),
    good=_example({"id": 2}, {"id": 1}),
)
def _gaps(document: Document, _settings: ValidateSettings) -> Checked:
    categories = document.categories
    if not document.complete("categories"):
        return
    ids = distinct(categories.id[categories.whole & (categories.id >= 0)])
    if document.once(_root_category) >= 0:
        ids = ids[1:]
    if len(ids) and (ids[0], ids[-1]) != (1, len(ids)):
        yield Defect(
            f"category ids go from {ids[0]:,} to {ids[-1]:,}; expected 1 to {len(ids):,}",
            pointer=pointer_to("categories"),
            expected="ids that count from 1 without gaps",
            count=int((ids > np.count_nonzero(ids)).sum()) + int(ids[0] == 0),
        )


@rule(
    "C008 error: category name is empty or not text",
    breaks="Classes cannot be distinguished, and code that sorts names stops with a TypeError.",
    explanation="""The name of a category is empty, only blanks, null, or not text. Write the name
        that annotators use for the class.""",
    bad={"categories": [{"name": ""}]},
    good={"categories": [{"name": "0"}]},
    requires=("S012",),
)
def _empty_name(document: Document, _settings: ValidateSettings) -> Checked:
    records = zip(document.categories.values, document.categories.texts("name"), strict=True)
    wrong = [not name and isinstance(raw, dict) and "name" in raw for raw, name in records]
    where, says = np.array(wrong, np.bool_), "category name is {value}"
    yield Rows(where, says, "categories/name", "non-empty text")


@rule(
    "C009 warning: category name with invisible characters",
    breaks="Code that looks the class up by name does not find it.",
    explanation="""A name has zero-width characters, or blanks or line ends around it. Remove them
        in all files of the data set. The example has U+200B between its letters.""",
    bad={"categories": [{"name": "c\u200bat"}]},
    good={"categories": [{"name": "cat"}]},
)
def _unseen_sign(document: Document, _settings: ValidateSettings) -> Checked:
    names = document.categories.texts("name")
    looks = Counter(map(folded, names))
    # C003 reports names that look like others.
    odd = [row for row, name in enumerate(names) if name != _visible(name)
           and looks[folded(name)] == 1]  # fmt: skip
    says = "category name {value} has invisible characters"
    yield Rows(odd, says, "categories/name", "it without them")


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
        for row, own in clear.items():
            for key in (("id", own[0]), ("name", folded(own[1]))):
                number, name, file = known.get(key, own)
                if (number, name) != own[:2]:
                    here, there = (
                        f"{shortened(own[1])} has id {own[0]}",
                        f"{shortened(name)} has id",
                    )
                    said[row] = f"category {here} here, and {there} {number} in {file}{hint}"
        yield (
            document,
            Rows(
                [*said], said.__getitem__, "categories", "one map for all files",
                document.categories.values.__getitem__, few=MANY if is_related else 0,
                severity=None if is_related else Severity.INFO,
            ),
        )  # fmt: skip
        for own in clear.values():
            for key in (("id", own[0]), ("name", folded(own[1]))):
                known.setdefault(key, own)
