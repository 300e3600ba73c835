"""C: category ids, and unused categories."""

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.facts.document import Document

# More unused categories than this are grouped into one finding.
_MANY = 10
# If more ids are missing, as a multiple of the existing ids, the ids are random numbers.
_FAR_APART = 100


def repeats(keys: Sequence[Hashable | None]) -> tuple[BoolArray, IndexArray]:
    """Return which rows repeat the key of an earlier row, and the first row with each key.

    The first row is -1 where the key is None.
    """
    seen: dict[Hashable, int] = {}
    rows = [-1 if key is None else seen.setdefault(key, row) for row, key in enumerate(keys)]
    first = np.array(rows, np.int64)
    return (first >= 0) & (first < np.arange(len(keys))), first


def used_categories(document: Document) -> BoolArray:
    """Return which categories have annotations, (C,) bool; the first of equal ids counts."""
    used = np.zeros(len(document.categories), np.bool_)
    used[document.category[document.category >= 0]] = True
    return used


def root_category(document: Document) -> int:
    """Return the root category that Roboflow adds before all others; -1 if there is none."""
    categories = document.categories
    rows = np.flatnonzero(categories.whole & (categories.id == 0))
    complete = document.complete("annotations") and document.complete("categories")
    if not complete or len(rows) != 1 or len(categories) < 2:
        return -1
    root = int(rows[0])
    name = categories.get(root, "name")
    others = (categories.get(row, "supercategory") for row in range(len(categories)) if row != root)
    is_above = isinstance(name, str) and name != "" and all(other == name for other in others)
    columns = document.annotations
    is_used = (columns.whole["category_id"] & (columns.category_id == 0)).any()
    return root if is_above and not is_used else -1


