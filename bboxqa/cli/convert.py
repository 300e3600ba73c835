"""`bboxqa convert`: annotations in the format of another tool."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, OUT, READING, Option, params


def _shares(text: str) -> tuple[tuple[str, float], ...]:
    try:
        pairs = [each.partition("=") for each in text.split(",")]
        return tuple((name.strip(), float(share)) for name, _, share in pairs)
    except ValueError:
        raise ValueError(f"is {text!r}; expected train=0.8,val=0.2") from None


def _refused(text: str) -> str:
    raise ValueError(f"is no option here: the output is the last path, such as FILE {text}")


_OPTIONS = params(
    # Other commands name their output so.
    Option("-o --out OUT", OUT, "", parse=_refused, hidden=True, expose_value=False),
    Option("--to NAME", OUT,
        "Format of OUT: coco, label-studio, cvat, yolo, yolo-segment, yolo-obb, yolo-pose, dota, "
        "voc, labelme, masks, csv or parquet."),
    Option("--lossy", OUT, "Leave out what the format cannot hold; by default it is refused.",
        is_flag=True),
    Option("--force", OUT, "Replace OUT.", is_flag=True),
    Option("--as-predictions", OUT,
        "For Label Studio: write predictions, each annotator as a model, to be corrected there.",
        is_flag=True),
    Option("--parts NAME=SHARE,…", OUT,
        "Divide the images into parts, such as train=0.8,val=0.2: lists of YOLO, else a file or "
        "folder of each part in OUT.", parse=_shares),
    Option("--group-by KEY", OUT,
        "Key of images whose values stay in one part, such as video_id; or folder; or stem: copies "
        "of one image, as those of Roboflow."),
    Option("--seed NUMBER", OUT, "Seed of parts; default 0.", type=int),
    Option("--image-suffix .SUFFIX", OUT,
        "Suffix of names of images that have none, such as .jpg.", default=""),
    "annotator", *READING, "pseudonyms",
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
@click.argument("paths", nargs=-1, metavar="FILE…|DIR OUT", type=A_PATH)
def convert(*, paths: tuple[Path, ...], named: tuple[str, ...], to: str | None, **more: Any) -> int:
    """Write annotations in the format of another tool.

    \b
      bboxqa convert export.json out.json --to label-studio
      bboxqa convert ann.json bob.json all.json --to coco --attribution files

    FILE is what `bboxqa agree` reads. Who drew what, and who was asked about which image, are kept.
    What the format cannot hold is listed, and refused without --lossy. A review queue
    (review.json of `bboxqa agree --out`) needs no --lossy, as the measured files stay as they are.
    """  # noqa: D301 - click reads the sign
    from bboxqa.formats.registry import writer, writer_names
    from bboxqa.formats.writing.content import Parts
    from bboxqa.pipelines.convert import Target, convert_with

    if not paths or (len(paths) == 1 and not named):
        example = "bboxqa convert export.json out.json --to coco"
        raise click.UsageError(f"expected FILE and OUT; try: {example}")
    if to is None:
        end = paths[-1].suffix.lower()
        writers = ((name, writer(name)) for name in writer_names())
        fitting = (name for name, of in writers if of.layout != "folder" and end in of.suffixes)
        typed = shlex.join(["bboxqa", *sys.argv[1:], "--to", next(fitting, "coco")])
        raise click.UsageError(f"--to is missing, one of {', '.join(writer_names())}; try: {typed}")
    *files, out = paths
    shares, seed, key_of_groups = (more.pop(name) for name in ("parts", "seed", "group_by"))
    if shares is None and (seed is not None or key_of_groups is not None):
        raise click.UsageError("--seed and --group-by go with --parts train=0.8,val=0.2")
    choices = shared.reading_of(None, more)
    of_target = ("lossy", "force", "as_predictions", "image_suffix", "pseudonyms")
    lossy, force, as_predictions, suffix, key = (more.pop(name) for name in of_target)
    parts = None if shares is None else Parts(shares, seed or 0, key_of_groups)
    target = Target(out, to, lossy, force, as_predictions, parts, suffix)
    source, settings = shared.source_of(tuple(files), named), shared.agree_settings(None, more)
    with console.tracking() as progress:
        found = convert_with(source, target, settings, choices, progress, key)
    console.show_notes(found.notes)
    for loss in found.losses:
        click.echo(f"{loss.how}: {loss}", err=True)
    click.echo(f"Written: {found.path}: {found.in_words()}")
    return 0
