"""A baseline: the findings that are known already, so that only new ones fail a run."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bboxqa.core.errors import ConfigError
from bboxqa.core.files import write_atomically
from bboxqa.core.json_values import json_line
from bboxqa.model.findings import Finding, FoundReport, Severity, identity

__all__ = ["Baseline", "identity", "new", "read", "write"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings that are known.

    Attributes
    ----------
    path : Path
        Where they are written down; files are named relative to its folder.
    known : mapping of str to int
        Identity of a finding to how many findings of it are known.
    """

    path: Path
    known: Mapping[str, int]


_VERSION = 1


def write(path: Path, report: FoundReport) -> None:
    """Write all findings of a report as the baseline of later runs.

    Parameters
    ----------
    path : Path
    report : FoundReport
        One that lists all its findings.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    _check_complete(report)
    entries: dict[str, dict[str, Any]] = {}
    for finding in report.findings:
        name = _identity(finding, path)
        # The message is for whoever reads the file; nothing depends on it.
        entry = {"code": finding.code, "file": finding.file, "message": finding.message}
        entries.setdefault(name, {**entry, "identity": name, "count": 0})["count"] += 1
    rows = sorted(entries.values(), key=lambda e: (e["file"], e["code"], e["identity"]))
    lines = ",\n".join(map(json_line, rows))
    text = f'{{"bboxqa_baseline": {_VERSION}, "findings": [\n{lines}\n]}}\n'
    write_atomically(path, text.encode())


def read(path: Path) -> Baseline:
    """Return the baseline in a file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ConfigError
        If there is no such file, or it is no baseline.
    """
    try:
        document = json.loads(path.read_bytes())
        if document["bboxqa_baseline"] != _VERSION:
            raise ConfigError(
                f"{path}: is a baseline of version {document['bboxqa_baseline']!r}; expected "
                f"{_VERSION}; write it again with --write-baseline"
            )
        known: Counter[str] = Counter()
        for entry in document["findings"]:
            known[str(entry["identity"])] += int(entry["count"])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise ConfigError(f"{path}: is no baseline; --write-baseline writes one") from None
    return Baseline(path, known)


def new(report: FoundReport, baseline: Baseline, limit: int = 0) -> FoundReport:
    """Return the report of the findings that are not known.

    Parameters
    ----------
    report : FoundReport
        One that lists all its findings.
    baseline : Baseline
    limit : int
        List at most so many of one rule and file; 0 is all.

    Returns
    -------
    FoundReport
        Its counts are of the new findings, listed or not.
    """
    _check_complete(report)
    left = Counter(baseline.known)
    kept: list[Finding] = []
    for finding in report.findings:
        name = _identity(finding, baseline.path)
        if left[name] > 0:
            left[name] -= 1
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
    """Return the identity of a finding, whatever folder the command runs in."""
    try:
        file = os.path.relpath(finding.file, path.parent)
    except ValueError:
        # Another drive has no relative path.
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
