"""One project: validated, measured, and written into its folder."""

import json
import shutil
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.batch.keys import check_unchanged, refuse_other_key, stamps
from bboxqa.batch.project_pages import FINDINGS, diagnosis_of, write_agreement_page
from bboxqa.batch.projects.discovery import Project
from bboxqa.batch.result_folders import FAILURE, RECORD, filled, folder_of, note_failure
from bboxqa.batch.row_values import row_values
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
    settings_of,
)
from bboxqa.batch.shown_names import shown, shown_row
from bboxqa.batch.validation import RunElsewhere, ValidationOutcome, validate_project
from bboxqa.core.errors import (
    BboxqaError,
    DatasetError,
    NothingToCompareError,
    OtherKindError,
    OutputError,
)
from bboxqa.core.files import write_atomically
from bboxqa.core.parallel import can_fork, second_process
from bboxqa.core.text import clean, first_few, one_line
from bboxqa.formats.choices import chosen
from bboxqa.formats.dataset.predictions import is_results_list
from bboxqa.formats.sources import listed, sources_in
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.pipelines.agree import CountAll, agree_with
from bboxqa.pipelines.agree_files import with_map_notes
from bboxqa.pipelines.read import read_for
from bboxqa.report.agreement_summary import summary
from bboxqa.report.result_files import documents_of, write_folder

LONG = 1 << 22
"""Smallest size in bytes of JSON for which a second process that validates saves time."""

# The folder of a result until it is complete.
_MEASURED = ".measured"
_FILES_NAMED = 3
# An annotation has at least 50 bytes of JSON, and may need 200 bytes of memory in each process.
_OF_JSON = 8


def recorded(out: Path, project: str, *, pages: bool = False) -> tuple[str, Row] | None:
    """Return the key and the row of a project's last complete result; None if there is none.

    With `pages`, a result without pages is not complete.
    """
    try:
        folder = folder_of(out, project)
        record = json.loads((folder / RECORD).read_bytes())
        # If files of a result were removed, it is computed again.
        complete = set(record["files"]) <= {file.name for file in folder.iterdir()}
        complete = complete and (record.get("pages", False) or not pages)
        return (str(record["key"]), msgspec.convert(record["row"], Row)) if complete else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError):
        return None


def run_project(
    project: Project,
    settings: Settings,
    out: Path,
    key: str,
    count_all: CountAll | None = None,
    validate_elsewhere: RunElsewhere | None = None,
    *,
    check_key: bool = False,
) -> Row:
    """Validate and measure one project, and write its folder.

    The folder is complete before it appears under its name. A failure of the input is recorded;
    a failure of the machine is written to ``failed.txt``, and the next run tries again.

    `key` is the result of `result_key`. Without `count_all` (see `agree_with`), a second process
    validates if that saves time; with it, `validate_elsewhere` may validate elsewhere. With
    `check_key`, a project that no longer has the key fails, as files may be replaced while it waits
    in the queue.
    """
    given = settings
    is_long = worth_two_processes(project.size)
    if is_long and count_all is None and can_fork():
        validate_elsewhere = second_process
    try:
        begun = stamps(project)
        if check_key:
            refuse_other_key(project, given, key)
        with filled(folder_of(out, project.name)) as scratch:
            row, keep, log = _run(project, settings, scratch, count_all, validate_elsewhere)
            row, log = shown_row(row, settings), shown(log, settings)
            check_unchanged(project, begun)
            name = "log.txt" if keep else FAILURE
            (scratch / name).write_text(log, "utf-8", "backslashreplace")
            if keep:
                files = sorted(file.name for file in scratch.iterdir())
                made = {"files": files, "pages": settings.pages}
                record = {"key": key, "row": asdict(row), **made}
                # ASCII with escapes preserves names that are not UTF-8.
                (scratch / RECORD).write_text(json.dumps(record), encoding="ascii")
    except (OSError, OutputError) as error:
        note_failure(out, project.name, shown(traceback.format_exc(), settings, project.files))
        return shown_row(failed_row(project, error), settings)
    return row


def _run(
    project: Project,
    settings: Settings,
    scratch: Path,
    count_all: CountAll | None,
    validate_elsewhere: RunElsewhere | None,
) -> tuple[Row, bool, str]:
    """Return the row of a project, whether to record it, and its log."""
    row = Row(project.name, FAILED, len(project.files))
    try:
        with chosen(choices_of(project, settings)):
            agree, validate = settings_of(project, settings)
            project = files_wanted(project, agree)
            row = replace(row, n_files=len(project.files))
            images = project.images if settings.images else None
            validating = partial(
                validate_project, project, validate, images, settings.pages,
                settings.pseudonyms,
            )  # fmt: skip
            measuring = partial(
                _measured_into, scratch / _MEASURED, project, settings, agree, count_all
            )
            measured, found = _measured_and_validated(measuring, validating, validate_elsewhere)
            write_atomically(scratch / "findings.jsonl", found.lines)
            if found.page:
                write_atomically(scratch / FINDINGS, found.page)
            row = replace(
                row, n_errors=found.n_errors, n_warnings=found.n_warnings, n_infos=found.n_infos,
                n_images=found.n_images, n_annotations=found.n_annotations,
            )  # fmt: skip
            if isinstance(measured, NothingToCompareError):
                row = replace(row, status=NOT_MEASURED, message=_line(measured))
            elif isinstance(measured, Exception):
                raise measured  # noqa: TRY301 - findings are written first
            else:
                row = replace(row, **measured, status=MEASURED)
                for file in sorted((scratch / _MEASURED).iterdir()):
                    file.rename(scratch / file.name)
            row = _gated(row, agree, validate, found)
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


