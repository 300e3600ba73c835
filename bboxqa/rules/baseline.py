"""Baselines: files of accepted findings, so that only new findings fail a run."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.files import write_atomically
from bboxqa.core.json_values import json_line
from bboxqa.formats.opening import read_whole
from bboxqa.model.findings import Finding, FoundReport, Severity, identity


class Baseline(msgspec.Struct, frozen=True):
    """The accepted findings."""

    path: Path
    """The path of the baseline; files in it are relative to its folder."""
    known: Mapping[str, int]
    """Mapping of str to int. The number of accepted findings, by identity."""


_VERSION = 1


def write(path: Path, report: FoundReport) -> None:
    """Write all findings of a report as the baseline for later runs.

    The report must list all its findings. Raises OutputError if the file cannot be written.
    """
    _check_complete(report)
    entries: dict[str, dict[str, Any]] = {}
    for finding in report.findings:
        name = _identity(finding, path)
        # The message is only for readers of the file.
        entry = {"code": finding.code, "file": finding.file, "message": finding.message}
        entries.setdefault(name, {**entry, "identity": name, "count": 0})["count"] += 1
    rows = sorted(entries.values(), key=lambda e: (e["file"], e["code"], e["identity"]))
    lines = ",\n".join(map(json_line, rows))
    text = f'{{"bboxqa_baseline": {_VERSION}, "findings": [\n{lines}\n]}}\n'
    write_atomically(path, text.encode())


def read(path: Path) -> Baseline:
    """Read a baseline file.

    Raises ConfigError if the file cannot be read, or is not a baseline.
    """
    try:
        document = json.loads(read_whole(path))
        if document["bboxqa_baseline"] != _VERSION:
            raise ConfigError(
                f"{path}: baseline has version {document['bboxqa_baseline']!r}; expected "
                f"{_VERSION}; write it again with --write-baseline"
            )
        known: Counter[str] = Counter()
        for entry in document["findings"]:
            known[str(entry["identity"])] += int(entry["count"])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise ConfigError(f"{path}: not a baseline; write one with --write-baseline") from None
    return Baseline(path, known)


def new(report: FoundReport, baseline: Baseline, limit: int = 0) -> FoundReport:
    """Return a report of the findings that are not in a baseline.

    The given report must list all its findings. The returned report lists at most `limit` findings
    per rule and file, or all if it is 0; its counts include the others.
    """
    _check_complete(report)
    remaining = Counter(baseline.known)
    kept: list[Finding] = []
    for finding in report.findings:
        name = _identity(finding, baseline.path)
        if remaining[name] > 0:
            remaining[name] -= 1
        else:
            kept.append(finding)
    counts = Counter(finding.code for finding in kept)
    severities = Counter(finding.severity for finding in kept)
    return replace(
        report,
        findings=tuple(_first(kept, limit)),
        counts=dict(sorted(counts.items())),
        severities={severity: severities[severity] for severity in Severity},
    )


def _identity(finding: Finding, path: Path) -> str:
    """Return the identity of a finding, independent of the working directory."""
    try:
        file = os.path.relpath(finding.file, path.parent)
    except ValueError:
        # On Windows, there is no relative path to another drive.
        file = finding.file
    return identity(replace(finding, file=Path(file).as_posix()))


def _first(findings: list[Finding], limit: int) -> list[Finding]:
    if limit == 0:
        return findings
    seen: Counter[tuple[str, str]] = Counter()
    listed = []
    for finding in findings:
        seen[finding.file, finding.code] += 1
        if seen[finding.file, finding.code] <= limit:
            listed.append(finding)
    return listed


def _check_complete(report: FoundReport) -> None:
    if sum(report.counts.values()) != len(report.findings):
        raise ValueError("a baseline needs a report that lists all its findings")
