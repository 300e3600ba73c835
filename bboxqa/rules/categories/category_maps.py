"""Category maps of several files that contradict each other."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.rule import Defect, Hits, Rule, described_hits, hits
from bboxqa.rules.categories.category_use import ids_of, names_of
from bboxqa.rules.facts.document import Document

__all__ = ["RULES"]

# More categories than this are told of in one go.
_MANY = 10


def _contradictions(
    documents: Sequence[Document], _settings: ValidateSettings
) -> Iterator[tuple[Document, Hits]]:
    """C007: ids or names that an earlier file joins with others."""
    name_of: dict[int, tuple[str, str]] = {}
    id_of: dict[str, tuple[int, str]] = {}
    for document in documents:
        if not document.complete("categories"):
            continue
        names, ids = names_of(document), document.categories.id.tolist()
        n_names, n_ids = Counter(names), Counter(ids)
        # Of a name or an id that a file has twice, none is meant for sure.
        plain = [
            row
            for row in np.flatnonzero(document.categories.whole).tolist()
            if names[row] and n_names[names[row]] == n_ids[ids[row]] == 1
        ]
        wrong = {
            row: text
            for row in plain
            if (text := _contradiction(ids[row], names[row] or "", name_of, id_of))
        }
        # Files without a name in common are rather of different data sets.
        is_related = not id_of.keys().isdisjoint(names)
        for found in _hits(document, wrong, is_related=is_related):
            yield document, found
        for row in plain:
            name_of.setdefault(ids[row], (names[row] or "", document.name))
            id_of.setdefault(names[row] or "", (ids[row], document.name))


def _contradiction(
    number: int,
    name: str,
    name_of: Mapping[int, tuple[str, str]],
    id_of: Mapping[str, tuple[int, str]],
) -> str:
    """Return what an earlier file says against a category; empty if nothing."""
    other_id, file = id_of.get(name, (number, ""))
    if other_id != number:
        return f"category {shortened(name)} has id {number} here and id {other_id} in {file}"
    other_name, file = name_of.get(number, (name, ""))
    if other_name != name:
        return (
            f"category id {number} is {shortened(name)} here and {shortened(other_name)} in {file}"
        )
    return ""


def _hits(document: Document, wrong: Mapping[int, str], *, is_related: bool) -> Iterator[Hits]:
    rows = list(wrong)

    def describe(row: int) -> Defect:
        return Defect(
            f"{wrong[row]}; expected one map for all files",
            pointer=pointer_to("categories", row),
            found=document.categories.values[row],
            expected="the same ids and names in all files",
            ids=ids_of(document, row),
        )

    if not rows:
        return
    if len(rows) <= _MANY and is_related:
        yield from hits(np.array(rows, np.int64), describe)
        return
    why = "" if is_related else "; no name is in both, so are they of one data set?"
    yield from described_hits(
        [
            Defect(
                f"{len(rows):,} of {len(document.categories):,} categories contradict an earlier "
                f"file, such as: {wrong[rows[0]]}{why}",
                pointer=pointer_to("categories"),
                expected="the same ids and names in all files",
                count=len(rows),
                examples=tuple(pointer_to("categories", row) for row in rows[:3]),
            )
        ],
        None if is_related else Severity.INFO,
    )


RULES = (
    Rule(
        code="C007",
        title="category maps of files that contradict each other",
        severity=Severity.ERROR,
        scope="files",
        breaks="""A model that was trained on one file is judged on the other by the wrong classes,
            and AP falls without any message (HumanSignal/label-studio 9366).""",
        explanation="""In an earlier file the same id has another name, or the same name has another
            id. This comes about where each file was exported, or numbered, on its own. Give all
            files of a data set one list of categories. In the example, the earlier file has id 1
            for cat. More than ten contradictions are one finding; files that have no name in common
            may be of different data sets, and are told of as info only.""",
        bad={"categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]},
        good={
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=_contradictions,
    ),
)
