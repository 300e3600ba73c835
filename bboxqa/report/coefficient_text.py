"""Coefficients of tables of ratings as lines of text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, nan

from bboxqa.core.text import clean, count
from bboxqa.model.ratings import Estimate, LabelAgreement, TaskEstimates
from bboxqa.report.coefficients import pairs_json
from bboxqa.report.numbers import decimal, interval_text
from bboxqa.report.text_table import table_lines

_TEXTS = {
    "task", "tier", "label", "coefficient", "95 % interval", "reading", "first", "second",
    "annotator", "of value",
}  # fmt: skip
_TITLES = (
    "task", "coefficient", "value", "95 % interval", "std. error", "compared", "observed",
    "expected", "reading",
)  # fmt: skip
_SHOWN = 10


def text_lines(
    tasks: Sequence[TaskEstimates],
    label: Callable[[str, float], str] | None = None,
    totals: Mapping[str, Estimate] | None = None,
) -> Iterator[str]:
    """Yield the coefficients of each task with details, and advice on undefined ones.

    Several tasks are shown in one table. `label` is called as label(coefficient, value), and
    returns the word of a scale for the value, or "". `totals` are estimates over all tasks, by
    coefficient.

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
        yield _size(task)
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
    rows = [
        (tier, label.label, *_value_and_interval(label.agreement), f"{label.both:,}",
         f"{label.either:,}", f"{label.n_recordings:,}")
        for tier, labels in tiers
        for label in labels
    ]  # fmt: skip
    yield from _aligned([titles, *rows])


def _size(task: TaskEstimates) -> str:
    name = "" if task.task is None else f"{clean(task.task)}: "
    return (
        f"{name}{count(task.n_units, 'unit')}, {count(task.n_annotators, 'annotator')}, "
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
        decimal(estimate.standard_error),
        "" if estimate.n_shared is None else f"{estimate.n_shared:,}",
        decimal(estimate.observed) if pairs else "",
        decimal(estimate.expected) if pairs else "",
        "" if undefined or label is None else label(name, estimate.value),
    )


def _value_and_interval(estimate: Estimate) -> tuple[str, str]:
    value = decimal(estimate.value) or "undefined"
    return value, interval_text(estimate.interval)


def _details(task: TaskEstimates) -> Iterator[str]:
    """Yield the pairs and values of a task by rising kappa, and annotators by falling alpha."""
    pairs = sorted(pairs_json(task), key=lambda row: _or_last(row["kappa"]))
    if len(pairs) > 1:
        yield from _detail(
            ("first", "second", "compared", "kappa", "95 % interval"),
            [
                (row["first"], row["second"], f"{row['n_shared']:,}", decimal(row["kappa"]),
                 interval_text(row["interval"]))
                for row in pairs
            ],
        )  # fmt: skip
    annotators = sorted(task.annotators.items(), key=lambda item: _or_last(-item[1]))
    yield from _detail(
        ("annotator", "alpha without"), [(name, decimal(alpha)) for name, alpha in annotators]
    )
    values = sorted(task.values.items(), key=lambda item: _or_last(item[1].get("fleiss_kappa")))
    yield from _detail(
        ("of value", "fleiss_kappa of it", "95 % interval", "alpha without"),
        [
            (name, decimal(row.get("fleiss_kappa")),
             interval_text((row.get("low", nan), row.get("high", nan))),
             decimal(row.get("alpha_without")))
            for name, row in values
        ],
    )  # fmt: skip


def _or_last(number: float | None) -> float:
    """Return a sort key that puts undefined numbers last."""
    return 2.0 if number is None or isnan(number) else number


def _detail(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield ""
        yield from _aligned([titles, *rows[:_SHOWN]])
    if len(rows) > _SHOWN:
        yield f" … and {len(rows) - _SHOWN:,} more (all of them with --format json)"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows below their titles, without the columns that are empty in every row."""
    columns = [tuple(map(clean, column)) for column in zip(*rows, strict=True)]
    columns = [column for column in columns if any(column[1:])]
    left = [place for place, column in enumerate(columns) if column[0] in _TEXTS]
    for line in table_lines([*zip(*columns, strict=True)], left):
        yield f" {line}"


def _remarks(tasks: Sequence[TaskEstimates], totals: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield each status with its coefficients and advice, then the notes."""
    concerned: dict[str, list[str]] = {}
    advice: dict[str, str] = {}
    notes: dict[str, list[str]] = {}
    for task in tasks:
        where = f" ({clean(task.task)})" if task.task is not None and len(tasks) > 1 else ""
        for name, estimate in task.coefficients.items():
            if estimate.status != "ok":
                concerned.setdefault(estimate.status, []).append(f"{name}{where}")
                advice.setdefault(estimate.status, estimate.advice)
        for note in task.notes:
            notes.setdefault(note, []).append(where.strip(" ()"))
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
        where = _first([place for place in places if place]) if len(places) < len(tasks) else ""
        yield f" Note{f' ({where})' if where else ''}: {clean(note)}"


def _first(names: Sequence[str]) -> str:
    """Return the first names, and the number of others."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} … and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown
