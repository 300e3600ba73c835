"""Names of annotators and categories, shortened and quoted for the sentences of a story."""

from collections.abc import Mapping
from dataclasses import replace

from bboxqa.core.text import names_in_words
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import MatchedUnits

# Columns of tables that hold names of annotators, and of categories.
_PEOPLE = ("annotator", "annotator_1", "annotator_2")
_CATEGORIES = ("category", "others", "reference", "first", "second")


def named_in_words(
    part: ThresholdResult, matched: MatchedUnits, tables: Mapping[str, Table]
) -> tuple[ThresholdResult, MatchedUnits, Mapping[str, Table]]:
    """Return the inputs of a story with long and blank names shortened and quoted."""
    data = matched.data
    people, categories = names_in_words(data.annotator_names), names_in_words(data.category_names)
    groups = tuple(sorted({*data.supercategories}))
    broader = names_in_words(groups)
    if (people, categories, broader) == (data.annotator_names, data.category_names, groups):
        return part, matched, tables
    words = {column: dict(zip(data.annotator_names, people, strict=True)) for column in _PEOPLE}
    of_categories = dict(zip(data.category_names, categories, strict=True))
    words |= dict.fromkeys(_CATEGORIES, of_categories)
    words["supercategory"] = dict(zip(groups, broader, strict=True))
    reference = part.reference
    if reference is not None:
        reference = replace(
            reference,
            name=names_in_words([reference.name])[0],
            annotators=_renamed(reference.annotators, words),
            offsets=_renamed(reference.offsets, words),
            confusions=_renamed(reference.confusions, words),
            confusion_matrix=_renamed(reference.confusion_matrix, words),
        )
    data = replace(data, annotator_names=people, category_names=categories)
    pairs, of_each = _renamed(part.pairs, words), _renamed(part.categories, words)
    return (
        replace(part, pairs=pairs, categories=of_each, reference=reference),
        replace(matched, data=data),
        {name: _renamed(table, words) for name, table in tables.items()},
    )


def _renamed(table: Table, words: Mapping[str, Mapping[str, str]]) -> Table:
    """Return a table with other names; `words` maps old to new names for each column."""
    columns: dict[str, Column] = dict(table.columns)
    for name, others in words.items():
        column = columns.get(name)
        if isinstance(column, Categorical):
            shown = tuple(others.get(each, each) for each in column.names)
            columns[name] = Categorical(column.code, shown)
    return Table(columns)
