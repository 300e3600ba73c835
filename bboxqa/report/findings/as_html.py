"""Findings as one page that needs nothing beside it."""

from collections.abc import Iterator
from html import escape

from bboxqa.model.findings import FileReport, Finding, FoundReport
from bboxqa.report.findings.phrases import Group, groups, one_line, place, severity_counts, subject

__all__ = ["html_lines"]

_STYLE = """
:root {
  color-scheme: light dark;
  --back: #fff; --text: #1b1b1b; --dim: #5c5c5c; --line: #d8d8d8;
  --error: #b3261e; --warning: #8a5a00; --info: #0b5f87;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #16181b; --text: #e8e8e8; --dim: #a6a6a6; --line: #3a3d42;
    --error: #ff8a80; --warning: #f2b84b; --info: #7cc4ea;
  }
}
body {
  background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 75rem; padding: 1rem; overflow-wrap: anywhere;
}
h1 { font-size: 1.5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.25rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0; text-align: left;
  vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: 0.9em; }
.dim { color: var(--dim); }
.error { color: var(--error); } .warning { color: var(--warning); } .info { color: var(--info); }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); display: block; padding: 0.4rem 0; }
  td, td.number { border: 0; display: block; padding: 0; text-align: left; }
  td[data-label]::before { color: var(--dim); content: attr(data-label) ": "; }
}
"""


def html_lines(report: FoundReport) -> Iterator[str]:
    """Yield a page with the files, how much each rule found, and all findings that are listed.

    Parameters
    ----------
    report : FoundReport

    Yields
    ------
    str
        A line without its end.
    """
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield (
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )
    yield f"<title>bboxqa validate</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>"
    yield f"<h1>bboxqa validate</h1>\n<p><strong>{_html(severity_counts(report))}</strong></p>"
    yield from _table(("File", "Exporter", "Images", "Annotations", "Categories"))
    yield from map(_file, report.files)
    yield "</tbody></table>"
    found = groups(report)
    if found:
        yield "<h2>Rules</h2>"
        yield from _table(("Code", "Severity", "Title", "Findings", "Fix"))
        yield from map(_summary, found)
        yield "</tbody></table>"
    else:
        yield f"<p>Nothing found: {len(report.rules):,} rules were applied.</p>"
    for group in found:
        yield from _section(group)
    yield f'<p class="dim">bboxqa {_html(report.version)}</p>\n</main>\n</body>\n</html>'


def _html(text: str) -> str:
    return escape(one_line(text))


def _table(titles: tuple[str, ...]) -> Iterator[str]:
    yield f"<table><thead><tr>{''.join(f'<th>{title}</th>' for title in titles)}</tr></thead>"
    yield "<tbody>"


def _number(label: str, number: int) -> str:
    return f'<td class="number" data-label="{label}">{number:,}</td>'


def _file(file: FileReport) -> str:
    return (
        f"<tr><td>{_html(file.name)}</td>"
        f'<td data-label="Exporter">{_html(file.exporter or "not known")}</td>'
        f"{_number('Images', file.n_images)}{_number('Annotations', file.n_annotations)}"
        f"{_number('Categories', file.n_categories)}</tr>"
    )


def _summary(group: Group) -> str:
    code = _html(group.rule.code)
    return (
        f'<tr><td><a href="#{code}">{code}</a></td><td class="{group.severity}">{group.severity}'
        f"</td><td>{_html(group.rule.title)}</td>{_number('Findings', group.total)}"
        f'<td data-label="Fix">{group.rule.fix or "none"}</td></tr>'
    )


def _section(group: Group) -> Iterator[str]:
    rule = group.rule
    yield f'<section id="{_html(rule.code)}">'
    yield (
        f"<h2>{_html(rule.code)} {_html(rule.title)} "
        f'<span class="{group.severity}">{group.severity}</span></h2>'
    )
    yield f'<p class="dim">{_html(rule.breaks)}</p>'
    yield from _table(("Place", "Record", "Message", "Fix"))
    yield from map(_finding, group.listed)
    yield "</tbody></table>"
    if group.total > len(group.listed):
        more = group.total - len(group.listed)
        yield f"<p>… and {more:,} more (<code>--max-findings 0</code> shows all)</p>"
    yield "</section>"


def _finding(finding: Finding) -> str:
    about = subject(finding.ids) or finding.pointer or "whole file"
    examples = ", ".join(finding.examples)
    below = f'<br><code class="dim">{_html(examples)}</code>' if examples else ""
    return (
        f"<tr><td><code>{_html(place(finding))}</code></td><td>{_html(about)}</td>"
        f"<td>{_html(finding.message)}{below}</td>"
        f'<td data-label="Fix">{finding.fix or "none"}</td></tr>'
    )
