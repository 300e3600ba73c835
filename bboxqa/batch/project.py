"""One project: validated, measured, and written into its folder."""

import json
import os
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from bboxqa.batch.discovery import Project
from bboxqa.batch.results import FAILURE, FINDINGS, RECORD, REPORT, filled, folder_of, note_failure
from bboxqa.batch.rows import (
    FAILED,
    MEASURED,
    NOT_MEASURED,
    Row,
    Settings,
    choices_of,
    failed_row,
    files_wanted,
    gates_not_measured,
    refuse_other_key,
    row_values,
    settings_of,
    shown,
    shown_row,
    stages_of,
)
from bboxqa.batch.store import Stored, fetched
from bboxqa.core.errors import (
    BboxqaError,
    DatasetError,
    NothingToCompareError,
    OtherKindError,
    OutputError,
)
from bboxqa.core.files import write_atomically
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.formats.dataset.predictions import is_results_list
from bboxqa.formats.sources import listed, sources_in, without_files
from bboxqa.model.annotations import Choices, Dataset
from bboxqa.model.findings import FoundReport, Severity
from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.pipelines.agree import CountAll, agree_with
from bboxqa.pipelines.read import AS_COMPARED, read_for
from bboxqa.pipelines.validate import validate_with
from bboxqa.report.agreement_summary import summary
from bboxqa.report.finding_formats import jsonl_lines
from bboxqa.report.result_files import documents_of, write_folder, write_tables

# The folder of a result until it is complete.
_MEASURED = ".measured"
_FILES_NAMED = 3
# Findings listed for each rule and file in findings.jsonl, and on the page; all are counted.
_LISTED, _LISTED_ON_PAGE = 1000, 100
# From the folder of a project.
_RUN = "../../index.html"


def run_project(
    project: Project,
    settings: Settings,
    out: Path,
    key: str,
    count_all: CountAll | None = None,
    *,
    check_key: bool = False,
) -> Row:
    """Validate and measure one project, and write its folder.

    The folder is complete before it appears under its name. A failure of the input is recorded;
    a failure of the machine is written to ``failed.txt``, and the next run tries again.

    `key` is the result of `result_key`, `count_all` that of `agree_with`. With `check_key`, a
    project that no longer has the key when it is done fails, as its files were changed meanwhile.
    """
    try:
        with filled(folder_of(out, project.name)) as scratch:
            row, keep, log = _run(project, settings, scratch, count_all)
            row, log = shown_row(row, settings), shown(log, settings)
            if check_key:
                refuse_other_key(project, settings, key)
            name = "log.txt" if keep else FAILURE
            (scratch / name).write_text(log, "utf-8", "backslashreplace")
            if keep:
                files = sorted(file.name for file in scratch.iterdir())
                made = {"files": files, "pages": settings.pages}
                record = {"key": key, "row": asdict(row), **made}
                # ASCII with escapes preserves names that are not UTF-8.
                (scratch / RECORD).write_text(json.dumps(record), encoding="ascii")
    except (OSError, OutputError) as error:
        note_failure(out, project.name, shown(traceback.format_exc(), settings))
        return shown_row(failed_row(project, error), settings)
    return row


