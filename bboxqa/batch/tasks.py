"""Running projects without access to the folder of results, by sending the result's files."""

import os
import tempfile
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

from bboxqa.batch.discovery import Project
from bboxqa.batch.project import run_project
from bboxqa.batch.results import FAILURE, filled, folder_of, note_failure
from bboxqa.batch.rows import Row, Settings, failed_row
from bboxqa.batch.store import Stored, fetched
from bboxqa.core.errors import BboxqaError, OutputError
from bboxqa.pipelines.agree import CountAll

Task = tuple[Project, str]
"""A project and the key of its result."""


@dataclass(frozen=True, slots=True)
class PackedResult:
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
