"""One project: validated, measured, and written into its folder."""

import json
import os
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from bboxqa.batch import results
from bboxqa.batch.discovery import Project, fetched
from bboxqa.batch.results import FAILED, Row
from bboxqa.batch.settings import ProjectSettings, Settings, result_key, settings_of, severities
from bboxqa.core.errors import (
    BboxqaError,
    ConfigError,
    DatasetError,
    NothingToCompareError,
    OutputError,
)
from bboxqa.core.files import write_atomically
from bboxqa.core.text import clean, count, first_few, one_line
from bboxqa.core.version import __version__
from bboxqa.formats.registry import is_results_list
from bboxqa.formats.source import SourcePath
from bboxqa.formats.sources import listed, sources_in, without_files
from bboxqa.model.annotations import Dataset
from bboxqa.model.findings import FoundReport, Severity
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.read import AS_COMPARED, read_for
from bboxqa.pipelines.validate import validate_with
from bboxqa.report.agreement_summary import missed_gates, summary
from bboxqa.report.finding_formats import jsonl_lines
from bboxqa.report.result_files import documents_of, write_folder, write_tables

_FILES_NAMED = 3
_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)
# Findings listed for each rule and file in findings.jsonl, and on the page; all are counted.
_LISTED, _LISTED_ON_PAGE = 1000, 100
# From the folder of a project.
_RUN = "../../index.html"


Task = tuple[Project, str]
"""A project and the key of its result, from `result_key`, or ""."""


def run_project(task: Task, settings: Settings, out: Path) -> Row:
    """Validate and measure one project, and write its folder when it is complete.

    A failure of the input is recorded; a failure of the machine or of settings is noted beside
    earlier results, and the next run tries again.
    """
    project, key = task
    try:
        if not project.url:
            # Wrong settings leave the results of an earlier run.
            settings_of(project, settings)
        with results.filled(results.folder_of(out, project.name)) as scratch:
            if project.url:
                with fetched(project, scratch.parent, images=settings.images) as (local, root):
                    row, keep, log = _run(local, settings, scratch)
                row = replace(row, message=row.message.replace(str(root), project.url))
                log = log.replace(str(root), project.url)
                for file in scratch.iterdir():
                    content = file.read_bytes()
                    file.write_bytes(content.replace(os.fsencode(root), project.url.encode()))
            else:
                row, keep, log = _run(project, settings, scratch)
            row = replace(row, message=settings.shown(row.message))
            if key and not project.url and result_key(project, settings) != key:
                raise OutputError(f"{project.folder}: changed while it was read; run it again")
            name = "log.txt" if keep else results.FAILURE
            (scratch / name).write_text(settings.shown(log), "utf-8", "backslashreplace")
            if keep:
                files = sorted(file.name for file in scratch.iterdir())
                record = {"key": key, "row": asdict(row), "files": files, "pages": settings.pages}
                # ASCII with escapes preserves names that are not UTF-8.
                (scratch / results.RECORD).write_text(json.dumps(record), encoding="ascii")
    except (OSError, BboxqaError) as error:
        results.note_failure(out, project.name, settings.shown(traceback.format_exc()))
        row = results.failed_row(project, _line(error))
        row = replace(row, message=settings.shown(row.message))
    return row


class _Job(NamedTuple):
    """A project whose files are here, its settings, and the folder of its result."""

    project: Project
    settings: Settings
    own: ProjectSettings
    folder: Path

    def reading(self, **more: Any) -> Any:
        """Return how its files are read."""
        choices, key = self.own.choices, self.settings.pseudonyms
        return replace(AS_COMPARED, pseudonyms=key, choices=choices, **more)