def _repeated_id(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C001: categories with the id of an earlier category."""
    categories = document.categories
    keys: list[Hashable | None] = []
    for row in range(len(categories)):
        raw = categories.get(row, "id")
        text = raw if isinstance(raw, str) else None
        keys.append(int(categories.id[row]) if categories.whole[row] else text)
    repeated, first = repeats(keys)

    def describe(row: int) -> Defect:
        found, other = categories.get(row, "id"), categories.get(int(first[row]), "name")
        return record_defect(
            document,
            ("categories", row, "id"),
            f"category id {shortened(found)} is already used by category {shortened(other)}; "
            "expected a unique id",
            found=found,
            expected="an id that no other category has",
            key=shortened(found),
        )

    def describe_copy(row: int) -> Defect:
        name, original = categories.get(row, "name"), pointer_to("categories", int(first[row]))
        return record_defect(
            document,
            ("categories", row),
            f"category {shortened(name)} is equal to an earlier one, {original}; expected it once",
            found=categories.get(row, "id"),
            expected="no category twice",
            edits=(Edit(pointer_to("categories", row), "remove"),),
            key=shortened(categories.get(row, "id")),
        )

    copies = _copies(categories.values, repeated, first)
    summary = "{share} have the id of an earlier one; expected unique ids"
    yield from hits(repeated & ~copies, describe, name="categories", summary=summary)
    summary = "{share} are equal to an earlier one; expected each once"
    yield from hits(copies, describe_copy, Severity.WARNING, name="categories", summary=summary)


def _copies(values: Sequence[Any], repeated: BoolArray, first: IndexArray) -> BoolArray:
    """Return which repeated categories equal all categories with the same id, (C,) bool."""
    copies = repeated.copy()
    for row in np.flatnonzero(repeated).tolist():
        texts = [json.dumps(values[each], sort_keys=True) for each in (row, int(first[row]))]
        copies[row] = texts[0] == texts[1]
    return copies & ~np.isin(first, first[repeated & ~copies])


def _unused(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C004: categories without annotations."""
    if not (document.complete("annotations") and document.complete("categories")):
        return
    categories, used = document.categories, used_categories(document)
    if not used.any():
        return
    # Annotations belong to the first of two categories with the same id; C001 reports the second.
    first = categories.find(categories.id)
    unused = ~used & categories.named & (first == np.arange(len(categories)))
    if (origin := document.reading.origin) is not None:
        # Shapes without a box are no annotations here, but they are of their categories.
        unused &= ~np.isin(categories.id, [*origin.categories_apart])
    if (root := root_category(document)) >= 0:
        unused[root] = False
    rows = np.flatnonzero(unused)

    def describe(row: int) -> Defect:
        name = categories.get(row, "name")
        return record_defect(
            document,
            ("categories", row),
            f"category {shortened(name)} has no annotations",
            found=name,
            expected="at least one annotation",
        )

    def summary(some: IndexArray, share: str) -> str:
        examples = ", ".join(shortened(categories.get(row, "name")) for row in some[:3].tolist())
        return f"{share} have no annotations, such as {examples}"

    yield from hits(rows, describe, name="categories", summary=summary)


def _synthetic_root(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C005: the category that Roboflow adds."""
    if (row := root_category(document)) < 0:
        return
    name = document.categories.get(row, "name")
    found = record_defect(
        document,
        ("categories", row),
        f"category {shortened(name)} with id 0 is the supercategory of all others and has no "
        "annotations; expected only classes",
        found=name,
        expected="only categories that annotations can have",
        edits=(Edit(pointer_to("categories", row), "remove"),),
    )
    yield from described_hits([found])


def _gaps(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C006: ids that do not count from 1."""
    categories = document.categories
    if not document.complete("categories"):
        return
    ids = np.unique(categories.id[categories.whole & (categories.id >= 0)])
    zero = ids[:1].tolist() == [0]
    explained = root_category(document) >= 0
    positive = ids[ids > 0]
    n_missing = int(positive[-1]) - len(positive) if len(positive) else 0
    parts = []
    if zero and not explained:
        parts.append("there is an id 0")
    if n_missing > _FAR_APART * len(ids):
        parts.append(f"{'it' if len(ids) == 1 else 'the highest'} is {positive[-1]:,}")
    elif n_missing:
        place = int(np.flatnonzero(positive != np.arange(1, len(positive) + 1))[0])
        parts.append(f"{n_missing:,} below {positive[-1]:,} are missing, such as {place + 1:,}")
    if parts:
        found = Defect(
            f"category {_wanted(len(ids))}: {' and '.join(parts)}",
            pointer=pointer_to("categories"),
            expected="ids that count from 1 without gaps",
            count=int((positive > len(positive)).sum()) + (zero and not explained),
        )
        yield from described_hits([found])


def _wanted(n_ids: int) -> str:
    return "id is not 1" if n_ids <= 1 else f"ids are not 1 to {n_ids:,}"


RULES = (
    Rule(
        code="C001",
        title="category id used twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks="""pycocotools keeps the last of two categories with the same id. If they differ, the
            first class is lost, and its annotations count for the wrong class. If they are equal,
            tools that count categories give the model one class too many.""",
        explanation="""Two categories have the same id, usually because lists were joined. The file
            does not show which of them an annotation means. Give the later category, and its
            annotations, a new id. It is a warning if the two are equal in all keys; the fix removes
            the copy.""",
        bad={"categories": [{"id": 1, "name": "cat"}, {"id": 1, "name": "cat"}]},
        good={"categories": [{"id": 1}, {"id": 2}], "annotations": [{}, {"category_id": 2}]},
        check=_repeated_id,
        fix="safe",
        consequences=("C002",),
    ),
    Rule(
        code="C004",
        title="category without annotations",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Trainers that count categories add an output that the model never learns; COCOeval
            has no AP for the class and leaves it out of the mean.""",
        explanation="""A category is listed, but no annotation has it. In one of several files this
            is right, since all files of a data set list the same categories. Remove a category from
            all files or from none; otherwise class numbers differ between files. More than ten such
            categories are one finding.""",
        bad={"categories": [{}, {}]},
        good={
            "categories": [{}, {}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=_unused,
    ),
    Rule(
        code="C005",
        title="root category of a Roboflow export",
        severity=Severity.INFO,
        scope="data set",
        breaks="""Tools that count categories give the model one class too many and shift the labels
            of all others by one (roboflow/rf-detr 1303).""",
        explanation="""The category with id 0 is the supercategory of all others, and no annotation
            has it: Roboflow adds it to its exports under the name of the project. The unsafe fix
            removes it; other categories keep their ids. Look at the other files of the data set
            first: annotations there may have it.""",
        bad={
            "categories": [
                {"id": 0, "name": "cells", "supercategory": "none"},
                {"id": 1, "name": "rbc", "supercategory": "cells"},
            ]
        },
        good={
            "categories": [
                {"id": 1, "name": "rbc", "supercategory": "cells"},
                {"id": 2, "name": "wbc", "supercategory": "cells"},
            ],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=_synthetic_root,
        fix="unsafe",
    ),
    Rule(
        code="C006",
        title="category ids that do not count from 1",
        severity=Severity.INFO,
        scope="data set",
        breaks="""CVAT rejects category id 0 and Datumaro treats it as no label
            (roboflow/supervision 2276, open-edge-platform/datumaro 156); code that sizes a model by
            the number of categories breaks on higher ids.""",
        explanation="""COCO allows an id 0 and gaps, and its own ids have gaps, but many tools use
            ids as class numbers. Number the categories from 1, or check that your tools map ids to
            classes. An id 0 that is the root of a Roboflow export is C005.""",
        bad={
            "categories": [{"id": 0}, {"id": 1}],
            "annotations": [{"category_id": 0}, {"category_id": 1, "bbox": [50, 10, 20, 30]}],
        },
        good={
            "categories": [{"id": 2}, {"id": 1}],
            "annotations": [{"category_id": 2}, {"category_id": 1, "bbox": [50, 10, 20, 30]}],
        },
        check=_gaps,
    ),
)
