"""`bboxqa plan`, `simulate` and `example`: how much to annotate, and data with known errors."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, OUT, READING, Option, params
from bboxqa.core.text import count

if TYPE_CHECKING:
    from bboxqa.pipelines.plan import ImagePlan

_OPTIONS = params(
    Option("--truth FILE", OUT, "COCO file whose boxes are true; by default random ones are drawn.",
        type=A_PATH),
    Option("--images NUMBER", OUT, "Images to draw; default 100.", type=int),
    Option("--objects NUMBER", OUT, "Objects per image, on average; default 5.", type=float),
    Option("--categories NUMBER|NAMES", OUT,
        'Categories; default 5. Names such as "cow,sheep" may have shares: "cow:99,sheep:1".'),
    Option("--overlap NUMBER", OUT,
        "Highest IoU of two objects in one image, where there is room; default 0.", type=float),
    Option("--annotators NUMBER|NAMES", OUT,
        'Annotators; default 3: p01, p02 and p03. Or names such as "ann,bob".'),
    Option("--annotator ERRORS", OUT,
        'Errors of an annotator, as above; "*: …" is for all. Can be given several times.',
        to="errors", multiple=True),
    Option("--per-image NUMBER", OUT,
        "Annotators of each image, drawn at random; default all.", type=int),
    Option("--seed NUMBER", OUT, "Seed; default 0.", type=int, default=0),
    Option("-o --out FILE", OUT, "File to write; default simulated.json. Its truth goes beside it.",
        type=A_PATH),
    Option("--force", OUT, "Replace existing files.", is_flag=True),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
def simulate(*, out: Path | None, force: bool, **given: Any) -> int:
    """Simulate annotators with known errors.

    \b
      bboxqa simulate --out trial.json --images 200 --categories cow,sheep,horse \\
        --annotator "p*: jitter=1" --annotator "p03: miss=0.1 offset=5,0 confuse=cow/sheep:0.2"

    Writes a COCO file of several annotators, and the truth beside it as trial_truth.json. The key
    true_id of an annotation is the id of the true object. Errors per object are rates:

    \b
      miss=0.1               not drawn
      extra=0.1              a box where there is no object
      confuse=0.1            any other category
      confuse=cow/sheep:0.2  each called the other
      split=0.1              drawn as two boxes
      merge=0.1              drawn as one with its neighbour
      duplicate=0.1          drawn twice
    Of all boxes:
      jitter=2 or jitter=3%  standard deviation of each edge, in pixels or percent of the side
      offset=5,0             too far to the right and down, in pixels or percent
      scale=1.1              too large, by a factor
    And:
      copy=p01:0.3           this share of the images is copied from another annotator
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.simulate import simulate as simulated
    from bboxqa.pipelines.simulate import truth_path

    given = {key: value for key, value in given.items() if value is not None}
    for name in ("images", "objects", "categories", "overlap") if "truth" in given else ():
        if name in given:
            raise click.UsageError(
                f"--{name} is for scenes that are drawn; leave it or --truth out"
            )
    path = out or Path("simulated.json")
    for each in (path, truth_path(path)):
        console.refuse_inputs([each], [given.get("truth")])
    found = simulated(**given)
    paths = found.write(path, force=force)
    drawn = count(len(found), "annotation")
    click.echo(f"Written: {paths[0]}: {drawn} by {count(len(found.annotators), 'annotator')}")
    click.echo(f"Written: {paths[1]}: {count(len(found.scene), 'object')}")
    return 0


_NAMES = ("fruits", "smiling_fruits", "landscape", "matching", "iou", "krippendorff")


_OF_EXAMPLE = params(
    Option("-o --out DIR", OUT,
        "Folder of the pictures, the data and the text; default bboxqa-example-NAME.", type=A_PATH),
    Option("--force", OUT, "Replace existing files in --out.", is_flag=True),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_EXAMPLE)
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
def example(name: str, out: Path | None, force: bool) -> int:
    """Walk through a worked example, with pictures.

    NAME is fruits, smiling_fruits, landscape, matching, iou or krippendorff.

    From boxes to alpha, every number is computed and compared with its expected value.
    """
    from bboxqa.examples.lessons import EXAMPLES, write_example

    folder = out or Path(f"bboxqa-example-{name}")
    walk = EXAMPLES[name]()
    click.echo(walk.text())
    written = write_example(name, folder, force=force)
    for path in written:
        click.echo(f"Written: {path}")
    if not written:
        click.echo(f"Already there: {folder}")
    return 0 if walk.agrees else 1


