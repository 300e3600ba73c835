"""`bboxqa batch`: validate and measure many projects."""

import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, COMPARE, OUT, READ, Option, params
from bboxqa.core.interrupts import signal_of, signal_words
from bboxqa.core.text import count, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bboxqa.batch.run import BatchResult, Step
    from bboxqa.batch.settings import Settings

_SHOWN = 20


_OPTIONS = params(
    "map", "join", "asked",
    Option("--pattern GLOB", READ, "Read only files whose names match."),
    Option("--config FILE", COMPARE,
        "Settings in TOML (docs/batch.md); a bboxqa.toml in a project replaces them."),
    Option("-o --out DIR", OUT,
        "Folder of the results; default bboxqa-batch in the current folder.", type=A_PATH),
    Option("--jobs N", OUT, "Number of projects that run at a time; default one per core.",
        type=click.IntRange(min=1)),
    Option("--project-timeout SECONDS", OUT,
        "Fail a project that takes longer; default no limit. Not with --scheduler.", rare=True,
        type=click.FloatRange(min=0, min_open=True)),
    Option("--scheduler ADDRESS", OUT,
        "Run on a Dask cluster: tcp://host:8786, or local:N for N processes here."),
    Option("--resume/--fresh", OUT,
        "Keep results of projects that are unchanged since the last run (default), or run all.",
        default=True),
    Option("--force", OUT, "Write to --out though it has other files, or another ROOT's.",
        is_flag=True),
    Option("--follow-symlinks", OUT, "Follow links that lead out of ROOT.", to="follow_links",
        rare=True, is_flag=True),
    Option("--images", OUT, "Examine the image files in images/ as well.", is_flag=True),
    Option("--pages", OUT, "Write pages of each project; index.html links them.", is_flag=True),
    "min_alpha", "min_f1",
    Option("--fail-on", OUT,
        "Fail projects with findings of this severity or a higher one; default error.",
        type=shared.A_SEVERITY),
    *(each for each in shared.SOURCE_OPTIONS if each != "mask"), "memory", "raw_csv", "pseudonyms",
    Option("--dry-run", OUT, "Print the projects that are found, and stop.", is_flag=True),
    Option("--fail-fast", OUT, "Stop at the first project that fails.", rare=True, is_flag=True),
    "quiet",
    Option("--log-format", OUT, "Format of progress lines outside a terminal; default text.",
        rare=True, type=click.Choice(("text", "json")), default="text"),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
@click.argument("root", metavar="ROOT")
def batch(
    *,
    root: str,
    out: Path | None,
    resume: bool,
    dry_run: bool,
    quiet: bool,
    log_format: str,
    **given: Any,
) -> int:
    """Validate and measure every project below a folder.

    A project is a folder with annotations in a format that agree reads, also inside annotations/,
    train/, valid/ or test/. The results: index.html, projects.csv, summary.json, history.sqlite,
    and a folder per project. A project that cannot be read fails, and the exit code is 1.

    \b
      bboxqa batch projects/ --dry-run           print the projects
      bboxqa batch projects/ --min-alpha 0.6     run those that are new or changed
      bboxqa batch s3://bucket/projects --scheduler tcp://host:8786
                                                 files of a store, on a cluster
    """  # noqa: D301 - click reads the sign
    from bboxqa.batch.discovery import find_projects
    from bboxqa.batch.run import Run, run_batch
    from bboxqa.core.machine import cores

    out = out or Path("bboxqa-batch")
    on_cluster = given["scheduler"] is not None
    console.refuse_options(
        (on_cluster and given["project_timeout"] is not None,
         "--project-timeout is for this machine only, without --scheduler"),
        (on_cluster and given["jobs"] is not None,
         "--jobs is for this machine only; with --scheduler, give local:N"),
        (dry_run and given["pseudonyms"] is not None,
         "--dry-run prints the names of files; leave out --pseudonyms"),
        # An empty shell variable must not stand for the current folder.
        (not root, "ROOT is empty; name a folder or a URL"),
    )  # fmt: skip
    names = ("pattern", "jobs", "project_timeout", "scheduler", "fail_fast", "force")
    how = {name: given.pop(name) for name in (*names, "follow_links")}
    run = Run(**how | {"jobs": how["jobs"] or cores(), "fresh": not resume})
    settings = _settings(given)
    if dry_run:
        found = find_projects(root, run.pattern, skip=out, follow_links=run.follow_links)
        for project in found.projects:
            files = ", ".join(str(file.relative_to(project.folder)) for file in project.files)
            more = ", images" * bool(project.images) + ", own settings" * bool(project.settings)
            click.echo(f"{one_line(project.name)}: {one_line(files)}{more}")
        click.echo(count(len(found.projects), "project"))
        _show_some(found.left_alone, "not annotations: ", err=True)
    else:
        try:
            with _reporting(log_format, quiet=quiet) as on_project:
                result = run_batch(root, out, settings, run, on_project)
        except KeyboardInterrupt as error:
            number = signal_of(error) or SIGINT
            kept = "the next run keeps the results of finished projects."
            click.echo(f"{signal_words(number)}; {kept}", err=True)
            sys.exit(128 + number)
        found = result.found
        if not found.projects:
            click.echo(
                f"Error: {root}: no project below this folder has annotations that are read\n"
                "Expected a folder for each project, with what `bboxqa agree` reads "
                "(docs/formats.md); for masks, a bboxqa.toml with mask in [reading].",
                err=True,
            )
    if dry_run or not found.projects:
        _show_some(found.unreadable, "unreadable: ", err=True)
        _show_some(found.not_read, "nothing read in ", err=True)
        return 0 if dry_run else 2
    _show_result(result, out, quiet=quiet)
    if number := sum(settings.shown(row.project) != row.project for row in result.rows):
        click.echo(
            f"Warning: {count(number, 'project')} named after annotators, and results show the "
            "names of projects; rename the folders, and run with another --out",
            err=True,
        )
    return 0 if result.passed else 1


def _settings(given: dict[str, Any]) -> "Settings":
    """Return the settings of all projects; those of the command line come first."""
    from bboxqa.batch.settings import Settings
    from bboxqa.formats.choices import choices_from
    from bboxqa.model.settings import SettingsFile, read_settings_file, validate_settings_from

    config, pseudonyms = given.pop("config"), given.pop("pseudonyms")
    flags = {name: given.pop(name) for name in ("images", "raw_csv", "pages")}
    fail_on, choices = given.pop("fail_on"), shared.reading_of(None, given)
    agree_over = {name: value for name, value in given.items() if value is not None}
    validate_over = {} if fail_on is None else {"fail_on": fail_on}
    file = read_settings_file(config) if config else SettingsFile({}, {}, {}, {})
    # Wrong settings are refused before projects are looked for.
    shared.agree_settings(config, agree_over)
    validate_settings_from({**file.validate, **validate_over})
    return Settings(
        file.agree, file.validate, agree_over=agree_over, validate_over=validate_over,
        choices=choices, reading=choices_from(file.reading, Path(config or "")),
        stages=file.stages, **flags,
        # Workers may have another current folder.
        pseudonyms=None if pseudonyms is None else pseudonyms.absolute(),
    )  # fmt: skip


def _show_some(items: "Iterable[object]", before: str, *, err: bool = False) -> None:
    """Print the first lines, and the number of the others."""
    lines = [one_line(str(item)) for item in items]
    for line in lines[:_SHOWN]:
        click.echo(f"{before}{line}", err=err)
    if len(lines) > _SHOWN:
        click.echo(f"{before}… and {len(lines) - _SHOWN:,} more", err=err)


@contextmanager
def _reporting(log_format: str, *, quiet: bool) -> "Iterator[Callable[[Step], None] | None]":
    """Yield a function to call after each project: a bar on a terminal, otherwise lines."""
    if quiet:
        yield None
        return
    with console.tracking(counted=True) if log_format == "text" else nullcontext() as progress:

        def report(step: "Step") -> None:
            if progress is not None:
                progress("projects", step.done, step.total)
            elif log_format == "json" or not (step.reused and step.row.passed):
                click.echo(_line_of(step, log_format), err=True)

        yield report


def _line_of(step: "Step", log_format: str) -> str:
    row = step.row
    if log_format == "json":
        import msgspec

        from bboxqa.batch.results import row_json

        steps = {"reused": step.reused, "done": step.done, "total": step.total}
        return msgspec.json.encode(row_json(row) | steps).decode()
    figures = (("alpha", row.alpha), ("F1", row.f1))
    agreement = "".join(f", {name} {value:z.4f}" for name, value in figures if value is not None)
    errors = "" if row.n_errors is None else f", {count(row.n_errors, 'error')}"
    name = one_line(row.project) + " (unchanged)" * step.reused
    note = f": {one_line(row.message)}" if row.message else ""
    return f"{step.done}/{step.total} {name}: {row.status}{agreement}{errors}{note}"


def _show_result(result: "BatchResult", out: Path, *, quiet: bool) -> None:
    from bboxqa.batch.results import state_words

    rows = result.rows
    click.echo(f"{count(len(rows), 'project')}, {result.n_reused:,} unchanged; {state_words(rows)}")
    if quiet:
        return
    if result.n_left:
        click.echo(f"  stopped: {count(result.n_left, 'project')} not run")
    bad = [row for row in rows if not row.passed]
    reasons = {row.message for row in bad}
    unreadable = (text for text in map(str, result.found.unreadable) if text not in reasons)
    _show_some(unreadable, "  unreadable: ")
    _show_some((f"{row.project}: {row.message}" for row in bad), "  ")
    _show_some((f"{part.project}: {part.what}" for part in result.worse), "  worse: ")
    names = (f"no measured project has a category called {each!r}" for each in result.unused_names)
    _show_some(names, "  --map: ")
    _show_some(result.found.not_read, "  nothing read in ")
    if result.found.left_alone:
        n_files = count(len(result.found.left_alone), "file")
        click.echo(f"  not annotations: {n_files} ignored, listed in {out / 'index.html'}:")
        _show_some(result.found.left_alone, "    ")
    click.echo(f"Written: {out / 'index.html'}")
