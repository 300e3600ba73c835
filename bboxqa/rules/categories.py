"""C: ids, names and use of categories, and category maps of several files."""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.columns import Kind
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_edit, record_hits, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, LazyEdits, Rule, described_hits
from bboxqa.rules.facts.document import Document

# More contradicting categories than this are grouped into one finding.
_MANY = 10
# If more ids are missing, as a multiple of the existing ids, the ids are random numbers.
_FAR_APART = 100
# Letters of other alphabets, dashes and quotation marks, with the characters that they look like.
_LOOK_ALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜҮѴӀаеорсухѕіјһԁӏԛԝүѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧοօսɑɡ‐‑‒–—−’‘",
    "ABESIJKMHOPCTYXQWYVIaeopcyxsijhdlqwyvABEZHIKMNOPTYXoouag------''",
)
# Decompositions of letters that differ in width or font only.
_FORMS = ("<wide>", "<narrow>", "<font>")


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def appearance(name: str) -> str:
    """Return a name without zero-width characters, and with Latin letters for look-alikes."""
    if name.isascii():
        return _folded(name)
    plain = (
        unicodedata.normalize("NFKC", sign)
        if unicodedata.decomposition(sign).startswith(_FORMS)
        else sign
        for sign in name
    )
    text = unicodedata.normalize("NFC", "".join(plain)).translate(_LOOK_ALIKES)
    return _folded("".join(sign for sign in text if unicodedata.category(sign) != "Cf"))


def _difference(name: str, other: str) -> str:
    """Return a phrase on how two names that look the same differ."""
    if _folded(name) == _folded(other):
        return "case or blanks"
    odd = sorted({sign for sign in name + other if not sign.isascii()} - (set(name) & set(other)))
    return f"look-alike or invisible characters ({', '.join(f'U+{ord(s):04X}' for s in odd)})"


def unseen_signs(name: str) -> set[str]:
    """Return the zero-width and control characters in a name, and blanks at its ends.

    Joiners and direction marks are meaningful next to emoji and in non-Latin scripts.
    """
    odd = {sign for sign in name if unicodedata.category(sign) in ("Cf", "Cc")}
    odd |= {" "} if name != name.strip(" ") else set()
    is_plain = not odd or all(
        sign.isascii() or unicodedata.name(sign, "").startswith("LATIN")
        for sign in name
        if unicodedata.category(sign)[0] in "LS"
    )
    return odd if is_plain else odd - set("\u200c\u200d\u200e\u200f")


def without_unseen(name: str) -> str:
    r"""Return a name without zero-width and control characters, and without blanks at its ends.

    Examples
    --------
    >>> without_unseen("c\u200bat\n"), without_unseen("a\tb")
    ('cat', 'a b')
    """
    unseen = unseen_signs(name)
    return "".join(
        sign if sign not in unseen else " " if sign.isspace() else "" for sign in name
    ).strip()


def _names(document: Document) -> list[str]:
    return document.categories.texts("name")


def _repeats(keys: Sequence[Hashable | None]) -> tuple[BoolArray, IndexArray]:
    """Return which rows repeat the key of an earlier row, and the first row with each key."""
    seen: dict[Hashable, int] = {}
    rows = [-1 if key is None else seen.setdefault(key, row) for row, key in enumerate(keys)]
    first = np.array(rows, np.int64)
    return (first >= 0) & (first < np.arange(len(keys))), first


def _root_category(document: Document) -> int:
    """Return the root category that Roboflow adds before all others; -1 if there is none."""
    categories, columns = document.categories, document.annotations
    rows = np.flatnonzero(categories.whole & (categories.id == 0))
    complete = document.complete("annotations") and document.complete("categories")
    if not complete or len(rows) != 1 or len(categories) < 2:
        return -1
    root = int(rows[0])
    name = categories.get(root, "name")
    others = (categories.get(row, "supercategory") for row in range(len(categories)) if row != root)
    is_above = isinstance(name, str) and name != "" and all(other == name for other in others)
    is_used = (columns.whole["category_id"] & (columns.category_id == 0)).any()
    return root if is_above and not is_used else -1


