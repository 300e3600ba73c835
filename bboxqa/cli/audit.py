"""`bboxqa audit`: labels of one annotator that a model contradicts."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bboxqa.cli.options import (
    A_PATH,
    OUT,
    READ,
    READING,
    Command,
    agree_settings,
    files_argument,
    format_option,
    option_of,
    options,
    quiet_option,
    reading_of,
)
from bboxqa.report.registry import AUDIT_VIEWS

_OPTIONS = options(
    option_of("--predictions FILE|DIR", READ,
        "The model: COCO results (ids are those of the labels), or a data set with scores, such "
        "as YOLO labels with a confidence, whose images and categories are joined by name. Several "
        "annotators in it count as votes. Without it, geometry alone is looked at.", type=A_PATH),
    *READING, "config",
    option_of("--top NUMBER", OUT, "Keep this many of the most suspicious places.",
        type=click.IntRange(min=1)),
    "out", "send_back", "to", "force", "raw_csv",
)  # fmt: skip


@click.command(cls=Command)
@files_argument("LABELS…|DIR")
@_OPTIONS
@quiet_option("Print the numbers of places only.")
@format_option(*AUDIT_VIEWS)
def audit(
    *,
    paths: tuple[Path, ...],
    predictions: Path | None,
    config: str | None,
    top: int | None,
    out: Path | None,
    send_back: Path | None,
    to: str | None,
    force: bool,
    raw_csv: bool,
    quiet: bool,
    output_format: str,
    **given: Any,
) -> int:
    """List labels to look at again: one annotator and a model.

    \b
      bboxqa audit labels.json --predictions results.json
      bboxqa audit labels/ --predictions runs/predict/labels/ --out audit/

    An object without a label (missing), a label without an object (spurious), of another category
    (class), badly drawn (place) or repeated (twice), the most suspicious first. A model that was
    trained on these labels repeats their errors: let it predict images that it was not trained on.

    \b
    Exit code 0: audited. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.console import show, show_notes, tracking
    from bboxqa.pipelines.audit import audit_files
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.report.result_files import check_folder

    if not paths:
        raise click.UsageError(
            "no labels given; try: bboxqa audit labels.json --predictions results.json"
        )
    if quiet and output_format != "text":
        raise click.UsageError("--quiet is about text; leave out --format")
    choices = reading_of(config, given)
    settings = agree_settings(config, given)
    if out is not None:
        check_folder(out, force=force)
    if (send_back is None) != (to is None):
        raise click.UsageError("--send-back goes with --to, such as: --send-back review/ --to cvat")
    if send_back is not None:
        from bboxqa.pipelines.send_back import check_send_back

        check_send_back(send_back, str(to), (*paths, predictions), force=force)
    with tracking() as progress:
        reading = replace(AS_COMPARED, digest=bool(out), choices=choices, progress=progress)
        result = audit_files(paths, predictions, settings, reading)
    if top is not None:
        result = result.head(top)
    written = []
    if out is not None:
        from bboxqa.formats.sources import files_read
        from bboxqa.report.audit import write_audit

        kept = files_read([*paths, predictions, config])
        write_audit(result, out, raw_csv=raw_csv, kept=kept)
        written.append(out)
    notes: list[str] = []
    next_step = _next_step(paths, predictions, out)
    if send_back is not None:
        from bboxqa.pipelines.audit_review import review_of
        from bboxqa.pipelines.send_back import send

        document, items = review_of(result)
        notes = send(document, items, result.settings, result.reading, send_back, str(to))
        written.append(send_back)
        next_step = _how_to_accept(paths, send_back)
    more = {"next_step": next_step} if output_format == "text" else {}
    show(AUDIT_VIEWS, result, output_format, written, quiet=quiet, **more)
    show_notes(notes)
    return 0


def _next_step(paths: tuple[Path, ...], predictions: Path | None, out: Path | None) -> str:
    """Return what to type next."""
    given = ["bboxqa", "audit", *map(str, paths)]
    if predictions is None:
        return f"{shlex.join(given)} --predictions RESULTS, which shows more"
    given += ["--predictions", str(predictions)]
    more = "--out audit/" if out is None else "--send-back review/ --to cvat"
    return f"{shlex.join(given)} {more}"


def _how_to_accept(paths: tuple[Path, ...], folder: Path) -> str:
    """Return what to type when the places that were sent back are done."""
    from bboxqa.formats.registry import format_of

    original, first = str(paths[0]), ""
    if len(paths) > 1 or not paths[0].is_file() or format_of(paths[0]).name != "coco":
        original = "original.json"
        first = f"bboxqa convert {shlex.join(map(str, paths))} {original} --to coco; "
    return f"{first}{shlex.join(['bboxqa', 'accept', original, str(folder), '-o', 'NEW.json'])}"
