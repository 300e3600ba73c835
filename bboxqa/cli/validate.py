"""`bboxqa validate` and `explain`: defects of annotation files, and the rules that find them."""

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from os import environ
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, COMPARE, OUT, READ, Option, params
from bboxqa.core.errors import DatasetError, naming
from bboxqa.core.json_values import cut
from bboxqa.core.text import clean, count
from bboxqa.report import FINDING_VIEWS, view

if TYPE_CHECKING:
    from bboxqa.core.files import Identity
    from bboxqa.model.findings import FoundReport
    from bboxqa.model.settings import ValidateSettings
    from bboxqa.rules.fixes import Fixed

# Characters of a value in a diff.
_EXCERPT = 100
# Findings listed per rule: a few for people, all for programs.
_COLOURS = {"error:": "red", "warning:": "yellow", "info:": "cyan"}
# A severity after the code of a rule.
_SEVERITY = re.compile(r"^(\S+ )(error:|warning:|info:)(?= |$)")
_LISTED = {"text": 10, "html": 100}
# Options that choose rules.
_CHOSEN = ("select", "ignore")


_OPTIONS = params(
    Option("--images DIR", READ,
        "Folder of the images, or a folder above them and the file: they are opened and compared "
        "with the file. Can be given several times.", multiple=True, type=A_PATH),
    Option("--ground-truth FILE", READ, "The COCO file of results.", rare=True, type=A_PATH),
    *shared.SOURCE_OPTIONS, "memory",
    Option("--select CODES", COMPARE,
        "Only these rules, such as P,R0; default all. Can be given several times.",
        multiple=True, parse=",".join),
    Option("--ignore CODES", COMPARE,
        "Not these rules, such as I007. Can be given several times.",
        multiple=True, parse=",".join),
    Option("--per-file-ignores GLOB:CODES", COMPARE,
        "Not these in files of such names. Can be given several times.", rare=True, multiple=True),
    Option("--fail-on", COMPARE, "Exit with 1 at this severity or above; default error.",
        type=shared.A_SEVERITY),
    Option("--min-severity", COMPARE, "List findings of this severity or above; default info.",
        rare=True, type=shared.A_SEVERITY),
    Option("--baseline FILE", COMPARE, "Report only findings that it lacks.", type=A_PATH),
    Option("--write-baseline FILE", COMPARE,
        "Write all findings to this file as known, and exit with 0.", type=A_PATH),
    Option("--config FILE", COMPARE,
        "Settings in TOML, in its table [validate]; default [tool.bboxqa.validate] in the nearest "
        "pyproject.toml. Options on the command line replace them."),
    Option("--fix", OUT, "Write NAME.fixed.json with fixes that lose nothing.", is_flag=True),
    Option("--diff", OUT, "Print what --fix would change, and write nothing.", is_flag=True),
    Option("--in-place", OUT, "With --fix: change the file, and keep NAME.json.bak.", is_flag=True),
    Option("--unsafe-fixes", OUT,
        "With --fix or --diff: also fixes that may lose or guess information.", is_flag=True),
    Option("--force", OUT, "Replace NAME.fixed.json, and with --split a folder of pages.",
        rare=True, is_flag=True),
    Option("--max-findings N", OUT,
        "List at most N findings for each rule and file, 0 for all; default 10 as text, 100 as "
        "html, otherwise all.", rare=True, type=click.IntRange(min=0)),
    Option("--show-consequences", OUT, "Also list what follows from other findings.", rare=True,
        is_flag=True),
    Option("-v --verbose", OUT, "Print all listed findings and excerpts.", rare=True, is_flag=True),
    Option("--exit-zero", OUT, "Exit with 0 whatever is found.", rare=True, is_flag=True),
    Option("--statistics", OUT, "Print the number of findings of each rule.", is_flag=True),
    "quiet",
    shared.format_option(*FINDING_VIEWS),
    "written", "report", "split", "top",
    "pseudonyms",
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
@click.argument("paths", nargs=-1, metavar="PATH…", type=A_PATH)
def validate(*, paths: tuple[Path, ...], **values: Any) -> int:
    """Find what is wrong with files of annotations.

    PATH is a COCO JSON file, what another tool wrote (docs/formats.md), or a folder of them.
    `bboxqa explain CODE` explains a rule.
    """
    given = SimpleNamespace(**values)
    _check_options(paths, given)
    outputs = (given.output, given.write_baseline, given.report)
    console.refuse_inputs(
        outputs, (*paths, given.ground_truth, given.baseline, given.config), given.images
    )
    if given.pseudonyms is not None:
        from bboxqa.core.pseudonyms import check_key

        check_key(given.pseudonyms, outputs)
    given.images, given.choices = given.images or None, shared.reading_of(given.config, values)
    settings, failed = _settings(given), 0 if given.exit_zero else 1
    if given.diff:
        return failed if _show_changes(paths, settings, given) else 0
    if given.fix:
        paths = _write_fixed_files(paths, settings, given)
    page = None
    if given.report is not None:
        from bboxqa.report.pages import PageTarget

        page = PageTarget(given.report, given.images or (), given.split, given.top)
        page.check(force=given.split and given.force)
    report = _report(paths, settings, given)
    if page is not None:
        from bboxqa.pipelines.pictures import write_report

        typed = _hidden(shlex.join(["bboxqa", *sys.argv[1:]]), given)
        with console.tracking() as progress:
            notes = write_report(report, page, progress, settings, given.choices, typed)
        console.show_notes(notes)
        click.echo(f"Written: {page.page}", err=True)
    is_for_readers = given.output_format == "text" or given.write_baseline
    if is_for_readers:
        _check_examined(report)
    if given.write_baseline:
        from bboxqa.rules.fixes import write_baseline

        console.refuse_annotations(given.write_baseline)
        write_baseline(given.write_baseline, report)
        known = f"{len(report.findings):,} known findings"
        click.echo(f"Written: {given.write_baseline}, {known}", err=True)
        return 0
    _show(report, given, paths)
    if not is_for_readers:
        # Programs that read the output expect it in any case.
        _check_examined(report)
    return failed if report.at_least(report.fail_on) else 0


def _report(paths: tuple[Path, ...], settings: "ValidateSettings", given: Any) -> "FoundReport":
    """Return the findings, without those of the baseline."""
    from bboxqa.pipelines.validate import validate_with

    known, limit = None, given.max_findings
    if given.baseline is not None:
        from bboxqa.rules.fixes import new_findings, read_baseline

        known = read_baseline(given.baseline)
    if limit is None:
        limit = _LISTED.get("html" if given.report else given.output_format, 0)
    listed = 0 if known is not None or given.write_baseline else limit
    with console.tracking() as progress:
        report = validate_with(
            paths, settings, given.images, given.ground_truth, listed, progress,
            pseudonyms=given.pseudonyms, choices=given.choices,
        )  # fmt: skip
    return report if known is None else new_findings(report, known, limit)


def _hidden(text: str, given: Any) -> str:
    """Return a text with pseudonyms in place of the names in it, if there is a key."""
    if given.pseudonyms is None:
        return text
    from bboxqa.core.pseudonyms import hider, pseudonyms_of

    return str(hider(pseudonyms_of(given.pseudonyms, ()))(text))


def _show(report: "FoundReport", given: Any, paths: tuple[Path, ...]) -> None:
    """Print a report, or write it."""
    if given.statistics:
        from bboxqa.report.findings import statistics_lines

        lines = statistics_lines(report)
    elif given.output_format == "text":
        from bboxqa.report.findings import summary_lines, text_lines

        verbose = given.verbose or given.max_findings is not None
        of_findings = [("images", folder) for folder in given.images or ()]
        of_findings += [(n, getattr(given, n)) for n in ("ground_truth", "config", *_CHOSEN)]
        typed = [(f"--{n.replace('_', '-')}", str(each)) for n, each in of_findings if each]
        options = _hidden("".join(f" {shlex.join(each)}" for each in typed), given)
        named = _hidden(shlex.join(clean(str(each)) for each in paths), given)
        lines = text_lines(report, options=options, paths=named, verbose=verbose)
        lines = summary_lines(report) if given.quiet else lines
    else:
        lines = view(FINDING_VIEWS, given.output_format)(report)
    if given.output is not None:
        console.write_output(given.output, "".join(f"{line}\n" for line in lines))
        return
    for line in lines:
        shown = _SEVERITY.sub(lambda m: m[1] + click.style(m[2], _COLOURS[m[2]]), line)
        # Colours are left out where the output is no terminal.
        click.echo(shown, color=False if environ.get("NO_COLOR") else None)


def _check_examined(report: "FoundReport") -> None:
    """Raise DatasetError if nothing was examined, which is not a success."""
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


def _settings(given: Any) -> "ValidateSettings":
    """Return the settings of a file, overridden by those of the command line."""
    from bboxqa.model.settings import project_settings, read_settings_file, validate_settings_from
    from bboxqa.rules.registry import selected_codes

    file = given.config
    values = dict(read_settings_file(file).validate if file else project_settings(Path.cwd()))
    own = (*_CHOSEN, "fail_on", "min_severity", "show_consequences")
    changed = {name: value for name in own if (value := getattr(given, name)) not in (None, False)}
    for name in changed.keys() & {*_CHOSEN}:
        changed[name] = _codes(changed[name])
        if not changed[name]:
            raise click.UsageError(f"--{name} names no rule")
    ignores: dict[str, list[str]] = {}
    for text in given.per_file_ignores:
        pattern, colon, codes = text.rpartition(":")
        if not (pattern and colon and codes):
            raise click.UsageError(f"--per-file-ignores is {text!r}; expected GLOB:CODES")
        ignores.setdefault(pattern, []).extend(_codes(codes))
    changed |= {"per_file_ignores": ignores} if ignores else {}
    settings = validate_settings_from(values | changed)
    # Codes that match no rule are refused before files are read.
    chosen = [(name, getattr(settings, name)) for name in _CHOSEN]
    chosen += [("per_file_ignores", codes) for codes in settings.per_file_ignores.values()]
    for name, found in chosen:
        with naming(f"--{name}" if name in changed else name):
            selected_codes(found, ())
    return settings


def _codes(text: str) -> list[str]:
    return [code.strip() for code in text.split(",") if code.strip()]


def _check_options(paths: tuple[Path, ...], given: Any) -> None:
    """Refuse options that contradict each other or would have no effect."""
    is_fixing, is_text = given.fix or given.diff, given.output_format == "text"
    console.refuse_options(
        (not paths, "no file given; try: bboxqa validate export.json"),
        (given.unsafe_fixes and not is_fixing, "--unsafe-fixes goes with --fix or --diff"),
        (given.in_place and not given.fix, "--in-place goes with --fix"),
        ((given.split or given.top is not None) and given.report is None,
         "--split and --top are for --report, which is missing"),
        (given.pseudonyms and is_fixing,
         "--fix and --diff show the file with names; leave out --pseudonyms"),
        (given.fix and is_text and given.output and given.output.suffix == ".json",
         "--out is the report; the fixed copy is NAME.fixed.json: leave out --out"),
        (given.fix and given.diff, "--diff writes nothing; give either --fix or --diff"),
        (given.baseline and given.write_baseline, "give either --baseline or --write-baseline"),
        (given.fix and not given.in_place and (given.baseline or given.write_baseline),
         "a baseline is of the file, not of its fixed copy; add --in-place"),
        (sum(map(bool, (given.quiet, given.verbose, given.statistics, not is_text))) > 1,
         "give one of --quiet, --verbose, --statistics and --format"),
        (given.diff and (given.statistics or given.output or not is_text),
         "--diff prints only changes; leave out --statistics, --out and --format"),
    )  # fmt: skip


def _show_changes(paths: tuple[Path, ...], settings: "ValidateSettings", given: Any) -> bool:
    """Print what fixes would change; return whether they would, or findings fail without one."""
    from bboxqa.core.text import typed_paths

    changed = False
    for file, fixed, _ in _fixed(paths, settings, given):
        changed = changed or bool(fixed.changes)
        if fixed.changes:
            click.echo(f"--- {clean(str(file))}\n+++ {clean(str(file))}, fixed")
        for change in fixed.changes:
            click.echo(f"@@ {change.code} {clean(change.pointer) or '(the whole file)'}")
            for sign, text in (("-", change.before), ("+", change.after)):
                if text:
                    click.echo(f"{sign} {cut(clean(' '.join(text.split())), _EXCERPT)}")
    if changed:
        return True
    report = _report(paths, settings, given)
    some = f"No {'' if given.unsafe_fixes else 'safe '}fix applies; to list the findings: "
    listed = f"{some}bboxqa validate {typed_paths(paths)}"
    click.echo(listed if report.findings else "Nothing to fix.", err=True)
    return bool(report.at_least(report.fail_on))


def _fixed(
    paths: tuple[Path, ...], settings: "ValidateSettings", given: Any
) -> Iterator[tuple[Path, "Fixed", "Identity | None"]]:
    """Yield files, the results of fixing them, and their identity before they were read."""
    from bboxqa.core.files import identity_of
    from bboxqa.formats.sources import list_files
    from bboxqa.pipelines.validate import fix_file

    more = {name: getattr(given, name) for name in ("images", "ground_truth", "choices")}
    for file in list_files(paths, choices=given.choices):
        identity = identity_of(file) if file.is_file() else None
        yield file, fix_file(file, settings, unsafe=given.unsafe_fixes, **more), identity


def _write_fixed_files(
    paths: tuple[Path, ...], settings: "ValidateSettings", given: Any
) -> tuple[Path, ...]:
    """Write fixed files; return the files to validate afterwards."""
    from bboxqa.core.files import fixed_path, write_fixed

    result = []
    for file, fixed, identity in _fixed(paths, settings, given):
        if not fixed.changes:
            result.append(file)
            click.echo(f"{file}: nothing to fix", err=True)
            continue
        if not given.in_place:
            console.refuse_inputs([fixed_path(file)], [*paths, given.ground_truth, given.baseline])
        how = {"in_place": given.in_place, "force": given.force, "fixed": identity}
        target = write_fixed(file, fixed.text, **how)
        result.append(target)
        by_code = Counter(change.code for change in fixed.changes)
        named = ", ".join(f"{code} {number:,}" for code, number in sorted(by_code.items()))
        click.echo(f"{file}: {count(len(fixed.changes), 'change')} ({named}) → {target}", err=True)
    return tuple(result)


@click.command(cls=shared.Command)
@click.argument("codes", nargs=-1, metavar="[CODE…]")
def explain(codes: tuple[str, ...]) -> int:
    """Explain the rules of validate.

    Print what a rule checks, what breaks because of it, and how to fix it. CODE may be the
    beginning of several codes, such as B; without CODE all rules are listed.
    """
    from bboxqa.rules.registry import known_rules, list_lines, page_lines, selected_codes

    chosen = [known_rules()[each] for code in codes for each in selected_codes([code], [])]
    pages = [*map(page_lines, chosen)] or [list_lines()]
    click.echo("\n\n".join("\n".join(lines) for lines in pages))
    return 0
