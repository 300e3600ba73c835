"""`bboxqa validate`: defects of annotation files."""

import shlex
import sys
from os import environ
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import write_output
from bboxqa.cli.fixing import show_changes, write_fixed_files
from bboxqa.cli.options.shared_options import (
    A_PATH,
    choice_option,
    completed,
    completed_configs,
    files_argument,
    format_option,
    memory_option,
    path_option,
    pseudonyms_option,
    quiet_option,
    split_option,
    top_option,
    written_option,
)
from bboxqa.cli.options.source_options import source_options
from bboxqa.cli.options.validate_settings import validate_settings
from bboxqa.cli.validate_checks import check_options, check_outputs
from bboxqa.report.registry import FINDING_VIEWS, view

if TYPE_CHECKING:
    from bboxqa.model.findings import FoundReport
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.report.pages.page_file import PageTarget

# Findings listed per rule: a few for people, all for programs.
_LISTED = {"text": 10, "html": 100}


@click.command()
@files_argument("PATH…")
@click.option(
    "--images",
    multiple=True,
    type=A_PATH,
    metavar="DIR",
    help="Folder of the images, or a folder above them and the file: they are opened and compared "
    "with the file. Can be given several times.",
)
@path_option("--ground-truth", "The COCO file that results belong to.", "FILE")
@click.option(
    "--select",
    metavar="CODES",
    shell_complete=completed("bboxqa.rules.registry:known_rules"),
    help="Only these rules, such as P,R0; default all.",
)
@click.option(
    "--ignore",
    metavar="CODES",
    shell_complete=completed("bboxqa.rules.registry:known_rules"),
    help="Not these rules, such as I007.",
)
@click.option(
    "--per-file-ignores",
    multiple=True,
    metavar="GLOB:CODES",
    help="Not these rules in files whose names match. Can be given several times.",
)
@format_option(*FINDING_VIEWS)
@choice_option(
    "--fail-on",
    ("error", "warning", "info"),
    "Exit with 1 if findings have this severity or a higher one; default error.",
)
@choice_option(
    "--min-severity",
    ("error", "warning", "info"),
    "List findings of this severity or a higher one; default info.",
)
@click.option(
    "--show-consequences", is_flag=True, help="Also list what follows from other findings."
)
@quiet_option("Print the numbers of findings only.")
@click.option("-v", "--verbose", is_flag=True, help="Print all listed findings and excerpts.")
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
@click.option(
    "--force",
    is_flag=True,
    help="Replace an existing NAME.fixed.json, and with --split a folder of pages.",
)
@path_option("--baseline", "Report only findings that are not in this file.")
@path_option("--write-baseline", "Write all findings to this file as known, and exit with 0.")
@click.option(
    "--max-findings",
    type=click.IntRange(min=0),
    metavar="N",
    help="List at most N findings for each rule and file, 0 for all; default 10 as text, 100 as "
    "html, otherwise all.",
)
@source_options
@memory_option()
@click.option(
    "--config",
    shell_complete=completed_configs,
    metavar="FILE",
    help="Settings in TOML, in its table [validate]; default [tool.bboxqa.validate] in the "
    "nearest pyproject.toml. Options on the command line replace them.",
)
@path_option("--report", "Write a page of html with pictures of the findings to this file.")
@pseudonyms_option
@split_option
@top_option("With --report: how many images have pictures on the page")
@written_option()
def validate(
    *, paths: tuple[Path, ...], config: str | None, exit_zero: bool, **options: Any
) -> int:
    """Find what is wrong with files of annotations.

    PATH is a COCO JSON file, what another tool wrote (docs/formats.md), or a folder of them.
    `bboxqa explain CODE` explains a rule.

    \b
    Exit code 0: fine. 1: something found, see --fail-on. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    check_options(paths, options)
    check_outputs(paths, config, options)
    options["images"] = options["images"] or None
    settings = validate_settings(config, options)
    if options["diff"]:
        changed = show_changes(paths, settings, options)
        return 1 if changed and not exit_zero else 0
    if options["fix"]:
        paths = write_fixed_files(paths, settings, options)
    page = _page(options)
    report = _report(paths, settings, options)
    if page is not None:
        from bboxqa.cli.output.console import show_notes, tracking
        from bboxqa.pipelines.result_pages import write_report

        with tracking() as progress:
            notes = write_report(report, page, progress, settings, _shown_truth(options))
        show_notes(notes)
        click.echo(f"Written: {page.page}", err=True)
    is_for_readers = options["output_format"] == "text" or options["write_baseline"]
    if is_for_readers:
        _check_examined(report)
    if options["write_baseline"]:
        _write_baseline(options["write_baseline"], report)
        return 0
    _show(report, options | {"config": config})
    if not is_for_readers:
        # Programs that read the output expect it in any case.
        _check_examined(report)
    return 1 if report.at_least(report.fail_on) and not exit_zero else 0


def _page(options: dict[str, Any]) -> "PageTarget | None":
    """Return the target of the page, if one was requested."""
    if options["report"] is None:
        return None
    from bboxqa.report.pages.page_file import PageTarget

    page = PageTarget(options["report"], options["images"] or (), options["split"], options["top"])
    page.check(force=options["split"] and options["force"])
    return page


def _report(
    paths: tuple[Path, ...], settings: "ValidateSettings", options: dict[str, Any]
) -> "FoundReport":
    """Return the findings, without those of the baseline."""
    from bboxqa.cli.output.console import tracking
    from bboxqa.pipelines.validate import validate_with
    from bboxqa.rules import baseline

    known = None if options["baseline"] is None else baseline.read(options["baseline"])
    limit = options["max_findings"]
    if limit is None:
        limit = _LISTED.get("html" if options["report"] else options["output_format"], 0)
    listed = 0 if known is not None or options["write_baseline"] else limit
    with tracking() as progress:
        report = validate_with(
            paths,
            settings,
            options["images"],
            options["ground_truth"],
            listed,
            progress,
            options["pseudonyms"],
        )
    return report if known is None else baseline.new(report, known, limit)


def _write_baseline(path: Path, report: "FoundReport") -> None:
    from bboxqa.rules import baseline

    baseline.write(path, report)
    click.echo(f"Written: {path}, {len(report.findings):,} known findings", err=True)


def _show(report: "FoundReport", options: dict[str, Any]) -> None:
    """Print a report, or write it."""
    output: Path | None = options["output"]
    if options["statistics"]:
        from bboxqa.report.findings.statistics import statistics_lines

        lines = statistics_lines(report)
    elif options["output_format"] == "text":
        from bboxqa.report.findings.as_text import summary_lines, text_lines

        terminal = output is None and bool(sys.stdout and sys.stdout.isatty())
        colour = terminal and not environ.get("NO_COLOR")
        verbose = options["verbose"] or options["max_findings"] is not None
        width = get_terminal_size().columns if terminal else None
        lines = text_lines(
            report, colour=colour, options=_typed(options), verbose=verbose, width=width
        )
        if options["quiet"]:
            lines = summary_lines(report)
    else:
        lines = view(FINDING_VIEWS, options["output_format"])(report)
    if output is None:
        for line in lines:
            click.echo(line)
        return
    write_output(output, "".join(f"{line}\n" for line in lines))


def _typed(options: dict[str, Any]) -> str:
    """Return the options that affect findings, as they are typed."""
    deciding = ("ground_truth", "config", "select", "ignore")
    given = [("--images", str(folder)) for folder in options["images"] or ()]
    given += [
        (f"--{name.replace('_', '-')}", str(options[name]))
        for name in deciding
        if options[name] is not None
    ]
    return "".join(f" {name} {shlex.quote(_shown(value, options))}" for name, value in given)


def _shown_truth(options: dict[str, Any]) -> Path | None:
    """Return the path of the ground truth as it is shown."""
    truth: Path | None = options["ground_truth"]
    return None if truth is None else Path(_shown(str(truth), options))


def _shown(path: str, options: dict[str, Any]) -> str:
    """Return a path, with pseudonyms in place of the names in it if there is a key."""
    from bboxqa.core.pseudonyms import pseudonyms_of
    from bboxqa.formats.dataset.people.pseudonymous import file_without_names

    key: Path | None = options["pseudonyms"]
    return path if key is None else file_without_names(path, pseudonyms_of(key, ()))


def _check_examined(report: "FoundReport") -> None:
    """Raise DatasetError if nothing was examined, which is not a success."""
    from bboxqa.core.errors import DatasetError

    if not report.rules:
        raise DatasetError(
            ["nothing was examined: none of the chosen rules applies"],
            "Rules about images on disk need --images, others several files.",
        )
    records = sum(file.n_images + file.n_annotations + file.n_categories for file in report.files)
    if not records and not report.at_least(report.fail_on):
        raise DatasetError(
            [f"{file.name}: nothing was examined: no records" for file in report.files],
            "Expected images, annotations or categories: was the export empty?",
        )
