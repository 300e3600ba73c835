"""Coefficients of tables of ratings as json, as CSV, and as lines of text."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from math import isnan, nan
from typing import Any

from bboxqa.core.text import clean, count
from bboxqa.model.estimates import Estimate, LabelAgreement, TaskEstimates

__all__ = ["as_csv", "as_json", "label_lines", "labels_json", "text_lines"]

_ADVICE = (
    ("no unit has two", "Have some units rated by two annotators or more."),
    (
        "only one value occurs",
        "Add units of other values; percent agreement can be reported meanwhile.",
    ),
    ("values are not numbers", "Values have to be numbers; nominal coefficients take names."),
    ("a unit several times", "Keep one answer of each annotator, or use a pairwise coefficient."),
    ("for two annotators only", "Report fleiss_kappa, or cohen_kappa of each pair."),
    ("number of options", "Name their column with --n-options."),
    ("do not say who gave", "Give ratings instead of counts, one row each."),
    ("do not differ in what", "Report percent agreement: there is nothing to be consistent about."),
    ("needs weights", "Give --weights linear or quadratic."),
    ("nobody says it where", "Have a second annotator mark the recordings in which it occurs."),
    ("annotated by everyone", "Have everybody mark some recording from beginning to end."),
    ("codes have the same sum", "Report krippendorff_alpha, which needs no differing sums."),
    ("needs two annotators", "Have a second annotator rate the same units."),
)
_TEXTS = {
    "task", "tier", "label", "coefficient", "95 % interval", "reading", "first", "second",
    "annotator", "of value",
}  # fmt: skip
_SHOWN = 10
_COLUMNS = (
    "task", "n_units", "n_annotators", "n_ratings", "coefficient", "value", "low", "high",
    "standard_error", "status", "n_shared", "observed", "expected",
)  # fmt: skip


def as_json(tasks: Sequence[TaskEstimates]) -> list[dict[str, Any]]:
    """Return what was measured as values that json has.

    Parameters
    ----------
    tasks : sequence of TaskEstimates

    Returns
    -------
    list of dict
        One per task; None where a number is undefined.

    Examples
    --------
    >>> task = TaskEstimates(None, 5, 2, 10, {"scott_pi": Estimate(0.5)})
    >>> as_json([task])[0]["coefficients"]["scott_pi"]
    {'value': 0.5, 'interval': None, 'standard_error': None, 'status': 'ok'}
    """
    return [
        {
            "task": task.task,
            "n_units": task.n_units,
            "n_annotators": task.n_annotators,
            "n_ratings": task.n_ratings,
            "coefficients": {
                name: _estimate_json(estimate) for name, estimate in task.coefficients.items()
            },
            "pairs": _pairs_json(task),
            "annotators": {
                name: {"alpha_without": _defined(value)} for name, value in task.annotators.items()
            },
            "values": {name: _value_json(columns) for name, columns in task.values.items()},
            "notes": list(task.notes),
        }
        for task in tasks
    ]


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    values: dict[str, Any] = {
        "value": _defined(estimate.value),
        "interval": _bounds(estimate.interval),
        "standard_error": _defined(estimate.standard_error),
        "status": estimate.status,
    }
    if estimate.n_shared is not None:
        values["n_shared"] = estimate.n_shared
        values["observed"] = _defined(estimate.observed)
        values["expected"] = _defined(estimate.expected)
    return values


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
            "observed": _defined(observed),
            "expected": _defined(expected),
            "kappa": _defined(kappa),
            "interval": _bounds(interval),
            "standard_error": _defined(error),
        }
        for first, second, n_shared, observed, expected, kappa, error, interval in zip(
            *(getattr(pairs, field.name).tolist() for field in fields(pairs)), strict=True
        )
    ]


def _value_json(columns: Mapping[str, float]) -> dict[str, Any]:
    values: dict[str, Any] = {
        column: _defined(number)
        for column, number in columns.items()
        if column not in ("low", "high")
    }
    if "low" in columns:
        values["interval"] = _bounds((columns["low"], columns["high"]))
    return values


def _bounds(interval: Sequence[float]) -> list[float] | None:
    low, high = interval
    return None if isnan(low) or isnan(high) else [low, high]


def _defined(number: float) -> float | None:
    return None if isnan(number) else float(number)


def as_csv(tasks: Sequence[TaskEstimates]) -> str:
    """Return a table with one row per task and coefficient.

    Parameters
    ----------
    tasks : sequence of TaskEstimates

    Returns
    -------
    str
        With a header; an empty cell where a number is undefined or there is none.

    Examples
    --------
    >>> print(as_csv([TaskEstimates("on", 5, 2, 10, {"scott_pi": Estimate(0.5)})]).splitlines()[1])
    on,5,2,10,scott_pi,0.5,,,,ok,,,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for task in tasks:
        counts = (task.n_units, task.n_annotators, task.n_ratings)
        for name, estimate in task.coefficients.items():
            numbers = (estimate.value, *estimate.interval, estimate.standard_error)
            pairs: tuple[float | None, ...] = (
                estimate.n_shared,
                _defined(estimate.observed),
                _defined(estimate.expected),
            )
            if estimate.n_shared is None:
                pairs = (None, None, None)
            writer.writerow(
                [task.task, *counts, name, *map(_defined, numbers), estimate.status, *pairs]
            )
    return text.getvalue()


