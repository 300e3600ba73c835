"""The pages of a project, to which the page of the run links."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bboxqa.batch.projects.discovery import Project
from bboxqa.batch.rows import Settings
from bboxqa.core.errors import OutputError
from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.findings import FoundReport
from bboxqa.model.settings import ValidateSettings
from bboxqa.report.agreement_result import AgreementResult

REPORT = "report.html"
FINDINGS = "findings.html"

# As `validate --report` lists of each rule.
_LISTED = 100
# From the folder of a project.
_RUN = "../../index.html"


def diagnosis_of(
    result: AgreementResult, settings: Settings
) -> tuple[Diagnosis | None, tuple[str, ...]]:
    """Return the diagnosis if there are pages, and its warnings or why there is none."""
    if not settings.pages:
        return None, ()
    try:
        found = result.diagnose()
    except OutputError as error:
        return None, (f"the page does not say what lowers agreement: {error}",)
    return found, tuple(text for text in found.warnings if text not in result.headlines)


def write_agreement_page(
    documents: Mapping[str, Mapping[str, Any]], project: Project, settings: Settings, folder: Path
) -> tuple[str, ...]:
    """Write the page of the documents of a result into a folder, if there are pages.

    Returns notes on the images that it shows.
    """
    if not settings.pages:
        return ()
    from bboxqa.pipelines.result_pages import write_result
    from bboxqa.report.pages.page_file import PageTarget

    images = (project.images,) if settings.images and project.images is not None else ()
    return write_result(documents, PageTarget(folder / REPORT, images, above=_RUN))


def findings_page_of(
    report: FoundReport, images: Path | None, settings: ValidateSettings | None = None
) -> bytes:
    """Return the page of the first findings of each rule, with pixels if `images` has some."""
    from bboxqa.pipelines.result_pages import report_page

    seen: Counter[tuple[str, str]] = Counter()
    listed = []
    for finding in report.findings:
        seen[finding.file, finding.code] += 1
        if seen[finding.file, finding.code] <= _LISTED:
            listed.append(finding)
    folders = () if images is None else (images,)
    page = report_page(replace(report, findings=tuple(listed)), folders, settings, above=_RUN)
    return page.encode("utf-8", "backslashreplace")
