"""One project: validated, measured, and written into its folder."""

import json
import shutil
import traceback
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from math import isnan
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.batch.discovery import SPLITS, Project
from bboxqa.batch.folders import FAILURE, RECORD, filled, folder_of, note_failure
from bboxqa.batch.validated import Beside, Validated, validated
from bboxqa.config import AgreeSettings, ValidateSettings, settings_from, validate_settings_from
from bboxqa.config_files import read_settings, read_validate_settings
from bboxqa.errors import BboxqaError, ConfigError, NothingToCompareError, OutputError
from bboxqa.forked import beside, can_fork
from bboxqa.geometry.similarities.registry import needs_outlines
from bboxqa.io.coco import read_coco
from bboxqa.io.folder import write_folder
from bboxqa.io.writers import write_atomically
from bboxqa.pipeline import CountAll, agree_with
from bboxqa.report.summary import summary
from bboxqa.rules.registry import select
from bboxqa.shards import count_in_turn
from bboxqa.version import __version__
from bboxqa.words import clean

__all__ = [
    "LONG",
    "MEASURED",
    "Row",
    "Settings",
    "does_for_two",
    "failed",
    "key_of",
    "run_project",
    "settings_of",
]

MEASURED = "measured"
NOT_MEASURED = "not measured"
FAILED = "failed"

_BLOCK = 1 << 20
LONG = 1 << 22
"""From here on, in bytes of json, it is quicker to measure beside validating."""

# Where a result is written before it is complete.
_MEASURED = ".measured"
# An annotation has 50 bytes of json or more, and may need 200 of memory, in each process.
_OF_JSON = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides the results of a project.

    Attributes
    ----------
    agree, validate : mapping
        Settings of the two commands, unchecked values as TOML gives them.
    images : bool
        Whether the image files are looked at.
    memory : int, optional
        Bytes that a project is to get by with; changes no result.
    agree_over, validate_over : mapping
        Settings that go over those of the project as well: those of the command line.
    """

    agree: dict[str, Any]
    validate: dict[str, Any]
    images: bool = False
    memory: int | None = None
    agree_over: dict[str, Any] = field(default_factory=dict)
    validate_over: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a project; None where there is no such number.

    Attributes
    ----------
    project : str
    status : {"measured", "not measured", "failed"}
        Not measured are projects in which nothing was annotated by two.
    n_files, n_images, n_annotators, n_annotations : int or None
    alpha, low, high, mean_image_alpha : float or None
        Of the first threshold, with its 95 % interval.
    n_errors, n_warnings, n_infos : int or None
        Findings.
    passed : bool
        Whether no gate failed.
    message : str
        Why it was not measured, or failed; which gate failed.
    """

    project: str
    status: str
    n_files: int
    n_images: int | None = None
    n_annotators: int | None = None
    n_annotations: int | None = None
    alpha: float | None = None
    low: float | None = None
    high: float | None = None
    mean_image_alpha: float | None = None
    n_errors: int | None = None
    n_warnings: int | None = None
    n_infos: int | None = None
    passed: bool = True
    message: str = ""


def settings_of(project: Project, settings: Settings) -> tuple[AgreeSettings, ValidateSettings]:
    """Return the checked settings of a project: its own over those of the run.

    Raises
    ------
    ConfigError
        If its settings are wrong.
    """
    agree, validate = settings.agree, settings.validate
    if project.settings is not None:
        own = str(project.settings)
        agree = {**agree, **read_settings(own)}
        own_validate = read_validate_settings(own)
        _check_codes(own_validate, own)
        validate = {**validate, **own_validate}
    return (
        settings_from({**agree, **settings.agree_over}),
        validate_settings_from({**validate, **settings.validate_over}),
    )