def text_lines(
    tasks: Sequence[TaskEstimates],
    label: Callable[[str, float], str] | None = None,
    totals: Mapping[str, Estimate] | None = None,
) -> Iterator[str]:
    """Yield what was measured as a person reads it.

    Parameters
    ----------
    tasks : sequence of TaskEstimates
        Several get one table.
    label : callable, optional
        Says of a coefficient's name and value what a scale calls it; empty for none.
    totals : mapping of str to Estimate, optional
        Of all tasks together.

    Yields
    ------
    str
        A line without its end.

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
    several = len(tasks) > 1
    for task in tasks[:_SHOWN]:
        name = "" if task.task is None else f"{clean(task.task)}: "
        yield f"{name}{_size(task)}"
    if len(tasks) > _SHOWN:
        yield f"… and {count(len(tasks) - _SHOWN, 'more task')}"
    yield ""
    rows = [
        (task.task or "", *_row(name, estimate, label))
        for task in tasks
        for name, estimate in task.coefficients.items()
    ]
    if several and totals:
        rows += [("total", *_row(name, mean, label)) for name, mean in totals.items()]
    titles = ("task", "coefficient", "value", "95 % interval", "std. error", "compared",
              "observed", "expected", "reading")  # fmt: skip
    yield from _aligned([titles, *rows])
    if not several and tasks:
        yield from _details(tasks[0])
    yield from _remarks(tasks, totals or {})


def _details(task: TaskEstimates) -> Iterator[str]:
    """Yield what the coefficients of one task are made of: the lowest first."""
    rows: list[tuple[str, ...]] = [
        (
            clean(row["first"]),
            clean(row["second"]),
            f"{row['n_shared']:,}",
            _digits(row["kappa"]),
            _interval(row["interval"] or (nan, nan)),
        )
        for row in sorted(_pairs_json(task), key=lambda row: _last(row["kappa"]))
    ]
    if len(rows) > 1:
        yield from _detail(("first", "second", "compared", "kappa", "95 % interval"), rows)
    rows = [
        (clean(name), _digits(value))
        for name, value in sorted(task.annotators.items(), key=lambda item: _last(-item[1]))
    ]
    if rows:
        yield from _detail(("annotator", "alpha without"), rows)
    rows = [
        (
            clean(name),
            _digits(row.get("fleiss_kappa")),
            _interval((row.get("low", nan), row.get("high", nan))),
            _digits(row.get("alpha_without")),
        )
        for name, row in sorted(
            task.values.items(), key=lambda item: _last(item[1].get("fleiss_kappa"))
        )
    ]
    if rows:
        titles = ("of value", "fleiss_kappa of it", "95 % interval", "alpha without")
        yield from _detail(titles, rows)


def _last(number: float | None) -> float:
    """Return what sorts a number that is not there behind all others."""
    return 2.0 if number is None or isnan(number) else number


def _detail(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield from _aligned([titles, *rows[:_SHOWN]])
    if len(rows) > _SHOWN:
        yield f" … and {len(rows) - _SHOWN:,} more (all of them with --format json)"


def labels_json(labels: Sequence[LabelAgreement]) -> list[dict[str, Any]]:
    """Return how far annotators agree on each label as values that json has.

    Parameters
    ----------
    labels : sequence of LabelAgreement

    Returns
    -------
    list of dict
        None where a number is undefined.

    Examples
    --------
    >>> labels_json([LabelAgreement("sit", Estimate(0.5, (0.25, 0.75), 0.1), 2, 4, 1)])
    [{'label': 'sit', 'agreement': 0.5, 'interval': [0.25, 0.75], 'standard_error': 0.1, \
'status': 'ok', 'both': 2, 'either': 4, 'n_recordings': 1}]
    """
    records = []
    for label in labels:
        values = _estimate_json(label.agreement)
        agreement = values.pop("value")
        records.append(
            {
                "label": label.label,
                "agreement": agreement,
                **values,
                "both": label.both,
                "either": label.either,
                "n_recordings": label.n_recordings,
            }
        )
    return records


def label_lines(tiers: Sequence[tuple[str, Sequence[LabelAgreement]]]) -> Iterator[str]:
    """Yield how far annotators agree on each label of segments of time.

    Parameters
    ----------
    tiers : sequence of (str, sequence of LabelAgreement)
        A name can be there twice: somebody may call a tier what all of them are called.

    Yields
    ------
    str
        A line without its end.

    Examples
    --------
    >>> for line in label_lines([("posture", [LabelAgreement("sit", Estimate(0.5), 2, 4, 1)])]):
    ...     print(line)
    <BLANKLINE>
    Time on which both of a pair say a label, of that on which either does
     tier     label  agreement  both  either  recordings
     posture  sit       0.5000     2       4           1
    """
    yield ""
    yield "Time on which both of a pair say a label, of that on which either does"
    titles = ("tier", "label", "agreement", "95 % interval", "both", "either", "recordings")
    rows = [
        (tier, label.label, *_value_and_interval(label.agreement), f"{label.both:,}",
         f"{label.either:,}", f"{label.n_recordings:,}")
        for tier, labels in tiers
        for label in labels
    ]  # fmt: skip
    yield from _aligned([titles, *rows])


def _size(task: TaskEstimates) -> str:
    return (
        f"{count(task.n_units, 'unit')}, {count(task.n_annotators, 'annotator')}, "
        f"{count(task.n_ratings, 'rating')}"
    )


def _row(
    name: str, estimate: Estimate, label: Callable[[str, float], str] | None
) -> tuple[str, ...]:
    undefined = isnan(estimate.value)
    pairs = estimate.n_shared is not None
    return (
        name,
        *_value_and_interval(estimate),
        _digits(estimate.standard_error),
        "" if estimate.n_shared is None else f"{estimate.n_shared:,}",
        _digits(estimate.observed) if pairs else "",
        _digits(estimate.expected) if pairs else "",
        "" if undefined or label is None else label(name, estimate.value),
    )


def _value_and_interval(estimate: Estimate) -> tuple[str, str]:
    value = _digits(estimate.value) or "undefined"
    return value, _interval(estimate.interval)


def _interval(interval: Sequence[float]) -> str:
    low, high = interval
    return "" if isnan(low) or isnan(high) else f"[{low:.4f}, {high:.4f}]"


def _digits(number: float | None) -> str:
    # Not minus nothing.
    return "" if number is None or isnan(number) else f"{round(number, 4) + 0.0:.4f}"


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows with columns one below the other; columns without a cell are left out."""
    columns = [tuple(map(clean, column)) for column in zip(*rows, strict=True)]
    columns = [column for column in columns if any(column[1:])]
    padded = [_padded(column) for column in columns]
    for cells in zip(*padded, strict=True):
        yield f" {'  '.join(cells)}".rstrip()


