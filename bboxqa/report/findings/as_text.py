"""Findings for a terminal, grouped by rule, the worst first."""

import shlex
from collections.abc import Iterator, Sequence
from textwrap import wrap

from bboxqa.core.text import count, one_line
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.report.findings.phrases import (
    Group,
    content,
    groups,
    missing,
    place,
    severity_counts,
)  # fmt: skip

_WIDTH = 80
_EXCERPT = 100
_EXAMPLES = 3
_MARKS = {None: "", "safe": "[*] ", "unsafe": "[?] "}
_BOLD, _DIM = "1", "2"
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}


class _Painter:
    """Colours text with ANSI codes, if at all."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, *codes: str) -> str:
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self._colour and text else text


def text_lines(report: FoundReport, *, colour: bool = False, options: str = "") -> Iterator[str]:
    """Yield the files, what each rule found and what that breaks, and the next command to type.

    Parameters
    ----------
    report : FoundReport
    colour : bool
        Whether to write ANSI codes.
    options : str
        Options that the user typed and that the next command needs, too.
    """
    paint = _Painter(colour=colour)
    yield from (_file(file, paint) for file in report.files)
    for habits in dict.fromkeys(file.habits for file in report.files if file.habits):
        for line in wrap(habits, _WIDTH, initial_indent="  ", subsequent_indent="  "):
            yield paint(line, _DIM)
    found = groups(report)
    for group in found:
        yield ""
        yield from _group(group, paint)
    yield ""
    if not found:
        yield (
            f"Nothing found: {count(len(report.rules), 'rule')}, {count(len(report.files), 'file')}"
        )
        return
    yield paint(severity_counts(report), _BOLD)
    yield from _fixable(report)
    yield from _next(report, found, options)


def _file(file: FileReport, paint: _Painter) -> str:
    exporter = f" ({one_line(file.exporter)})" if file.exporter else ""
    kind = f"{one_line(file.kind)}, " if file.kind else ""
    ending = "y" if file.n_categories == 1 else "ies"
    return (
        f"{paint(one_line(file.name), _BOLD)}{exporter}: {kind}{count(file.n_images, 'image')}, "
        f"{count(file.n_annotations, 'annotation')}, {file.n_categories:,} categor{ending}"
    )


def _group(group: Group, paint: _Painter) -> Iterator[str]:
    rule = group.rule
    code = paint(rule.code, _BOLD, _COLOURS[group.severity])
    severity = paint(group.severity, _COLOURS[group.severity])
    yield f"{code} {severity}: {rule.title} ({group.total:,})"
    for line in wrap(rule.breaks, _WIDTH, initial_indent="  ", subsequent_indent="  "):
        yield paint(line, _DIM)
    for number, finding in enumerate(group.listed):
        other = "" if finding.severity is group.severity else f"{finding.severity}: "
        mark = _MARKS[finding.fix]
        yield f"  {place(finding)}  {paint(mark, _BOLD)}{other}{content(finding)}"
        below = _below(finding, first=number == 0)
        if below:
            yield "    " + paint(below, _DIM)
    more = group.total - len(group.listed)
    if more:
        yield f"  … and {more:,} more (--max-findings 0 shows all)"


def _below(finding: Finding, *, first: bool) -> str:
    """Return the line below a finding: examples of its records, or an excerpt of the first one."""
    if finding.count > 1 and finding.examples:
        shown = ", ".join(map(one_line, finding.examples[:_EXAMPLES]))
        return f"{count(finding.count, 'record')}, such as {shown}"
    excerpt = one_line(finding.excerpt) if first else ""
    return excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 1] + "…"


def _fixable(report: FoundReport) -> Iterator[str]:
    safe, unsafe = _with_fix(report, "safe"), _with_fix(report, "unsafe")
    # Fixes are worked out for listed findings only.
    least = "at least " if missing(report) else ""
    parts = []
    if safe:
        parts.append(f"[*] {least}{len(safe):,} fixable with --fix")
    if unsafe:
        parts.append(f"[?] {least}{len(unsafe):,} fixable with --fix --unsafe-fixes")
    if parts:
        yield ", ".join(parts)


def _with_fix(report: FoundReport, fix: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.fix == fix]


def _next(report: FoundReport, found: Sequence[Group], options: str) -> Iterator[str]:
    """Yield the command that is most useful now."""
    safe, unsafe = _with_fix(report, "safe"), _with_fix(report, "unsafe")
    if safe:
        yield f"Next: bboxqa validate {_names(safe)}{options} --fix"
    elif unsafe:
        yield f"Next: bboxqa validate {_names(unsafe)}{options} --unsafe-fixes --diff"
    else:
        yield f"Next: bboxqa explain {found[0].rule.code}"


def _names(findings: Sequence[Finding]) -> str:
    """Return the files of findings as arguments, or a placeholder for three files or more."""
    names = list(dict.fromkeys(finding.file for finding in findings))
    return " ".join(one_line(shlex.quote(name)) for name in names) if len(names) < 3 else "FILE…"
