"""`bboxqa audit`: labels of one annotator that a model contradicts."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import refuse_inputs
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

if TYPE_CHECKING:
    from bboxqa.core.types import Progress
    from bboxqa.model.audit import AuditResult

_OPTIONS = options(
    option_of("--predictions FILE|DIR", READ,
        "The model: COCO results (ids are those of the labels), or a data set with scores, such "
        "as YOLO labels with a confidence, whose images and categories are joined by name. Several "
        "annotators in it count as votes. Without it, geometry alone is looked at.", type=A_PATH),
    *READING, "config",
    option_of("--top NUMBER", OUT, "Keep this many of the most suspicious places.",
        type=click.IntRange(min=1)),
    "report", "images", "split", "out", "send_back", "to", "force", "raw_csv",
    option_of("--folds NUMBER", OUT,
        "Write lists of images to --out instead, to train a model on all but one and predict that "
        "one: a model repeats the errors of labels that it was trained on.", rare=True,
        type=click.IntRange(min=2)),
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
    folds: int | None,
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
    trained on these labels repeats their errors: let it predict images that it was not trained on
    (--folds).

    \b
    Exit code 0: audited. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.console import show, show_notes, tracking
    from bboxqa.pipelines.audit import audit_files
    from bboxqa.pipelines.read import AS_COMPARED

    if not paths:
        raise click.UsageError(
            "no labels given; try: bboxqa audit labels.json --predictions results.json"
        )
    if quiet and output_format != "text":
        raise click.UsageError("--quiet is about text; leave out --format")
    targets = {name: given.pop(name) for name in _TARGETS}
    choices = reading_of(config, given)
    settings = agree_settings(config, given)
    inputs = (*paths, *filter(None, (predictions, config)))
    _check_targets(targets, (*paths, *filter(None, [predictions])))
    digest = bool(targets["out"] or targets["report"])
    with tracking() as progress:
        reading = replace(AS_COMPARED, digest=digest, choices=choices, progress=progress)
        if folds is not None:
            return _write_folds(paths, folds, targets["out"], replace(reading, digest=False))
        result = audit_files(paths, predictions, settings, reading)
        result = result if top is None else result.head(top)
        written, notes = _write_targets(result, targets, inputs, progress)
    if targets["send_back"] is not None:
        next_step = _how_to_accept(paths, targets["send_back"])
    else:
        next_step = _next_step(paths, predictions, targets["out"])
    more = {"next_step": next_step} if output_format == "text" else {}
    show(AUDIT_VIEWS, result, output_format, written, quiet=quiet, **more)
    show_notes(notes)
    return 0


_TARGETS = ("report", "images", "split", "out", "send_back", "to", "force", "raw_csv")


def _check_targets(targets: Mapping[str, Any], inputs: tuple[Path, ...]) -> None:
    """Refuse targets that must not be written to, before anything is read."""
    force, out, report = targets["force"], targets["out"], targets["report"]
    refuse_inputs([report], inputs, targets["images"])
    if out is not None:
        from bboxqa.report.result_files import check_folder

        check_folder(out, force=force)
    if report is None:
        for name in ("images", "split"):
            if targets[name]:
                raise click.UsageError(f"--{name} is for --report FILE, which is missing")
    else:
        from bboxqa.report.pages.page_file import PageTarget

        PageTarget(report, targets["images"], targets["split"]).check(force=force)
    folder, to = targets["send_back"], targets["to"]
    if (folder is None) != (to is None):
        raise click.UsageError("--send-back goes with --to, such as: --send-back review/ --to cvat")
    if folder is not None:
        from bboxqa.pipelines.send_back import check_send_back

        check_send_back(folder, to, inputs, force=force)


def _write_targets(
    result: "AuditResult",
    targets: Mapping[str, Any],
    inputs: tuple[Any, ...],
    progress: "Progress | None",
) -> tuple[list[Path], list[str]]:
    """Write the folder, the page and what is sent back, as far as requested; return notes."""
    written: list[Path] = []
    notes: list[str] = []
    if targets["out"] is not None:
        from bboxqa.formats.sources import files_read
        from bboxqa.report.audit import write_audit

        write_audit(result, targets["out"], raw_csv=targets["raw_csv"], kept=files_read(inputs))
        written.append(targets["out"])
    if targets["report"] is not None:
        from bboxqa.pipelines.result_pages import write_audit_page
        from bboxqa.report.pages.page_file import PageTarget

        page = PageTarget(targets["report"], targets["images"], targets["split"])
        notes += write_audit_page(result, page, shlex.join(["bboxqa", *sys.argv[1:]]), progress)
        written.append(page.page)
    if targets["send_back"] is not None:
        from bboxqa.pipelines.audit_review import review_of
        from bboxqa.pipelines.send_back import send

        folder = targets["send_back"]
        document, items = review_of(result)
        notes += send(document, items, result.settings, result.reading, folder, targets["to"])
        written.append(folder)
    return written, notes


def _write_folds(paths: tuple[Path, ...], folds: int, out: Path | None, reading: Any) -> int:
    """Write the lists of images of all folds."""
    if out is None:
        raise click.UsageError("--folds goes with --out, such as: --folds 5 --out folds/")
    from bboxqa.pipelines.audit import write_folds

    for path, n in write_folds(paths, folds, out, reading).items():
        click.echo(f"Written: {path}: {n:,} images")
    click.echo("Next: train on the images of train-1.txt, predict those of test-1.txt, and so on")
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
