"""The row of results of a project, the settings of a run, and the digest of what it depends on."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b, file_digest
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from bboxqa.batch.discovery import Project, files_of, is_image
from bboxqa.batch.store import Stored, contents_to_fetch
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.core.text import clean
from bboxqa.core.version import __version__
from bboxqa.formats.choices import choices_from
from bboxqa.model.annotations import Choices, completed
from bboxqa.model.results import ThresholdResult
from bboxqa.model.settings import (
    AgreeSettings,
    ValidateSettings,
    read_settings_file,
    validate_settings_from,
)
from bboxqa.pipelines.agreement_result import AgreementResult
from bboxqa.pipelines.read import agree_settings_from
from bboxqa.rules.registry import selected_codes

MEASURED = "measured"
NOT_MEASURED = "not measured"
FAILED = "failed"

_SCRATCH = re.compile(r"/\.bboxqa-[^:]*")
"""Files in the hidden folder that is filled, in a message."""


class Settings(msgspec.Struct, frozen=True):
    """Settings of a run."""

    agree: dict[str, Any]
    validate: dict[str, Any]
    """Settings of the two commands, as values of TOML; a project's settings override them."""
    images: bool = False
    """Whether the image files are examined."""
    agree_over: dict[str, Any] = msgspec.field(default_factory=dict)
    validate_over: dict[str, Any] = msgspec.field(default_factory=dict)
    """Settings that also override those of projects: options of the command line."""
    raw_csv: bool = False
    """Whether cells that spreadsheets would run as formulas are written unchanged."""
    pages: bool = False
    """Whether pages of projects are made, with a diagnosis; does not change other results."""
    choices: Choices = msgspec.field(default_factory=Choices)
    """What the user states about files that lack it, such as the size of images."""
    reading: Choices = msgspec.field(default_factory=Choices)
    """The same for projects that do not state it themselves, if no option does."""
    stages: dict[str, bool] = msgspec.field(default_factory=dict)
    """What is made of projects besides, by key of the settings; theirs override it."""
    pseudonyms: Path | None = None
    """The key of pseudonyms, an absolute path, or None to call annotators by their names."""


class Row(msgspec.Struct, frozen=True):
    """Results of a project; unknown numbers are None."""

    project: str
    status: str
    """{"measured", "not measured", "failed"}. Not measured: no image was annotated by two."""
    n_files: int
    n_images: int | None = None
    n_annotators: int | None = None
    n_annotations: int | None = None
    alpha: float | None = None
    low: float | None = None
    high: float | None = None
    mean_image_alpha: float | None = None
    """Alpha of the first threshold, with its 95 % interval."""
    f1: float | None = None
    f1_low: float | None = None
    f1_high: float | None = None
    """F1 of pairs of annotators, whether they drew the same objects."""
    class_alpha: float | None = None
    class_share: float | None = None
    mean_iou: float | None = None
    measure: str = ""
    below_threshold: float | None = None
    """Agreement on class and place of objects that two or more drew; the name of the similarity,
    such as IoU; and the share of matched pairs below the threshold."""
    n_errors: int | None = None
    n_warnings: int | None = None
    n_infos: int | None = None
    """Numbers of findings."""
    passed: bool = True
    """Whether all gates were passed."""
    message: str = ""
    """Why the project was not measured or failed, headlines, and the gates that it missed."""
    annotators: tuple[str, ...] = ()
    """Their names, sorted; empty if the project was not measured."""
    unused_names: tuple[str, ...] = ()
    """Names of the category map that no category of the project has."""


def row_json(row: Row) -> dict[str, Any]:
    """Return a row as a value for JSON, with escaped control characters."""
    return {
        key: [*map(clean, value)] if isinstance(value, tuple)
        else clean(value) if isinstance(value, str) else value
        for key, value in asdict(row).items()
    }  # fmt: skip


def state_words(rows: Sequence[Row]) -> str:
    """Return how many projects have each status, and how many of the others missed a gate.

    Examples
    --------
    >>> state_words([Row("a", MEASURED, 1), Row("b", MEASURED, 1, passed=False)])
    '2 measured, 0 not measured, 0 failed; 1 missed a gate'
    """
    counts = Counter(row.status for row in rows)
    words = ", ".join(f"{counts[each]:,} {each}" for each in (MEASURED, NOT_MEASURED, FAILED))
    n_missed = sum(not row.passed and row.status != FAILED for row in rows)
    return f"{words}; {n_missed:,} missed a gate" if n_missed else words


