"""`bboxqa agree`: how far annotators agree."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.failures import refuse_inputs
from bboxqa.cli.options.agree_options import (
    comparing_options,
    measuring_options,
    min_alpha_option,
    min_f1_option,
    named_files_option,
    reading_options,
    source_of,
)
from bboxqa.cli.options.shared_options import (
    agree_settings,
    files_argument,
    format_option,
    page_options,
    path_option,
    pseudonyms_option,
    quiet_option,
    removed_option,
)
from bboxqa.cli.output.agree_targets import check_targets, inputs_of, page_target, write_targets
from bboxqa.core.errors import BboxqaError
from bboxqa.report.registry import AGREEMENT_VIEWS

if TYPE_CHECKING:
    from bboxqa.model.diagnosis import Diagnosis, Story
    from bboxqa.report.agreement_result import AgreementResult


@click.command()
@files_argument()
@comparing_options
@named_files_option
@reading_options
@click.option(
    "--session-key",
    metavar="KEY",
    help="Key on annotations or image records that names the session, where annotators annotated "
    "images in several: shows how far they agree with themselves. If each file is a session: file.",
)
@click.option(
    "--time-key",
    metavar="KEY",
    help="Key on annotations that says when they were made, such as created_at: shows speed, drift "
    "and fatigue with --diagnose.",
)
@click.option(
    "--tracks",
    is_flag=True,
    help="Read which boxes of a video show one object, such as track_id: shows with --diagnose "
    "whether annotators follow the same objects (IDF1), and where they switch.",
)
@click.option(
    "--reference",
    metavar="NAME|FILE",
    help="Compare each annotator with an expert: one of the annotators, who then has no part in "
    "alpha, or a COCO file with the right annotations of some or all images.",
)
@path_option(
    "--predictions",
    "COCO results of a model, which counts as one more annotator: named after this file, and asked "
    "about all images. Ids of images and categories are those of the annotated files.",
)
@click.option(
    "--score",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help="Lowest score of results that count, in --predictions and in lists of results; default "
    "0.5.",
)
@removed_option("--since", "type `bboxqa compare {value} AFTER`")
@min_alpha_option("Mark images with a lower alpha; exit with 1 if the pooled alpha is lower.")
@min_f1_option(
    "Mark images with a lower F1; exit with 1 if F1 of all pairs of annotators, whether they drew "
    "the same objects, is lower."
)
@measuring_options
@pseudonyms_option
@click.option(
    "--diagnose",
    is_flag=True,
    help="Print who, what and where lowers agreement as tables, and with --out write them.",
)
@path_option(
    "--report",
    "Write a page of html that shows the result to this file, or with --split to this folder.",
)
@page_options
@quiet_option("Print the figures of agreement only.")
@format_option(*AGREEMENT_VIEWS)
def agree(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    config: str | None,
    reference: str | None,
    predictions: Path | None,
    score: float | None,
    pseudonyms: Path | None,
    out: Path | None,
    force: bool,
    raw_csv: bool,
    diagnose: bool,
    report: Path | None,
    images: tuple[Path, ...],
    top: int | None,
    split: bool,
    quiet: bool,
    output_format: str,
    **options: Any,
) -> int:
    """Measure how far annotators agree (Krippendorff's alpha).

    \b
      bboxqa agree export.json                       one file with several annotators
      bboxqa agree ann.json bob.json --out results/  one file per annotator

    FILE is COCO JSON, or what another tool wrote (docs/formats.md): one file with several
    annotators, one file per annotator, or a folder of such files. The output says how annotators
    were identified.

    \b
    Exit code 0: measured. 1: below --min-alpha or --min-f1. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.output.console import show, show_notes, tracking
    from bboxqa.pipelines.agree_files import agree_files

    model = _predictions(predictions, score)
    if quiet and output_format != "text":
        raise click.UsageError("--quiet is about text; leave out --format")
    settings = agree_settings(config, options)
    source = source_of(paths, named)
    inputs = inputs_of(source, reference, predictions, config)
    refuse_inputs([report], inputs, images)
    check_targets(out, report, pseudonyms, split=split, force=force)
    if top is not None and report is None and out is None:
        raise click.UsageError("--top is for --report FILE or --out DIR, which are missing")
    page = page_target(report, images, top, split=split, force=force)
    wanted = diagnose or page is not None
    with tracking() as progress:
        result = agree_files(
            source,
            settings,
            reference=reference,
            predictions=model,
            score=score,
            pseudonyms=pseudonyms,
            digest=bool(out or page),
            progress=progress,
        )
        if top is not None:
            result = replace(result, diagnoser=result.diagnoser.keeping(top))
        in_text = output_format == "text" and not quiet
        story, failure = _diagnosed(result, wanted=wanted, written=out is not None, in_text=in_text)
    diagnosis = _whole(story)
    is_told = diagnosis is not None and diagnose and output_format == "json"
    more: dict[str, Any] = {"diagnosis": diagnosis} if is_told else {}
    if in_text:
        more = {"story": story, "diagnose": diagnose or failure is not None}
    written, notes = write_targets(result, diagnosis, out, page, inputs, raw_csv=raw_csv)
    show(AGREEMENT_VIEWS, result, output_format, written, quiet=quiet, **more)
    show_notes(notes)
    if failure is not None:
        _show_failure(failure, wanted=wanted)
    return 0 if all(part.passes(settings) for part in result.thresholds) else 1


def _show_failure(failure: BboxqaError, *, wanted: bool) -> None:
    """Print why there is no diagnosis, or raise it if the diagnosis was asked for."""
    click.echo("The figures are whole, but what lowers agreement was not found:", err=True)
    if wanted:
        raise failure
    click.echo(failure, err=True)


def _diagnosed(
    result: "AgreementResult", *, wanted: bool, written: bool, in_text: bool
) -> "tuple[Story | None, BboxqaError | None]":
    """Return the diagnosis or the story, and the error if it cannot be made."""
    quick = result.diagnoser.is_quick
    try:
        if wanted or (written and quick):
            return result.diagnose(), None
        return (result.story() if in_text and quick else None), None
    except BboxqaError as error:
        # The figures are shown and written all the same.
        return None, error


def _whole(story: "Story | None") -> "Diagnosis | None":
    """Return the story if it is a complete diagnosis."""
    from bboxqa.model.diagnosis import Diagnosis

    return story if isinstance(story, Diagnosis) else None


def _predictions(path: Path | None, score: float | None) -> Any:
    """Return the results of a model, if there are any."""
    from bboxqa.formats.annotations.read_options import LOWEST_SCORE
    from bboxqa.formats.dataset.predictions import Predictions

    return None if path is None else Predictions(path, LOWEST_SCORE if score is None else score)
