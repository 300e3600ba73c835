"""A report in a notebook: findings by severity as a chart, and by rule as a table."""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.text import count, one_line
from bboxqa.model.findings import FoundReport, Severity
from bboxqa.model.table import Table, html_table
from bboxqa.report.charts.bar_charts import severities
from bboxqa.report.charts.svg import image_element

_MOST_FILES, _MOST_RULES = 5, 20


def notebook_html(report: FoundReport) -> str:
    """Return a summary of a report: its files, its findings by severity, and those of each rule."""
    total = sum(report.severities.values())
    head = f"<p>{count(len(report.files), 'file')}: {count(total, 'finding')}</p>{_files(report)}"
    if not total:
        return head
    found = {each.value: report.severities[each] for each in Severity}
    picture = image_element(severities(found), "Findings by severity")
    return head + picture + html_table(_rules(report), _MOST_RULES)


def _files(report: FoundReport) -> str:
    """Return a list of the first files: their content, and parts that were not read."""
    items = []
    for file in report.files[:_MOST_FILES]:
        held = (
            f"{file.name}: {count(file.n_images, 'image')}, "
            f"{count(file.n_annotations, 'annotation')}, categories: {file.n_categories:,}"
        )
        items.append("; ".join(part for part in (held, file.kind, file.unread) if part))
    if len(report.files) > _MOST_FILES:
        items.append(f"… and {count(len(report.files) - _MOST_FILES, 'more file')}")
    return f"<ul>{''.join(f'<li>{escape(one_line(item))}</li>' for item in items)}</ul>"


def _rules(report: FoundReport) -> Table:
    """Return a row for each rule that found something, the gravest first, with an example."""
    example = {each.code: each for each in reversed(report.findings)}
    severity = {code: report.rules[code].severity for code in report.counts}
    severity |= {code: each.severity for code, each in example.items()}
    codes = sorted(
        (code for code, n in report.counts.items() if n),
        key=lambda code: (-severity[code].rank, -report.counts[code], code),
    )
    messages = [one_line(example[code].message) if code in example else "" for code in codes]
    return Table(
        {
            "rule": _texts(codes),
            "severity": _texts([severity[code].value for code in codes]),
            "findings": np.array([report.counts[code] for code in codes], np.int64),
            "title": _texts([report.rules[code].title for code in codes]),
            "example": _texts(messages),
        }
    )


def _texts(values: list[str]) -> NDArray[Any]:
    return np.array(values, object)
