"""The report that `bboxqa.validate` returns, and findings as text."""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import msgspec

from bboxqa.core.json_values import cut, json_line
from bboxqa.core.text import count, first_few, one_line
from bboxqa.model.findings import Finding, FoundReport, RuleText, Severity
from bboxqa.report import FINDING_VIEWS, view
from bboxqa.report.numbers import short_name, table_lines

if TYPE_CHECKING:
    import pandas as pd

_ID_LENGTH = 40
ID_NAMES = ("annotation", "image", "category", "annotator")


class Report(FoundReport, frozen=True):
    """All findings of a run, with their views."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.render('text'))}</pre>"

    def render(self, name: str) -> str:
        """Return the report in a format of `bboxqa validate --format`.

        Parameters
        ----------
        name : {"text", "concise", "json", "jsonl", "sarif", "github", "junit", "html"}

        Examples
        --------
        >>> import bboxqa
        >>> report = bboxqa.validate({"images": [{"id": 1}], "annotations": [], "categories": []})
        >>> report.render("concise").splitlines()[0]
        'document:1:13: S007 error image 1: height is missing; expected a whole number above 0'
        """
        return "".join(f"{line}\n" for line in view(FINDING_VIEWS, name)(self))

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each finding as a pandas data frame; needs pandas.

        The columns are the keys of a finding in JSON, with those of `ids` in place of `ids`.
        """
        import pandas as pd

        rows = [json.loads(line) for line in self.render("jsonl").splitlines()]
        names = findings_schema()["$defs"]["finding"]["required"]
        values = {name: [row[name] for row in rows] for name in names if name != "ids"}
        ids = {name: [row["ids"].get(name) for row in rows] for name in ID_NAMES}
        return pd.DataFrame({**values, **ids})

    def to_sarif(self) -> dict[str, Any]:
        """Return the report as SARIF 2.1.0, the format of code scanning services."""
        return dict(json.loads(self.render("sarif")))