def unused_by_all(rows: Sequence[Row], names: Iterable[str]) -> list[str]:
    """Return the names of a category map that no measured project has.

    A name that only some projects lack is as it should be: the map is for all of them.

    Examples
    --------
    >>> rows = [Row("a", MEASURED, 1, unused_names=("x", "y")), Row("b", FAILED, 1)]
    >>> unused_by_all([*rows, Row("c", MEASURED, 1, unused_names=("x",))], ["x", "y"])
    ['x']
    """
    lacking = [set(row.unused_names) for row in rows if row.status == MEASURED]
    return [name for name in names if lacking and all(name in each for each in lacking)]


def failed_row(project: Project, reason: object) -> Row:
    """Return the row of a project that failed for a reason, such as an error."""
    message = str(reason)
    if isinstance(reason, OSError) and reason.strerror:
        name = "" if reason.filename is None else f"{clean(str(reason.filename))}: "
        message = f"{name}{reason.strerror}"
    message = _SCRATCH.sub("", message)
    return Row(project.name, FAILED, len(project.files), passed=False, message=message)


def settings_of(project: Project, settings: Settings) -> tuple[AgreeSettings, ValidateSettings]:
    """Return the checked settings of a project: its own replace those of the run."""
    agree, validate = settings.agree, settings.validate
    if project.settings is not None:
        file = str(project.settings)
        own = read_settings_file(file)
        agree_settings_from(own.agree, file)
        _check_codes(own.validate, file)
        default = {"similarity": "mask"} if "mask" in own.reading else {}
        agree, validate = {**default, **agree, **own.agree}, {**validate, **own.validate}
    return (
        agree_settings_from({**agree, **settings.agree_over}),
        validate_settings_from({**validate, **settings.validate_over}),
    )


def stages_of(project: Project, settings: Settings) -> list[str]:
    """Return what is made of a project besides measuring it, such as "consensus"."""
    own = {} if project.settings is None else read_settings_file(str(project.settings)).stages
    return [name for name, is_made in {**settings.stages, **own}.items() if is_made]


def choices_of(project: Project, settings: Settings) -> Choices:
    """Return what is stated about the files of a project: by options, by itself, or for all."""
    own = Choices()
    if project.settings is not None:
        values = read_settings_file(str(project.settings)).reading
        own = choices_from(values, project.settings, inside=project.folder)
    return completed(settings.choices, completed(own, settings.reading))


def files_wanted(project: Project, agree: AgreeSettings) -> Project:
    """Return a project with the files whose names match the glob of its settings, if they have one.

    Raises DatasetError if there are none.
    """
    if agree.filter is None:
        return project
    pattern = agree.filter
    files = tuple(each for each in project.files if each.is_dir() or each.match(pattern))
    if not files:
        raise DatasetError([f"{project.folder}: no file matches filter {pattern!r}"])
    return replace(project, files=files)


def gates(settings: Settings) -> str:
    """Return the gates in words, which a project's own settings may override."""
    agree = agree_settings_from({**settings.agree, **settings.agree_over})
    severity = validate_settings_from({**settings.validate, **settings.validate_over}).fail_on
    higher = "" if severity == "error" else " or above"
    findings = f"no finding of severity {severity}{higher}"
    return ", ".join([*(f"{name} at least {least:g}" for name, least in _lowest(agree)), findings])


def _lowest(settings: AgreeSettings) -> list[tuple[str, float]]:
    """Return the figures with a gate, and their lowest accepted values."""
    lowest = (("alpha", settings.min_alpha), ("F1", settings.min_f1))
    return [(name, least) for name, least in lowest if least is not None]


def gates_not_measured(settings: AgreeSettings) -> list[str]:
    """Return the gates of agreement that a project without agreement to measure misses."""
    return [f"{name} was not measured, expected at least {x:g}" for name, x in _lowest(settings)]


def missed_gates(part: ThresholdResult, settings: AgreeSettings) -> list[str]:
    """Return the gates of agreement that are missed at a threshold."""
    missed = []
    for name, lowest in _lowest(settings):
        value = part.alpha if name == "alpha" else part.existence.f1
        if part.reaches(lowest) if name == "alpha" else part.reaches_f1(lowest):
            continue
        if name == "alpha" and part.alpha_has_no_meaning:
            missed.append(f"alpha has no meaning, expected at least {lowest:g}: give --min-f1")
        elif isnan(value):
            missed.append(f"{name} is undefined, expected at least {lowest:g}")
        else:
            missed.append(f"{name} {value:z.4f} is below {lowest:g}")
    return missed


