"""Settings of `bboxqa validate`, from its options and a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.options.source_options import say_settings

if TYPE_CHECKING:
    from bboxqa.model.settings import ValidateSettings


def validate_settings(config: str | None, options: dict[str, Any]) -> "ValidateSettings":
    """Return the settings of a file, overridden by those of the command line."""
    from bboxqa.model.settings import validate_settings_from
    from bboxqa.model.settings_files import project_settings, read_validate_settings

    say_settings(config)
    values = dict(read_validate_settings(config) if config else project_settings(Path.cwd()))
    for name in ("select", "ignore"):
        if options[name] is not None:
            values[name] = _codes(options[name])
            if not values[name]:
                raise click.UsageError(f"--{name} names no rule")
    for name in ("fail_on", "min_severity"):
        if options[name] is not None:
            values[name] = options[name]
    if options["show_consequences"]:
        values["show_consequences"] = True
    ignores: dict[str, list[str]] = {}
    for text in options["per_file_ignores"]:
        pattern, colon, codes = text.rpartition(":")
        if not (pattern and colon and codes):
            raise click.UsageError(f"--per-file-ignores is {text!r}; expected GLOB:CODES")
        ignores.setdefault(pattern, []).extend(_codes(codes))
    if ignores:
        values["per_file_ignores"] = ignores
    names = {name: f"--{name.replace('_', '-')}" for name in values if options.get(name)}
    settings = validate_settings_from(values, names=names)
    _check_codes("--select" if options["select"] else "select", settings.select)
    _check_codes("--ignore" if options["ignore"] else "ignore", settings.ignore)
    for ignored in settings.per_file_ignores.values():
        _check_codes("--per-file-ignores" if ignores else "per_file_ignores", ignored)
    return settings


def _codes(text: str) -> list[str]:
    return [code.strip() for code in text.split(",") if code.strip()]


def _check_codes(name: str, codes: Sequence[str]) -> None:
    """Refuse codes that match no rule, before files are read."""
    from bboxqa.core.errors import ConfigError
    from bboxqa.rules.registry import select

    try:
        select(codes, ())
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
