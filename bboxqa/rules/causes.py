"""Reducing hits to few findings: hiding consequences, and grouping equal defects."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.core.json_values import pointer_to
from bboxqa.model.findings import Edit
from bboxqa.rules.base.rule import MANY, Defect, Hits, LazyEdits, Rule
from bboxqa.rules.facts.document import Document, n_records

Found = tuple[Rule, Hits]
Hidden = dict[str, Counter[str]]
"""By code of a cause, the numbers of hidden findings by their code."""

_EXAMPLES = 3
# At least this many equal messages are grouped into one finding.
_EQUAL = 20
_SHARE = {"annotations": 0.2, "images": 0.2, "categories": 0}


def without_consequences(document: Document, found: Sequence[Found]) -> tuple[list[Found], Hidden]:
    """Return the hits that do not follow from other hits, and the numbers that each cause hides."""
    causes: dict[str, list[Found]] = {}
    rules = {rule.code: rule for rule, _ in found}
    for rule, hits in found:
        follow = [each.code for each in rules.values() if rule.code in each.requires]
        for code in dict.fromkeys([*rule.consequences, *follow]) if hits.hides else ():
            causes.setdefault(code, []).append((rule, hits))
    kept: list[Found] = []
    hidden: Hidden = {}
    for rule, hits in found:
        left = hits
        # Hidden findings are attributed to the most severe of several causes.
        for cause in sorted(causes.get(rule.code, ()), key=_rank, reverse=True):
            follows = _follows(document, cause, (rule, left))
            if follows.any():
                hidden.setdefault(cause[0].code, Counter())[rule.code] += int(follows.sum())
                left = left.where(~follows)
        if len(left):
            kept.append((rule, left))
    return kept, hidden


def _follows(document: Document, cause: Found, other: Found) -> BoolArray:
    """Return which hits of another rule follow from a cause, (H,) bool."""
    by, hits = cause[1], other[1]
    about_file = not by.name
    is_same = by.name == hits.name and (by.key == hits.key or not (by.key and hits.key))
    # A more severe finding is never hidden, since a run might then pass.
    if _rank(other) > _rank(cause) or not (about_file or is_same):
        return np.zeros(len(hits), np.bool_)
    if about_file and by.concerned is None:
        return np.ones(len(hits), np.bool_)
    if about_file and hits.name != "annotations":
        return np.zeros(len(hits), np.bool_)
    concerned = np.zeros(n_records(document, hits.name), np.bool_)
    concerned[by.rows if by.concerned is None else by.concerned] = True
    follows: BoolArray = concerned[hits.rows]
    return follows


def _rank(found: Found) -> int:
    rule, hits = found
    return (hits.severity or rule.severity).rank


def grouped(document: Document, rule: Rule, hits: Hits) -> list[Hits]:
    """Group hits into a single hit if many records share the defect.

    If less than a fifth of the records do, only 20 or more equal messages are grouped.
    """
    if hits.apart:
        return [hits]
    # A record with several wrong rings counts once.
    n_rows, total = _numbers(document, hits)
    is_most = n_rows > hits.few and 2 * n_rows > total
    if not hits.name:
        return [hits]
    if is_most or (n_rows > MANY and n_rows >= _SHARE[hits.name] * total):
        return [_single(document, rule, hits)]
    return _by_message(document, rule, hits)


def _numbers(document: Document, hits: Hits) -> tuple[int, int]:
    """Return the number of records with a defect, and the number of records compared."""
    return len(np.unique(hits.rows)), hits.total or n_records(document, hits.name)


def _by_message(document: Document, rule: Rule, hits: Hits) -> list[Hits]:
    """Group the hits with the most frequent message; the others stay as they are."""
    if len(hits) < _EQUAL:
        return [hits]
    # All hits are described only if a sample shows that it is worth the time.
    sample = np.linspace(0, len(hits) - 1, _EQUAL).astype(int).tolist()
    message, n_equal = Counter(hits.describe(at).message for at in sample).most_common(1)[0]
    if 2 * n_equal <= _EQUAL:
        return [hits]
    equal = np.array([hits.describe(at).message == message for at in range(len(hits))])
    if equal.sum() < _EQUAL:
        return [hits]

    def summary(_places: IndexArray, share: str) -> str:
        return f"{share}: {message}"

    parts = [_single(document, rule, replace(hits.where(equal), summary=summary))]
    return parts if equal.all() else [*parts, hits.where(~equal)]


def _single(document: Document, rule: Rule, hits: Hits) -> Hits:
    """Group hits into a single hit."""
    n_hits, (n_rows, total) = len(hits), _numbers(document, hits)
    n_few = min(_EXAMPLES, n_hits)

    def edits() -> Iterator[Edit]:
        return (edit for place in range(n_hits) for edit in hits.edits_of(place))

    def describe(_place: int) -> Defect:
        # Image files are fixed one by one, so all are listed; for other records, a few examples do.
        are_files = rule.scope == "images"
        shown = [hits.describe(place) for place in range(n_hits if are_files else n_few)]
        share = f"{n_rows:,} of {total:,} {hits.name}"
        if hits.summary is None:
            message = f"{share}; the first: {shown[0].message}"
        else:
            message = hits.summary(np.arange(n_hits), share)
        return Defect(
            message,
            pointer=pointer_to(hits.name),
            found=[each.found for each in shown] if are_files else None,
            expected=shown[0].expected,
            edits=LazyEdits(edits) if rule.fix else (),
            count=n_rows,
            examples=tuple(each.pointer for each in shown),
        )

    return Hits(hits.rows[:1], describe, hits.severity, hits.name)