def _check_codes(values: dict[str, Any], where: str) -> None:
    """Refuse codes that match no rule, naming the file."""
    checked = validate_settings_from(values)
    try:
        for codes in (checked.select, checked.ignore, *checked.per_file_ignores.values()):
            selected_codes(codes, ())
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def row_values(
    result: AgreementResult,
    values: Mapping[str, Any],
    agree: AgreeSettings,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return the values of a measured project in its row, from its result and the summary."""
    first = values["thresholds"][0]
    missed = missed_gates(result.thresholds[0], agree)
    status = first["status"]
    low, high = first["interval"] or (None, None)
    existence, classes = first["existence"], first["class"]
    f1_low, f1_high = existence["interval"] or (None, None)
    return {
        "n_images": values["n_images"],
        "n_annotators": values["n_annotators"],
        "n_annotations": values["n_annotations"],
        "alpha": first["alpha"],
        "low": low,
        "high": high,
        "mean_image_alpha": first["mean_image_alpha"],
        "f1": existence["f1"],
        "f1_low": f1_low,
        "f1_high": f1_high,
        "class_alpha": classes["alpha"],
        "class_share": classes["share"],
        "mean_iou": first["place"]["mean_iou"],
        "below_threshold": first["place"]["below_threshold"]["value"],
        "measure": result.thresholds[0].measure,
        "passed": not missed,
        "message": "; ".join(
            [*missed, *result.headlines, *([] if status == "ok" else [status]), *warnings]
        ),
    }


def shown(value: Any, settings: Settings) -> Any:
    """Return texts with the pseudonyms of all people in the key, if the run has one."""
    if settings.pseudonyms is None:
        return value
    return hider(pseudonyms_of(settings.pseudonyms, ()))(value)


def shown_row(row: Row, settings: Settings) -> Row:
    """Return a row whose message has pseudonyms, if the run has a key."""
    return replace(row, message=shown(row.message, settings))


def result_key(project: Project, settings: Settings) -> str:
    """Return a digest of inputs, settings and version; see `local_key`.

    For a project in a store it is computed from the listing, without fetching files.
    """
    if not isinstance(project, Stored):
        return local_key(project, settings)
    said = completed(settings.choices, settings.reading)
    contents = contents_to_fetch(project, images=settings.images)
    value = [
        __version__, settings.agree, settings.validate, settings.images, project.url,
        [
            (content.name, content.size, " ".join(f"{key}={text}" for key, text in content.stamps))
            for content in contents
        ],
        *_others(settings, said), *(name for name, is_made in settings.stages.items() if is_made),
    ]  # fmt: skip
    return blake2b(msgspec.json.encode(value), digest_size=16).hexdigest()


def local_key(project: Project, settings: Settings) -> str:
    """Return a digest of inputs, settings and version; of images, only size and time count."""
    agree, validate = settings_of(project, settings)
    said = choices_of(project, settings)
    digest = blake2b(digest_size=16)

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "big") + part)

    add(__version__.encode())
    add(msgspec.json.encode([agree, validate, settings.images, *_others(settings, said)]))
    for stage in stages_of(project, settings):
        add(stage.encode())
    for file in chain.from_iterable(map(files_of, project.files)):
        add(file.relative_to(project.folder).as_posix().encode("utf-8", "surrogateescape"))
        if is_image(file):
            add(_stamp(file))
            continue
        with file.open("rb") as stream:
            add(file_digest(stream, "blake2b").digest())
    if settings.images and project.images is not None:
        for image in sorted(project.images.rglob("*")):
            add(image.relative_to(project.images).as_posix().encode("utf-8", "surrogateescape"))
            add(_stamp(image))
    return digest.hexdigest()


def refuse_other_key(project: Project, settings: Settings, key: str) -> None:
    """Raise OutputError if a project changed since its key was computed."""
    if local_key(project, settings) != key:
        raise OutputError(f"{project.folder}: changed while it was read; run it again")


def _stamp(image: Path) -> bytes:
    """Return size and time of an image; empty for a broken link, which is a finding."""
    with suppress(OSError):
        status = image.stat()
        return f"{status.st_size} {status.st_mtime_ns}".encode()
    return b""


def _others(settings: Settings, said: Choices) -> list[str | Choices]:
    """Return further settings that affect results; empty by default, as in earlier versions."""
    chosen = [] if said == Choices() else [said]
    return [*(["raw csv"] if settings.raw_csv else []), *chosen]
