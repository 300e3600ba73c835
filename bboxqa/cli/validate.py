"""`bboxqa validate`: what is wrong with COCO files."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import note_written
from bboxqa.cli.options import choice_option, files_argument, memory_option, path_option
from bboxqa.report.findings.registry import names, view

if TYPE_CHECKING:
    from bboxqa.model.findings import FoundReport
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.rules.fixes import Fixed

__all__ = ["validate"]

# People read some findings of each rule, programs all.
_LISTED = {"text": 10, "html": 100}


@click.command()
@files_argument("PATH…")
@path_option("--images", "Folder of the images: they are opened and compared with the file.", "DIR")
@click.option("--select", metavar="CODES", help="Only these rules, such as P,R0; default all.")
@click.option("--ignore", metavar="CODES", help="Not these rules, such as I007.")
@click.option(
    "--per-file-ignores",
    multiple=True,
    metavar="GLOB:CODES",
    help="Not these rules in files whose names match. Can be given several times.",
)
@choice_option("--output-format", names(), "What is printed", "text")
@choice_option(
    "--fail-on",
    ("error", "warning", "info"),
    "Exit with 1 if findings have this severity or a higher one; default error.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule.")
@click.option(
    "--fix", is_flag=True, help="Write NAME.fixed.json with the fixes that lose no information."
)
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="With --fix or --diff: also fixes that may lose or guess information.",
)
@click.option("--diff", is_flag=True, help="Print what --fix would change, and write nothing.")
@click.option(
    "--in-place", is_flag=True, help="With --fix: change the file itself, and keep NAME.json.bak."
)
@click.option("--force", is_flag=True, help="Replace an existing NAME.fixed.json.")
@path_option("--baseline", "Report only findings that are not in this file.")
@path_option("--write-baseline", "Write all findings to this file as known, and exit with 0.")
@click.option(
    "--max-findings",
    type=click.IntRange(min=0),
    metavar="N",
    help="List at most N findings for each rule and file, 0 for all; default 10 as text, 100 as "
    "html, otherwise all.",
)
@memory_option()
@click.option(
    "--config",
    metavar="FILE",
    help="Settings in TOML, in its table [validate]; default [tool.bboxqa.validate] in the "
    "nearest pyproject.toml. Options on the command line replace them.",
)
@path_option("--output", "Write to this file instead of printing.")
def validate(
    *,
    paths: tuple[Path, ...],
    images: Path | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    in_place: bool,
    force: bool,
    baseline: Path | None,
    write_baseline: Path | None,
    exit_zero: bool,
    memory: int | None,
    config: str | None,
    **options: Any,
) -> int:
    """Find what is wrong with COCO files.

    PATH is a COCO json file, or a folder of them. `bboxqa explain CODE` explains a rule.

    \b
    Exit code 0: fine. 1: something found, see --fail-on. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    if not paths:
        raise click.UsageError("no file given; try: bboxqa validate export.json")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes goes with --fix or --diff")
    if in_place and not fix:
        raise click.UsageError("--in-place goes with --fix")
    if fix and diff:
        raise click.UsageError("--diff writes nothing; give either --fix or --diff")
    if baseline and write_baseline:
        raise click.UsageError("give either --baseline or --write-baseline")
    if fix and not in_place and (baseline or write_baseline):
        raise click.UsageError("a baseline knows the file, not its mended copy; add --in-place")
    _check_options(options, diff=diff)
    for target in (options["output"], write_baseline):
        _spare(target, paths)
    settings = _settings(config, options)
    if diff:
        return _show_changes(paths, settings, images, unsafe=unsafe_fixes) and not exit_zero
    if fix:
        paths = _write_fixed(
            paths, settings, images, unsafe=unsafe_fixes, in_place=in_place, force=force
        )
    known = _baseline(baseline)
    limit = options["max_findings"]
    if limit is None:
        limit = _LISTED.get(options["output_format"], 0)
    listed = 0 if known is not None or write_baseline else limit
    report = _report(paths, settings, images, listed, memory)
    if write_baseline:
        from bboxqa.rules.baseline import write

        _check_examined(report)
        write(write_baseline, report)
        note_written(write_baseline)
        click.echo(f"Written: {write_baseline}, {len(report.findings):,} known findings", err=True)
        return 0
    if known is not None:
        from bboxqa.rules.baseline import new

        report = new(report, known, limit)
    _show(report, options | {"images": images, "config": config})
    _check_examined(report)
    failed = report.at_least(report.fail_on) > 0
    return 1 if failed and not exit_zero else 0


def _check_options(options: dict[str, Any], *, diff: bool) -> None:
    """Refuse options that would be without effect."""
    if options["statistics"] and options["output_format"] != "text":
        raise click.UsageError("--statistics is a table of its own; leave --output-format out")
    if diff and (options["statistics"] or options["output"] or options["output_format"] != "text"):
        raise click.UsageError("--diff prints changes only; leave out what is said of the report")


def _spare(target: Path | None, paths: tuple[Path, ...]) -> None:
    """Refuse to write a report over what it is about."""
    if target is not None and target.exists():
        from bboxqa.formats.inputs import list_files

        if any(target.samefile(file) for file in list_files(paths) if file.exists()):
            raise click.UsageError(f"{target} is one of the files to look at")


