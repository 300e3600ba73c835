"""Findings as one page of html without other files."""

from collections.abc import Iterator, Sequence

from bboxqa.model.findings import FileReport, Finding, FoundReport
from bboxqa.report.findings.phrases import Group, groups, hidden_by, place, severity_counts, subject
from bboxqa.report.page import escaped, page_lines, table_lines

_FILES = {"Images": "number", "Annotations": "number", "Categories": "number"}
_RULES = {"Severity": "word", "Findings": "number", "Fix": "word"}


def html_lines(report: FoundReport) -> Iterator[str]:
    """Yield a page with the files, how much each rule found, and all findings that are listed."""
    yield from page_lines("bboxqa validate", _body(report), f"bboxqa {report.version}")


def _body(report: FoundReport) -> Iterator[str]:
    yield f'<p class="lead"><strong>{escaped(severity_counts(report))}</strong></p>'
    yield from table_lines(("File", "Exporter", *_FILES), map(_file, report.files), kinds=_FILES)
    found = groups(report)
    if not found:
        yield f"<p>Nothing found: {len(report.rules):,} rules were applied.</p>"
        return
    yield "<h2>Rules</h2>"
    titles = ("Code", "Severity", "Title", "Findings", "Fix")
    yield from table_lines(titles, map(_rule, found), kinds=_RULES)
    for group in found:
        yield from _section(group, hidden_by(report, group.rule.code))


def _file(file: FileReport) -> Sequence[str]:
    counts = (file.n_images, file.n_annotations, file.n_categories)
    return (
        escaped(f"{file.name}: {file.kind}" if file.kind else file.name),
        escaped(file.exporter or "not known"),
        *(f"{number:,}" for number in counts),
    )


def _rule(group: Group) -> Sequence[str]:
    code = escaped(group.rule.code)
    return (
        f'<a href="#{code}">{code}</a>',
        _severity(group),
        escaped(group.rule.title),
        f"{group.total:,}",
        group.rule.fix or "none",
    )


def _severity(group: Group) -> str:
    return f'<span class="{group.severity}">{group.severity}</span>'


def _section(group: Group, hidden: str) -> Iterator[str]:
    """Yield what one rule found."""
    code = escaped(group.rule.code)
    yield f'<section id="{code}">'
    yield f"<h2>{code} {escaped(group.rule.title)} {_severity(group)}</h2>"
    yield f'<p class="dim">{escaped(group.rule.breaks)}</p>'
    titles = ("Place", "Record", "Message", "Fix")
    yield from table_lines(titles, map(_finding, group.listed), kinds={"Fix": "word"})
    more = group.total - len(group.listed)
    if more:
        yield f"<p>… and {more:,} more (<code>--max-findings 0</code> shows all)</p>"
    if hidden:
        yield f"<p>{escaped(hidden)} (<code>--show-consequences</code> lists it)</p>"
    yield "</section>"


def _finding(finding: Finding) -> Sequence[str]:
    about = subject(finding.ids) or finding.pointer or "whole file"
    examples = escaped(", ".join(finding.examples))
    below = f'<br><code class="dim">{examples}</code>' if examples else ""
    return (
        f"<code>{escaped(place(finding))}</code>",
        escaped(about),
        escaped(finding.message) + below,
        finding.fix or "none",
    )
