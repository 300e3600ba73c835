"""What the rules find in a file that cannot be measured."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bboxqa.rules.facts.document import Document

_LISTED_OF_A_RULE = 3
_DESCRIBED = 100
_STOPPING = (
    "F001", "F002", "F003", "F004", "F006",
    "S001", "S002", "S003", "S005", "S006", "S007", "S008", "S009", "S010",
    "I001", "I002", "I004", "B001", "P002", "P003", "R002", "C008", "A002",
)  # fmt: skip
"""Rules about what can keep a file from being read; what others find is no reason to refuse it."""


def causes(document: "Document") -> tuple[list[str], int, bool]:
    """Return what the rules find in a file of that which stops reading.

    Where there are no errors, a file may still be refused for a warning, such as its encoding.

    Returns
    -------
    lines : list of str
        The first findings of each rule.
    n_found : int
        All of them.
    safe : bool
        Whether safe fixes remove all findings, as far as they were looked at.
    """
    from bboxqa.model.findings import Finding, Severity
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.report.findings.concise import concise_line
    from bboxqa.rules.runner import validate_documents

    report = validate_documents([document], ValidateSettings(select=_STOPPING), _DESCRIBED)
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    # A value that is missing is a warning where readers do without it.
    warnings = [
        each
        for each in report.findings
        if each.severity is Severity.WARNING and each.found is not None
    ]
    found = errors or warnings
    of_code: dict[str, list[Finding]] = {}
    for each in found:
        of_code.setdefault(each.code, []).append(each)
    lines = [concise_line(each) for some in of_code.values() for each in some[:_LISTED_OF_A_RULE]]
    n_found = sum(report.counts[code] for code in of_code)
    safe = all(
        each.fix == "safe" and report.counts[each.code] <= _DESCRIBED
        for each in (*errors, *warnings)
    )
    return lines, n_found, safe