def _run(
    project: Project, settings: Settings, scratch: Path, count_all: CountAll | None
) -> tuple[Row, bool, str]:
    """Return the row of a project, whether to record it, and its log."""
    row = Row(project.name, FAILED, len(project.files))
    try:
        # From here on the choices of the run are those of the project.
        settings = replace(settings, choices=choices_of(project, settings))
        agree, validate = settings_of(project, settings)
        project = files_wanted(project, agree)
        row = replace(row, n_files=len(project.files))
        numbers, is_failed = _validated_into(scratch, project, validate, settings)
        row, said = replace(row, **numbers), ""
        if "audit" in stages_of(project, settings):
            # Before agreement is there: tables in a folder replace those that its manifest lists.
            said = _audited_into(scratch, project, settings, agree)
        try:
            values = _measured_into(scratch / _MEASURED, project, settings, agree, count_all)
            row = replace(row, **values, status=MEASURED)
            for file in sorted((scratch / _MEASURED).iterdir()):
                file.rename(scratch / file.name)
        except NothingToCompareError as error:
            row = replace(row, status=NOT_MEASURED, message=_line(error))
        row = replace(row, message="; ".join(filter(None, [row.message, said])))
        row = _gated(row, agree, validate if is_failed else None)
    except (OSError, OutputError, MemoryError):
        raise
    except BboxqaError as error:
        return replace(row, passed=False, message=_line(error)), True, f"{error}\n"
    except Exception as error:  # noqa: BLE001 - one project never stops the others
        message = f"{type(error).__name__}: {clean(str(error))}"
        return replace(row, passed=False, message=message), False, traceback.format_exc()
    finally:
        # Files that are still in the hidden folder are incomplete.
        shutil.rmtree(scratch / _MEASURED, ignore_errors=True)
    return row, True, f"{row.status}\n{row.message}\n" if row.message else f"{row.status}\n"


def _validated_into(
    folder: Path, project: Project, validate: ValidateSettings, settings: Settings
) -> tuple[dict[str, Any], bool]:
    """Write findings; return the numbers of all, and whether any reaches `fail_on`."""
    images = project.images if settings.images else None
    report = validate_with(
        project.files,
        validate,
        images,
        max_findings=_LISTED,
        pseudonyms=settings.pseudonyms,
        choices=settings.choices,
    )
    numbers = {
        "n_errors": report.severities.get(Severity.ERROR, 0),
        "n_warnings": report.severities.get(Severity.WARNING, 0),
        "n_infos": report.severities.get(Severity.INFO, 0),
        # Several files may have the same images.
        "n_images": report.files[0].n_images if len(report.files) == 1 else None,
        "n_annotations": sum(file.n_annotations for file in report.files),
    }
    lines = "".join(f"{line}\n" for line in jsonl_lines(report))
    write_atomically(folder / "findings.jsonl", lines.encode("utf-8", "surrogateescape"))
    if settings.pages:
        _write_findings_page(report, folder, images, validate, settings.choices)
    return numbers, report.at_least(report.fail_on) > 0


def _line(error: BboxqaError) -> str:
    """Return the first problem of an error, and the number of others, or how to join images."""
    problems, total = (
        (error.problems, error.total) if isinstance(error, DatasetError) else ((str(error),), 1)
    )
    first = clean(problems[0]).replace("\n", " ")
    if total > 1:
        return f"{first} (and {total - 1} more)"
    advice = error.advice.splitlines() if isinstance(error, DatasetError) else []
    return "; ".join([first, *(clean(line) for line in advice if "--join " in line)])


def _measured_into(
    folder: Path,
    project: Project,
    settings: Settings,
    agree: AgreeSettings,
    count_all: CountAll | None,
) -> dict[str, Any]:
    """Measure a project and write the result; return values of its row."""
    _, notes = listed(project.folder, choices=settings.choices)
    notes = notes if settings.pseudonyms is None else without_files(notes)
    files = [part for each in project.files for part in sources_in(each, choices=settings.choices)]
    data, left_out = _read_objects(files, project.folder, agree, settings)
    notes = [shown(each, settings) for each in (*left_out, *notes)]
    data = replace(data, notes=(*data.notes, *notes))
    result = agree_with(data, agree, count_all=count_all)
    values, diagnosis, warnings = summary(result), None, []
    if settings.pages:
        try:
            diagnosis = result.diagnose()
            warnings += [text for text in diagnosis.warnings if text not in result.headlines]
        except OutputError as error:
            warnings.append(f"the page does not say what lowers agreement: {error}")
    documents = documents_of(result, values, diagnosis)
    write_folder(result, documents, folder, diagnosis=diagnosis, raw_csv=settings.raw_csv)
    if "consensus" in stages_of(project, settings):
        read = {each.name for each in data.sources}
        _merge_into(folder, [each for each in files if str(each) in read] or files, agree, settings)
    if settings.pages:
        from bboxqa.pipelines.result_pages import write_result
        from bboxqa.report.pages import PageTarget

        images = (project.images,) if settings.images and project.images is not None else ()
        warnings += write_result(documents, PageTarget(folder / REPORT, images, above=_RUN))
    names = {
        "annotators": tuple(sorted(data.annotator_names)),
        "unused_names": tuple(data.map_notes),
    }
    return row_values(result, values, agree, warnings) | names


