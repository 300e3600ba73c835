"""Findings as JUnit XML: a suite per file, a test per rule."""

import re
from collections.abc import Iterator
from html import escape

from bboxqa.core.text import count, one_line
from bboxqa.model.findings import FileReport, Finding, FoundReport, Severity
from bboxqa.report.findings.phrases import content, labelled, place, rule_text

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_lines(report: FoundReport) -> Iterator[str]:
    """Yield a suite for each file, with a test for each rule that was applied.

    A test fails if its rule has findings of a severity that fails the run; milder findings are
    written as its output.
    """
    found: dict[str, dict[str, list[Finding]]] = {file.name: {} for file in report.files}
    for finding in report.findings:
        found.setdefault(finding.file, {}).setdefault(finding.code, []).append(finding)
    codes = [*report.rules, *sorted(set(report.counts) - set(report.rules))]
    failed = {
        name: sum(_fails(findings, report.fail_on) for findings in by_code.values())
        for name, by_code in found.items()
    }
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    tests = len(codes) * len(found)
    yield f'<testsuites name="bboxqa" tests="{tests}" failures="{sum(failed.values())}" errors="0">'
    sizes = {file.name: file for file in report.files}
    for name, by_code in found.items():
        yield (
            f'<testsuite name="{_xml(name)}" tests="{len(codes)}" '
            f'failures="{failed[name]}" errors="0" skipped="0">'
        )
        yield from _properties(sizes.get(name))
        for code in codes:
            yield from _case(report, name, code, by_code.get(code, []))
        yield "</testsuite>"
    yield "</testsuites>"


def _fails(findings: list[Finding], least: Severity) -> bool:
    return any(finding.severity.rank >= least.rank for finding in findings)


def _properties(file: FileReport | None) -> Iterator[str]:
    if file is not None and file.exporter:
        yield (
            f'<properties><property name="exporter" value="{_xml(file.exporter)}"/></properties>'
        )


def _case(report: FoundReport, name: str, code: str, findings: list[Finding]) -> Iterator[str]:
    rule = rule_text(report, code)
    head = f'<testcase classname="{_xml(name)}" name="{_xml(labelled(rule))}"'
    if not findings:
        yield head + "/>"
        return
    yield head + ">"
    lines = [f"{place(each)}: {each.severity} {content(each)}" for each in findings]
    if _fails(findings, report.fail_on):
        worst = max((each.severity for each in findings), key=lambda severity: severity.rank)
        summary = f"{count(len(findings), 'finding')}: {rule.title}"
        yield f'<failure type="{worst}" message="{_xml(summary)}">'
        yield from (_xml(line) for line in [*lines, rule.breaks])
        yield "</failure>"
    else:
        yield "<system-out>"
        yield from map(_xml, lines)
        yield "</system-out>"
    yield "</testcase>"


def _xml(text: str) -> str:
    """Return text for an element or an attribute, without what XML cannot hold."""
    return escape(_NOT_XML.sub("", one_line(text)))
