"""Findings for a terminal, grouped by rule, the worst first."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from bboxqa.core.text import count, one_line
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.report.findings.phrases import (
    Group,
    content,
    groups,
    hidden_by,
    named_records,
    place,
    rule_text,
    severity_counts,
)  # fmt: skip

_WIDTH = 80
_EXCERPT = 100
_EXAMPLES = 3
# Limits unless verbose: rows of a terminal, files, places of a rule, and codes of further rules.
_SCREEN = 40
_FILES = 5
_PLACES = 3
_CODES = 10
# The width that is assumed of what is not a terminal, and the least of a terminal.
_COLUMNS, _NARROW = 120, 40
_MARKS = {None: "", "safe": "[*] ", "unsafe": "[?] "}
_BOLD, _DIM = "1", "2"
_PAINT = re.compile("\x1b\\[[0-9;]*m")
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}


class _Painter:
    """Colours text with ANSI codes, if enabled."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, *codes: str) -> str:
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self._colour and text else text


def text_lines(
    report: FoundReport,
    *,
    colour: bool = False,
    options: str = "",
    verbose: bool = False,
    width: int | None = None,
) -> Iterator[str]:
    """Yield the files, the findings of each rule with their consequences, and the next command.

    `options` are options of the user that the next command needs as well. With `verbose`, all
    listed findings are written, not only as many as fit on a screen, which is `width` characters
    wide.
    """
    paint, found = _Painter(colour=colour), groups(report)
    columns = _COLUMNS if width is None else max(width, _NARROW)
    end = [*summary_lines(report, paint), *_fixable(report), *_next(found, options)]
    if verbose:
        yield from (_file(file, paint) for file in report.files)
        yield from _habits(report, paint)
        yield from _notes(report)
        for group in found:
            yield ""
            yield from _group(group, paint)
            yield from _hidden(report, group)
    else:
        head = [_file(file, paint) for file in report.files[:_FILES]]
        if more := len(report.files) - len(head):
            head.append(f"… and {count(more, 'more file')}")
        head += _notes(report)
        yield from head
        room = _SCREEN - _n_rows([*head, *end], columns) - 1
        yield from _fitted(report, found, room, columns, paint)
    yield ""
    yield from end


def summary_lines(report: FoundReport, paint: _Painter | None = None) -> Iterator[str]:
    """Yield the numbers of findings in one line."""
    n_rules, n_files = count(len(report.rules), "rule"), count(len(report.files), "file")
    if not any(report.severities.values()):
        yield f"Nothing found: {n_rules}, {n_files}"
    else:
        yield (paint or _Painter(colour=False))(severity_counts(report), _BOLD)


def _habits(report: FoundReport, paint: _Painter) -> Iterator[str]:
    for habits in dict.fromkeys(file.habits for file in report.files if file.habits):
        for line in wrap(habits, _WIDTH, initial_indent="  ", subsequent_indent="  "):
            yield paint(line, _DIM)


def _notes(report: FoundReport) -> list[str]:
    return [f"Note: {one_line(note)}" for note in report.notes]


def _fitted(
    report: FoundReport, found: Sequence[Group], room: int, columns: int, paint: _Painter
) -> Iterator[str]:
    """Yield as many findings of each rule as fit into `room` rows, most of the worst rule.

    A rule gets its consequences and some places, or one place, or its title only. Infos share a
    line, unless there is nothing else.
    """
    n_shown = 0
    shown = [group for group in found if group.severity is not Severity.INFO] or found
    infos = found[len(shown) :]
    room -= 2 if infos else 0
    for group in shown:
        n_left = len(shown) - n_shown - 1
        # Each of the other rules needs at least a line, after a blank line.
        free = room - n_left - (n_left > 0)
        for n_places in (_PLACES, 1):
            brief = [*_brief(report, group, n_places, paint)]
            n_rows = 1 + _n_rows(brief, columns)
            if n_rows <= free:
                break
        else:
            break
        yield ""
        yield from brief
        room, n_shown = room - n_rows, n_shown + 1
    yield from _titles(shown[n_shown:], room - 1, paint)
    if infos:
        yield ""
        yield f"Info: {_numbers(infos)}; --verbose lists them"


def _titles(found: Sequence[Group], room: int, paint: _Painter) -> Iterator[str]:
    """Yield a line for each rule, the last line for all rules that do not fit."""
    if found:
        yield ""
    most = len(found) if len(found) <= room else max(room - 1, 0)
    for group in found[:most]:
        yield _title(group, paint)
    if rest := found[most:]:
        cut = ", …" if len(rest) > _CODES else ""
        yield f"… and {count(len(rest), 'more rule')}: {_numbers(rest[:_CODES])}{cut}"


