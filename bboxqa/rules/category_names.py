"""Names of categories that are empty, or that two of them share."""

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np

from bboxqa.config import ValidateSettings
from bboxqa.findings import Edit, Severity
from bboxqa.rules.base import Found, Hits, ManyEdits, at, hits, short
from bboxqa.rules.category_use import ids_of, names_of, repeats, root_category, used_categories
from bboxqa.rules.columns import Kind
from bboxqa.rules.document import Document

__all__ = ["empty_name", "nearly_repeated_name", "repeated_name"]


def repeated_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C002: names that an earlier category has."""
    names, root = names_of(document), root_category(document)
    repeated, first = repeats(names)

    def describe(row: int) -> Found:
        earlier = int(first[row])
        why = ", the root that Roboflow adds" if root in (row, earlier) else ""
        return Found(
            f"category name {short(names[row])} is also that of id "
            f"{short(document.categories.get(earlier, 'id'))}{why}; expected a name of its own",
            pointer=at("categories", row, "name"),
            found=names[row],
            expected="a name that no other category has",
            key=short(names[row]),
            ids=ids_of(document, row),
        )

    rows = np.arange(len(names))
    habit = (root >= 0) & ((first == root) | (rows == root))
    yield from hits(repeated & ~habit, describe)
    yield from hits(repeated & habit, describe, Severity.INFO)


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def nearly_repeated_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C003: names that are another one but for case or blanks."""
    names, root, used = names_of(document), root_category(document), used_categories(document)
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        if name is not None and row != root:
            groups.setdefault(_folded(name), []).append(row)
    kept = np.full(len(names), -1, np.int64)
    for group in groups.values():
        # What is merged has to stay: a category without annotations may be removed.
        kept[group] = next((row for row in group if used[row]), group[0])
    odd = [row for row, other in enumerate(kept) if other >= 0 and names[row] != names[other]]

    def describe(row: int) -> Found:
        other = int(kept[row])
        return Found(
            f"category name {short(names[row])} differs only by case or blanks from "
            f"{short(names[other])} of id {short(document.categories.get(other, 'id'))}; "
            "expected one category",
            pointer=at("categories", row, "name"),
            found=names[row],
            expected=f"{short(names[other])}, or another name",
            key=" ".join(sorted((short(names[row]), short(names[other])))),
            ids=ids_of(document, row),
            edits=_merge(document, row, other),
        )

    yield from hits(np.array(odd, np.int64), describe)


def _merge(document: Document, row: int, other: int) -> Sequence[Edit]:
    """Return what gives the annotations of a category to another one and removes it."""
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
            yield Edit(at("annotations", each, "category_id"), "replace", target)
        yield Edit(at("categories", row), "remove")

    return ManyEdits(edits)


def empty_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C008: names that are no text, or an empty one."""
    categories = document.categories
    wrong = [
        name is None and isinstance(record, dict) and "name" in record
        for record, name in zip(categories.values, names_of(document), strict=True)
    ]

    def describe(row: int) -> Found:
        name = categories.get(row, "name")
        return Found(
            f"category name is {short(name)}; expected a text that is not empty",
            pointer=at("categories", row, "name"),
            found=name,
            expected="a text that is not empty",
            ids=ids_of(document, row),
        )

    yield from hits(np.array(wrong, np.bool_), describe)
