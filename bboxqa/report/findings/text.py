"""Findings and fixes for a terminal: by rule, one per line, as numbers, and as a diff of values."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Protocol

from bboxqa.core.text import clean, count, one_line
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.report.findings.report import (
    Group,
    concise_line,
    content,
    groups,
    hidden_by,
    named_records,
    place,
    rule_text,
    severity_counts,
)
from bboxqa.report.tables import table_lines

_WIDTH = 80
# Most characters of an excerpt of a file, or of a value.
_EXCERPT = 100
_EXAMPLES = 3
# Limits unless verbose: rows of a terminal, files, places of a rule, and codes of further rules.
_SCREEN, _FILES, _PLACES, _CODES = 40, 5, 3, 10
# The width that is assumed of what is not a terminal, and the least of a terminal.
_COLUMNS, _NARROW = 120, 40
_MARKS = {None: "", "safe": "[*] ", "unsafe": "[?] "}
_BOLD, _DIM = "1", "2"
_CODES_OF_PAINT = re.compile("\x1b\\[[0-9;]*m")
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}

Paint = Callable[..., str]
"""Colours a text with ANSI codes."""


def _painted(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if text else ""


def _plain(text: str, *_: str) -> str:
    return text


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
    paint, found = _painted if colour else _plain, groups(report)
    columns = _COLUMNS if width is None else max(width, _NARROW)
    notes = [f"Note: {one_line(note)}" for note in report.notes]
    end = [*summary_lines(report, paint), *_fixable(report), *_next(found, options)]
    if verbose:
        yield from (_file(file, paint) for file in report.files)
        yield from notes
        for group in found:
            yield from ("", *_group(group, paint), *_hidden(report, group))
    else:
        head = [_file(file, paint) for file in report.files[:_FILES]]
        if more := len(report.files) - len(head):
            head.append(f"… and {count(more, 'more file')}")
        yield from (*head, *notes)
        room = _SCREEN - _n_rows([*head, *notes, *end], columns) - 1
        yield from _fitted(report, found, room, columns, paint)
    yield ""
    yield from end


def summary_lines(report: FoundReport, paint: Paint = _plain) -> Iterator[str]:
    """Yield the numbers of findings in one line."""
    if any(report.severities.values()):
        yield paint(severity_counts(report), _BOLD)
    else:
        n_rules, n_files = count(len(report.rules), "rule"), count(len(report.files), "file")
        yield f"Nothing found: {n_rules}, {n_files}"


def _fitted(
    report: FoundReport, found: Sequence[Group], room: int, columns: int, paint: Paint
) -> Iterator[str]:
    """Yield as many findings of each rule as fit into `room` rows, most of the worst rule."""
    shown = [group for group in found if group.severity is not Severity.INFO] or [*found]
    infos = found[len(shown) :]
    room -= 2 if infos else 0
    n_shown = 0
    for group in shown:
        n_left = len(shown) - n_shown - 1
        # Each of the other rules needs at least a line, after a blank line.
        free = room - n_left - (n_left > 0)
        briefs = ([*_brief(report, group, n_places, paint)] for n_places in (_PLACES, 1))
        brief = next((each for each in briefs if 1 + _n_rows(each, columns) <= free), None)
        if brief is None:
            break
        yield from ("", *brief)
        room, n_shown = room - 1 - _n_rows(brief, columns), n_shown + 1
    yield from _titles(shown[n_shown:], room - 1, paint)
    if infos:
        yield from ("", f"Info: {_numbers(infos)}; --verbose lists them")


def _titles(found: Sequence[Group], room: int, paint: Paint) -> Iterator[str]:
    """Yield a line for each rule, the last line for all rules that do not fit."""
    if found:
        yield ""
    most = len(found) if len(found) <= room else max(room - 1, 0)
    yield from (_title(group, paint) for group in found[:most])
    if rest := found[most:]:
        cut = ", …" if len(rest) > _CODES else ""
        yield f"… and {count(len(rest), 'more rule')}: {_numbers(rest[:_CODES])}{cut}"


def _n_rows(lines: Sequence[str], columns: int) -> int:
    """Return how many rows of a terminal lines take."""
    lengths = (len(_CODES_OF_PAINT.sub("", line)) for line in lines)
    return sum(max(1, -(-length // columns)) for length in lengths)


def _brief(report: FoundReport, group: Group, n_places: int, paint: Paint) -> Iterator[str]:
    """Yield the findings of a rule in short: its first places, and consequences if several."""
    yield _title(group, paint)
    if n_places > 1:
        yield from _indented(group.rule.breaks, paint)
    listed = sorted(group.listed, key=lambda each: -each.severity.rank)[:n_places]
    yield from (_line(finding, group, paint) for finding in listed)
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


def _file(file: FileReport, paint: Paint) -> str:
    exporter = f" ({one_line(file.exporter)})" if file.exporter else ""
    parts = (
        (file.n_images, count(file.n_images, "image")),
        (file.n_annotations, count(file.n_annotations, "annotation")),
        (file.n_categories, count(file.n_categories, "category", "categories")),
    )
    # Other kinds of file lack some of the lists.
    counts = [text for number, text in parts if number or not file.kind]
    kind = [one_line(file.kind)] if file.kind else []
    unread = f"; {file.unread}" if file.unread else ""
    return f"{paint(one_line(file.name), _BOLD)}{exporter}: {', '.join([*kind, *counts])}{unread}"


def _title(group: Group, paint: Paint) -> str:
    code = paint(group.rule.code, _BOLD, _COLOURS[group.severity])
    severity = paint(group.severity, _COLOURS[group.severity])
    records = "" if group.n_records == group.total else " records"
    return f"{code} {severity}: {group.rule.title} ({group.n_records:,}{records})"


def _indented(text: str, paint: Paint) -> Iterator[str]:
    for line in wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  "):
        yield paint(line, _DIM)


def _line(finding: Finding, group: Group, paint: Paint) -> str:
    other = "" if finding.severity is group.severity else f"{finding.severity}: "
    return f"  {place(finding)}  {paint(_MARKS[finding.fix], _BOLD)}{other}{content(finding)}"


def _group(group: Group, paint: Paint) -> Iterator[str]:
    """Yield all listed findings of a rule."""
    yield _title(group, paint)
    yield from _indented(group.rule.breaks, paint)
    for number, finding in enumerate(group.listed):
        yield _line(finding, group, paint)
        if below := _below(finding, first=number == 0):
            yield "    " + paint(below, _DIM)
    if more := group.total - len(group.listed):
        yield f"  … and {more:,} more (--max-findings 0 shows all)"


def _below(finding: Finding, *, first: bool) -> str:
    """Return the line below a finding: its files or records, or an excerpt of the first one."""
    if finding.count > 1 and (named := named_records(finding)):
        return f"All {finding.count:,}: {', '.join(named)}"
    if finding.count > 1 and finding.examples:
        shown = ", ".join(map(one_line, finding.examples[:_EXAMPLES]))
        return f"{count(finding.count, 'record')}, such as {shown}"
    return _cut(one_line(finding.excerpt)) if first else ""


def _cut(text: str) -> str:
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _fixable(report: FoundReport) -> Iterator[str]:
    n_listed = Counter(finding.code for finding in report.findings)
    parts = []
    for fix, how in (("safe", "--fix"), ("unsafe", "--fix --unsafe-fixes")):
        n = sum(finding.fix == fix for finding in report.findings)
        # Whether findings that are not listed have a fix is not known.
        may_be_more = any(
            number > n_listed[code] and rule_text(report, code).fix == fix
            for code, number in report.counts.items()
        )
        if n:
            parts.append(f"{_MARKS[fix]}{'at least ' * may_be_more}{n:,} fixable with {how}")
    if parts:
        yield ", ".join(parts)


def _next(found: Sequence[Group], options: str) -> Iterator[str]:
    """Yield the next command, for the rule that is listed first, the most severe one."""
    if not found:
        return
    for fix, how in (("safe", "--fix"), ("unsafe", "--unsafe-fixes --diff")):
        if files := dict.fromkeys(each.file for each in found[0].worst if each.fix == fix):
            names = " ".join(one_line(shlex.quote(name)) for name in files)
            yield f"Next: bboxqa validate {names if len(files) < 3 else 'FILE…'}{options} {how}"
            return
    yield f"Next: bboxqa explain {found[0].rule.code}"


def concise_lines(report: FoundReport) -> Iterator[str]:
    """Return `file:line:column: CODE severity message` for each finding."""
    return map(concise_line, report.findings)


def statistics_lines(report: FoundReport) -> Iterator[str]:
    """Yield a table of the findings of each rule and their records, the worst rule first."""
    found = sorted(groups(report), key=lambda g: (-g.severity.rank, -g.total, g.rule.code))
    rows = [("code", "severity", "count", "records", "fixable", "title")]
    for group in found:
        rule, numbers = group.rule, (f"{group.total:,}", f"{group.n_records:,}")
        rows.append((rule.code, group.severity, *numbers, rule.fix or "no", rule.title))
    yield from table_lines(rows, left=[0, 1, 4, 5])
    total = sum(group.total for group in found)
    yield f"{count(total, 'finding')} by {count(len(found), 'rule')}"


class _Change(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def pointer(self) -> str: ...
    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...


def change_lines(name: str, changes: Sequence[_Change]) -> Iterator[str]:
    """Yield the changes of a file as a diff of values."""
    if changes:
        yield f"--- {clean(name)}"
        yield f"+++ {clean(name)}, fixed"
    for change in changes:
        yield f"@@ {change.code} {clean(change.pointer) or '(the whole file)'}"
        for sign, text in (("-", change.before), ("+", change.after)):
            if text:
                yield f"{sign} {_cut(clean(' '.join(text.split())))}"


def change_summary(changes: Sequence[_Change]) -> str:
    """Return the number of changes, in all and by rule.

    Examples
    --------
    >>> change_summary([])
    '0 changes'
    """
    by_code = Counter(change.code for change in changes)
    named = ", ".join(f"{code} {number:,}" for code, number in sorted(by_code.items()))
    return count(len(changes), "change") + (f" ({named})" if named else "")
