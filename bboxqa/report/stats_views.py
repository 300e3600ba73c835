"""Coefficients, similar annotators and associated columns of ratings as text, JSON and CSV."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan
from textwrap import wrap
from typing import Any

from bboxqa.core.text import clean, count
from bboxqa.model.ratings import (
    ColumnAssociation,
    Estimate,
    Grouping,
    LabelAgreement,
    SimilarAnnotators,
    TaskEstimates,
)
from bboxqa.model.table import Table
from bboxqa.report.numbers import (
    csv_line,
    decimal,
    interval_text,
    json_interval,
    json_number,
    picked,
)
from bboxqa.report.tables import table_lines

_COUNTS = ("task", "n_units", "n_annotators", "n_ratings")
_COLUMNS = (
    *_COUNTS, "coefficient", "value", "low", "high", "standard_error", "status", "n_shared",
    "observed", "expected",
)  # fmt: skip
_TITLES = (
    "task", "coefficient", "value", "95 % interval", "std. error", "compared", "observed",
    "expected", "reading",
)  # fmt: skip
# Titles of columns of words, which are aligned left.
_WORDS = {
    "task", "tier", "label", "coefficient", "95 % interval", "reading", "first", "second",
    "annotator", "of value",
}  # fmt: skip
# Tasks, rows of details, and names that are shown; pairs of similar annotators.
_SHOWN, _MOST_PAIRS = 10, 20
# A larger table of counts does not fit on a screen.
_MOST_COLUMNS, _WIDTH = 8, 98
_METHODS = {"kmeans": "k-means", "hierarchical": "Ward's tree"}
_ALL = "all of them with --format json"

Label = Callable[[str, float], str]
"""Returns the word of a scale for a coefficient and its value, or ""."""


def text_lines(
    tasks: Sequence[TaskEstimates],
    label: Label | None = None,
    totals: Mapping[str, Estimate] | None = None,
) -> Iterator[str]:
    """Yield the coefficients of each task with details, and advice on undefined ones.

    Several tasks are shown in one table. `totals` are estimates over all tasks, by coefficient.

    Examples
    --------
    >>> task = TaskEstimates(None, 5, 2, 10, {"scott_pi": Estimate(0.5, (0.25, 0.75))})
    >>> for line in text_lines([task]):
    ...     print(line)
    5 units, 2 annotators, 10 ratings
    <BLANKLINE>
     coefficient   value  95 % interval
     scott_pi     0.5000  [0.2500, 0.7500]
    """
    for task in tasks[:_SHOWN]:
        name = "" if task.task is None else f"{clean(task.task)}: "
        units, people = count(task.n_units, "unit"), count(task.n_annotators, "annotator")
        yield f"{name}{units}, {people}, {count(task.n_ratings, 'rating')}"
    if len(tasks) > _SHOWN:
        yield f"… and {count(len(tasks) - _SHOWN, 'more task')}"
    yield ""
    rows = [
        (task.task or "", *_row(name, estimate, label))
        for task in tasks
        for name, estimate in task.coefficients.items()
    ]
    if len(tasks) > 1:
        rows += [("total", *_row(name, mean, label)) for name, mean in (totals or {}).items()]
    yield from _aligned([_TITLES, *rows])
    if len(tasks) == 1:
        yield from _details(tasks[0])
    yield from _remarks(tasks, totals or {})


def label_lines(tiers: Sequence[tuple[str, Sequence[LabelAgreement]]]) -> Iterator[str]:
    """Yield the agreement on each label of each tier; two tiers may have the same name.

    Examples
    --------
    >>> for line in label_lines([("posture", [LabelAgreement("sit", Estimate(0.5), 2, 4, 1)])]):
    ...     print(line)
    <BLANKLINE>
    Agreement by label: time that both of a pair mark, divided by time that either marks
     tier     label  agreement  both  either  recordings
     posture  sit       0.5000     2       4           1
    """
    yield ""
    yield "Agreement by label: time that both of a pair mark, divided by time that either marks"
    titles = ("tier", "label", "agreement", "95 % interval", "both", "either", "recordings")
    rows = []
    for tier, labels in tiers:
        for label in labels:
            numbers = (f"{each:,}" for each in (label.both, label.either, label.n_recordings))
            rows.append((tier, label.label, *_value_and_interval(label.agreement), *numbers))
    yield from _aligned([titles, *rows])


def _row(name: str, estimate: Estimate, label: Label | None) -> tuple[str, ...]:
    undefined, pairs = isnan(estimate.value), estimate.n_shared is not None
    return (
        name,
        *_value_and_interval(estimate),
        decimal(estimate.standard_error),
        "" if estimate.n_shared is None else f"{estimate.n_shared:,}",
        decimal(estimate.observed) if pairs else "",
        decimal(estimate.expected) if pairs else "",
        "" if undefined or label is None else label(name, estimate.value),
    )


def _value_and_interval(estimate: Estimate) -> tuple[str, str]:
    return decimal(estimate.value) or "undefined", interval_text(estimate.interval)


def _details(task: TaskEstimates) -> Iterator[str]:
    """Yield the pairs and values of a task by rising kappa, and annotators by falling alpha."""
    pairs = [
        (row["first"], row["second"], f"{row['n_shared']:,}", decimal(row["kappa"]),
         interval_text(row["interval"]))
        for row in sorted(_pairs_json(task), key=lambda row: _or_last(row["kappa"]))
    ]  # fmt: skip
    if len(pairs) > 1:
        yield from _detail(("first", "second", "compared", "kappa", "95 % interval"), pairs)
    people = sorted(task.annotators.items(), key=lambda item: _or_last(-item[1]))
    without = [(name, decimal(alpha)) for name, alpha in people]
    yield from _detail(("annotator", "alpha without"), without)
    values = sorted(task.values.items(), key=lambda item: _or_last(item[1].get("fleiss_kappa")))
    rows = [
        (name, decimal(row.get("fleiss_kappa")),
         interval_text((row.get("low", nan), row.get("high", nan))),
         decimal(row.get("alpha_without")))
        for name, row in values
    ]  # fmt: skip
    titles = ("of value", "fleiss_kappa of it", "95 % interval", "alpha without")
    yield from _detail(titles, rows)


def _or_last(number: float | None) -> float:
    """Return a sort key that puts undefined numbers last."""
    return 2.0 if number is None or isnan(number) else number


def _detail(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield from ("", *_aligned([titles, *rows[:_SHOWN]]))
    if len(rows) > _SHOWN:
        yield f" … and {len(rows) - _SHOWN:,} more ({_ALL})"


def _aligned(rows: Sequence[Sequence[str]], n_names: int = 0) -> Iterator[str]:
    """Yield rows below their titles, without columns that are empty in every row; names first."""
    columns = [tuple(map(clean, column)) for column in zip(*rows, strict=True)]
    kept = [column for n, column in enumerate(columns) if any(column[1:]) or n < n_names]
    left = [n for n, column in enumerate(kept) if (n < n_names if n_names else column[0] in _WORDS)]
    yield from (f" {line}" for line in table_lines([*zip(*kept, strict=True)], left))


def _remarks(tasks: Sequence[TaskEstimates], totals: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield each status with its coefficients and advice, then the notes."""
    concerned: dict[str, list[str]] = {}
    advice: dict[str, str] = {}
    notes: dict[str, list[str]] = {}
    for task in tasks:
        where = clean(task.task) if task.task is not None and len(tasks) > 1 else ""
        for name, estimate in task.coefficients.items():
            if estimate.status != "ok":
                own = concerned.setdefault(estimate.status, [])
                own.append(f"{name} ({where})" if where else name)
                advice.setdefault(estimate.status, estimate.advice)
        for note in task.notes:
            notes.setdefault(note, []).append(where)
    for name, mean in totals.items():
        if mean.status != "ok":
            concerned.setdefault(mean.status, []).append(f"{name} (total)")
        elif len(tasks) > 1:
            notes.setdefault("its standard error treats tasks as independent", []).append("total")
    if concerned or notes:
        yield ""
    for status, names in concerned.items():
        yield f" {_first(names)}: {clean(status)}"
        if advice.get(status):
            yield f"   {advice[status]}"
    for note, places in notes.items():
        where = _first([*filter(None, places)]) if len(places) < len(tasks) else ""
        yield f" Note{f' ({where})' if where else ''}: {clean(note)}"