def _measured_and_validated(
    measuring: Callable[[], dict[str, Any] | Exception],
    validating: Callable[[], ValidationOutcome],
    validate_elsewhere: RunElsewhere | None,
) -> tuple[dict[str, Any] | Exception, ValidationOutcome]:
    """Return what both functions return; with `validate_elsewhere`, they run at the same time."""
    if validate_elsewhere is None:
        found = validating()
        return measuring(), found
    with validate_elsewhere(validating) as outcome:
        measured = measuring()
        # An error there is raised again when this process validates.
        with suppress(EOFError, OSError):
            return measured, outcome()
    return measured, validating()


def worth_two_processes(size: int) -> bool:
    """Return whether two processes save time for so many bytes of JSON."""
    return size >= LONG


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
) -> dict[str, Any] | Exception:
    """Measure a project and write the result; return values of its row, or the error.

    The error is not raised, since findings are written before it.
    """
    hidden = settings.pseudonyms is not None
    try:
        _, notes = listed(project.folder, hidden=hidden)
        files = [part for each in project.files for part in sources_in(each)]
        reread = partial(_read_objects, files, within=project.folder, settings=settings)
        data = reread(agree)
        data = replace(data, notes=(*data.notes, *(shown(each, settings) for each in notes)))
        # The files passed the checks before.
        shapes = partial(reread, msgspec.structs.replace(agree, checks=False), shapes=True)
        result = agree_with(data, agree, count_all=count_all, read_shapes=shapes)
        result = with_map_notes(result, data, reread, agree)
        values = summary(result)
        diagnosis, warnings = diagnosis_of(result, settings)
        documents = documents_of(result, values, diagnosis)
        write_folder(result, documents, folder, diagnosis=diagnosis, raw_csv=settings.raw_csv)
        warnings += write_agreement_page(documents, project, settings, folder)
    except BboxqaError as error:
        # The frames of the traceback would keep the annotations in memory.
        return error.with_traceback(None)
    except Exception as error:  # noqa: BLE001 - raised after findings are written
        return error
    names = {
        "annotators": tuple(sorted(data.annotator_names)),
        "unused_names": tuple(data.map_notes),
    }
    return row_values(result, values, agree, warnings) | names


def _read_objects(
    files: Sequence[Path],
    agree: AgreeSettings,
    settings: Settings,
    *,
    within: Path,
    shapes: bool = False,
) -> Dataset:
    """Return the data set of the files in a folder that hold objects, with all `shapes` on request.

    Other files are skipped. So are lists of results beside files that can be measured without
    them, since results of a model in a folder should not change how far people agree.
    """
    read = partial(
        read_for, settings=agree, pseudonyms=settings.pseudonyms,
        outlines=shapes, keypoints=shapes, within=within,
    )  # fmt: skip
    lists = [file for file in files if is_results_list(file)]
    if 0 < len(lists) < len(files):
        with suppress(NothingToCompareError):
            others = [file for file in files if file not in lists]
            data = _read_objects(others, agree, settings, within=within, shapes=shapes)
            some = first_few(lists, _FILES_NAMED, lambda each: one_line(each.name))
            note = f"lists of results left out, as the other files are measured: {some}"
            return replace(data, notes=(*data.notes, shown(note, settings)))
    try:
        return read(files)
    except OtherKindError as error:
        objects = [file for file in files if file not in error.files]
        if not objects:
            raise
        data = read(objects)
        others = [file for file in files if file in error.files]
        some = first_few(others, _FILES_NAMED, lambda each: one_line(each.name))
        note = f"files without annotations of objects left out: {some}"
        return replace(data, notes=(*data.notes, shown(note, settings)))


def _gated(
    row: Row, agree: AgreeSettings, validate: ValidateSettings, found: ValidationOutcome
) -> Row:
    """Return the row, failed if it misses a gate."""
    failed: list[str] = []
    if row.status == NOT_MEASURED:
        # A project that is no longer measured, such as after a renamed key, must not pass.
        failed += gates_not_measured(agree)
    if found.failed:
        higher = "" if validate.fail_on == "error" else " or above"
        failed.append(f"findings of severity {validate.fail_on}{higher}")
    if not failed:
        return row
    return replace(row, passed=False, message="; ".join(filter(None, [*failed, row.message])))