def _check_codes(values: dict[str, Any], where: str) -> None:
    """Refuse rules that there are not, and say where they stand."""
    checked = validate_settings_from(values)
    try:
        for codes in (checked.select, checked.ignore, *checked.per_file_ignores.values()):
            select(codes, ())
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def key_of(project: Project, settings: Settings) -> str:
    """Return what a result depends on, as a digest: inputs, settings and version.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    agree, validate = settings_of(project, settings)
    digest = blake2b(digest_size=16)

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "big") + part)

    add(__version__.encode())
    add(msgspec.json.encode([agree, validate, settings.images]))
    for file in project.files:
        add(file.relative_to(project.folder).as_posix().encode("utf-8", "surrogateescape"))
        content = blake2b(digest_size=16)
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                content.update(block)
        add(content.digest())
    if settings.images and project.images is not None:
        for image in sorted(project.images.rglob("*")):
            add(image.relative_to(project.images).as_posix().encode("utf-8", "surrogateescape"))
            with suppress(OSError):
                # A link that leads nowhere is a finding, not an end.
                status = image.stat()
                add(f"{status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


def recorded(out: Path, project: str) -> tuple[str, Row] | None:
    """Return the key and the row of a project's last result; None if there is no complete one."""
    try:
        folder = folder_of(out, project)
        record = json.loads((folder / RECORD).read_bytes())
        # What somebody took away is made again.
        complete = set(record["files"]) <= {file.name for file in folder.iterdir()}
        return (str(record["key"]), Row(**record["row"])) if complete else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_project(
    project: Project,
    settings: Settings,
    out: Path,
    key: str,
    count_all: CountAll | None = None,
    validate_beside: Beside | None = None,
) -> Row:
    """Validate and measure one project, and write its folder.

    The folder is complete before it appears under its name. What fails because of the input is
    recorded; what fails because of the machine is not, and is tried again by the next run. Why
    is in ``failed.txt``.

    Parameters
    ----------
    project : Project
    settings : Settings
    out : Path
        The folder of the run.
    key : str
        What `key_of` returns.
    count_all : callable
        As for `agree_with`.
    validate_beside : callable, optional
        Validates elsewhere while this process measures. Without it and `count_all`, a second
        process does where that saves time.

    Returns
    -------
    Row
    """
    is_long = does_for_two(project.size, settings.memory)
    if is_long and count_all is None and can_fork():
        validate_beside = beside
        # Each of the two processes gets by with half of it.
        half = None if settings.memory is None else settings.memory // 2
        settings = replace(settings, memory=half)
    try:
        begun = _stamps(project)
        with filled(folder_of(out, project.name)) as scratch:
            row, keep, log = _run(project, settings, scratch, count_all, validate_beside)
            _check_unchanged(project, begun)
            name = "log.txt" if keep else FAILURE
            (scratch / name).write_text(log, "utf-8", "backslashreplace")
            if keep:
                files = sorted(file.name for file in scratch.iterdir())
                record = {"key": key, "row": asdict(row), "files": files}
                # Names that are no UTF-8 come back as they are.
                (scratch / RECORD).write_text(json.dumps(record), encoding="ascii")
    except (OSError, OutputError) as error:
        note_failure(out, project.name, traceback.format_exc())
        return failed(project, error)
    return row


def _stamps(project: Project) -> list[tuple[int, int]]:
    """Return what tells whether files have changed."""
    return [(stat.st_size, stat.st_mtime_ns) for stat in (f.stat() for f in project.files)]


def _check_unchanged(project: Project, begun: list[tuple[int, int]]) -> None:
    """Refuse a result whose parts are of different contents."""
    for file, now, before in zip(project.files, _stamps(project), begun, strict=True):
        if now != before:
            raise OutputError(f"{file}: changed while it was read; run the same again")


def failed(project: Project, error: OSError | OutputError) -> Row:
    """Return the row of a project that could not be run, or written, here and now."""
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return Row(project.name, FAILED, len(project.files), passed=False, message=reason)


