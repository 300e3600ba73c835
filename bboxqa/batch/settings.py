"""The settings of a run and of each project, its gates, and what a result depends on."""

import json
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from bboxqa.batch.discovery import Project, files_of
from bboxqa.core.errors import naming
from bboxqa.core.files import digest_of
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.core.version import __version__
from bboxqa.formats.choices import choices_from
from bboxqa.formats.member import is_picture
from bboxqa.model.annotations import NO_CHOICES, Choices, completed
from bboxqa.model.settings import (
    AgreeSettings,
    SettingsFile,
    ValidateSettings,
    read_settings_file,
    validate_settings_from,
)
from bboxqa.pipelines.read import agree_settings_from
from bboxqa.report import agreement_summary


class Settings(msgspec.Struct, frozen=True):
    """Settings of a run."""

    agree: dict[str, Any]
    validate: dict[str, Any]
    """Settings of the two commands, as values of TOML; a project's settings override them."""
    images: bool = False
    agree_over: dict[str, Any] = msgspec.field(default_factory=dict)
    validate_over: dict[str, Any] = msgspec.field(default_factory=dict)
    """Settings that also override those of projects: options of the command line."""
    raw_csv: bool = False
    pages: bool = False
    """Whether pages of projects are made, with a diagnosis; does not change other results."""
    choices: Choices = NO_CHOICES
    reading: Choices = NO_CHOICES
    """What options and settings say of the files to read; projects override the latter."""
    stages: dict[str, bool] = msgspec.field(default_factory=dict)
    """What is made of projects besides, by key of the settings; theirs override it."""
    pseudonyms: Path | None = None
    """The key of pseudonyms, an absolute path."""

    def shown(self, value: Any) -> Any:
        """Return texts with the pseudonyms of all people in the key, if the run has one."""
        if self.pseudonyms is None:
            return value
        return hider(pseudonyms_of(self.pseudonyms, ()))(value)


class ProjectSettings(NamedTuple):
    """The checked settings of a project: its own replace those of the run, options both."""

    agree: AgreeSettings
    validate: ValidateSettings
    choices: Choices
    stages: list[str]


def settings_of(project: Project, settings: Settings) -> ProjectSettings:
    """Return the settings of a project; ConfigError names its file where they are wrong."""
    own, said, default = SettingsFile({}, {}, {}, {}), NO_CHOICES, {}
    if project.settings is not None:
        own = read_settings_file(str(project.settings))
        with naming(project.settings):
            agree_settings_from(own.agree)
        said = choices_from(own.reading, project.settings, inside=project.folder)
        default = {"similarity": "mask"} if "mask" in own.reading else {}
    stages = {**settings.stages, **own.stages}
    return ProjectSettings(
        agree_settings_from({**default, **settings.agree, **own.agree, **settings.agree_over}),
        validate_settings_from({**settings.validate, **own.validate, **settings.validate_over}),
        completed(settings.choices, completed(said, settings.reading)),
        [name for name, is_made in stages.items() if is_made],
    )


def gates(settings: Settings) -> str:
    """Return the gates in words, which a project's own settings may override."""
    agree = agree_settings_from({**settings.agree, **settings.agree_over})
    validate = validate_settings_from({**settings.validate, **settings.validate_over})
    found = agreement_summary.gates(msgspec.to_builtins(agree))
    lowest = [f"{name} at least {least:g}" for name, least in found.items()]
    return ", ".join([*lowest, f"no finding of {severities(validate)}"])


def severities(settings: ValidateSettings) -> str:
    """Return the severities of findings that fail a project, in words."""
    return f"severity {settings.fail_on}{'' if settings.fail_on == 'error' else ' or above'}"


def result_key(project: Project, settings: Settings) -> str:
    """Return a digest of inputs, settings and version; of images, only size and time count."""
    own: Any
    inputs: list[Any] = []
    if project.url:
        own = replace(settings, pages=False, pseudonyms=None)
        inputs += [project.url, *project.to_fetch(images=settings.images)]
    else:
        own = settings_of(project, settings)
        for file in (each for source in project.files for each in files_of(source)):
            digest = _stamp(file) if is_picture(file.name) else digest_of(file)
            inputs.append((file.relative_to(project.folder).as_posix(), digest))
        if settings.images and project.images is not None:
            for image in sorted(project.images.rglob("*")):
                inputs.append((image.relative_to(project.images).as_posix(), _stamp(image)))
    value = [__version__, settings.images, settings.raw_csv, own, inputs]
    # ASCII with escapes holds names that are not UTF-8.
    text = json.dumps(msgspec.to_builtins(value))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _stamp(image: Path) -> str:
    """Return size and time of an image; empty for a broken link, which is a finding."""
    with suppress(OSError):
        status = image.stat()
        return f"{status.st_size} {status.st_mtime_ns}"
    return ""
