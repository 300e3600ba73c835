"""The findings of one project, in this process or elsewhere."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bboxqa.batch.project_pages import findings_page_of
from bboxqa.batch.projects.discovery import Project
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.pipelines.validate import validate_with
from bboxqa.report.findings.formats import jsonl_lines

# Findings listed for each rule and file; all are counted.
_LISTED = 1000


@dataclass(frozen=True, slots=True)
class ValidationOutcome:
    """Listed findings as JSON lines, the numbers of all, and whether any reaches `fail_on`.

    `page` is their page; empty unless requested. The number of images is None for several files,
    which may have the same images.
    """

    lines: bytes
    n_errors: int
    n_warnings: int
    n_infos: int
    failed: bool
    page: bytes = b""
    n_images: int | None = None
    n_annotations: int | None = None


RunElsewhere = Callable[
    [Callable[[], ValidationOutcome]], AbstractContextManager[Callable[[], ValidationOutcome]]
]
"""Validates elsewhere: yields a function that waits for the outcome, as `second_process` does.

Failures there are raised as EOFError or OSError; the caller then validates in its own process.
"""


def validate_project(
    project: Project,
    settings: ValidateSettings,
    images: Path | None,
    pages: bool = False,
    pseudonyms: Path | None = None,
) -> ValidationOutcome:
    """Validate the files of a project, and its images if their folder is given."""
    report = validate_with(
        project.files,
        settings,
        images,
        max_findings=_LISTED,
        pseudonyms=pseudonyms,
    )
    lines = "".join(f"{line}\n" for line in jsonl_lines(report))
    return ValidationOutcome(
        lines.encode("utf-8", "surrogateescape"),
        report.severities.get(Severity.ERROR, 0),
        report.severities.get(Severity.WARNING, 0),
        report.severities.get(Severity.INFO, 0),
        report.at_least(report.fail_on) > 0,
        findings_page_of(report, images, settings) if pages else b"",
        report.files[0].n_images if len(report.files) == 1 else None,
        sum(file.n_annotations for file in report.files),
    )