def _settings(config: str | None, options: dict[str, Any]) -> "ValidateSettings":
    """Return the settings of a file with those of the command line over them."""
    from bboxqa.model.settings import validate_settings_from
    from bboxqa.model.settings_files import project_settings, read_validate_settings

    values = dict(read_validate_settings(config) if config else project_settings(Path.cwd()))
    for name in ("select", "ignore"):
        if options[name] is not None:
            values[name] = _codes(options[name])
            if not values[name]:
                raise click.UsageError(f"--{name} names no rule")
    if options["fail_on"] is not None:
        values["fail_on"] = options["fail_on"]
    ignores: dict[str, list[str]] = {}
    for text in options["per_file_ignores"]:
        pattern, colon, codes = text.rpartition(":")
        if not (pattern and colon and codes):
            raise click.UsageError(f"--per-file-ignores is {text!r}; expected GLOB:CODES")
        ignores.setdefault(pattern, []).extend(_codes(codes))
    if ignores:
        values["per_file_ignores"] = ignores
    settings = validate_settings_from(values)
    _check_codes("--select" if options["select"] else "select", settings.select)
    _check_codes("--ignore" if options["ignore"] else "ignore", settings.ignore)
    for codes in settings.per_file_ignores.values():
        _check_codes("--per-file-ignores" if ignores else "per_file_ignores", codes)
    return settings


def _check_codes(name: str, codes: Sequence[str]) -> None:
    """Refuse codes that fit no rule, whatever the files hold."""
    from bboxqa.core.errors import ConfigError
    from bboxqa.rules.registry import select

    try:
        select(codes, ())
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _codes(text: str) -> list[str]:
    return [code.strip() for code in text.split(",") if code.strip()]


def _baseline(path: Path | None) -> Any:
    if path is None:
        return None
    from bboxqa.rules.baseline import read

    return read(path)


def _report(
    paths: tuple[Path, ...],
    settings: "ValidateSettings",
    images: Path | None,
    limit: int,
    memory: int | None,
) -> "FoundReport":
    from bboxqa.cli.console import tracking
    from bboxqa.pipelines.validate import validate_with

    with tracking() as progress:
        return validate_with(paths, settings, images, limit, memory, progress)


def _show(report: "FoundReport", options: dict[str, Any]) -> None:
    """Print a report, or write it."""
    output: Path | None = options["output"]
    if options["statistics"]:
        from bboxqa.report.findings.statistics import statistics_lines

        lines = statistics_lines(report)
    elif options["output_format"] == "text":
        from bboxqa.report.findings.as_text import text_lines

        colour = output is None and _is_terminal()
        lines = text_lines(report, colour=colour, options=_given(options))
    else:
        lines = view(options["output_format"])(report)
    if output is None:
        for line in lines:
            click.echo(line)
        return
    from bboxqa.core.files import write_atomically

    write_atomically(output, "".join(f"{line}\n" for line in lines).encode())
    note_written(output)
    click.echo(f"Written: {output}", err=True)


def _given(options: dict[str, Any]) -> str:
    """Return the options that decide what is found, as they are typed."""
    deciding = ("images", "config", "select", "ignore")
    given = [(f"--{name}", str(options[name])) for name in deciding if options[name] is not None]
    return "".join(f" {name} {shlex.quote(value)}" for name, value in given)


def _is_terminal() -> bool:
    from os import environ

    return bool(sys.stdout and sys.stdout.isatty()) and not environ.get("NO_COLOR")


def _check_examined(report: "FoundReport") -> None:
    """Refuse to call it a success where nothing was looked at."""
    from bboxqa.core.errors import DatasetError

    if not report.rules:
        raise DatasetError(
            ["nothing was examined: no chosen rule could look"],
            "Rules about images on disk need --images, others several files.",
        )
    records = sum(file.n_images + file.n_annotations + file.n_categories for file in report.files)
    if not records and not report.at_least(report.fail_on):
        raise DatasetError(["nothing was examined: there is no record in the files"])


def _show_changes(
    paths: tuple[Path, ...], settings: "ValidateSettings", images: Path | None, *, unsafe: bool
) -> int:
    """Print what a fix would change; return 1 if there is something."""
    from bboxqa.report.findings.changes import change_lines

    changed = False
    for file, fixed in _fixed(paths, settings, images, unsafe=unsafe):
        changed = changed or bool(fixed.changes)
        for line in change_lines(str(file), fixed.changes):
            click.echo(line)
    if not changed:
        click.echo("Nothing to mend.", err=True)
    return 1 if changed else 0


def _fixed(
    paths: tuple[Path, ...], settings: "ValidateSettings", images: Path | None, *, unsafe: bool
) -> Iterator[tuple[Path, "Fixed"]]:
    from bboxqa.formats.inputs import list_files
    from bboxqa.pipelines.validate import fix_file

    for file in list_files(paths):
        yield file, fix_file(file, settings, unsafe=unsafe, images=images)


def _write_fixed(
    paths: tuple[Path, ...],
    settings: "ValidateSettings",
    images: Path | None,
    *,
    unsafe: bool,
    in_place: bool,
    force: bool,
) -> tuple[Path, ...]:
    """Write mended files; return what is to be looked at afterwards."""
    from bboxqa.core.files import check_fixed, write_fixed
    from bboxqa.report.findings.changes import change_summary

    result = []
    for file, fixed in _fixed(paths, settings, images, unsafe=unsafe):
        if not fixed.changes:
            result.append(file)
            click.echo(f"{file}: nothing to mend", err=True)
            continue
        check_fixed(file, in_place=in_place, force=force)
        target = write_fixed(file, fixed.text, in_place=in_place)
        note_written(target)
        result.append(target)
        click.echo(f"{file}: {change_summary(fixed.changes)} → {target}", err=True)
    return tuple(result)