def _run(project: Project, settings: Settings, folder: Path) -> tuple[Row, bool, str]:
    """Return the row of a project, whether to record it, and its log."""
    row = Row(project.name, FAILED, len(project.files), passed=False)
    try:
        own = settings_of(project, settings)
        pattern = own.agree.filter
        # What is known of a file is kept from stage to stage.
        sources = tuple(
            SourcePath(each)
            for each in project.files
            if pattern is None or each.is_dir() or each.match(pattern)
        )
        if not sources:
            raise DatasetError([f"{project.folder}: no file matches filter {pattern!r}"])  # noqa: TRY301 - as others
        job = _Job(replace(project, files=sources), settings, own, folder)
        report = _validated(job)
        n_errors, n_warnings, n_infos = (report.severities.get(s, 0) for s in _SEVERITIES)
        # Several files may have the same images.
        n_images = report.files[0].n_images if len(report.files) == 1 else None
        row = Row(
            project.name, FAILED, len(sources), n_images, passed=False, n_errors=n_errors,
            n_warnings=n_warnings, n_infos=n_infos,
            n_annotations=sum(file.n_annotations for file in report.files),
        )  # fmt: skip
        # Also those inside of archives.
        files = [part for each in sources for part in sources_in(each, choices=own.choices)]
        severe = [f"findings of {severities(own.validate)}"] * bool(report.at_least(report.fail_on))
        said = _audited(job, files) if "audit" in own.stages else ""
        try:
            values, missed, notes = _measured(job, files)
            failed = [*severe, *missed]
        except NothingToCompareError as error:
            values, notes = {"status": results.NOT_MEASURED}, [_line(error)]
            failed = [*missed_gates(None, msgspec.to_builtins(own.agree)), *severe]
        message = "; ".join(filter(None, [*failed, *notes, said]))
        row = replace(row, **values, passed=not failed, message=message)
    except (OSError, OutputError, MemoryError):
        raise
    except BboxqaError as error:
        return replace(row, message=_line(error)), True, f"{error}\n"
    except Exception as error:  # noqa: BLE001 - one project never stops the others
        message = f"{type(error).__name__}: {clean(str(error))}"
        return replace(row, message=message), False, traceback.format_exc()
    return row, True, f"{row.status}\n{row.message}\n" if row.message else f"{row.status}\n"


def _line(error: Exception) -> str:
    """Return the first problem of an error, and the number of others, or how to join images."""
    if not isinstance(error, DatasetError):
        return clean(str(error)).replace("\n", " ")
    more = [f"(and {error.total - 1} more)"] if error.total > 1 else []
    advice = [line for line in error.advice.splitlines() if "--join " in line and not more]
    first = " ".join([error.problems[0], *more])
    return clean("; ".join([first, *advice])).replace("\n", " ")


def _validated(job: _Job) -> FoundReport:
    """Write findings, and return all of them."""
    images = job.project.images if job.settings.images else None
    report = validate_with(
        job.project.files, job.own.validate, images, max_findings=_LISTED,
        pseudonyms=job.settings.pseudonyms, choices=job.own.choices,
    )  # fmt: skip
    lines = "".join(f"{line}\n" for line in jsonl_lines(report))
    write_atomically(job.folder / "findings.jsonl", lines.encode("utf-8", "surrogateescape"))
    if job.settings.pages:
        from bboxqa.pipelines.pictures import write_report
        from bboxqa.report.pages import PageTarget

        number: Counter[tuple[str, str]] = Counter()
        shown = []
        for each in report.findings:
            number[each.file, each.code] += 1
            shown += [each] * (number[each.file, each.code] <= _LISTED_ON_PAGE)
        page = replace(report, findings=tuple(shown))
        target = PageTarget(
            job.folder / results.FINDINGS, () if images is None else (images,), above=_RUN
        )
        write_report(page, target, None, job.own.validate, choices=job.own.choices)
    return report


def _audited(job: _Job, files: Sequence[Path]) -> str:
    """Write audit.csv, by a list of results in the project if there is one; return a message."""
    from bboxqa.pipelines.audit import audit_files

    lists = [file for file in files if is_results_list(file, job.own.choices)]
    labels, model = [file for file in files if file not in lists[:1]], next(iter(lists), None)
    try:
        result = audit_files(labels, model, job.own.agree, job.reading())
    except DatasetError as error:
        return f"not audited: {_line(error)}"
    write_tables(job.folder, {}, {"audit": result.suspects}, raw_csv=job.settings.raw_csv)
    n_worth = int(result.kinds["n_worth_a_look"].sum())
    return f"audit: {count(n_worth, 'place')} worth a look"


