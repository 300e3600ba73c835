"""C: contradicting category maps of several files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bboxqa.core.json_values import shortened
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect, summary_hits
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.categories.alike_names import appearance, difference, without_unseen
from bboxqa.rules.facts.document import Document

# More contradicting categories than this are grouped into one finding.
_MANY = 10


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
        names = [without_unseen(name) for name in document.categories.texts("name")]
        ids = document.categories.id.tolist()
        n_names, n_ids = Counter(names), Counter(ids)
        # Names and ids that a file uses twice are ambiguous.
        unambiguous = [
            row
            for row in np.flatnonzero(document.categories.whole).tolist()
            if names[row] and n_names[names[row]] == n_ids[ids[row]] == 1
        ]
        wrong = {
            row: text
            for row in unambiguous
            if (text := _contradiction(ids[row], names[row], known))
        }
        # Files without a common name probably belong to different data sets.
        is_related = not known.by_look.keys().isdisjoint(map(appearance, names))
        for found in _hits(document, wrong, is_related=is_related):
            yield document, found
        for row in unambiguous:
            place = ids[row], names[row], document.name
            known.by_id.setdefault(ids[row], place)
            known.by_name.setdefault(names[row], place)
            known.by_look.setdefault(appearance(names[row]), place)


_Place = tuple[int, str, str]
"""The id and the name of a category, and its file."""


class _Known(NamedTuple):
    """The categories of earlier files, by id, name and appearance."""

    by_id: dict[int, _Place]
    by_name: dict[str, _Place]
    by_look: dict[str, _Place]


def _contradiction(number: int, name: str, known: _Known) -> str:
    """Return how an earlier file contradicts a category; "" if it does not."""
    default = number, name, ""
    other_id, _, file = known.by_name.get(name, default)
    if other_id != number:
        return f"category {shortened(name)} has id {number} here and id {other_id} in {file}"
    _, other_name, file = known.by_id.get(number, default)
    if other_name != name:
        how = ""
        if appearance(name) == appearance(other_name):
            how = f", which differs only in {difference(name, other_name)}"
        return (
            f"category id {number} is {shortened(name)} here and {shortened(other_name)} in "
            f"{file}{how}"
        )
    other_id, other_name, file = known.by_look.get(appearance(name), default)
    if other_id != number and name not in known.by_name:
        return (
            f"category {shortened(name)} has id {number} here; {shortened(other_name)}, which "
            f"differs only in {difference(name, other_name)}, has id {other_id} in {file}"
        )
    return ""


def _hits(document: Document, wrong: Mapping[int, str], *, is_related: bool) -> Iterator[Hits]:
    rows, expected = list(wrong), "the same ids and names in all files"

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("categories", row),
            f"{wrong[row]}; expected one map for all files",
            found=document.categories.values[row],
            expected=expected,
        )

    if not rows:
        return
    if len(rows) <= _MANY and is_related:
        yield from hits(np.array(rows, np.int64), describe, name="categories")
        return
    hint = "" if is_related else "; no name is in both: check that they belong to one data set"
    yield from summary_hits(
        f"{len(rows):,} of {len(document.categories):,} categories contradict an earlier file, "
        f"such as: {wrong[rows[0]]}{hint}",
        "categories",
        rows,
        severity=None if is_related else Severity.INFO,
        expected=expected,
    )


RULES = (
    Rule(
        code="C007",
        title="category maps of files contradict each other",
        severity=Severity.ERROR,
        scope="files",
        breaks="""A model trained on one file is evaluated on the other with the wrong classes, and
            AP silently falls (HumanSignal/label-studio 9366).""",
        explanation="""In an earlier file the same id has another name, or the same name has another
            id. This happens if each file was exported or numbered separately. Give all files of a
            data set the same list of categories. Names that differ only in case, blanks or
            look-alike characters are not the same. In the example, the earlier file has id 1 for
            cat. More than ten contradictions are one finding. Files without a common name may
            belong to different data sets, which is an info finding.""",
        bad={"categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]},
        good={
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
            "annotations": [{}, {"category_id": 2, "bbox": [50, 10, 20, 30]}],
        },
        check=_contradictions,
    ),
)
