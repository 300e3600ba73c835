"""`bboxqa agree`: how far annotators agree."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli.options import (
    agree_settings,
    choice_option,
    files_argument,
    format_option,
    memory_option,
    path_option,
    raw_csv_option,
)
from bboxqa.report.registry import AGREEMENT_VIEWS

if TYPE_CHECKING:
    from bboxqa.model.results import AgreementResult
    from bboxqa.model.settings import AgreeSettings


@click.command()
@files_argument()
@click.option(
    "--similarity",
    metavar="NAME",
    help="How two annotations are compared: bbox (default), giou, centroid, polygon, mask, "
    "pixel or raster.",
)
@click.option(
    "--iou",
    "iou_threshold",
    multiple=True,
    type=float,
    metavar="NUMBER",
    help="Least similarity of two annotations of one object; default 0.5. Can be given several "
    "times.",
)
@click.option(
    "--matcher",
    metavar="NAME",
    help="How annotations are grouped into objects: recursive (default), hungarian (two "
    "annotators) or greedy (does not depend on the order of annotators).",
)
@click.option(
    "--category-lenient",
    is_flag=True,
    default=None,
    help="Prefer pairs of equal category when matching.",
)
@click.option(
    "--missing",
    metavar="NAME",
    help="A missing annotation counts as a category of its own (category, default) or not at "
    "all (ignore).",
)
@click.option(
    "--empty-images",
    metavar="NAME",
    help="Images without annotations count as agreement in the mean over images (agree, "
    "default), as an object on which all agree as well (unit), or not at all (skip).",
)
@click.option(
    "--all-touched",
    is_flag=True,
    default=None,
    help="With --similarity raster: fill every pixel that a polygon touches.",
)
@click.option(
    "--annotator",
    "named",
    multiple=True,
    metavar="NAME=FILE",
    help="File of one annotator; give one for each annotator.",
)
@click.option("--annotator-key", metavar="KEY", help="Key on annotations that names the annotator.")
@click.option(
    "--attribution",
    metavar="NAME",
    help="How annotators are found: annotator-key, image-records or files; default the first "
    "that finds two.",
)
@choice_option(
    "--join",
    ("path", "name", "stem"),
    "Join images of several files by all of file_name (path, default), without folders (name), or "
    "also without suffix and Roboflow's .rf.HASH (stem).",
)
@click.option(
    "--pattern",
    "--filter",
    "filter",
    metavar="GLOB",
    help="In a folder, read only files whose names match.",
)
@click.option(
    "--min-alpha",
    type=float,
    metavar="NUMBER",
    help="Mark images with a lower alpha; exit with 1 if the pooled alpha is lower.",
)
@click.option(
    "--bootstrap",
    type=int,
    metavar="NUMBER",
    help="Replicates for confidence intervals; default 1000, 0 for none.",
)
@click.option("--seed", type=int, metavar="NUMBER", help="Seed of the replicates; default 0.")
@memory_option()
@click.option(
    "--config",
    metavar="FILE",
    help="Settings in TOML, or the name of settings that come with bboxqa (coco-bbox, coco-segm, "
    "kalphacv, kalos, …); options on the command line replace them.",
)
@path_option(
    "--out", "Write summary.json, manifest.json and the tables as csv to this folder.", "DIR"
)
@click.option("--force", is_flag=True, help="Replace existing files in --out.")
@raw_csv_option()
@format_option(*AGREEMENT_VIEWS)
def agree(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    config: str | None,
    memory: int | None,
    out: Path | None,
    force: bool,
    raw_csv: bool,
    output_format: str,
    **options: Any,
) -> int:
    """Measure how far annotators agree (Krippendorff's alpha).

    FILE is COCO json: one file with several annotators, one file per annotator, or a folder of
    such files. The output says how annotators were identified.

    \b
    Exit code 0: measured. 1: below --min-alpha. 2: could not run. 130: interrupted.
    """  # noqa: D301 - click reads the sign
    from bboxqa.cli.console import show, tracking
    from bboxqa.pipelines.agree import agree_files

    settings = agree_settings(config, options)
    source = _source(paths, named)
    if out is not None:
        from bboxqa.report.result_files import check_folder

        check_folder(out, force=force)
    with tracking() as progress:
        result = agree_files(
            source, settings, memory=memory, digest=out is not None, progress=progress
        )
    written = []
    if out is not None:
        from bboxqa.report.agreement_summary import summary
        from bboxqa.report.result_files import write_folder

        written = write_folder(result, summary(result), out, raw_csv=raw_csv)
    show(result, output_format, written)
    return 1 if _below(result, settings) else 0


def _source(paths: tuple[Path, ...], named: tuple[str, ...]) -> Any:
    """Return the files, or the annotators with their files."""
    if bool(paths) == bool(named):
        raise click.UsageError(
            "name the files either as FILE… or as --annotator NAME=FILE, not both"
            if paths
            else "no file given; try: bboxqa agree export.json, or bboxqa example fruits"
        )
    if not named:
        return paths
    source = {}
    for pair in named:
        name, equals, file = pair.partition("=")
        if not (name and equals and file):
            raise click.UsageError(f"--annotator is {pair!r}; expected NAME=FILE")
        if name in source:
            raise click.UsageError(f"--annotator names {name!r} twice; expected one file each")
        source[name] = Path(file)
    return source


def _below(result: "AgreementResult", settings: "AgreeSettings") -> bool:
    """Return whether a pooled alpha does not reach the smallest that is accepted."""
    lowest = settings.min_alpha
    return lowest is not None and not all(part.reaches(lowest) for part in result.thresholds)
