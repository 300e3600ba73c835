"""C: category names that are empty, repeated or nearly repeated."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, LazyEdits, Rule, hits
from bboxqa.rules.categories.alike_names import (
    appearance,
    difference,
    unseen_signs,
    without_unseen,
)
from bboxqa.rules.categories.category_use import repeats, root_category
from bboxqa.rules.facts.document import Document


def _repeated_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C002: names that an earlier category already has."""
    names, root = document.categories.texts("name"), root_category(document)
    repeated, first = repeats([name or None for name in names])

    def describe(row: int) -> Defect:
        earlier = int(first[row])
        other = shortened(document.categories.get(earlier, "id"))
        why = ", the root category that Roboflow adds" if root in (row, earlier) else ""
        return record_defect(
            document,
            ("categories", row, "name"),
            f"category name {shortened(names[row])} is already used by id {other}{why}; "
            "expected a unique name",
            found=names[row],
            expected="a name that no other category has",
            key=shortened(names[row]),
        )

    rows = np.arange(len(names))
    with_root = (root >= 0) & ((first == root) | (rows == root))
    yield from hits(repeated & ~with_root, describe, name="categories")
    yield from hits(repeated & with_root, describe, Severity.INFO, name="categories")


def _nearly_repeated_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C003: names that differ from another name only in ways that are hard to see."""
    names, root = document.categories.texts("name"), root_category(document)
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        if name and row != root:
            groups.setdefault(appearance(name), []).append(row)
    kept = np.full(len(names), -1, np.int64)
    for group in groups.values():
        # The first is kept rather than the most used, as all files of a data set must keep the
        # same.
        kept[group] = group[0]
    odd = [row for row, other in enumerate(kept) if other >= 0 and names[row] != names[other]]

    def describe(row: int) -> Defect:
        other = int(kept[row])
        return record_defect(
            document,
            ("categories", row, "name"),
            f"category name {shortened(names[row])} differs only in "
            f"{difference(names[row], names[other])} from "
            f"{shortened(names[other])} of id {shortened(document.categories.get(other, 'id'))}; "
            "expected one category",
            found=names[row],
            expected=f"{shortened(names[other])}, or another name",
            key=" ".join(sorted((shortened(names[row]), shortened(names[other])))),
            edits=_merge(document, row, other),
        )

    yield from hits(np.array(odd, np.int64), describe, name="categories")


def _unseen_sign(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C009: names with invisible characters, if no other name looks the same."""
    names = document.categories.texts("name")
    looks = Counter(map(appearance, names))
    odd = [
        row for row, name in enumerate(names) if unseen_signs(name) and looks[appearance(name)] == 1
    ]

    def describe(row: int) -> Defect:
        unseen = unseen_signs(names[row])
        plain = without_unseen(names[row])
        signs = ", ".join(f"U+{ord(sign):04X}" for sign in sorted(unseen))
        return record_defect(
            document,
            ("categories", row, "name"),
            f"category name {shortened(plain)} has invisible characters ({signs}); expected it "
            "without them",
            found=names[row],
            expected=shortened(plain),
            edits=(Edit(pointer_to("categories", row, "name"), "replace", plain),) if plain else (),
        )

    yield from hits(np.array(odd, np.int64), describe, name="categories")


def _merge(document: Document, row: int, other: int) -> Sequence[Edit]:
    """Return the edits that move the annotations of a category to another and remove it."""
    categories, columns = document.categories, document.annotations
    pair = categories.id[[row, other]]
    same = np.isin(categories.id, pair) & categories.whole
    alone = categories.exact[[row, other]].all() and same.sum() == 2 and pair[0] != pair[1]
    rows = np.flatnonzero(document.category == row)
    plain = (columns.kind["category_id"][rows] == Kind.INT).all()
    if not (alone and plain and document.complete("annotations")):
        return ()
    target = int(categories.id[other])

    def edits() -> Iterator[Edit]:
        for each in rows.tolist():
            yield Edit(pointer_to("annotations", each, "category_id"), "replace", target)
        yield Edit(pointer_to("categories", row), "remove")

    return LazyEdits(edits)


def _empty_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C008: names that are not text, or empty."""
    categories = document.categories
    wrong = [
        not name and isinstance(record, dict) and "name" in record
        for record, name in zip(categories.values, categories.texts("name"), strict=True)
    ]

    def describe(row: int) -> Defect:
        name = categories.get(row, "name")
        return record_defect(
            document,
            ("categories", row, "name"),
            f"category name is {shortened(name)}; expected non-empty text",
            found=name,
            expected="non-empty text",
        )

    yield from hits(np.array(wrong, np.bool_), describe, name="categories")


RULES = (
    Rule(
        code="C002",
        title="category name used twice",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""A model learns to distinguish two classes that are the same, and both get a poor
            AP; tools that look classes up by name find only one of them.""",
        explanation="""Two categories have the same name and different ids. They come from joined
            files, or from a class that was created again. Give their annotations one id, or rename
            the later category. The root category that Roboflow adds may have the name of a class;
            this is an info finding.""",
        bad={"categories": [{"name": "cat"}, {"name": "cat"}]},
        good={
            "categories": [{"name": "cat"}, {"name": "cats"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=_repeated_name,
    ),
    Rule(
        code="C003",
        title="category names that differ only in case, blanks or look-alike characters",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""A model learns to distinguish two classes that are the same, and both get a poor
            AP, each with a part of the samples.""",
        explanation="""Two names differ only in case, blanks, Unicode form, zero-width characters,
            or letters of other alphabets or widths that look the same, often because annotators
            type or paste names. The unsafe fix moves the annotations of the later category to the
            first and removes it; all files of a data set need this. If categories share an id, or
            ids are not whole numbers, fix that first.""",
        bad={"categories": [{"name": "cat"}, {"name": "Cat "}]},
        good={
            "categories": [{"name": "cat"}, {"name": "cart"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=_nearly_repeated_name,
        fix="unsafe",
    ),
    Rule(
        code="C009",
        title="category name with invisible characters",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""Code that looks the class up by name does not find it, and joined files have two
            classes that look the same.""",
        explanation="""A name has zero-width characters, like text copied from web pages, or a
            trailing blank or line end, like lines of a file of names. The unsafe fix removes them;
            the other files of the data set need the same name. In the example, the name has U+200B
            between its letters.""",
        bad={"categories": [{"name": "c\u200bat"}]},
        good={"categories": [{"name": "cat"}]},
        check=_unseen_sign,
        fix="unsafe",
    ),
    Rule(
        code="C008",
        title="category name is empty or not text",
        severity=Severity.ERROR,
        breaks="""Classes without a name cannot be distinguished in tables and plots, and code that
            sorts or joins names stops with a TypeError.""",
        explanation="""The name of a category is empty, only blanks, null, or not text. Write the
            name that annotators use for the class.""",
        bad={"categories": [{"name": ""}]},
        good={"categories": [{"name": "0"}]},
        check=_empty_name,
    ),
)