def _merge_into(
    folder: Path, files: Sequence[Path], agree: AgreeSettings, settings: Settings
) -> None:
    """Write the consensus of the annotators of a project, and what was dropped."""
    from bboxqa.pipelines.consensus import MERGED, consensus_of_files, write_consensus
    from bboxqa.pipelines.convert import Target

    reading = replace(AS_COMPARED, pseudonyms=settings.pseudonyms, choices=settings.choices)
    # Outlines and key points are read as well, which agreement on boxes does not need.
    result, ids = consensus_of_files(files, agree, reading)
    write_consensus(result, ids, Target(folder / MERGED, "coco"))


def _read_objects(
    files: Sequence[Path], within: Path, agree: AgreeSettings, settings: Settings
) -> tuple[Dataset, list[str]]:
    """Return the data set of the files in a folder that hold objects, and notes on the others.

    Lists of results are left out beside files that can be measured without them, since results of a
    model in a folder should not change how far people agree.
    """
    reading = replace(
        AS_COMPARED, pseudonyms=settings.pseudonyms, outlines=False, keypoints=False,
        within=within, choices=settings.choices,
    )  # fmt: skip

    def note(what: str, some: Sequence[Path]) -> str:
        return f"{what}: {first_few(some, _FILES_NAMED, lambda each: one_line(each.name))}"

    def read(wanted: Sequence[Path]) -> tuple[Dataset, list[str]]:
        try:
            return read_for(wanted, agree, reading), []
        except OtherKindError as error:
            objects = [file for file in wanted if file not in error.files]
            if not objects:
                raise
            others = [file for file in wanted if file in error.files]
            what = note("files without annotations of objects left out", others)
            return read_for(objects, agree, reading), [what]

    lists = [file for file in files if is_results_list(file, settings.choices)]
    if 0 < len(lists) < len(files):
        with suppress(NothingToCompareError):
            data, notes = read([file for file in files if file not in lists])
            what = "lists of results left out, as the other files are measured"
            return data, [note(what, lists), *notes]
    return read(files)


def _audited_into(folder: Path, project: Project, settings: Settings, agree: AgreeSettings) -> str:
    """Write audit.csv, by a list of results in the project if there is one; return a message."""
    from bboxqa.pipelines.audit import audit_files

    reading = replace(AS_COMPARED, pseudonyms=settings.pseudonyms, choices=settings.choices)
    files = [part for each in project.files for part in sources_in(each, choices=settings.choices)]
    lists = [file for file in files if is_results_list(file, settings.choices)]
    labels = [file for file in files if file not in lists]
    if len(lists) > 1:
        return f"not audited: {len(lists):,} lists of results; expected one"
    try:
        result = audit_files(labels, next(iter(lists), None), agree, reading)
    except DatasetError as error:
        return f"not audited: {_line(error)}"
    write_tables(folder, {}, {"audit": result.suspects}, raw_csv=settings.raw_csv)
    n_worth = int(result.kinds["n_worth_a_look"].sum())
    return f"audit: {count(n_worth, 'place')} worth a look"


def _gated(row: Row, agree: AgreeSettings, failed_by: ValidateSettings | None) -> Row:
    """Return the row, failed if it misses a gate; `failed_by` is that of findings, if missed."""
    failed: list[str] = []
    if row.status == NOT_MEASURED:
        # A project that is no longer measured, such as after a renamed key, must not pass.
        failed += gates_not_measured(agree)
    if failed_by is not None:
        higher = "" if failed_by.fail_on == "error" else " or above"
        failed.append(f"findings of severity {failed_by.fail_on}{higher}")
    if not failed:
        return row
    return replace(row, passed=False, message="; ".join(filter(None, [*failed, row.message])))


