"""The number of findings of each rule, as a table."""

from collections.abc import Iterator

from bboxqa.core.text import count
from bboxqa.model.findings import FoundReport
from bboxqa.report.findings.phrases import Group, groups
from bboxqa.report.text_table import table_lines


def statistics_lines(report: FoundReport) -> Iterator[str]:
    """Yield a table of the findings of each rule and their records, the worst rule first."""
    found = sorted(groups(report), key=lambda g: (-g.severity.rank, -g.total, g.rule.code))
    rows = [("code", "severity", "count", "records", "fixable", "title"), *map(_row, found)]
    yield from table_lines(rows, left=[0, 1, 4, 5])
    total = sum(group.total for group in found)
    yield f"{count(total, 'finding')} by {count(len(found), 'rule')}"


def _row(group: Group) -> tuple[str, ...]:
    rule = group.rule
    numbers = f"{group.total:,}", f"{group.n_records:,}"
    return (rule.code, group.severity, *numbers, rule.fix or "no", rule.title)
