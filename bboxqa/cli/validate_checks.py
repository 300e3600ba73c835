"""Options of `bboxqa validate` that do not go together."""

from pathlib import Path
from typing import Any

import click

from bboxqa.cli.failures import refuse_inputs


def check_outputs(paths: tuple[Path, ...], config: str | None, options: dict[str, Any]) -> None:
    """Refuse to replace files that are read, and to pass on the key of pseudonyms."""
    from bboxqa.core.pseudonyms import check_key

    outputs = (options["output"], options["write_baseline"], options["report"])
    inputs = (*paths, options["ground_truth"], options["baseline"], config)
    refuse_inputs(outputs, inputs, options["images"])
    if options["pseudonyms"] is not None:
        check_key(options["pseudonyms"], outputs)


def check_options(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Refuse options that contradict each other or would have no effect."""
    fix, diff, text = options["fix"], options["diff"], options["output_format"] == "text"
    baseline, write_baseline = options["baseline"], options["write_baseline"]
    refused = (
        (not paths, "no file given; try: bboxqa validate export.json"),
        (
            options["unsafe_fixes"] and not (fix or diff),
            "--unsafe-fixes goes with --fix or --diff",
        ),
        (options["in_place"] and not fix, "--in-place goes with --fix"),
        (
            (options["split"] or options["top"] is not None) and options["report"] is None,
            f"--{'split' if options['split'] else 'top'} is for --report, which is missing",
        ),
        (
            options["pseudonyms"] and (fix or diff),
            f"--{'fix' if fix else 'diff'} shows the file with names; leave out --pseudonyms",
        ),
        (fix and diff, "--diff writes nothing; give either --fix or --diff"),
        (baseline and write_baseline, "give either --baseline or --write-baseline"),
        (
            fix and not options["in_place"] and (baseline or write_baseline),
            "a baseline is of the file, not of its fixed copy; add --in-place",
        ),
        (
            options["quiet"] and options["verbose"],
            "give either --quiet or --verbose",
        ),
        (
            (options["quiet"] or options["verbose"]) and (options["statistics"] or not text),
            "--quiet and --verbose are about text; leave out --statistics and --format",
        ),
        (
            options["statistics"] and not text,
            "--statistics is a table of its own; leave out --format",
        ),
        (
            diff and (options["statistics"] or options["output"] or not text),
            "--diff prints only changes; leave out --statistics, --out and --format",
        ),
    )
    for wrong, message in refused:
        if wrong:
            raise click.UsageError(message)
