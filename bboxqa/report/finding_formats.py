"""Findings for other programs: JSON, SARIF, GitHub, JUnit XML; and as a page with pictures."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from bboxqa.core.json_values import json_line, json_safe
from bboxqa.core.text import count, first_few, one_line
from bboxqa.model.findings import Finding, FoundReport, Severity, identities
from bboxqa.report import findings as texts
from bboxqa.report.pages import ONE_FILE, TOP, Data, PageTarget, render
from bboxqa.report.pictures import shown_images
from bboxqa.report.reproduction import inputs_table, settings_table

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_FIXABLE = {
    None: "",
    "safe": " It can be fixed with --fix.",
    "unsafe": " It can be fixed with --fix --unsafe-fixes.",
}
# GitHub keeps at most this many results of a run.
_MOST_RESULTS = 5000
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MESSAGE_SIGNS = "%\r\n"
_PROPERTY_SIGNS = "%\r\n:,"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def json_lines(report: FoundReport) -> Iterator[str]:
    """Yield one JSON object, as `findings_schema` describes it, with a line for each finding."""
    exporters = {file.name: file.exporter for file in report.files} or None
    names = ("exporter", "n_images", "n_annotations", "n_categories")
    head = {
        "version": report.version,
        "exporter": report.files[0].exporter if len(report.files) == 1 else exporters,
        "files": [
            {"name": file.name, **({"kind": file.kind} if file.kind else {}),
             **{name: getattr(file, name) for name in names}}
            for file in report.files
        ],
        "counts": report.counts,
        "severities": {severity: report.severities.get(severity, 0) for severity in Severity},
        "hidden": report.hidden,
        "notes": report.notes,
    }  # fmt: skip
    yield "{"
    for key, value in head.items():
        yield f'"{key}": {json_line(value)},'
    yield '"findings": ['
    last = len(report.findings) - 1
    for number, finding in enumerate(report.findings):
        yield json_line(_finding(finding)) + ("," if number < last else "")
    yield "]"
    yield "}"


def jsonl_lines(report: FoundReport) -> Iterator[str]:
    """Yield each finding as a JSON object on one line."""
    for finding in report.findings:
        yield json_line(_finding(finding))


def _finding(finding: Finding) -> dict[str, Any]:
    spot, names = finding.spot, ("code", "severity", "message", "file", "pointer")
    return {
        **{name: getattr(finding, name) for name in names},
        "line": None if spot is None else spot.line,
        "column": None if spot is None else spot.column,
        **{name: getattr(finding, name) for name in ("ids", "found", "expected")},
        "fixable": finding.fix,
        **{name: getattr(finding, name) for name in ("count", "examples")},
    }


def sarif_lines(report: FoundReport) -> Iterator[str]:
    """Yield a SARIF log of one run, with at most 5,000 results, the worst first."""
    index = {code: number for number, code in enumerate(report.rules)}
    named = list(zip(report.findings, identities(report.findings), strict=True))
    named.sort(key=lambda pair: -pair[0].severity.rank)
    invocation: dict[str, Any] = {"executionSuccessful": True}
    n_found = max(sum(report.counts.values()), len(named))
    if left_out := n_found - min(len(named), _MOST_RESULTS):
        text = f"{left_out:,} more findings are not among the results: at most {_MOST_RESULTS:,} "
        text += "are written, the worst first, and of each rule as many as --max-findings says."
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    rules = [
        {
            "id": rule.code,
            "shortDescription": {"text": rule.title[:1].upper() + rule.title[1:]},
            "fullDescription": {"text": rule.breaks},
            "help": {"text": f"{rule.explanation} {rule.breaks}".strip() + _FIXABLE[rule.fix]},
            "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        }
        for rule in report.rules.values()
    ]
    run = {
        "tool": {"driver": {"name": "bboxqa", "version": report.version, "rules": rules}},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, name, index) for finding, name in named[:_MOST_RESULTS]],
    }
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
    yield from json.dumps(json_safe(log), indent=1, allow_nan=False).split("\n")


def _sarif_result(finding: Finding, name: str, index: dict[str, int]) -> dict[str, Any]:
    path = PurePath(json_safe(finding.file))
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    where: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if finding.spot is not None:
        where["region"] = {"startLine": finding.spot.line, "startColumn": finding.spot.column}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        # In a SARIF message, brackets would turn text of the file into a link.
        "message": {"text": re.sub(r"([\\\[\]])", r"\\\1", texts.content(finding))},
        "locations": [{"physicalLocation": where}],
        # GitHub uses the first one only; a hash of the line would be the same for all findings
        # in a file without line ends.
        "partialFingerprints": {"primaryLocationLineHash": name, "bboxqaIdentity/v1": name},
        "properties": {"pointer": finding.pointer, "ids": finding.ids, "fixable": finding.fix},
    }
    if finding.count > 1 and (named := texts.named_records(finding)):
        result["properties"]["records"] = named
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    return result


def github_lines(report: FoundReport) -> Iterator[str]:
    """Yield `::error file=…,line=…,col=…,title=…::message` for each finding."""
    # GitHub shows the first few of each kind only.
    for finding in sorted(report.findings, key=lambda finding: -finding.severity.rank):
        message = texts.content(finding)
        properties = {"file": one_line(finding.file)}
        if finding.spot is not None:
            properties |= {"line": str(finding.spot.line), "col": str(finding.spot.column)}
        title = texts.rule_text(report, finding.code).title
        properties["title"] = f"{finding.code} {title}".rstrip()
        listed = ",".join(
            f"{key}={_percent_escaped(value, _PROPERTY_SIGNS)}" for key, value in properties.items()
        )
        message = _percent_escaped(message, _MESSAGE_SIGNS)
        yield f"::{_COMMANDS[finding.severity]} {listed}::{message}"


def _percent_escaped(text: str, signs: str) -> str:
    return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in text)


def junit_lines(report: FoundReport) -> Iterator[str]:
    """Yield a suite for each file, with a test for each rule, which fails if the run does by it."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    found: dict[str, dict[str, list[Finding]]] = {file.name: {} for file in report.files}
    for finding in report.findings:
        found.setdefault(finding.file, {}).setdefault(finding.code, []).append(finding)
    codes = [*report.rules, *sorted(set(report.counts) - set(report.rules))]
    root = Element("testsuites", name="bboxqa", tests=str(len(codes) * len(found)))
    total = 0
    for name, by_code in found.items():
        suite = SubElement(root, "testsuite", name=_xml(name), tests=str(len(codes)))
        n_failures = 0
        for code in codes:
            rule, findings = texts.rule_text(report, code), by_code.get(code, [])
            title = _xml(f"{code} {rule.title}".rstrip())
            case = SubElement(suite, "testcase", classname=_xml(name), name=title)
            lines = [
                f"{texts.place(each)}: {each.severity} {texts.content(each)}" for each in findings
            ]
            ranks = [each.severity.rank for each in findings]
            if max(ranks, default=-1) >= report.fail_on.rank:
                n_failures += 1
                worst = findings[ranks.index(max(ranks))].severity
                message = _xml(f"{count(len(findings), 'finding')}: {rule.title}")
                failure = SubElement(case, "failure", type=worst, message=message)
                failure.text = "\n".join(map(_xml, [*lines, rule.breaks]))
            elif lines:
                SubElement(case, "system-out").text = "\n".join(map(_xml, lines))
        suite.attrib |= {"failures": str(n_failures), "errors": "0", "skipped": "0"}
        total += n_failures
    root.attrib |= {"failures": str(total), "errors": "0"}
    indent(root, "")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield from tostring(root, "unicode").split("\n")