def _write_findings_page(
    report: FoundReport,
    folder: Path,
    images: Path | None,
    settings: ValidateSettings,
    choices: Choices,
) -> None:
    """Write the page of the first findings of each rule, with pixels if `images` has some."""
    from bboxqa.pipelines.result_pages import write_report
    from bboxqa.report.pages import PageTarget

    seen: Counter[tuple[str, str]] = Counter()
    listed = []
    for finding in report.findings:
        seen[finding.file, finding.code] += 1
        if seen[finding.file, finding.code] <= _LISTED_ON_PAGE:
            listed.append(finding)
    folders = () if images is None else (images,)
    target = PageTarget(folder / FINDINGS, folders, above=_RUN)
    write_report(replace(report, findings=tuple(listed)), target, None, settings, choices=choices)


Task = tuple[Project, str]
"""A project and the key of its result."""


class PackedResult(msgspec.Struct, frozen=True):
    """The result of a project: the names and contents of its files.

    A project that could not be run has no files, or only the reason.
    """

    project: Project
    row: Row
    files: tuple[tuple[str, bytes], ...]


def run_task(task: Task, settings: Settings, out: Path) -> Row:
    """Run a project on this machine, and write its folder; see `run_project`."""
    project, key = task
    if not isinstance(project, Stored):
        return run_project(project, settings, out, key, check_key=True)
    # The next run removes leftovers of a killed run.
    scratch = out / "projects"
    scratch.mkdir(parents=True, exist_ok=True)
    return write_packed(run_packed(task, settings, scratch), out)


def run_packed(
    task: Task, settings: Settings, scratch: Path, count_all: CountAll | None = None
) -> PackedResult:
    """Run a project in a temporary folder inside `scratch`; return the files of its folder.

    The other parameters are those of `run_project`.
    """
    project, key = task
    try:
        with tempfile.TemporaryDirectory(prefix=".bboxqa-", dir=scratch) as folder:
            out = Path(folder)
            if isinstance(project, Stored):
                with fetched(project, out, images=settings.images) as (local, root):
                    row = run_project(local, settings, out, key, count_all)
                return _named(project, row, _files(out, project), root)
            _check_shared(project)
            row = run_project(project, settings, out, key, count_all, check_key=True)
            return PackedResult(project, row, _files(out, project))
    except (OSError, BboxqaError) as error:
        return PackedResult(project, failed_row(project, error), ())


def write_packed(packed: PackedResult, out: Path) -> Row:
    """Write the folder of a project."""
    name = packed.project.name
    if {file for file, _ in packed.files} <= {FAILURE}:
        # The results of an earlier run stay, as for projects of this machine.
        for _, content in packed.files:
            note_failure(out, name, content.decode("utf-8", "surrogateescape"))
        return packed.row
    try:
        with filled(folder_of(out, name)) as scratch:
            for file, content in packed.files:
                # Only the file name counts: a worker must not decide where files are written.
                (scratch / Path(file).name).write_bytes(content)
    except OSError as error:
        note_failure(out, name, traceback.format_exc())
        return failed_row(packed.project, error)
    return packed.row


def _check_shared(project: Project) -> None:
    """Refuse files that this worker cannot access."""
    for file in project.files:
        if not file.exists():
            raise OutputError(
                f"{file}: is not on the disk of the worker; share it, or give ROOT as a URL"
            )


def _files(out: Path, project: Project) -> tuple[tuple[str, bytes], ...]:
    folder = folder_of(out, project.name)
    if not folder.is_dir():
        return ()
    return tuple((file.name, file.read_bytes()) for file in sorted(folder.iterdir()))


def _named(
    project: Stored, row: Row, files: tuple[tuple[str, bytes], ...], root: Path
) -> PackedResult:
    """Return the result of a fetched project, with paths replaced by URLs of the store."""
    url = project.url.encode()
    return PackedResult(
        project,
        replace(row, message=row.message.replace(str(root), project.url)),
        tuple((name, content.replace(os.fsencode(root), url)) for name, content in files),
    )
