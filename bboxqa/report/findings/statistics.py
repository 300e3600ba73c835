"""The number of findings of each rule, as a table."""

from collections.abc import Iterator

from bboxqa.core.text import count
from bboxqa.model.findings import FoundReport
from bboxqa.report.findings.phrases import Group, groups
from bboxqa.report.text_table import table_lines


def statistics_lines(report: FoundReport) -> Iterator[str]:
    """Yield a table of code, severity, number of findings, fix and title; the worst come first."""
    found = sorted(groups(report), key=lambda g: (-g.severity.rank, -g.total, g.rule.code))
    rows = [("code", "severity", "count", "fixable", "title"), *map(_row, found)]
    yield from table_lines(rows, left=[0, 1, 3, 4])
    total = sum(group.total for group in found)
    yield f"{count(total, 'finding')} by {count(len(found), 'rule')}"


def _row(group: Group) -> tuple[str, str, str, str, str]:
    rule = group.rule
    return (rule.code, group.severity, f"{group.total:,}", rule.fix or "no", rule.title)