_FEW = 50


_OF_PLAN = params(
    shared.FILES,
    Option("--target-width NUMBER", OUT,
        "Width of the 95 % confidence interval of alpha to reach, such as 0.05.", required=True,
        type=click.FloatRange(min=0.001, max=2)),
    "similarity", "sigmas", "iou", "threshold", "missing", "annotator", *READING, "bootstrap",
    "seed", "checks", "config", "pseudonyms", shared.format_option("text", "json"), "written",
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_PLAN)
def plan(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    target_width: float,
    config: str | None,
    pseudonyms: Path | None,
    output_format: str,
    output: Path | None,
    **given: Any,
) -> int:
    """Plan how many more images must be annotated twice.

    \b
      bboxqa plan export.json --target-width 0.05
      bboxqa plan ann.json bob.json --target-width 0.1 --similarity polygon --iou 0.75

    With the planned images, the 95 % interval of alpha (or of F1, with one category) is as narrow
    as --target-width. FILE is the same as for `bboxqa agree`. New images are assumed to be like the
    existing ones.
    """  # noqa: D301 - click reads the sign
    from msgspec.structs import asdict, replace

    from bboxqa.pipelines.plan import plan_images
    from bboxqa.pipelines.read import AS_COMPARED, read_for

    if not paths and not named:
        raise click.UsageError("no file given; try: bboxqa plan export.json --target-width 0.05")
    source = shared.source_of(paths, named)
    read = source.values() if isinstance(source, dict) else [source]
    console.refuse_inputs([output], [*chain.from_iterable(read), config, pseudonyms])
    choices = shared.reading_of(config, given)
    settings = shared.agree_settings(config, given, choices=choices)
    if given.get("bootstrap") == 0:
        raise click.UsageError("--bootstrap is 0; expected 40 to 100,000: a plan needs an interval")
    with console.tracking() as progress:
        reading = replace(
            AS_COMPARED, digest=False, pseudonyms=pseudonyms, choices=choices, progress=progress
        )
        data = read_for(source, settings, reading)
        planned = plan_images(data, target_width, settings, progress)
    console.show_notes((*data.left_out, *data.map_notes.values()))
    console.print_result(planned, {"json": asdict, "text": _lines}, output_format, output)
    return 2 if planned.n_needed is None else 0


def _lines(planned: "ImagePlan") -> list[str]:
    has = count(planned.n_images, "image")
    lines = [f"Warning: {line}" for line in planned.headlines]
    if planned.n_more is None or planned.n_needed is None or planned.needed_range is None:
        return [*lines, f"{has} annotated by two or more; cannot plan: {planned.status}"]
    what = (
        f"alpha {planned.alpha:z.4f}"
        if planned.f1 is None
        else f"F1 {planned.f1:.4f} (alpha has no meaning here)"
    )
    lines += [
        f"{has} annotated by two or more: {what}, 95 % interval {planned.width:.4f} wide",
        f"target: {planned.target_width:g} wide",
    ]
    if planned.n_more:
        people = count(planned.n_annotators, "annotator")
        times = "twice" if planned.n_annotators == 2 else f"by {people}, as now"
        between = " to ".join(f"{each:,}" for each in planned.needed_range)
        more, needed = count(planned.n_more, "more image"), f"{planned.n_needed:,}"
        lines += [
            f"annotate {more} {times} ({needed} in all), if they are like these",
            f"95 % range: {between} in all; {needed} reach the target in half of the cases",
        ]
    else:
        lines.append(f"reached; {count(planned.n_needed, 'image')} would have been enough")
    if planned.n_images < _FEW:
        lines.append(f"Note: with {has} the width itself is uncertain")
    return lines
