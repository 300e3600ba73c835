"""Coefficients, similar annotators and associated columns of ratings as text, JSON and CSV."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from bboxqa.core.text import clean, count, first_few
from bboxqa.model.ratings import (
    ColumnAssociation,
    Estimate,
    LabelAgreement,
    SimilarAnnotators,
    TaskEstimates,
)
from bboxqa.report.numbers import csv_line, decimal, interval_text, json_value, picked, table_lines

_COUNTS = ("task", "n_units", "n_annotators", "n_ratings")
_OF_ESTIMATE = ("standard_error", "status", "n_shared", "observed", "expected")
_TITLES = (
    "task", "coefficient", "value", "95 % interval", "std. error", "compared", "observed",
    "expected", "reading",
)  # fmt: skip
# Tasks, rows of details, and names that are shown; pairs of similar annotators.
_SHOWN, _MOST_PAIRS = 10, 20
# A larger table of counts does not fit on a screen.
_MOST_COLUMNS = 8
_METHODS = {"kmeans": "k-means", "hierarchical": "Ward's tree"}
_ALL = "all of them with --format json"
_NOT_AGREEMENT = (
    "association is not agreement: annotators who always contradict each other are associated as "
    "strongly as annotators who always agree"
)

Label = Callable[[str, float], str]
"""Returns the word of a scale for a coefficient and its value, or ""."""


def text_lines(
    tasks: Sequence[TaskEstimates],
    label: Label | None = None,
    totals: Mapping[str, Estimate] | None = None,
) -> Iterator[str]:
    """Yield the coefficients of each task with details, and advice on undefined ones."""
    for task in tasks[:_SHOWN]:
        name = "" if task.task is None else f"{clean(task.task)}: "
        units, people = count(task.n_units, "unit"), count(task.n_annotators, "annotator")
        yield f"{name}{units}, {people}, {count(task.n_ratings, 'rating')}"
    if len(tasks) > _SHOWN:
        yield f"… and {count(len(tasks) - _SHOWN, 'more task')}"
    named = [(task.task or "", where(task, tasks), task.coefficients) for task in tasks]
    if len(tasks) > 1:
        named.append(("total", "total", totals or {}))
    yield from _table(
        _TITLES,
        [
            (task, name, *_cells(estimate), "" if label is None or isnan(estimate.value) else
             label(name, estimate.value))
            for task, _, estimates in named
            for name, estimate in estimates.items()
        ],
    )  # fmt: skip
    if len(tasks) == 1:
        yield from _details(tasks[0])
    yield from _remarks(tasks, [each[1:] for each in named])
    rows = [
        (task.task or "", each.label, *_cells(each.agreement)[:2], each.both, each.either,
         each.n_recordings)
        for task in tasks
        for each in task.labels
    ]  # fmt: skip
    if rows:
        yield ""
        yield "Agreement by label: time that both of a pair mark, divided by time that either marks"
        titles = ("tier", "label", "agreement", "95 % interval", "both", "either", "recordings")
        yield from _aligned(titles, rows)


def where(task: TaskEstimates, tasks: Sequence[TaskEstimates]) -> str:
    """Return the name of a task, if there are several."""
    return clean(task.task) if task.task is not None and len(tasks) > 1 else ""


def _cells(estimate: Estimate) -> tuple[Any, ...]:
    """Return value, interval, standard error, and what only means over pairs have."""
    value = "undefined" if isnan(estimate.value) else estimate.value
    of_pairs = (estimate.n_shared, estimate.observed, estimate.expected)
    shown = (None,) * 3 if estimate.n_shared is None else of_pairs
    return value, estimate.interval, estimate.standard_error, *shown


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return interval_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    return clean(value) if isinstance(value, str) else decimal(value)


def _aligned(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield rows below their titles, texts on the left, without columns that are empty."""
    columns = [
        ([clean(title), *map(_cell, values)], all(not isinstance(each, int) for each in values)
         and not any(isinstance(each, float) and not isnan(each) for each in values))
        for title, *values in zip(titles, *rows, strict=True)
    ]  # fmt: skip
    kept = [(cells, is_text) for cells, is_text in columns if any(cells[1:]) or not cells[0]]
    left = [place for place, (_, is_text) in enumerate(kept) if is_text]
    lines = table_lines([*zip(*(cells for cells, _ in kept), strict=True)], left)
    yield from (f" {line}" for line in lines)


def _table(titles: Sequence[str], rows: Sequence[Sequence[Any]], most: int = 0) -> Iterator[str]:
    """Yield a table, or its first rows, after an empty line; nothing without rows."""
    if rows:
        yield from ("", *_aligned(titles, rows[: most or None]))
    if most and len(rows) > most:
        yield f" … and {len(rows) - most:,} more ({_ALL})"