def _measured(job: _Job, files: Sequence[Path]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Write the agreement of a project; return values of its row, gates it misses, and notes."""
    settings, own = job.settings, job.own
    data, left_out = _read_objects(files, job)
    notes: list[str] = []
    # What cannot be read there fails its own project.
    with suppress(DatasetError):
        there, said = listed(job.project.folder, own.agree.filter, choices=own.choices)
        # Further projects may be inside.
        notes = said if {*map(str, there)} <= {*map(str, files)} else []
    left_out += notes if settings.pseudonyms is None else without_files(notes)
    data = replace(data, notes=(*data.notes, *map(settings.shown, left_out)))
    result = agree_with(data, own.agree)
    values, diagnosis, warnings = summary(result), None, []
    if settings.pages:
        try:
            diagnosis = result.diagnose()
            warnings += [text for text in diagnosis.warnings if text not in result.headlines]
        except OutputError as error:
            warnings.append(f"the page does not say what lowers agreement: {error}")
    if "consensus" in own.stages:
        from bboxqa.pipelines.consensus import MERGED, consensus_of_files, write_consensus
        from bboxqa.pipelines.convert import Target

        read = {each.name for each in data.sources}
        merged = [each for each in files if str(each) in read] or files
        # Outlines and key points are read as well, which agreement on boxes does not need.
        found, ids = consensus_of_files(merged, own.agree, job.reading())
        write_consensus(found, ids, Target(job.folder / MERGED, "coco"))
    documents = documents_of(result, values, diagnosis)
    write_folder(result, documents, job.folder, diagnosis=diagnosis, raw_csv=settings.raw_csv)
    if settings.pages:
        from bboxqa.pipelines.pictures import write_result
        from bboxqa.report.pages import PageTarget

        images = (job.project.images,) if settings.images and job.project.images else ()
        warnings += write_result(
            documents, PageTarget(job.folder / results.REPORT, images, above=_RUN)
        )
    first = values["thresholds"][0]
    existence, classes, place = first["existence"], first["class"], first["place"]
    low, high = first["interval"] or (None, None)
    f1_low, f1_high = existence["interval"] or (None, None)
    row = {
        "status": results.MEASURED, "low": low, "high": high, "f1_low": f1_low, "f1_high": f1_high,
        **{name: values[name] for name in ("n_images", "n_annotators", "n_annotations")},
        "alpha": first["alpha"], "mean_image_alpha": first["mean_image_alpha"],
        "f1": existence["f1"], "class_alpha": classes["alpha"], "class_share": classes["share"],
        "mean_iou": place["mean_iou"], "measure": result.thresholds[0].measure,
        "below_threshold": place["below_threshold"]["value"],
        "annotators": tuple(sorted(data.annotator_names)),
        "unused_names": tuple(data.map_notes),
    }  # fmt: skip
    status = [first["status"]] * (first["status"] != "ok")
    missed = [*missed_gates(first, msgspec.to_builtins(own.agree))]
    return row, missed, [*result.headlines, *status, *warnings]


def _read_objects(files: Sequence[Path], job: _Job) -> tuple[Dataset, list[str]]:
    """Return the data set of files, without lists of results beside others, and notes on these."""
    reading = job.reading(outlines=False, keypoints=False, within=job.project.folder)
    lists = [file for file in files if is_results_list(file, job.own.choices)]
    others = [file for file in files if file not in lists]
    if lists and others:
        names = first_few(lists, _FILES_NAMED, lambda each: one_line(each.name))
        note = f"lists of results left out, as the other files are measured: {names}"
        with suppress(NothingToCompareError):
            return read_for(others, job.own.agree, reading), [note]
    return read_for(files, job.own.agree, reading), []


Packed = tuple[Row, tuple[tuple[str, bytes], ...]]
"""The result of a project on another machine: its row, and the names and contents of its files."""


def run_packed(task: Task, settings: Settings, version: str) -> Packed:
    """Run a project on the worker of a cluster, in a temporary folder; return its files."""
    from distributed import get_worker

    if version != __version__:
        raise ConfigError(f"the worker has bboxqa {__version__}, and this run is of {version}")
    project, _ = task
    # Dask removes the folders of workers that were killed.
    scratch = get_worker().local_directory
    try:
        for file in () if project.url else project.files:
            if not file.exists():
                problem = "is not on the disk of the worker; share it, or give ROOT as a URL"
                raise OutputError(f"{file}: {problem}")
        with tempfile.TemporaryDirectory(prefix=".bboxqa-", dir=scratch) as folder:
            row = run_project(task, settings, Path(folder))
            made = sorted(results.folder_of(Path(folder), project.name).glob("*"))
            return row, tuple((each.name, each.read_bytes()) for each in made)
    except (OSError, BboxqaError) as error:
        return results.failed_row(project, _line(error)), ()


def write_packed(project: Project, packed: Packed, out: Path) -> Row:
    """Write the folder of a project that was run on a cluster."""
    row, files = packed
    if {file for file, _ in files} <= {results.FAILURE}:
        # The results of an earlier run stay, as for projects of this machine.
        for _, content in files:
            results.note_failure(out, project.name, content.decode("utf-8", "surrogateescape"))
        return row
    try:
        with results.filled(results.folder_of(out, project.name)) as scratch:
            for file, content in files:
                # Only the file name counts: a worker must not decide where files are written.
                (scratch / Path(file).name).write_bytes(content)
    except OSError as error:
        results.note_failure(out, project.name, traceback.format_exc())
        return results.failed_row(project, error)
    return row
