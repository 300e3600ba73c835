"""Names of annotators as the sentences of a story hold them."""

from collections.abc import Mapping
from dataclasses import replace

from bboxqa.core.text import names_in_words
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.threshold_result import ThresholdResult
from bboxqa.model.units import MatchedUnits

_COLUMNS = ("annotator", "annotator_1", "annotator_2")


def named_in_words(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> tuple[ThresholdResult, MatchedUnits, Mapping[str, Table]]:
    """Return what a story is made of with long and blank names shortened and quoted."""
    names = matched.data.annotator_names
    words = dict(zip(names, names_in_words(names), strict=True))
    if all(name == word for name, word in words.items()):
        return part, matched, tables
    reference = part.reference
    if reference is not None:
        reference = replace(
            reference,
            name=names_in_words([reference.name])[0],
            annotators=_renamed(reference.annotators, words),
            offsets=_renamed(reference.offsets, words),
            confusion_matrix=_renamed(reference.confusion_matrix, words),
        )
    data = replace(matched.data, annotator_names=tuple(words.values()))
    return (
        replace(part, pairs=_renamed(part.pairs, words), reference=reference),
        replace(matched, data=data),
        {name: _renamed(table, words) for name, table in tables.items()},
    )


def _renamed(table: Table, words: Mapping[str, str]) -> Table:
    columns: dict[str, Column] = dict(table.columns)
    for name in _COLUMNS:
        column = columns.get(name)
        if isinstance(column, Categorical):
            shown = tuple(words.get(each, each) for each in column.names)
            columns[name] = Categorical(column.code, shown)
    return Table(columns)