def _hits(
    document: Document,
    where: BoolArray | IndexArray,
    says: Callable[[int], str],
    *keys: str,
    **more: Any,
) -> Iterator[Hits]:
    """Yield categories in a mask or an index."""
    yield from record_hits(document, where, says, *keys, name="categories", **more)


def _repeated_id(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C001: categories with the id of an earlier category."""
    categories = document.categories
    keys: list[Hashable | None] = []
    for row in range(len(categories)):
        raw = categories.get(row, "id")
        text = raw if isinstance(raw, str) else None
        keys.append(int(categories.id[row]) if categories.whole[row] else text)
    repeated, first = _repeats(keys)

    def number(row: int) -> Any:
        return categories.get(row, "id")

    def of_other(row: int) -> str:
        other = shortened(categories.get(int(first[row]), "name"))
        return f"category id {shortened(number(row))} is already used by category {other}"

    def of_copy(row: int) -> str:
        name, original = categories.get(row, "name"), pointer_to("categories", int(first[row]))
        return f"category {shortened(name)} is equal to an earlier one, {original}"

    copies = _copies(categories.values, repeated, first)
    yield from _hits(
        document,
        repeated & ~copies,
        of_other,
        "id",
        expected="a unique id",
        found=number,
        mark=lambda row: shortened(number(row)),
        summary=lambda _rows, share: f"{share} have the id of an earlier one; expected unique ids",
    )
    yield from _hits(
        document,
        copies,
        of_copy,
        expected="it once",
        found=number,
        edits=lambda row: record_edit("categories", row),
        mark=lambda row: shortened(number(row)),
        summary=lambda _rows, share: f"{share} are equal to an earlier one; expected each once",
        severity=Severity.WARNING,
    )


def _copies(values: Sequence[Any], repeated: BoolArray, first: IndexArray) -> BoolArray:
    """Return which repeated categories equal all categories with the same id, (C,) bool."""
    copies = repeated.copy()
    for row in np.flatnonzero(repeated).tolist():
        texts = [json.dumps(values[each], sort_keys=True) for each in (row, int(first[row]))]
        copies[row] = texts[0] == texts[1]
    return copies & ~np.isin(first, first[repeated & ~copies])


def _repeated_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C002: names that an earlier category already has."""
    names, root = document.once(_names), document.once(_root_category)
    repeated, first = _repeats([name or None for name in names])
    with_root = (root >= 0) & ((first == root) | (np.arange(len(names)) == root))

    def says(row: int) -> str:
        earlier = int(first[row])
        other = shortened(document.categories.get(earlier, "id"))
        why = ", the root category that Roboflow adds" if root in (row, earlier) else ""
        return f"category name {shortened(names[row])} is already used by id {other}{why}"

    for where, severity in ((~with_root, None), (with_root, Severity.INFO)):
        yield from _hits(
            document,
            repeated & where,
            says,
            "name",
            expected="a unique name",
            found=names.__getitem__,
            mark=lambda row: shortened(names[row]),
            severity=severity,
        )


def _nearly_repeated_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C003: names that differ from another name only in ways that are hard to see."""
    names, root = document.once(_names), document.once(_root_category)
    looks = [appearance(name) if name and row != root else None for row, name in enumerate(names)]
    # The first is kept rather than the most used, as all files of a data set must keep the same.
    first = _repeats(looks)[1]
    odd = [row for row, other in enumerate(first) if other >= 0 and names[row] != names[other]]

    def says(row: int) -> str:
        other = int(first[row])
        return (
            f"category name {shortened(names[row])} differs only in "
            f"{_difference(names[row], names[other])} from {shortened(names[other])} of id "
            f"{shortened(document.categories.get(other, 'id'))}"
        )

    yield from _hits(
        document,
        np.array(odd, np.int64),
        says,
        "name",
        expected="one category",
        found=names.__getitem__,
        edits=lambda row: _merge(document, row, int(first[row])),
        mark=lambda row: " ".join(sorted((shortened(names[row]), shortened(names[first[row]])))),
    )


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
            yield from record_edit("annotations", each, "category_id", value=target)
        yield from record_edit("categories", row)

    return LazyEdits(edits)


def _unused(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C004: categories without annotations."""
    if not (document.complete("annotations") and document.complete("categories")):
        return
    categories, used = document.categories, np.zeros(len(document.categories), np.bool_)
    used[document.category[document.category >= 0]] = True
    if not used.any():
        return
    # Annotations belong to the first of two categories with the same id; C001 reports the second.
    first = categories.find(categories.id)
    unused = ~used & categories.named & (first == np.arange(len(categories)))
    if (origin := document.reading.origin) is not None:
        # Shapes without a box are no annotations here, but they are of their categories.
        unused &= ~np.isin(categories.id, [*origin.categories_apart])
    if (root := document.once(_root_category)) >= 0:
        unused[root] = False

    def name(row: int) -> Any:
        return categories.get(row, "name")

    def summary(some: IndexArray, share: str) -> str:
        examples = ", ".join(shortened(name(row)) for row in some[:3].tolist())
        return f"{share} have no annotations, such as {examples}"

    yield from _hits(
        document,
        unused,
        lambda row: f"category {shortened(name(row))} has no annotations",
        found=name,
        summary=summary,
    )


def _synthetic_root(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C005: the category that Roboflow adds."""
    root = document.once(_root_category)
    name = document.categories.get(root, "name") if root >= 0 else ""
    yield from _hits(
        document,
        np.array([root] if root >= 0 else [], np.int64),
        lambda _row: (
            f"category {shortened(name)} with id 0 is the supercategory of all others and has no "
            "annotations"
        ),
        expected="only classes",
        found=lambda _row: name,
        edits=lambda row: record_edit("categories", row),
        apart=True,
    )


def _gaps(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C006: ids that do not count from 1."""
    categories = document.categories
    if not document.complete("categories"):
        return
    ids = np.unique(categories.id[categories.whole & (categories.id >= 0)])
    is_zero = ids[:1].tolist() == [0] and document.once(_root_category) < 0
    positive = ids[ids > 0]
    n_missing = int(positive[-1]) - len(positive) if len(positive) else 0
    parts = ["there is an id 0"] if is_zero else []
    if n_missing > _FAR_APART * len(ids):
        parts.append(f"{'it' if len(ids) == 1 else 'the highest'} is {positive[-1]:,}")
    elif n_missing:
        place = int(np.flatnonzero(positive != np.arange(1, len(positive) + 1))[0])
        parts.append(f"{n_missing:,} below {positive[-1]:,} are missing, such as {place + 1:,}")
    if parts:
        what = "id is not 1" if len(ids) <= 1 else f"ids are not 1 to {len(ids):,}"
        found = Defect(
            f"category {what}: {' and '.join(parts)}",
            pointer=pointer_to("categories"),
            expected="ids that count from 1 without gaps",
            count=int((positive > len(positive)).sum()) + is_zero,
        )
        yield from described_hits([found])


def _empty_name(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C008: names that are not text, or empty."""
    categories = document.categories
    wrong = [
        not name and isinstance(record, dict) and "name" in record
        for record, name in zip(categories.values, document.once(_names), strict=True)
    ]
    yield from _hits(
        document,
        np.array(wrong, np.bool_),
        lambda row: f"category name is {shortened(categories.get(row, 'name'))}",
        "name",
        expected="non-empty text",
        found=lambda row: categories.get(row, "name"),
    )


def _unseen_sign(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """C009: names with invisible characters, if no other name looks the same."""
    names = document.once(_names)
    odd = [row for row, name in enumerate(names) if unseen_signs(name)]
    looks = Counter(map(appearance, names)) if odd else Counter[str]()
    odd = [row for row in odd if looks[appearance(names[row])] == 1]

    def says(row: int) -> str:
        signs = ", ".join(f"U+{ord(sign):04X}" for sign in sorted(unseen_signs(names[row])))
        plain = shortened(without_unseen(names[row]))
        return f"category name {plain} has invisible characters ({signs})"

    def edits(row: int) -> tuple[Edit, ...]:
        plain = without_unseen(names[row])
        return record_edit("categories", row, "name", value=plain) if plain else ()

    yield from _hits(
        document,
        np.array(odd, np.int64),
        says,
        "name",
        expected="it without them",
        found=names.__getitem__,
        edits=edits,
    )


_Place = tuple[int, str, str]
"""The id and the name of a category, and its file."""


class _Known(NamedTuple):
    """The categories of earlier files, by id, name and appearance."""

    by_id: dict[int, _Place]
    by_name: dict[str, _Place]
    by_look: dict[str, _Place]


def _contradictions(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """C007: ids and names that an earlier file pairs differently."""
    known = _Known({}, {}, {})
    for document in documents:
        # For files of annotation tools, the reader has assigned the category ids.
        if not document.complete("categories") or document.reading.origin is not None:
            continue
        # C009 reports characters that are not seen.
        names = [without_unseen(name) for name in document.once(_names)]
        ids = document.categories.id.tolist()
        n_names, n_ids = Counter(names), Counter(ids)
        # Names and ids that a file uses twice are ambiguous.
        clear = [
            row
            for row in np.flatnonzero(document.categories.whole).tolist()
            if names[row] and n_names[names[row]] == n_ids[ids[row]] == 1
        ]
        said = {row: _contradiction(ids[row], names[row], known) for row in clear}
        wrong = {row: text for row, text in said.items() if text}
        # Files without a common name probably belong to different data sets.
        is_related = not known.by_look.keys().isdisjoint(map(appearance, names))
        for found in _of_file(document, wrong, is_related=is_related):
            yield document, found
        for row in clear:
            place = ids[row], names[row], document.name
            known.by_id.setdefault(ids[row], place)
            known.by_name.setdefault(names[row], place)
            known.by_look.setdefault(appearance(names[row]), place)


def _contradiction(number: int, name: str, known: _Known) -> str:
    """Return how an earlier file contradicts a category; "" if it does not."""
    default, look = (number, name, ""), appearance(name)
    other_id, _, file = known.by_name.get(name, default)
    if other_id != number:
        return f"category {shortened(name)} has id {number} here and id {other_id} in {file}"
    _, other_name, file = known.by_id.get(number, default)
    if other_name != name:
        is_alike = look == appearance(other_name)
        how = f", which differs only in {_difference(name, other_name)}" if is_alike else ""
        return (
            f"category id {number} is {shortened(name)} here and {shortened(other_name)} in "
            f"{file}{how}"
        )
    other_id, other_name, file = known.by_look.get(look, default)
    if other_id != number and name not in known.by_name:
        return (
            f"category {shortened(name)} has id {number} here; {shortened(other_name)}, which "
            f"differs only in {_difference(name, other_name)}, has id {other_id} in {file}"
        )
    return ""


def _of_file(document: Document, wrong: Mapping[int, str], *, is_related: bool) -> Iterator[Hits]:
    rows = np.array([*wrong], np.int64)
    if len(rows) <= _MANY and is_related:
        yield from _hits(
            document,
            rows,
            wrong.__getitem__,
            expected="one map for all files",
            found=lambda row: document.categories.values[row],
        )
    elif len(rows):
        hint = "" if is_related else "; no name is in both: check that they belong to one data set"
        yield from summary_hits(
            f"{len(rows):,} of {len(document.categories):,} categories contradict an earlier file, "
            f"such as: {wrong[int(rows[0])]}{hint}",
            "categories",
            rows,
            severity=None if is_related else Severity.INFO,
            expected="the same ids and names in all files",
        )


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

RULES = (
    Rule(
        code="C001",
        title="category id used twice",
        severity=Severity.ERROR,
        scope="data set",
        breaks="pycocotools keeps the last category with the id, so the first class is lost.",
        explanation="""Two categories have the same id, usually because lists were joined. Give the
            later one, and its annotations, a new id. It is a warning if the two are equal in all
            keys; the fix removes the copy.""",
        bad={"categories": [{"id": 1, "name": "cat"}, {"id": 1, "name": "cat"}]},
        good=_example({"id": 1}, {"id": 2}),
        check=_repeated_id,
        fix="safe",
    ),
    Rule(
        code="C002",
        title="category name used twice",
        severity=Severity.WARNING,
        scope="data set",
        breaks="A model learns to distinguish two classes that are the same.",
        explanation="""Two categories have the same name and different ids. Give their annotations
            one id, or rename the later category. It is an info finding for the root category of
            Roboflow.""",
        bad={"categories": [{"name": "cat"}, {"name": "cat"}]},
        good=_example({"name": "cat"}, {"name": "cats"}),
        check=_repeated_name,
        requires=("C001",),
    ),
    Rule(
        code="C003",
        title="category names that differ only in case, blanks or look-alike characters",
        severity=Severity.WARNING,
        scope="data set",
        breaks="A model learns to distinguish two classes that are the same.",
        explanation="""Two names differ only in case, blanks, Unicode form, zero-width or look-alike
            characters. The unsafe fix moves the annotations of the later category to the first and
            removes it, in all files of a data set; first correct ids that are shared or no whole
            numbers.""",
        bad={"categories": [{"name": "cat"}, {"name": "Cat "}]},
        good=_example({"name": "cat"}, {"name": "cart"}),
        check=_nearly_repeated_name,
        fix="unsafe",
    ),
    Rule(
        code="C004",
        title="category without annotations",
        severity=Severity.INFO,
        scope="data set",
        breaks="Trainers add an output that the model never learns.",
        explanation="""A category is listed, but no annotation has it, which is right in one of
            several files. Remove a category from all files or from none; otherwise class numbers
            differ between files.""",
        bad={"categories": [{}, {}]},
        good=_example({}, {}),
        check=_unused,
    ),
    Rule(
        code="C005",
        title="root category of a Roboflow export",
        severity=Severity.INFO,
        scope="data set",
        breaks="Tools that count categories shift the labels of all others by one.",
        explanation="""The category with id 0 is the supercategory of all others, and no annotation
            has it, as in exports of Roboflow. The unsafe fix removes it; first look at the other
            files of the data set, where annotations may have it.""",
        bad={"categories": [{"id": 0, "name": "cells", "supercategory": "none"}, _CELLS]},
        good=_example(_CELLS, {**_CELLS, "id": 2, "name": "wbc"}),
        check=_synthetic_root,
        fix="unsafe",
    ),
    Rule(
        code="C006",
        title="category ids that do not count from 1",
        severity=Severity.INFO,
        scope="data set",
        breaks="""CVAT rejects category id 0, Datumaro reads it as no label, and gaps break other
            tools.""",
        explanation="""COCO allows an id 0 and gaps, but many tools use ids as class numbers. Number
            the categories from 1, or check that your tools map ids to classes.""",
        bad=_example({"id": 0}, {"id": 1}),
        good=_example({"id": 2}, {"id": 1}),
        check=_gaps,
    ),
    Rule(
        code="C007",
        title="category maps of files contradict each other",
        severity=Severity.ERROR,
        scope="files",
        breaks="A model trained on one file is evaluated on the other with the wrong classes.",
        explanation="""In an earlier file the same id has another name, or the same name has another
            id. Give all files the same list of categories. It is an info finding if the files have
            no name in common. In the example, the earlier file has id 1 for cat.""",
        bad={"categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]},
        good=_example({"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}),
        check=_contradictions,
    ),
    Rule(
        code="C008",
        title="category name is empty or not text",
        severity=Severity.ERROR,
        breaks="Classes cannot be distinguished, and code that sorts names stops with a TypeError.",
        explanation="""The name of a category is empty, only blanks, null, or not text. Write the
            name that annotators use for the class.""",
        bad={"categories": [{"name": ""}]},
        good={"categories": [{"name": "0"}]},
        check=_empty_name,
        requires=("S012",),
    ),
    Rule(
        code="C009",
        title="category name with invisible characters",
        severity=Severity.WARNING,
        scope="data set",
        breaks="Code that looks the class up by name does not find it.",
        explanation="""A name has zero-width characters, or a trailing blank or line end. The unsafe
            fix removes them; the other files of the data set need the same name. In the example,
            the name has U+200B between its letters.""",
        bad={"categories": [{"name": "c\u200bat"}]},
        good={"categories": [{"name": "cat"}]},
        check=_unseen_sign,
        fix="unsafe",
    ),
)