def _xml(text: str) -> str:
    """Return text without what XML cannot hold."""
    return _NOT_XML.sub("", one_line(text))


_OF_FILE = ("file", "exporter", "images", "annotations", "categories")


def html_lines(report: FoundReport) -> Iterator[str]:
    """Yield the page of a report, with its listed findings and without pixels."""
    every = findings_by_image(report)
    shown = shown_images({"n_images": len(every), "measure": ""}, every[:TOP], {}, (), {})
    yield from render("findings", linked=False, images=shown, **page_values(report)).splitlines()


def page_values(
    report: FoundReport,
    target: PageTarget = ONE_FILE,
    *,
    manifest: Mapping[str, Any] | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Return what the page of a report shows beside images: its files and findings by rule."""
    found, files = texts.groups(report), {file.name for file in report.files}
    validated = PurePath(*files).name if len(files) == 1 else count(len(files), "file")
    content_rows = [
        [f"{each.name}: {each.kind}" if each.kind else each.name, each.exporter or "not known",
         each.n_images, each.n_annotations, each.n_categories]
        for each in report.files
    ]  # fmt: skip
    return {
        "above": target.above,
        "title": "Findings of bboxqa validate",
        "kicker": f"Validation of {validated}",
        "report": report,
        "counts": report.totals(),
        "next_step": texts.next_command(found),
        "files": Data("Content", _OF_FILE, content_rows),
        "groups": found,
        "place": texts.place,
        "about": texts.about_record,
        # The records of a summary, all or the first ones.
        "records": lambda of: (texts.named_records(of) if of.count > 1 else []) or of.examples,
        "first_few": first_few,
        "n_rules": len(report.rules),
        "manifest": manifest,
        "command": command,
        "settings": manifest and settings_table(manifest),
        "inputs": manifest and inputs_table(manifest["inputs"]),
    }


def findings_by_image(report: FoundReport) -> list[dict[str, Any]]:
    """Return images with boxes of findings, in turns of the rules, as "worst_images"."""
    of_rule = []
    of_image: dict[str, list[Finding]] = {}
    for group in texts.groups(report):
        names: dict[str, None] = {}
        for finding in group.listed:
            for name in dict.fromkeys(box.image for box in finding.boxes if box.image):
                of_image.setdefault(name, []).append(finding)
                names[name] = None
        of_rule.append(names)
    turns = dict.fromkeys(chain.from_iterable(zip_longest(*of_rule)))
    return [_pictured(name, of_image[name]) for name in turns if name is not None]


def _pictured(name: str, found: Sequence[Finding]) -> dict[str, Any]:
    """Return an image with the boxes of its findings, numbered in the order of rules."""
    objects, shapes = [], []
    width = height = 0
    for number, finding in enumerate(found, 1):
        about = texts.about_record(finding) or finding.pointer
        objects.append({
            "object": number, "kind": finding.code, "kinds": [finding.code],
            "category": f"{finding.code} {about}", "reason": one_line(finding.message),
        })  # fmt: skip
        said = {
            "object": number, "annotator": str(finding.severity), "category": finding.code,
            "annotation": about,
        }  # fmt: skip
        for box in (box for box in finding.boxes if box.image == name):
            width, height = int(box.width or 0), int(box.height or 0)
            # The box and its outline, which may differ.
            every = ((), box.rings) if box.rings else ((),)
            shapes += [said | {"bbox": box.bbox, "rings": rings} for rings in every]
    return {
        "file_name": name, "width": width, "height": height, "asked": [], "cost": len(found),
        "alpha": None, "objects": objects, "shapes": shapes,
    }  # fmt: skip
