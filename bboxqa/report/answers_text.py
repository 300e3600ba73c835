"""Views of similar annotators, and of associated columns."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from bboxqa.core.text import clean, count
from bboxqa.model.ratings import ColumnAssociation, Grouping, SimilarAnnotators
from bboxqa.model.table import Table
from bboxqa.report.csv_cells import csv_line
from bboxqa.report.numbers import decimal, json_interval, json_number
from bboxqa.report.text_table import table_lines

_SHOWN = 20
# A larger table of counts does not fit on a screen.
_MOST_COLUMNS = 8
_WIDTH = 98
_METHODS = {"kmeans": "k-means", "hierarchical": "Ward's tree"}


def similar_lines(tasks: Sequence[SimilarAnnotators]) -> Iterator[str]:
    """Yield the similarity of annotators, and their groups, of each task."""
    for task in tasks:
        if task.task is not None:
            yield f"{clean(task.task)}:"
        rows = [
            (clean(first), clean(second), f"{n_shared:,}", decimal(equal), decimal(cosine))
            for first, second, n_shared, equal, cosine in task.pairs.head(_SHOWN).rows()
        ]
        titles = ("first", "second", "shared", "equal answers", "cosine")
        yield from _indented([titles, *rows], [0, 1])
        if len(task.pairs) > _SHOWN:
            yield f" … and {len(task.pairs) - _SHOWN:,} more (all of them with --format json)"
        for found in task.groupings:
            yield from ("", *_group_lines(found, task.groups))
        yield from (f" Note: {note}" for note in task.notes)
        yield ""


def _group_lines(found: Grouping, groups: Table) -> Iterator[str]:
    """Yield the groups of one method."""
    silhouette = decimal(found.silhouette) or "undefined"
    n_groups = count(found.n_groups, "group")
    yield f" {n_groups} by {_METHODS[found.method]}, silhouette {silhouette}"
    group = groups[found.method]
    for number in range(1, found.n_groups + 1):
        members = groups["annotator"][group == number]
        yield f"   {number}: {', '.join(map(clean, members))}"
    if found.status != "ok":
        yield f"   {found.status}"


def similar_json(tasks: Sequence[SimilarAnnotators]) -> list[dict[str, Any]]:
    """Return the similarity of annotators and their groups as values for JSON, by task."""
    return [
        {
            "task": task.task,
            "pairs": task.pairs.records(),
            "annotators": task.groups.records(),
            "groupings": [
                {
                    "method": found.method,
                    "n_groups": found.n_groups,
                    "silhouette": json_number(found.silhouette),
                    "status": found.status,
                }
                for found in task.groupings
            ],
            "notes": list(task.notes),
        }
        for task in tasks
    ]


def similar_csv(tasks: Sequence[SimilarAnnotators], *, raw: bool = False) -> str:
    """Return the pairs of annotators as CSV."""
    rows = [csv_line(["task", *tasks[0].pairs.columns], raw=raw)]
    rows += [csv_line([task.task, *row], raw=raw) for task in tasks for row in task.pairs.rows()]
    return "".join(rows)


def association_lines(found: ColumnAssociation) -> Iterator[str]:
    """Yield a test of independence: the table, the result in words, and its limits."""
    first, second = map(clean, found.columns)
    n_rows, n_columns = found.counts.shape
    n = count(int(found.counts.sum()), "row")
    yield f"{n} by {first} ({n_rows:,}) and {second} ({n_columns:,})"
    if n_rows <= _SHOWN and n_columns <= _MOST_COLUMNS:
        titles = ("", *map(clean, found.values[1]))
        rows = [
            (clean(name), *(f"{number:,}" for number in row))
            for name, row in zip(found.values[0], found.counts.tolist(), strict=True)
        ]
        yield from ("", *_indented([titles, *rows], [0]))
    yield ""
    if found.degrees_of_freedom:
        yield (
            f" Chi-square {found.statistic:.4g}, {found.degrees_of_freedom} degrees of freedom, "
            f"p = {found.p_value:.3g}; Cramér's V {decimal(found.cramers_v)}"
        )
    yield from (f" {line}" for line in wrap(found.sentence, _WIDTH))
    yield from (f" Note: {clean(note)}" for note in found.notes)


def association_json(found: ColumnAssociation) -> dict[str, Any]:
    """Return a test of independence as values for JSON."""
    return {
        "columns": list(found.columns),
        "values": [list(names) for names in found.values],
        "counts": found.counts.tolist(),
        "chi_square": json_number(found.statistic),
        "degrees_of_freedom": found.degrees_of_freedom,
        "p_value": json_number(found.p_value),
        "cramers_v": json_number(found.cramers_v),
        "interval": json_interval(found.interval),
        "status": found.status,
        "notes": list(found.notes),
    }


def association_csv(found: ColumnAssociation, *, raw: bool = False) -> str:
    """Return the table of counts as CSV, a row for each pair of values that occur together."""
    rows = [csv_line([*found.columns, "n"], raw=raw)]
    first, second = found.values
    for row, column in zip(*found.counts.nonzero(), strict=True):
        rows.append(csv_line([first[row], second[column], int(found.counts[row, column])], raw=raw))
    return "".join(rows)


def _indented(rows: Sequence[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    """Yield a table, without the columns that are empty below their titles."""
    columns = list(zip(*rows, strict=True))
    kept = [place for place, column in enumerate(columns) if any(column[1:]) or place in left]
    shown = [[row[place] for place in kept] for row in rows]
    yield from (f" {line}" for line in table_lines(shown, left))
