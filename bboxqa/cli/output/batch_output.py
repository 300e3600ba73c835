"""What `bboxqa batch` prints: projects found, their progress, and the result."""

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bboxqa.batch.projects.discovery import Discovered
    from bboxqa.batch.rows import Row, Settings
    from bboxqa.batch.run import BatchResult, Step

_SHOWN = 20


def show_plan(found: "Discovered") -> None:
    """Print the projects that would be run."""
    from bboxqa.core.text import count, one_line

    for project in found.projects:
        files = ", ".join(str(file.relative_to(project.folder)) for file in project.files)
        settings = ", own settings" if project.settings else ""
        images = ", images" if project.images else ""
        click.echo(f"{one_line(project.name)}: {one_line(files)}{images}{settings}")
    click.echo(f"{count(len(found.projects), 'project')}")
    show_some(found.left_alone, "not annotations: ", err=True)
    show_some(found.unreadable, "unreadable: ", err=True)
    show_some(found.not_read, "nothing read in ", err=True)


def warn_of_settings(root: str, config: str | None, found: "Discovered") -> None:
    """Warn of settings files that do not belong to any project."""
    from bboxqa.batch.projects.discovery import SETTINGS_FILE

    settings = Path(root) / SETTINGS_FILE
    of_projects = {project.settings for project in found.projects}
    if config is None and settings.is_file() and settings not in of_projects:
        click.echo(
            f"Warning: {settings} is not in the folder of a project, and is not used; "
            f"for all projects: --config {settings}",
            err=True,
        )


def warn_of_names(rows: "Sequence[Row]", settings: "Settings") -> None:
    """Warn of projects whose names are those of annotators who have pseudonyms."""
    from bboxqa.batch.shown_names import n_named_after_people
    from bboxqa.core.text import count

    if number := n_named_after_people(rows, settings):
        has = "is" if number == 1 else "are"
        click.echo(
            f"Warning: {count(number, 'project')} {has} named after annotators, and results show "
            "the names of projects; rename the folders, and run with another --out",
            err=True,
        )


def show_some(items: "Iterable[object]", before: str, *, err: bool = False) -> None:
    """Print the first lines, and the number of the others."""
    from bboxqa.core.text import one_line

    lines = [one_line(str(item)) for item in items]
    for line in lines[:_SHOWN]:
        click.echo(f"{before}{line}", err=err)
    if len(lines) > _SHOWN:
        click.echo(f"{before}… and {len(lines) - _SHOWN:,} more", err=err)


@contextmanager
def reporting(log_format: str, *, quiet: bool) -> "Iterator[Callable[[Step], None] | None]":
    """Yield a function to call after each project: a bar on a terminal, otherwise lines."""
    from bboxqa.cli.output.console import tracking

    if quiet:
        yield None
        return
    with tracking(counted=True) if log_format == "text" else nullcontext() as progress:

        def report(step: "Step") -> None:
            if progress is None:
                if log_format == "text" and step.reused and step.row.passed:
                    return
                click.echo(_line_of(step, log_format), err=True)
            else:
                progress("projects", step.done, step.total)

        yield report


def _line_of(step: "Step", log_format: str) -> str:
    """Return the outcome of a project as a line of text or JSON."""
    from bboxqa.core.text import clean, count, one_line

    row = step.row
    if log_format == "json":
        import dataclasses

        import msgspec

        value = dataclasses.asdict(row) | {
            "project": clean(row.project),
            "message": clean(row.message),
            "reused": step.reused,
            "done": step.done,
            "total": step.total,
        }
        return msgspec.json.encode(value).decode()
    figures = (("alpha", row.alpha), ("F1", row.f1))
    agreement = "".join(f", {name} {value:z.4f}" for name, value in figures if value is not None)
    errors = "" if row.n_errors is None else f", {count(row.n_errors, 'error')}"
    again = " (unchanged)" if step.reused else ""
    note = f": {one_line(row.message)}" if row.message else ""
    name = one_line(row.project)
    return f"{step.done}/{step.total} {name}{again}: {row.status}{agreement}{errors}{note}"


def show_result(result: "BatchResult", out: Path, *, quiet: bool) -> None:
    """Print how many projects were measured, and what each missed."""
    from bboxqa.batch.rows import state_words
    from bboxqa.core.text import count

    rows = result.rows
    said = result.worse or result.found.unreadable or result.found.left_alone
    if result.n_reused == len(rows) and result.passed and not said:
        n_places = len(result.found.not_read)
        others = f"; nothing read in {count(n_places, 'place')}" if n_places else ""
        page = out / "index.html"
        click.echo(f"{count(len(rows), 'project')}, unchanged since the last run{others}: {page}")
        return
    click.echo(f"{count(len(rows), 'project')}, {result.n_reused:,} unchanged; {state_words(rows)}")
    if quiet:
        return
    if result.n_left:
        click.echo(f"  stopped: {count(result.n_left, 'project')} not run")
    bad = [row for row in rows if not row.passed]
    reasons = {row.message for row in bad}
    unreadable = (text for text in map(str, result.found.unreadable) if text not in reasons)
    show_some(unreadable, "  unreadable: ")
    show_some((f"{row.project}: {row.message}" for row in bad), "  ")
    show_some((f"{part.project}: {part.what}" for part in result.worse), "  worse: ")
    names = (f"no measured project has a category called {each!r}" for each in result.unused_names)
    show_some(names, "  --map: ")
    show_some(result.found.not_read, "  nothing read in ")
    if result.found.left_alone:
        n_files = count(len(result.found.left_alone), "file")
        click.echo(f"  not annotations: {n_files} ignored, listed in {out / 'index.html'}:")
        show_some(result.found.left_alone, "    ")
    click.echo(f"Written: {out / 'index.html'}")
