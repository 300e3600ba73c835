"""A project run away from its folder of results: what comes of it is sent, and written there."""

import tempfile
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

from bboxqa.batch.project import failed, run_project
from bboxqa.batch.projects.discovery import Project
from bboxqa.batch.projects.store import Stored, fetched
from bboxqa.batch.result_folders import FAILURE, filled, folder_of, note_failure
from bboxqa.batch.rows import Row, Settings, settings_of
from bboxqa.batch.validation import RunElsewhere, ValidationOutcome, validate_project
from bboxqa.core.errors import BboxqaError, OutputError
from bboxqa.pipelines.agree import CountAll

__all__ = ["PackedResult", "Task", "run_packed", "run_task", "validate_fetched", "write_packed"]

Task = tuple[Project, str]
"""A project and the key of its result."""


@dataclass(frozen=True, slots=True)
class PackedResult:
    """What came of a project.

    Attributes
    ----------
    project : Project
    row : Row
    files : tuple of (str, bytes)
        The files of its folder; none, or only why, where it could not be run.
    """

    project: Project
    row: Row
    files: tuple[tuple[str, bytes], ...]


def run_task(task: Task, settings: Settings, out: Path) -> Row:
    """Run a project on this machine, and write its folder; see `run_project`."""
    project, key = task
    if not isinstance(project, Stored):
        return run_project(project, settings, out, key)
    # What a killed run leaves here is removed by the next one.
    scratch = out / "projects"
    scratch.mkdir(parents=True, exist_ok=True)
    return write_packed(run_packed(task, settings, scratch), out)


def run_packed(
    task: Task,
    settings: Settings,
    scratch: Path,
    count_all: CountAll | None = None,
    validate_beside: RunElsewhere | None = None,
) -> PackedResult:
    """Run a project in a folder that is removed afterwards, and keep its files.

    Parameters
    ----------
    task : Project and str
    settings : Settings
    scratch : Path
        Where the folder is made.
    count_all, validate_beside : callable
        As for `run_project`.

    Returns
    -------
    Parcel
    """
    project, key = task
    try:
        with tempfile.TemporaryDirectory(prefix=".bboxqa-", dir=scratch) as folder:
            out = Path(folder)
            if isinstance(project, Stored):
                with fetched(project, out, images=settings.images) as (local, root):
                    row = run_project(local, settings, out, key, count_all, validate_beside)
                return _named(project, row, _files(out, project), root)
            _check_shared(project)
            row = run_project(project, settings, out, key, count_all, validate_beside)
            return PackedResult(project, row, _files(out, project))
    except (OSError, OutputError) as error:
        return PackedResult(project, failed(project, error), ())
    except BboxqaError as error:
        return PackedResult(project, failed(project, OutputError(str(error))), ())


def write_packed(parcel: PackedResult, out: Path) -> Row:
    """Write the folder of a project."""
    name = parcel.project.name
    if {file for file, _ in parcel.files} <= {FAILURE}:
        # What is known from an earlier run stays, as it does on this machine.
        for _, content in parcel.files:
            note_failure(out, name, content.decode("utf-8", "surrogateescape"))
        return parcel.row
    try:
        with filled(folder_of(out, name)) as scratch:
            for file, content in parcel.files:
                # A worker is believed as far as its numbers go, and not where to write.
                (scratch / Path(file).name).write_bytes(content)
    except OSError as error:
        note_failure(out, name, traceback.format_exc())
        return failed(parcel.project, error)
    return parcel.row


def _check_shared(project: Project) -> None:
    """Refuse files that are not on a disk of this worker."""
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
    """Return what came of a fetched project with the names that its files have in the store."""
    return PackedResult(
        project,
        replace(row, message=row.message.replace(str(root), project.url)),
        tuple((name, _with_names(content, project, root)) for name, content in files),
    )


def _with_names(content: bytes, project: Stored, root: Path) -> bytes:
    """Return the content of a file with the names of the store."""
    return content.replace(str(root).encode("utf-8", "surrogateescape"), project.url.encode())


def validate_fetched(project: Project, settings: Settings, scratch: Path) -> ValidationOutcome:
    """Validate a project on whatever worker; its files may have to be fetched.

    Parameters and errors are as those of `run_packed` and `validate_project`.
    """
    if not isinstance(project, Stored):
        _check_shared(project)
        _, validate = settings_of(project, settings)
        images = project.images if settings.images else None
        return validate_project(project, validate, images, settings.memory)
    with fetched(project, scratch, images=settings.images) as (local, root):
        found = validate_fetched(local, settings, scratch)
        return replace(found, lines=_with_names(found.lines, project, root))