def _details(task: TaskEstimates) -> Iterator[str]:
    """Yield the pairs and values of a task by rising kappa, and annotators by falling alpha."""

    def last(number: float | None) -> float:
        return 2.0 if number is None or isnan(number) else number

    pairs = [
        tuple(row[key] for key in ("first", "second", "n_shared", "kappa", "interval"))
        for row in sorted(_pairs(task), key=lambda row: last(row["kappa"]))
    ]
    people = sorted(task.annotators.items(), key=lambda item: last(-item[1]))
    values: list[tuple[Any, ...]] = [
        (name, *(row.get(key) for key in ("fleiss_kappa", "interval", "alpha_without")))
        for name, row in _values(task).items()
    ]
    values.sort(key=lambda row: last(row[1]))
    titles = ("first", "second", "compared", "kappa", "95 % interval")
    yield from _table(titles, pairs if len(pairs) > 1 else [], _SHOWN)
    yield from _table(("annotator", "alpha without"), people, _SHOWN)
    of_values = ("of value", "fleiss_kappa of it", "95 % interval", "alpha without")
    yield from _table(of_values, values, _SHOWN)


def _remarks(
    tasks: Sequence[TaskEstimates], named: Sequence[tuple[str, Mapping[str, Estimate]]]
) -> Iterator[str]:
    """Yield each status with its coefficients and advice, then the notes."""
    statuses: dict[tuple[str, str], list[str]] = {}
    notes: dict[str, list[str]] = {}
    for place, estimates in named:
        for name, estimate in estimates.items():
            if estimate.status != "ok":
                of_status = statuses.setdefault((estimate.status, estimate.advice), [])
                of_status.append(f"{name} ({place})" if place else name)
            elif place == "total":
                notes["its standard error treats tasks as independent"] = ["total"]
    for task in tasks:
        for note in task.notes:
            notes.setdefault(note, []).append(where(task, tasks))
    if statuses or notes:
        yield ""
    for (status, advice), names in statuses.items():
        yield f" {first_few(names, _SHOWN)}: {clean(status)}"
        if advice:
            yield f"   {advice}"
    for note, places in notes.items():
        place = first_few([*filter(None, places)], _SHOWN) if len(places) < len(tasks) else ""
        yield f" Note{f' ({place})' if place else ''}: {clean(note)}"


def as_json(tasks: Sequence[TaskEstimates]) -> list[dict[str, Any]]:
    """Return tasks as values for JSON, one object per task; None where a number is undefined."""
    return [
        {
            **picked(task, *_COUNTS),
            "coefficients": {name: _estimate(each) for name, each in task.coefficients.items()},
            "pairs": _pairs(task),
            "annotators": {
                name: {"alpha_without": json_value(value)}
                for name, value in task.annotators.items()
            },
            "values": _values(task),
            "notes": list(task.notes),
            **({"labels": [*map(_label, task.labels)]} if task.labels else {}),
        }
        for task in tasks
    ]


def _label(of: LabelAgreement) -> dict[str, Any]:
    counts = picked(of, "both", "either", "n_recordings")
    return {"label": of.label, **_estimate(of.agreement, "agreement"), **counts}


def _estimate(estimate: Estimate, name: str = "value") -> dict[str, Any]:
    of_pairs = () if estimate.n_shared is None else _OF_ESTIMATE[2:]
    found = picked(estimate, "value", "interval", *_OF_ESTIMATE[:2], *of_pairs)
    return {name: found.pop("value"), **found}


def _pairs(task: TaskEstimates) -> list[dict[str, Any]]:
    """Return a row for each pair of annotators."""
    if task.pairs is None:
        return []
    names, fields = task.annotator_names, task.pairs.__struct_fields__
    rows = zip(*(getattr(task.pairs, field).tolist() for field in fields), strict=True)
    return [
        {"first": names[row["first"]], "second": names[row["second"]], "n_shared": row["n_shared"]}
        | {name: json_value(row[name])
           for name in ("observed", "expected", "kappa", "interval", "standard_error")}
        for row in [dict(zip(fields, row, strict=True)) for row in rows]
    ]  # fmt: skip


def _values(task: TaskEstimates) -> dict[str, dict[str, Any]]:
    """Return the columns of each value, its interval as one."""
    found: dict[str, dict[str, Any]] = {}
    for name, columns in task.values.items():
        ends = columns.keys() & {"low", "high"}
        found[name] = {key: json_value(columns[key]) for key in columns if key not in ends}
        if ends:
            found[name]["interval"] = json_value((columns["low"], columns["high"]))
    return found


def _csv(rows: Iterable[Iterable[object]], *, raw: bool) -> str:
    return "".join(csv_line(row, raw=raw) for row in rows)


