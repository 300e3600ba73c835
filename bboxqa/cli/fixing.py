"""The fixes of `bboxqa validate`: shown, or written to files."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import refuse_inputs

if TYPE_CHECKING:
    from bboxqa.core.files import Identity
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.rules.fixes import Fixed


def show_changes(
    paths: tuple[Path, ...], settings: "ValidateSettings", options: dict[str, Any]
) -> bool:
    """Print the changes that fixes would make; return whether there are any."""
    from bboxqa.report.findings.text import change_lines

    changed = False
    for file, fixed, _ in _fixed(paths, settings, options):
        changed = changed or bool(fixed.changes)
        for line in change_lines(str(file), fixed.changes):
            click.echo(line)
    if not changed:
        click.echo("Nothing to fix.", err=True)
    return changed


def _fixed(
    paths: tuple[Path, ...], settings: "ValidateSettings", options: dict[str, Any]
) -> Iterator[tuple[Path, "Fixed", "Identity | None"]]:
    """Yield files, the results of fixing them, and their identity before they were read."""
    from bboxqa.core.files import identity_of
    from bboxqa.formats.sources import list_files
    from bboxqa.pipelines.validate import fix_file

    unsafe, images, truth = (options[name] for name in ("unsafe_fixes", "images", "ground_truth"))
    for file in list_files(paths, only_checked=True):
        identity = identity_of(file) if file.is_file() else None
        fixed = fix_file(file, settings, unsafe=unsafe, images=images, ground_truth=truth)
        yield file, fixed, identity


def write_fixed_files(
    paths: tuple[Path, ...], settings: "ValidateSettings", options: dict[str, Any]
) -> tuple[Path, ...]:
    """Write fixed files; return the files to validate afterwards."""
    from bboxqa.core.files import check_fixed, fixed_path, write_fixed
    from bboxqa.report.findings.text import change_summary

    in_place, result = options["in_place"], []
    inputs = (*paths, options["ground_truth"], options["baseline"])
    for file, fixed, identity in _fixed(paths, settings, options):
        if not fixed.changes:
            result.append(file)
            click.echo(f"{file}: nothing to fix", err=True)
            continue
        if not in_place:
            refuse_inputs([fixed_path(file)], inputs)
        check_fixed(file, in_place=in_place, force=options["force"])
        target = write_fixed(file, fixed.text, in_place=in_place, fixed=identity)
        result.append(target)
        click.echo(f"{file}: {change_summary(fixed.changes)} → {target}", err=True)
    return tuple(result)