def _first(names: Sequence[str]) -> str:
    """Return the first names, and the number of others."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} … and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown


def as_json(tasks: Sequence[TaskEstimates]) -> list[dict[str, Any]]:
    """Return tasks as values for JSON, one object per task; None where a number is undefined.

    Examples
    --------
    >>> task = TaskEstimates(None, 5, 2, 10, {"scott_pi": Estimate(0.5)})
    >>> as_json([task])[0]["coefficients"]["scott_pi"]
    {'value': 0.5, 'interval': None, 'standard_error': None, 'status': 'ok'}
    """
    return [
        {
            **picked(task, *_COUNTS),
            "coefficients": {name: _estimate(each) for name, each in task.coefficients.items()},
            "pairs": _pairs_json(task),
            "annotators": {
                name: {"alpha_without": json_number(value)}
                for name, value in task.annotators.items()
            },
            "values": {name: _value_json(columns) for name, columns in task.values.items()},
            "notes": list(task.notes),
        }
        for task in tasks
    ]


def _estimate(estimate: Estimate) -> dict[str, Any]:
    of_pairs = () if estimate.n_shared is None else ("n_shared", "observed", "expected")
    return picked(estimate, "value", "interval", "standard_error", "status", *of_pairs)


def _pairs_json(task: TaskEstimates) -> list[dict[str, Any]]:
    """Return a row for each pair of annotators."""
    if task.pairs is None:
        return []
    names, pairs = task.annotator_names, task.pairs
    return [
        {
            "first": names[first],
            "second": names[second],
            "n_shared": n_shared,
            "observed": json_number(observed),
            "expected": json_number(expected),
            "kappa": json_number(kappa),
            "interval": json_interval(interval),
            "standard_error": json_number(error),
        }
        for first, second, n_shared, observed, expected, kappa, error, interval in zip(
            *(getattr(pairs, field).tolist() for field in pairs.__struct_fields__), strict=True
        )
    ]


def _value_json(columns: Mapping[str, float]) -> dict[str, Any]:
    ends = ("low", "high")
    values: dict[str, Any] = {
        column: json_number(number) for column, number in columns.items() if column not in ends
    }
    if "low" in columns:
        values["interval"] = json_interval([columns[end] for end in ends])
    return values


def as_csv(tasks: Sequence[TaskEstimates], *, raw: bool = False) -> str:
    """Return CSV with a row per task and coefficient; a cell is empty where a number is undefined.

    With `raw`, texts that spreadsheets would run as formulas stay as they are.

    Examples
    --------
    >>> print(as_csv([TaskEstimates("on", 5, 2, 10, {"scott_pi": Estimate(0.5)})]).splitlines()[1])
    on,5,2,10,scott_pi,0.5,,,,ok,,,
    """
    lines = [csv_line(_COLUMNS)]
    for task in tasks:
        for name, estimate in task.coefficients.items():
            low, high = map(json_number, estimate.interval)
            row = {"coefficient": name, "low": low, "high": high, **_estimate(estimate)}
            lines.append(csv_line(map((row | picked(task, *_COUNTS)).get, _COLUMNS), raw=raw))
    return "".join(lines)


def labels_json(labels: Sequence[LabelAgreement]) -> list[dict[str, Any]]:
    """Return the agreement on each label as values for JSON; None where a number is undefined.

    Examples
    --------
    >>> labels_json([LabelAgreement("sit", Estimate(0.5, (0.25, 0.75), 0.1), 2, 4, 1)])
    [{'label': 'sit', 'agreement': 0.5, 'interval': [0.25, 0.75], 'standard_error': 0.1, \
'status': 'ok', 'both': 2, 'either': 4, 'n_recordings': 1}]
    """
    records = []
    for label in labels:
        values = _estimate(label.agreement)
        head = {"label": label.label, "agreement": values.pop("value")}
        records.append({**head, **values, **picked(label, "both", "either", "n_recordings")})
    return records


def similar_lines(tasks: Sequence[SimilarAnnotators]) -> Iterator[str]:
    """Yield the similarity of annotators, and their groups, of each task."""
    for task in tasks:
        if task.task is not None:
            yield f"{clean(task.task)}:"
        rows = [
            (first, second, f"{n_shared:,}", decimal(equal), decimal(cosine))
            for first, second, n_shared, equal, cosine in task.pairs.head(_MOST_PAIRS).rows()
        ]
        yield from _aligned([("first", "second", "shared", "equal answers", "cosine"), *rows], 2)
        if len(task.pairs) > _MOST_PAIRS:
            yield f" … and {len(task.pairs) - _MOST_PAIRS:,} more ({_ALL})"
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
    rows = [csv_line(["task", *tasks[0].pairs.columns], raw=raw)]
    rows += [csv_line([task.task, *row], raw=raw) for task in tasks for row in task.pairs.rows()]
    return "".join(rows)


def association_lines(found: ColumnAssociation) -> Iterator[str]:
    """Yield a test of independence: the table, the result in words, and its limits."""
    first, second = map(clean, found.columns)
    n_rows, n_columns = found.counts.shape
    n = count(int(found.counts.sum()), "row")
    yield f"{n} by {first} ({n_rows:,}) and {second} ({n_columns:,})"
    if n_rows <= _MOST_PAIRS and n_columns <= _MOST_COLUMNS:
        rows = [
            (name, *(f"{number:,}" for number in row))
            for name, row in zip(found.values[0], found.counts.tolist(), strict=True)
        ]
        yield from ("", *_aligned([("", *found.values[1]), *rows], 1))
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
        **picked(found, "degrees_of_freedom", "p_value", "cramers_v", "interval", "status"),
        "notes": list(found.notes),
    }


def association_csv(found: ColumnAssociation, *, raw: bool = False) -> str:
    """Return the table of counts as CSV, a row for each pair of values that occur together."""
    rows = [csv_line([*found.columns, "n"], raw=raw)]
    first, second = found.values
    for row, column in zip(*found.counts.nonzero(), strict=True):
        rows.append(csv_line([first[row], second[column], int(found.counts[row, column])], raw=raw))
    return "".join(rows)