def findings_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of findings in JSON."""
    return dict(json.loads(files("bboxqa.report").joinpath("findings.schema.json").read_bytes()))


def place(finding: Finding) -> str:
    """Return file, line and column in the form to which editors can jump."""
    file, spot = one_line(finding.file), finding.spot
    return file if spot is None else f"{file}:{spot.line}:{spot.column}"


def about_record(finding: Finding) -> str:
    """Return the record that a finding is about, unless its place says it; empty for the file."""
    own, line = finding.ids.get("annotation"), finding.spot.line if finding.spot else ""
    places = f"{finding.file}:{line}", f"{finding.file}#{finding.pointer}"
    is_said = isinstance(own, str) and own and any(each.endswith(own) for each in places)
    hidden = "annotation" if is_said else ""
    leading, *rest = [name for name in ID_NAMES if name in finding.ids and name != hidden] or [""]
    inside = [_named(name, finding.ids[name]) for name in rest if name != "category"]
    about = _named(leading, finding.ids[leading]) if leading else ""
    return f"{about} ({', '.join(inside)})" if inside else about


def _named(name: str, value: Any) -> str:
    if name == "annotator" and isinstance(value, str):
        return f"{name} {cut(one_line(value), _ID_LENGTH)}"
    several = isinstance(value, list | tuple) and len(value) > 1
    ids = [short_name(v, _ID_LENGTH - 2) if isinstance(v, str) else v
           for v in (value if several else [value])]  # fmt: skip
    shown = ", ".join(one_line(json_line(each)) for each in ids)
    return f"{name} {cut(shown, 2 * _ID_LENGTH if several else _ID_LENGTH)}"


def content(finding: Finding) -> str:
    """Return the subject and the message of a finding."""
    about = about_record(finding)
    message = one_line(finding.message)
    return f"{about}: {message}" if about else message


def named_records(finding: Finding) -> list[str]:
    """Return all records of a summary by file or pointer; an empty list if it names only some."""
    found = finding.found if isinstance(finding.found, list | tuple) else []
    if len(found) == finding.count and all(isinstance(each, str) for each in found):
        return [one_line(json_line(each)) for each in found]
    every = finding.examples if len(finding.examples) == finding.count else ()
    return [*map(one_line, every)]


def rule_text(report: FoundReport, code: str) -> RuleText:
    """Return the texts of a rule; only its code if the report has none."""
    return report.rules.get(code) or RuleText(code, "", Severity.INFO, "", None)


class Group(msgspec.Struct, frozen=True):
    """The findings of one rule in all files."""

    rule: RuleText
    severity: Severity
    total: int
    """With those that are not listed."""
    listed: tuple[Finding, ...]
    worst: tuple[Finding, ...]
    n_records: int
    """Number of records: one finding may be about all records of a file."""
    fixes: str
    title: str
    """Code, severity, title of the rule and number of records, for a text."""
    hidden: str


def groups(report: FoundReport) -> list[Group]:
    """Return the findings by rule, the worst first, then those that concern whole files."""
    listed: dict[str, list[Finding]] = {code: [] for code, n in report.counts.items() if n}
    for finding in report.findings:
        listed.setdefault(finding.code, []).append(finding)
    result = []
    for code, found in listed.items():
        rule = rule_text(report, code)
        severity = max((e.severity for e in found), key=lambda s: s.rank, default=rule.severity)
        worst = tuple(each for each in found if each.severity is severity)
        total = max(report.counts.get(code, 0), len(found))
        n_records = total + sum(each.count - 1 for each in found)
        fixes = ", ".join(dict.fromkeys(each.fix or "none" for each in found)) or "none"
        records = "" if n_records == total else " records"
        least = "at least " if records and len(found) < total else ""
        title = f"{code} {severity}: {rule.title} ({least}{n_records:,}{records})"
        follow = ", ".join(f"{by} ({n:,})" for by, n in report.hidden.get(code, {}).items())
        hidden = f"Not listed, as it follows from this: {follow}" if follow else ""
        result.append(
            Group(rule, severity, total, (*found,), worst, n_records, fixes, title, hidden)
        )
    return sorted(
        result, key=lambda g: (-g.severity.rank, all(each.ids for each in g.worst), g.rule.code)
    )


def next_command(found: Sequence[Group], options: str = "", paths: str = "") -> str:
    """Return the command, with the options of this run, for the first rule; "" for none.

    `paths` stand for many files; they are those of the run if each file in them has a fix.
    """
    if not found:
        return ""
    for fix, how in (("safe", "--fix"), ("unsafe", "--unsafe-fixes --diff")):
        if files := dict.fromkeys(each.file for each in found[0].worst if each.fix == fix):
            names = " ".join(one_line(shlex.quote(name)) for name in files)
            return f"bboxqa validate {paths if len(files) > 2 and paths else names}{options} {how}"
    return f"bboxqa explain {found[0].rule.code}"


def concise_line(finding: Finding) -> str:
    """Return `file:line:column: CODE severity message`."""
    return f"{place(finding)}: {finding.code} {finding.severity} {content(finding)}"


_WIDTH = 80
# Most characters of an excerpt of a file, or of a value.
_EXCERPT = 100
_EXAMPLES = 3
# Limits unless verbose: files, rules with places, places of a rule, and rules with a title.
_FILES, _RULES, _PLACES, _TITLES = 5, 3, 3, 9
_MARKS = {None: "", "safe": "[*] ", "unsafe": "[?] "}


def text_lines(
    report: FoundReport, *, options: str = "", paths: str = "", verbose: bool = False
) -> Iterator[str]:
    """Yield the files, the findings of each rule with their consequences, and the next command."""
    found = groups(report)
    for file in report.files[: None if verbose else _FILES]:
        exporter = f" ({one_line(file.exporter)})" if file.exporter else ""
        parts = [one_line(file.kind)] if file.kind else []
        for number, *noun in (
            (file.n_images, "image"),
            (file.n_annotations, "annotation"),
            (file.n_categories, "category", "categories"),
        ):
            # Other kinds of file lack some of the lists.
            parts += [count(number, *noun)] if number or not file.kind else []
        unread = f"; {file.unread}" if file.unread else ""
        yield f"{one_line(file.name)}{exporter}: {', '.join(parts)}{unread}"
    if more := 0 if verbose else len(report.files[_FILES:]):
        yield f"… and {count(more, 'more file')}"
    yield from (f"Note: {one_line(note)}" for note in report.notes)
    shown = [group for group in found if group.severity is not Severity.INFO] or found
    for group in found if verbose else shown[:_RULES]:
        yield from ("", *_group(group, verbose=verbose))
    further, infos = ((), ()) if verbose else (shown[_RULES:], found[len(shown) :])
    if further:
        yield from ("", "Further rules, which --verbose lists:")
    for group in further[:_TITLES]:
        yield group.title + (f"  {place(group.worst[0])}" if group.listed else "")
    if rest := further[_TITLES:]:
        yield f"… and {count(len(rest), 'more rule')}: {first_few(rest, _TITLES, _number)}"
    if infos:
        yield from ("", f"Info: {', '.join(map(_number, infos))}; {_to_list(infos)}")
    yield ""
    yield from summary_lines(report)
    fixes = Counter[str | None](finding.fix for finding in report.findings)
    # Whether findings that are not listed have a fix is not known.
    are_all = sum(report.counts.values()) == len(report.findings)
    if fixable := [
        f"{_MARKS[fix]}{f'{fixes[fix]:,} ' * are_all}fixable with {how}"
        for fix, how in (("safe", "--fix"), ("unsafe", "--fix --unsafe-fixes"))
        if fixes[fix]
    ]:
        yield ", ".join(fixable)
    # Files of other formats, which are not fixed, would be refused.
    can_fix = len({each.file for each in report.findings if each.fix}) == len(report.files)
    if command := next_command(found, options, paths if can_fix else ""):
        yield f"Next: {command}"


def summary_lines(report: FoundReport) -> Iterator[str]:
    """Yield the numbers of findings in one line."""
    n_rules, n_files = count(len(report.rules), "rule"), count(len(report.files), "file")
    is_any = any(report.severities.values())
    yield report.totals() if is_any else f"Nothing found: {n_rules}, {n_files}"


def _number(group: Group) -> str:
    return group.rule.code + (f" ({group.total:,})" if group.total > 1 else "")


def _to_list(groups: Sequence[Group]) -> str:
    are_cut = any(group.total > len(group.listed) for group in groups)
    return f"--verbose{' --max-findings 0' * are_cut} lists them"


def _group(group: Group, *, verbose: bool) -> Iterator[str]:
    """Yield the findings of a rule, all that are listed or the first places of the worst."""
    yield group.title
    yield from wrap(group.rule.breaks, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    listed, how = group.listed, " (--max-findings 0 shows all)"
    if not verbose:
        # The first finding of each cause comes before more of one.
        first = {each.key: each for each in reversed(listed)}
        order = sorted(listed, key=lambda each: (-each.severity.rank, first[each.key] is not each))
        listed, how = tuple(order[:_PLACES]), f"; {_to_list([group])}"
    for number, finding in enumerate(listed):
        other = "" if finding.severity is group.severity else f"{finding.severity}: "
        yield f"  {place(finding)}  {_MARKS[finding.fix]}{other}{content(finding)}"
        # Below it are its files or records, or an excerpt of the first one.
        below = cut(one_line(finding.excerpt), _EXCERPT) if number == 0 else ""
        if finding.count > 1 and (named := named_records(finding)):
            below = f"All {finding.count:,}: {', '.join(named)}"
        elif finding.count > 1 and finding.examples:
            such = ", ".join(map(one_line, finding.examples[:_EXAMPLES]))
            below = f"{count(finding.count, 'record')}, such as {such}"
        if verbose and below:
            yield f"    {below}"
    if more := group.total - len(listed):
        yield f"  … and {more:,} more{how}"
    if group.hidden:
        yield f"  {group.hidden}; --show-consequences lists it"


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
