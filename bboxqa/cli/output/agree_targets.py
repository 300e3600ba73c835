"""Where `bboxqa agree` writes its result: a folder and a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.core.types import AnyPath

if TYPE_CHECKING:
    from bboxqa.model.diagnosis import Diagnosis
    from bboxqa.report.agreement_result import AgreementResult
    from bboxqa.report.pages.page_file import PageTarget


def inputs_of(source: Any, *others: AnyPath | None) -> list[AnyPath | None]:
    """Return all paths that are read; `source` is files, or a mapping of annotators to files."""
    from bboxqa.formats.inputs import paths_in

    return [*paths_in(source), *others]


def check_targets(
    out: Path | None,
    report: Path | None,
    pseudonyms: Path | None,
    *,
    split: bool,
    force: bool,
) -> None:
    """Refuse targets that must not be written to, before anything is read."""
    if out is not None:
        from bboxqa.report.result_files import check_folder

        check_folder(out, force=force)
        if report is not None and _hides(report, out, split=split):
            other = f"folder, such as {out / 'report'}" if split else f"file, such as {out}.html"
            raise click.UsageError(
                f"--report {report} is where --out {out} writes its files; name another {other}"
            )
    if pseudonyms is not None:
        from bboxqa.core.pseudonyms import check_key

        check_key(pseudonyms, (out, report))


def _hides(report: Path, out: Path, *, split: bool) -> bool:
    """Return whether the page would be the folder of the result, or a folder around it."""
    page, folder = report.absolute(), out.absolute()
    return page == folder or (split and page in folder.parents)


def page_target(
    path: Path | None, images: tuple[Path, ...], top: int | None, *, split: bool, force: bool
) -> "PageTarget | None":
    """Return the target of the page, if one was requested."""
    if path is None:
        for name, given in (("--images", images), ("--split", split)):
            if given:
                raise click.UsageError(f"{name} is for --report FILE, which is missing")
        return None
    from bboxqa.report.pages.page_file import PageTarget

    page = PageTarget(path, images, split, top)
    page.check(force=force)
    return page


def write_targets(
    result: "AgreementResult",
    diagnosis: "Diagnosis | None",
    out: Path | None,
    page: "PageTarget | None",
    inputs: Sequence[AnyPath | None],
    *,
    raw_csv: bool,
) -> tuple[list[Path], tuple[str, ...]]:
    """Write the requested folder and page; none of the inputs is replaced.

    Return the paths that were written, and notes on the page.
    """
    if out is None and page is None:
        return [], ()
    from bboxqa.formats.read_files import files_read
    from bboxqa.report.agreement_summary import summary
    from bboxqa.report.result_files import documents_of, write_folder

    documents = documents_of(result, summary(result), diagnosis)
    written: list[Path] = []
    notes: tuple[str, ...] = ()
    if out is not None:
        kept = files_read(inputs)
        write_folder(result, documents, out, diagnosis=diagnosis, raw_csv=raw_csv, kept=kept)
        written.append(out)
    if page is not None:
        from bboxqa.cli.output.console import tracking
        from bboxqa.pipelines.result_pages import write_result

        with tracking() as progress:
            notes = write_result(documents, page, progress)
        written.append(page.page)
    return written, notes