def as_csv(tasks: Sequence[TaskEstimates], *, raw: bool = False) -> str:
    """Return CSV with a row per task and coefficient; undefined numbers are empty cells."""
    rows: list[list[object]] = [[*_COUNTS, "coefficient", "value", "low", "high", *_OF_ESTIMATE]]
    for task in tasks:
        of_labels = {f"label {each.label}": each.agreement for each in task.labels}
        counts = picked(task, *_COUNTS).values()
        for name, each in {**task.coefficients, **of_labels}.items():
            found = _estimate(each)
            ends = found["interval"] or (None, None)
            rows.append([*counts, name, found["value"], *ends, *map(found.get, _OF_ESTIMATE)])
    return _csv(rows, raw=raw)


def similar_lines(tasks: Sequence[SimilarAnnotators]) -> Iterator[str]:
    """Yield the similarity of annotators, and their groups, of each task."""
    for task in tasks:
        if task.task is not None:
            yield f"{clean(task.task)}:"
        rows = [*task.pairs.head(_MOST_PAIRS).rows()]
        yield from _aligned(("first", "second", "shared", "equal answers", "cosine"), rows)
        if len(task.pairs) > _MOST_PAIRS:
            yield f" … and {len(task.pairs) - _MOST_PAIRS:,} more ({_ALL})"
        for found in task.groupings:
            silhouette = decimal(found.silhouette) or "undefined"
            n_groups = count(found.n_groups, "group")
            yield ""
            yield f" {n_groups} by {_METHODS[found.method]}, silhouette {silhouette}"
            group = task.groups[found.method]
            for number in range(1, found.n_groups + 1):
                members = task.groups["annotator"][group == number]
                yield f"   {number}: {', '.join(map(clean, members))}"
            if found.status != "ok":
                yield f"   {found.status}"
        yield from (f" Note: {note}" for note in task.notes)
        yield ""


def similar_json(tasks: Sequence[SimilarAnnotators]) -> list[dict[str, Any]]:
    """Return the similarity of annotators and their groups as values for JSON, by task."""
    names = ("method", "n_groups", "silhouette", "status")
    return [
        {
            "task": task.task,
            "pairs": task.pairs.records(),
            "annotators": task.groups.records(),
            "groupings": [picked(found, *names) for found in task.groupings],
            "notes": list(task.notes),
        }
        for task in tasks
    ]


def similar_csv(tasks: Sequence[SimilarAnnotators], *, raw: bool = False) -> str:
    """Return the pairs of annotators as CSV."""
    rows = ([task.task, *row] for task in tasks for row in task.pairs.rows())
    return _csv([["task", *tasks[0].pairs.columns], *rows], raw=raw)


def association_lines(found: ColumnAssociation) -> Iterator[str]:
    """Yield a test of independence: the table, the result, and its limits."""
    (first, second), (n_rows, n_columns) = map(clean, found.columns), found.counts.shape
    n = count(int(found.counts.sum()), "row")
    yield f"{n} by {first} ({n_rows:,}) and {second} ({n_columns:,})"
    if n_rows <= _MOST_PAIRS and n_columns <= _MOST_COLUMNS:
        rows = zip(found.values[0], found.counts.tolist(), strict=True)
        yield from _table(("", *found.values[1]), [(name, *row) for name, row in rows])
    yield ""
    test = found.test
    if test.degrees_of_freedom:
        strength = f"{decimal(test.cramers_v)} {interval_text(test.interval)}".rstrip()
        yield (
            f" Chi-square {test.statistic:.4g}, {test.degrees_of_freedom} degrees of freedom, "
            f"p = {test.p_value:.3g}; Cramér's V {strength}"
        )
    else:
        yield f" {test.status}"
    yield from (f" Note: {clean(note)}" for note in (*found.notes, _NOT_AGREEMENT))


def association_json(found: ColumnAssociation) -> dict[str, Any]:
    """Return a test of independence as values for JSON."""
    return {
        "columns": list(found.columns),
        "values": [list(names) for names in found.values],
        "counts": found.counts.tolist(),
        "chi_square": json_value(found.test.statistic),
        **picked(found.test, "degrees_of_freedom", "p_value", "cramers_v", "interval", "status"),
        "notes": list(found.notes),
    }


def association_csv(found: ColumnAssociation, *, raw: bool = False) -> str:
    """Return the table of counts as CSV, a row for each pair of values that occur together."""
    first, second = found.values
    cells = zip(*found.counts.nonzero(), strict=True)
    rows = ([first[row], second[column], int(found.counts[row, column])] for row, column in cells)
    return _csv([[*found.columns, "n"], *rows], raw=raw)