def _run(
    project: Project,
    settings: Settings,
    scratch: Path,
    count_all: CountAll | None,
    validate_beside: Beside | None,
) -> tuple[Row, bool, str]:
    """Return the row of a project, whether it will be the same next time, and its log."""
    row = Row(project.name, FAILED, len(project.files))
    try:
        agree, validate = settings_of(project, settings)
        images = project.images if settings.images else None
        memory = settings.memory
        validating = partial(validated, project, validate, images, memory)
        found = validating() if validate_beside is None else None
        with validate_beside(validating) if validate_beside else nullcontext() as outcome:
            measured = _measured_into(scratch / _MEASURED, project, memory, agree, count_all)
            if outcome is not None:
                # What went wrong there goes wrong here, too, and is told.
                with suppress(EOFError, OSError):
                    found = outcome()
        found = found or validating()
        write_atomically(scratch / "findings.jsonl", found.lines)
        row = replace(
            row, n_errors=found.n_errors, n_warnings=found.n_warnings, n_infos=found.n_infos
        )
        if isinstance(measured, NothingToCompareError):
            row = replace(row, status=NOT_MEASURED, message=_line(measured))
        elif isinstance(measured, Exception):
            raise measured  # noqa: TRY301 - its findings had to be written first
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
        # What has not been moved is not complete.
        shutil.rmtree(scratch / _MEASURED, ignore_errors=True)
    return row, True, f"{row.status}\n{row.message}\n" if row.message else f"{row.status}\n"


def does_for_two(size: int, memory: int | None) -> bool:
    """Return whether a project is worth two processes, and the memory does for both.

    Parameters
    ----------
    size : int
        Of its json, in bytes.
    memory : int, optional
        Bytes that it is to get by with.
    """
    return size >= LONG and (memory is None or _OF_JSON * size <= memory)


def _splits(project: Project) -> bool:
    """Return whether files stand in several folders: splits of one data set, not annotators."""
    folders = {file.parent.name.lower() for file in project.files}
    return len(folders) > 1 and folders <= SPLITS


def _line(error: BboxqaError) -> str:
    """Return the first line of an error's text, with how many there are more."""
    problems = getattr(error, "problems", (str(error),))
    first = clean(problems[0]).replace("\n", " ")
    return first if len(problems) == 1 else f"{first} (and {len(problems) - 1} more)"


def _measured_into(
    folder: Path,
    project: Project,
    memory: int | None,
    agree: AgreeSettings,
    count_all: CountAll | None,
) -> dict[str, Any] | Exception:
    """Measure a project, and write the result into a folder.

    Return what its row says of it, or why there is nothing to say: its findings come before that.
    """
    try:
        data = read_coco(
            project.files,
            annotator_key=agree.annotator_key,
            attribution=agree.attribution or ("annotator-key" if _splits(project) else None),
            segmentation=needs_outlines(agree.similarity),
            digest=True,
            memory=memory,
        )
        in_turn = partial(count_in_turn, memory=memory)
        result = agree_with(data, agree, count_all=count_all or in_turn)
        values = summary(result)
        write_folder(result, values, folder)
    except BboxqaError as error:
        # Its frames would hold the annotations.
        return error.with_traceback(None)
    except Exception as error:  # noqa: BLE001 - raised where the findings are written
        return error
    first = values["thresholds"][0]
    low, high = first["interval"] or (None, None)
    return {
        "n_images": values["n_images"],
        "n_annotators": values["n_annotators"],
        "n_annotations": values["n_annotations"],
        "alpha": first["alpha"],
        "low": low,
        "high": high,
        "mean_image_alpha": first["mean_image_alpha"],
        "message": "" if first["status"] == "ok" else first["status"],
    }


def _gated(row: Row, agree: AgreeSettings, validate: ValidateSettings, found: Validated) -> Row:
    """Return the row with the gates that it fails."""
    failed = []
    if row.status == NOT_MEASURED and agree.min_alpha is not None:
        # An annotator key that was renamed must not turn a gate green.
        failed.append(f"there is no alpha, which does not reach {agree.min_alpha:g}")
    if row.status == MEASURED and agree.min_alpha is not None:
        alpha = float("nan") if row.alpha is None else row.alpha
        if isnan(alpha):
            failed.append(f"alpha is undefined, which does not reach {agree.min_alpha:g}")
        elif alpha < agree.min_alpha:
            failed.append(f"alpha {alpha:.4f} is below {agree.min_alpha:g}")
    if found.failed:
        failed.append(f"findings of severity {validate.fail_on} or above")
    if not failed:
        return row
    return replace(row, passed=False, message="; ".join(filter(None, [row.message, *failed])))