def _padded(column: tuple[str, ...]) -> list[str]:
    width = max(map(len, column))
    numbers = column[0] not in _TEXTS
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in column]


def _some(names: Sequence[str]) -> str:
    """Return the first of many names, and how many there are more."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} … and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown


def _remarks(tasks: Sequence[TaskEstimates], totals: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield each status with what it is about and what to do, and the notes."""
    about: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for task in tasks:
        where = f" ({clean(task.task)})" if task.task is not None and len(tasks) > 1 else ""
        for name, estimate in task.coefficients.items():
            if estimate.status != "ok":
                about.setdefault(estimate.status, []).append(f"{name}{where}")
        for note in task.notes:
            notes.setdefault(note, []).append(where.strip(" ()"))
    for name, mean in totals.items():
        if mean.status != "ok":
            about.setdefault(mean.status, []).append(f"{name} (total)")
        elif len(tasks) > 1:
            notes.setdefault("its standard error takes tasks as independent", []).append("total")
    if about or notes:
        yield ""
    for status, names in about.items():
        yield f" {_some(names)}: {clean(status)}"
        advice = next((text for part, text in _ADVICE if part in status), "")
        if advice and status.startswith("undefined"):
            yield f"   {advice}"
    for note, places in notes.items():
        where = _some([place for place in places if place]) if len(places) < len(tasks) else ""
        yield f" Note{f' ({where})' if where else ''}: {clean(note)}"
