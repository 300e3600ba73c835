"""Findings and fixes for a terminal: by rule, one per line, as numbers, and as a diff of values."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from bboxqa.core.json_values import cut
from bboxqa.core.text import count, one_line
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.report.findings.report import (
    Group,
    concise_line,
    content,
    groups,
    hidden_by,
    named_records,
    next_command,
    place,
    rule_text,
    severity_counts,
)
from bboxqa.report.tables import table_lines

_WIDTH = 80
# Most characters of an excerpt of a file, or of a value.
_EXCERPT = 100
_EXAMPLES = 3
# Limits unless verbose: files, rules with places, places of a rule, rules with a title, and codes
# of further rules.
_FILES, _RULES, _PLACES, _TITLES, _CODES = 5, 3, 3, 9, 10
_MARKS = {None: "", "safe": "[*] ", "unsafe": "[?] "}
_BOLD, _DIM = "1", "2"
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}

Paint = Callable[..., str]
"""Colours a text with ANSI codes."""


def _painted(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if text else ""


def _plain(text: str, *_: str) -> str:
    return text


def text_lines(
    report: FoundReport, *, colour: bool = False, options: str = "", verbose: bool = False
) -> Iterator[str]:
    """Yield the files, the findings of each rule with their consequences, and the next command.

    `options` are options of the user that the next command needs as well. With `verbose`, all
    listed findings are written, not only as many as fit on a screen.
    """
    paint, found = _painted if colour else _plain, groups(report)
    yield from (_file(file, paint) for file in report.files[: None if verbose else _FILES])
    if more := 0 if verbose else len(report.files[_FILES:]):
        yield f"… and {count(more, 'more file')}"
    yield from (f"Note: {one_line(note)}" for note in report.notes)
    shown = [group for group in found if group.severity is not Severity.INFO] or found
    for group in found if verbose else shown[:_RULES]:
        yield from ("", *_group(report, group, paint, verbose=verbose))
    if not verbose:
        yield from _others(shown[_RULES:], found[len(shown) :], paint)
    yield ""
    yield from summary_lines(report, paint)
    yield from _fixable(report)
    if command := next_command(found, options):
        yield f"Next: {command}"


def summary_lines(report: FoundReport, paint: Paint = _plain) -> Iterator[str]:
    """Yield the numbers of findings in one line."""
    if any(report.severities.values()):
        yield paint(severity_counts(report), _BOLD)
    else:
        n_rules, n_files = count(len(report.rules), "rule"), count(len(report.files), "file")
        yield f"Nothing found: {n_rules}, {n_files}"


def _others(found: Sequence[Group], infos: Sequence[Group], paint: Paint) -> Iterator[str]:
    """Yield a line for each rule with a place, the last line for all rules that do not fit."""
    if found:
        yield from ("", "Further rules, which --verbose lists:")
    for group in found[:_TITLES]:
        first = f"  {place(group.worst[0])}" if group.listed else ""
        yield f"{_title(group, paint)}{first}"
    if rest := found[_TITLES:]:
        cut = ", …" if len(rest) > _CODES else ""
        yield f"… and {count(len(rest), 'more rule')}: {_numbers(rest[:_CODES])}{cut}"
    if infos:
        yield from ("", f"Info: {_numbers(infos)}; --verbose lists them")


def _numbers(found: Sequence[Group]) -> str:
    return ", ".join(
        group.rule.code + (f" ({group.total:,})" if group.total > 1 else "") for group in found
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
    least = "at least " if records and len(group.listed) < group.total else ""
    return f"{code} {severity}: {group.rule.title} ({least}{group.n_records:,}{records})"


def _group(report: FoundReport, group: Group, paint: Paint, *, verbose: bool) -> Iterator[str]:
    """Yield the findings of a rule, all that are listed or the first places of the worst."""
    yield _title(group, paint)
    for line in wrap(group.rule.breaks, _WIDTH, initial_indent="  ", subsequent_indent="  "):
        yield paint(line, _DIM)
    listed, how = group.listed, "(--max-findings 0 shows all)"
    if not verbose:
        # The first finding of each cause comes before more of one.
        first = {each.key: each for each in reversed(listed)}
        order = sorted(listed, key=lambda each: (-each.severity.rank, first[each.key] is not each))
        listed = tuple(order[:_PLACES])
        how = "; --verbose lists them"
    for number, finding in enumerate(listed):
        other = "" if finding.severity is group.severity else f"{finding.severity}: "
        mark = paint(_MARKS[finding.fix], _BOLD)
        yield f"  {place(finding)}  {mark}{other}{content(finding)}"
        if verbose and (below := _below(finding, first=number == 0)):
            yield "    " + paint(below, _DIM)
    if more := group.total - len(listed):
        yield f"  … and {more:,} more{'' if how[0] == ';' else ' '}{how}"
    if hidden := hidden_by(report, group.rule.code):
        yield f"  {hidden}; --show-consequences lists it"


def _below(finding: Finding, *, first: bool) -> str:
    """Return the line below a finding: its files or records, or an excerpt of the first one."""
    if finding.count > 1 and (named := named_records(finding)):
        return f"All {finding.count:,}: {', '.join(named)}"
    if finding.count > 1 and finding.examples:
        shown = ", ".join(map(one_line, finding.examples[:_EXAMPLES]))
        return f"{count(finding.count, 'record')}, such as {shown}"
    return cut(one_line(finding.excerpt), _EXCERPT) if first else ""


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
