"""Findings of the rules in a file that cannot be measured."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bboxqa.core.files import fixed_path
from bboxqa.core.text import one_line
from bboxqa.formats.annotations.records import ID_KEYS, is_id
from bboxqa.formats.document.annotation_columns import Kind
from bboxqa.formats.document.origin import STOPPING as TOOL_STOPPING
from bboxqa.formats.translation.choices import as_options, choices

if TYPE_CHECKING:
    from bboxqa.model.findings import Finding
    from bboxqa.rules.base.rule import Fix
    from bboxqa.rules.facts.document import Document

_LISTED_OF_A_RULE = 3
_DESCRIBED = 100
_FILES_NAMED = 3
STOPPING = (
    "F001", "F002", "F003", "F004", "F005", "F006",
    "S001", "S002", "S003", "S005", "S006", "S007", "S008", "S009", "S010", "S012",
    "S015",
    "I001", "I002", "I004", "B001", "P002", "P003", "R002", "R006", "C001", "C008", "A002",
    "G001", "G003",
    *TOOL_STOPPING,
)  # fmt: skip
"""Rules on defects that keep a file from being read; findings of other rules are no reason."""


@dataclass(frozen=True, slots=True)
class Causes:
    """Findings of the rules in a file."""

    lines: list[str]
    """The first findings of each rule."""
    n_found: int
    """The number of all findings."""
    fix: "Fix | None"
    """{"safe", "unsafe"} or None. The kind of fixes that remove all described findings."""
    is_complete: bool = True
    """Whether all findings were described."""


def causes(document: "Document", codes: tuple[str, ...], *, errors_only: bool = False) -> Causes:
    """Return the findings of some rules in a file: errors, or warnings if there are no errors.

    A file may be refused for a warning, such as its encoding.
    """
    from bboxqa.model.findings import Severity
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.rules.runner import validate_documents

    if _are_ids_read(document):
        codes = tuple(code for code in codes if code != "S003")
    report = validate_documents([document], ValidateSettings(select=codes), _DESCRIBED)
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    n_measured = len(errors)
    errors = [each for each in errors if not _is_measured(each)]
    n_measured -= len(errors)
    # A missing value is only a warning if readers can do without it.
    warnings = [
        each
        for each in report.findings
        if each.severity is Severity.WARNING and each.found is not None and not errors_only
    ]
    found = errors or warnings
    of_code: dict[str, list[Finding]] = {}
    for each in found:
        of_code.setdefault(each.code, []).append(each)
    lines = [_line(each) for some in of_code.values() for each in some[:_LISTED_OF_A_RULE]]
    n_found = sum(report.counts[code] for code in of_code)
    n_found -= n_measured if "B001" in of_code else 0
    fixes = {each.fix for each in (*errors, *warnings)}
    fix: Fix | None = None if None in fixes else "unsafe" if "unsafe" in fixes else "safe"
    is_complete = all(report.counts[code] <= _DESCRIBED for code in of_code)
    return Causes(lines, n_found, fix, is_complete)


def validate_command(paths: Iterable[Path]) -> str:
    """Return the command that validates the first files, read with the current choices.

    Examples
    --------
    >>> validate_command([Path("my file.csv")])
    "bboxqa validate 'my file.csv'"
    """
    said = choices()
    options = as_options(said)
    if not isinstance(said.image_size, tuple) and said.image_size_file is None:
        # Sizes that a Python program gave by image are no option.
        options.pop("image_size", None)
    words = [
        word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)
    ]
    return shlex.join(["bboxqa", "validate", *map(str, islice(paths, _FILES_NAMED)), *words])


def fix_advice(words: str, command: str, paths: Iterable[Path]) -> tuple[str, str]:
    """Return how to fix files with a command that writes copies, and that command.

    Copies beside files in a folder are not read; where there is one already, the command changes
    the files themselves.
    """
    copies = [(path, fixed_path(path)) for path in paths]
    file, copy = next((each for each in copies if each[1].exists()), copies[0])
    name, kept = one_line(str(copy)), f"keeps {one_line(str(file))}.bak"
    if copy.exists():
        command += " --in-place"
        found = f"There is a fixed copy, {name}, which bboxqa reads only if you name it."
        return f"{found}\nTo fix the file itself, which {kept}: {command}", command
    how = f"The copy will be {name}; bboxqa reads the copy only if you name it. --in-place fixes "
    return f"{words}: {command}\n{how}the file itself and {kept}.", command


def _is_measured(finding: "Finding") -> bool:
    """Return whether an error is about a box with a side of 0, which is compared like others."""
    box = finding.found
    return finding.code == "B001" and isinstance(box, list) and len(box) == 4 and min(box[2:]) >= 0


def _line(finding: "Finding") -> str:
    """Return a finding in one line; what stops a run is not called a warning."""
    from bboxqa.model.findings import Severity
    from bboxqa.report.findings.concise import concise_line
    from bboxqa.report.findings.phrases import content, place

    if finding.severity is Severity.ERROR:
        return concise_line(finding)
    return f"{place(finding)}: {finding.code} {content(finding)}"


def _are_ids_read(document: "Document") -> bool:
    """Return whether all ids are whole numbers or text; S003 reports ids that are text."""
    of = document.annotations
    return all((of.whole[key] | (of.kind[key] == Kind.TEXT)).all() for key in ID_KEYS) and all(
        is_id(record.get("id"))
        for _, records in document.lists
        for record in records.values
        if isinstance(record, dict)
    )
