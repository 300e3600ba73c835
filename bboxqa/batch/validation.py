"""What validating a project gives, here or on another worker."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bboxqa.batch.projects.discovery import Project
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.pipelines.validate import validate_with
from bboxqa.report.findings import FINDING_VIEWS

__all__ = ["RunElsewhere", "ValidationOutcome", "validate_project"]

# Findings of one rule and file that are listed; all are counted.
_LISTED = 1000


@dataclass(frozen=True, slots=True)
class ValidationOutcome:
    """Findings of a project.

    Attributes
    ----------
    lines : bytes
        Those that are listed, as jsonl.
    n_errors, n_warnings, n_infos : int
        How many there are.
    failed : bool
        Whether some are as bad as `fail_on` says, or worse.
    """

    lines: bytes
    n_errors: int
    n_warnings: int
    n_infos: int
    failed: bool


RunElsewhere = Callable[
    [Callable[[], ValidationOutcome]], AbstractContextManager[Callable[[], ValidationOutcome]]
]
"""Validates elsewhere: yields what waits for the findings, as `bboxqa.core.parallel.beside` does.

Whatever goes wrong there is an EOFError or an OSError: the one who waits then does it himself.
"""


def validate_project(
    project: Project, settings: ValidateSettings, images: Path | None, memory: int | None
) -> ValidationOutcome:
    """Validate the files of a project.

    Parameters
    ----------
    project : Project
    settings : ValidateSettings
    images : Path, optional
        The folder of the images; without it they are not looked at.
    memory : int, optional
        Bytes to get by with.

    Returns
    -------
    Validated

    Raises
    ------
    DatasetError
        If a file is not there any more.
    OutputError
        If there is no room for temporary files, or so many annotations need more memory.
    """
    report = validate_with(project.files, settings, images, _LISTED, memory)
    lines = "".join(f"{line}\n" for line in FINDING_VIEWS["jsonl"](report))
    return ValidationOutcome(
        lines.encode("utf-8", "surrogateescape"),
        report.severities.get(Severity.ERROR, 0),
        report.severities.get(Severity.WARNING, 0),
        report.severities.get(Severity.INFO, 0),
        report.at_least(report.fail_on) > 0,
    )