def _n_rows(lines: Sequence[str], columns: int) -> int:
    """Return how many rows of a terminal lines take."""
    lengths = (len(_PAINT.sub("", line)) for line in lines)
    return sum(max(1, -(-length // columns)) for length in lengths)


def _brief(report: FoundReport, group: Group, n_places: int, paint: _Painter) -> Iterator[str]:
    """Yield the findings of a rule in short: its first places, and consequences if several."""
    yield _title(group, paint)
    if n_places > 1:
        yield from _breaks(group, paint)
    listed = sorted(group.listed, key=lambda each: -each.severity.rank)[:n_places]
    for finding in listed:
        yield _line(finding, group, paint)
    if more := group.total - len(listed):
        yield f"  … and {more:,} more; --verbose lists them"
    yield from _hidden(report, group)


def _hidden(report: FoundReport, group: Group) -> Iterator[str]:
    if hidden := hidden_by(report, group.rule.code):
        yield f"  {hidden}; --show-consequences lists it"


def _numbers(found: Sequence[Group]) -> str:
    return ", ".join(
        group.rule.code + (f" ({group.n_records:,})" if group.n_records > 1 else "")
        for group in found
    )


def _file(file: FileReport, paint: _Painter) -> str:
    exporter = f" ({one_line(file.exporter)})" if file.exporter else ""
    ending = "y" if file.n_categories == 1 else "ies"
    parts = (
        (file.n_images, count(file.n_images, "image")),
        (file.n_annotations, count(file.n_annotations, "annotation")),
        (file.n_categories, f"{file.n_categories:,} categor{ending}"),
    )
    # Other kinds of file lack some of the lists.
    counts = [text for number, text in parts if number or not file.kind]
    kind = [one_line(file.kind)] if file.kind else []
    unread = f"; {file.unread}" if file.unread else ""
    return f"{paint(one_line(file.name), _BOLD)}{exporter}: {', '.join([*kind, *counts])}{unread}"


def _title(group: Group, paint: _Painter) -> str:
    rule = group.rule
    code = paint(rule.code, _BOLD, _COLOURS[group.severity])
    severity = paint(group.severity, _COLOURS[group.severity])
    n_records = group.n_records
    number = f"{n_records:,}" if n_records == group.total else f"{n_records:,} records"
    return f"{code} {severity}: {rule.title} ({number})"


def _breaks(group: Group, paint: _Painter) -> Iterator[str]:
    for line in wrap(group.rule.breaks, _WIDTH, initial_indent="  ", subsequent_indent="  "):
        yield paint(line, _DIM)


def _line(finding: Finding, group: Group, paint: _Painter) -> str:
    other = "" if finding.severity is group.severity else f"{finding.severity}: "
    mark = _MARKS[finding.fix]
    return f"  {place(finding)}  {paint(mark, _BOLD)}{other}{content(finding)}"


def _group(group: Group, paint: _Painter) -> Iterator[str]:
    """Yield all listed findings of a rule."""
    yield _title(group, paint)
    yield from _breaks(group, paint)
    for number, finding in enumerate(group.listed):
        yield _line(finding, group, paint)
        below = _below(finding, first=number == 0)
        if below:
            yield "    " + paint(below, _DIM)
    more = group.total - len(group.listed)
    if more:
        yield f"  … and {more:,} more (--max-findings 0 shows all)"


def _below(finding: Finding, *, first: bool) -> str:
    """Return the line below a finding: its files or records, or an excerpt of the first one."""
    if finding.count > 1 and (named := named_records(finding)):
        return f"All {finding.count:,}: {', '.join(named)}"
    if finding.count > 1 and finding.examples:
        shown = ", ".join(map(one_line, finding.examples[:_EXAMPLES]))
        return f"{count(finding.count, 'record')}, such as {shown}"
    excerpt = one_line(finding.excerpt) if first else ""
    return excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 1] + "…"


def _fixable(report: FoundReport) -> Iterator[str]:
    parts = []
    for fix, how in (("safe", "--fix"), ("unsafe", "--fix --unsafe-fixes")):
        if found := _with_fix(report, fix):
            least = "at least " if _may_be_more(report, fix) else ""
            parts.append(f"{_MARKS[fix]}{least}{len(found):,} fixable with {how}")
    if parts:
        yield ", ".join(parts)


def _may_be_more(report: FoundReport, fix: str) -> bool:
    """Return whether findings that are not listed, whose fix is not known, may have this one."""
    n_listed = Counter(finding.code for finding in report.findings)
    return any(
        number > n_listed[code] and rule_text(report, code).fix == fix
        for code, number in report.counts.items()
    )


def _with_fix(report: FoundReport, fix: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.fix == fix]


def _next(found: Sequence[Group], options: str) -> Iterator[str]:
    """Yield the next command, for the rule that is listed first, the most severe one."""
    if not found:
        return
    for fix, how in (("safe", "--fix"), ("unsafe", "--unsafe-fixes --diff")):
        if fixable := [each for each in found[0].worst if each.fix == fix]:
            yield f"Next: bboxqa validate {_names(fixable)}{options} {how}"
            return
    yield f"Next: bboxqa explain {found[0].rule.code}"


def _names(findings: Sequence[Finding]) -> str:
    """Return the files of findings as arguments, or a placeholder for three files or more."""
    names = list(dict.fromkeys(finding.file for finding in findings))
    return " ".join(one_line(shlex.quote(name)) for name in names) if len(names) < 3 else "FILE…"
