"""The row that a project becomes, and the settings that decide it."""

from dataclasses import dataclass, field
from typing import Any

from bboxqa.batch.projects.discovery import Project
from bboxqa.core.errors import ConfigError
from bboxqa.model.settings import (
    AgreeSettings,
    ValidateSettings,
    validate_settings_from,
)
from bboxqa.model.settings_files import read_validate_settings
from bboxqa.pipelines.settings import agree_settings_from, read_agree_settings
from bboxqa.rules.registry import select

__all__ = ["MEASURED", "Row", "Settings", "settings_of"]

MEASURED = "measured"
NOT_MEASURED = "not measured"
FAILED = "failed"


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
        agree = {**agree, **read_agree_settings(own)}
        own_validate = read_validate_settings(own)
        _check_codes(own_validate, own)
        validate = {**validate, **own_validate}
    return (
        agree_settings_from({**agree, **settings.agree_over}),
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
