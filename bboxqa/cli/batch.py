"""`bboxqa batch`: validate and measure many projects."""

import sys
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.options.agree_options import (
    asked_option,
    join_option,
    map_option,
    min_alpha_option,
    min_f1_option,
)
from bboxqa.cli.options.shared_options import (
    RenamedOption,
    choice_option,
    completed_configs,
    memory_option,
    path_option,
    pseudonyms_option,
    quiet_option,
    raw_csv_option,
)
from bboxqa.cli.options.source_options import reading_of, source_options
from bboxqa.cli.output.batch_output import (
    reporting,
    show_plan,
    show_result,
    show_some,
    warn_of_names,
    warn_of_settings,
)
from bboxqa.core.interrupts import signal_of, signal_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bboxqa.batch.rows import Settings


@click.command()
@click.argument("root", metavar="ROOT")
@map_option()
@join_option
@asked_option
@click.option(
    "--pattern", cls=RenamedOption, metavar="GLOB", help="Read only files whose names match."
)
@click.option(
    "--config",
    shell_complete=completed_configs,
    metavar="FILE",
    help="Settings in TOML (docs/batch.md); a bboxqa.toml in a project replaces them.",
)
@path_option("--out", "Folder of the results; default bboxqa-batch in the current folder.", "DIR")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of projects that run at a time; default one per core.",
)
@click.option(
    "--project-timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Fail a project that takes longer; default no limit. Not with --scheduler.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on a Dask cluster: tcp://host:8786, or local:N for N processes here.",
)
@click.option(
    "--resume/--fresh",
    default=True,
    help="Keep results of projects that are unchanged since the last run (default), or run all.",
)
@click.option(
    "--force", is_flag=True, help="Write to --out though it has other files, or another ROOT's."
)
@click.option("--follow-symlinks", is_flag=True, help="Follow links that lead out of ROOT.")
@click.option("--images", is_flag=True, help="Examine the image files in images/ as well.")
@click.option("--pages", is_flag=True, help="Write pages of each project; index.html links them.")
@min_alpha_option("Fail projects with a lower pooled alpha.")
@min_f1_option("Fail projects with a lower F1, whether annotators drew the same objects.")
@choice_option(
    "--fail-on",
    ("error", "warning", "info"),
    "Fail projects with findings of this severity or a higher one; default error.",
)
@source_options
@memory_option()
@raw_csv_option()
@pseudonyms_option
@click.option("--dry-run", is_flag=True, help="Print the projects that are found, and stop.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first project that fails.")
@quiet_option("Print the numbers of projects only.")
@choice_option(
    "--log-format", ("text", "json"), "Format of progress lines outside a terminal", "text"
)
def batch(
    *,
    root: str,
    pattern: str | None,
    out: Path | None,
    jobs: int | None,
    project_timeout: float | None,
    scheduler: str | None,
    resume: bool,
    force: bool,
    follow_symlinks: bool,
    dry_run: bool,
    fail_fast: bool,
    quiet: bool,
    log_format: str,
    **options: Any,
) -> int:
    """Validate and measure every project below a folder.

    A project is a folder with annotations in a format that agree reads, also inside annotations/,
    train/, valid/ or test/. The results: index.html, projects.csv, summary.json, history.sqlite,
    and a folder per project.

    \b
      bboxqa batch projects/ --dry-run           print the projects
      bboxqa batch projects/ --min-alpha 0.6     run those that are new or changed
      bboxqa batch s3://bucket/projects --scheduler tcp://host:8786
                                                 files of a store, on a cluster

    \b
    Exit code 0: passed. 1: a project failed or missed a gate. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.batch.projects.store_discovery import find_projects
    from bboxqa.batch.run import run_batch
    from bboxqa.core.parallel import cores

    out = out or Path("bboxqa-batch")
    pseudonyms = options["pseudonyms"]
    _check_options(root, jobs, project_timeout, scheduler, pseudonyms, dry_run=dry_run)
    settings = _settings(**options)
    if dry_run:
        found = find_projects(root, pattern, skip=out, follow_links=follow_symlinks)
        show_plan(found)
        warn_of_settings(root, options["config"], found)
        return 0
    with reporting(log_format, quiet=quiet) as on_project, _interruptible():
        result = run_batch(
            root,
            out,
            settings,
            pattern=pattern,
            jobs=jobs or cores(),
            fresh=not resume,
            fail_fast=fail_fast,
            force=force,
            follow_links=follow_symlinks,
            project_timeout=project_timeout,
            scheduler=scheduler,
            on_project=on_project,
        )
    if not result.found.projects:
        click.echo(
            f"Error: {root}: no project below this folder has annotations that are read\n"
            "Expected a folder for each project, with what `bboxqa agree` reads (docs/formats.md).",
            err=True,
        )
        show_some(result.found.unreadable, "unreadable: ", err=True)
        show_some(result.found.not_read, "nothing read in ", err=True)
        return 2
    show_result(result, out, quiet=quiet)
    warn_of_names(result.rows, settings)
    warn_of_settings(root, options["config"], result.found)
    return 0 if result.passed else 1


def _check_options(
    root: str,
    jobs: int | None,
    project_timeout: float | None,
    scheduler: str | None,
    pseudonyms: Path | None,
    *,
    dry_run: bool,
) -> None:
    """Refuse options that do not go together."""
    if project_timeout is not None and scheduler is not None:
        raise click.UsageError("--project-timeout is for this machine only, without --scheduler")
    if jobs is not None and scheduler is not None:
        raise click.UsageError("--jobs is for this machine only; with --scheduler, give local:N")
    if dry_run and pseudonyms is not None:
        raise click.UsageError("--dry-run prints the names of files; leave out --pseudonyms")
    if not root:
        # An empty shell variable must not stand for the current folder.
        raise click.UsageError("ROOT is empty; name a folder or a URL")


@contextmanager
def _interruptible() -> "Iterator[None]":
    """Print what an interrupted run keeps."""
    try:
        yield
    except KeyboardInterrupt as error:
        number = signal_of(error) or SIGINT
        kept = "the next run keeps the results of finished projects."
        click.echo(f"{signal_words(number)}; {kept}", err=True)
        sys.exit(128 + number)


def _settings(
    *,
    config: str | None,
    images: bool,
    min_alpha: float | None,
    min_f1: float | None,
    fail_on: str | None,
    raw_csv: bool,
    pages: bool,
    pseudonyms: Path | None,
    **agree_options: Any,
) -> "Settings":
    from bboxqa.batch.rows import Settings
    from bboxqa.formats.translation.choices import Choices, choices
    from bboxqa.model.settings import validate_settings_from
    from bboxqa.model.settings_files import read_validate_settings
    from bboxqa.pipelines.settings import agree_settings_from, read_agree_settings

    agree = read_agree_settings(config) if config else {}
    validate = dict(read_validate_settings(config)) if config else {}
    agree_options |= {"min_alpha": min_alpha, "min_f1": min_f1}
    agree_over = {name: value for name, value in agree_options.items() if value is not None}
    validate_over = {} if fail_on is None else {"fail_on": fail_on}
    names = {name: f"--{name.replace('_', '-')}" for name in agree_over}
    names["category_map"] = "--map"
    agree_settings_from({**agree, **agree_over}, names=names)
    validate_settings_from({**validate, **validate_over})
    return Settings(
        agree, validate, images, agree_over, validate_over, raw_csv, pages, choices(),
        Choices() if config is None else reading_of(config),
        # Workers may have another current folder.
        None if pseudonyms is None else pseudonyms.absolute(),
    )  # fmt: skip
