"""The options of `bboxqa agree`, which other commands that measure agreement share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from bboxqa.cli.options.shared_options import (
    RenamedOption,
    checks_option,
    choice_option,
    completed,
    completed_configs,
    memory_option,
    path_option,
    raw_csv_option,
    threshold_options,
)
from bboxqa.cli.options.source_options import source_options

_Command = TypeVar("_Command", bound=Callable[..., Any])


similarity_option = click.option(
    "--similarity",
    metavar="NAME",
    shell_complete=completed("bboxqa.geometry.similarities.registry:names"),
    help="How two annotations are compared: bbox (default), giou, centroid, obb (rotated boxes), "
    "polygon, mask, pixel, raster or keypoints.",
)


def _numbers(_ctx: Any, _param: Any, text: str | None) -> str | tuple[float, ...] | None:
    """Return comma-separated numbers; another text is returned unchanged."""
    if text is None or text == "estimated":
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(
            f"--sigmas is {text!r}; expected a number, numbers between commas, or estimated"
        ) from None


sigmas_option = click.option(
    "--sigmas",
    metavar="NUMBERS",
    callback=_numbers,
    help="With --similarity keypoints: how far key points scatter, as one number or one for each "
    "between commas, or estimated; default COCO's.",
)
missing_option = click.option(
    "--missing",
    metavar="NAME",
    shell_complete=completed("bboxqa.model.settings:Missing"),
    help="A missing annotation counts as a category of its own (category, default) or not at "
    "all (ignore).",
)
seed_option = click.option(
    "--seed", type=int, metavar="NUMBER", help="Seed of the replicates; default 0."
)
_COMPARING = (
    similarity_option,
    threshold_options(multiple=True),
    click.option(
        "--matcher",
        metavar="NAME",
        shell_complete=completed("bboxqa.matching.matchers:names"),
        help="How annotations are grouped into objects: auto (default; hungarian where two "
        "annotate an image, greedy where more do), hungarian, greedy, average, complete, or "
        "recursive (depends on the order of annotators).",
    ),
    click.option(
        "--category-lenient",
        is_flag=True,
        default=None,
        help="Prefer pairs of equal category when matching.",
    ),
    missing_option,
    click.option(
        "--empty-images",
        metavar="NAME",
        shell_complete=completed("bboxqa.model.settings:EmptyImages"),
        help="Images without annotations count as agreement in the mean over images (agree, "
        "default), as an object on which all agree as well (unit), or not at all (skip).",
    ),
    click.option(
        "--all-touched",
        is_flag=True,
        default=None,
        help="With --similarity raster: fill every pixel that a polygon touches.",
    ),
    sigmas_option,
)


def _mapped(_ctx: Any, _param: Any, pairs: Sequence[str]) -> dict[str, str] | None:
    """Return pairs OLD=NEW as a dictionary; None if there are none."""
    result: dict[str, str] = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals):
            raise click.UsageError(f"--map is {pair!r}; expected OLD=NEW, or OLD= to leave it out")
        if result.setdefault(old, new) != new:
            raise click.UsageError(f"--map names {old!r} twice")
    return result or None


def min_alpha_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option of the smallest accepted alpha; `text` is its help."""
    return click.option("--min-alpha", type=float, metavar="NUMBER", help=text)


def min_f1_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option of the smallest accepted F1; `text` is its help."""
    return click.option("--min-f1", type=float, metavar="NUMBER", help=text)


def map_option() -> Callable[[_Command], _Command]:
    """Return the option that renames categories."""
    return click.option(
        "--map",
        "category_map",
        multiple=True,
        metavar="OLD=NEW",
        callback=_mapped,
        help="Rename a category, such as Cat=cat, or leave it out, such as shadow=. Can be given "
        "several times.",
    )


join_option = choice_option(
    "--join",
    ("path", "name", "stem"),
    "Join images of several files by the whole file_name (path, default), without folders "
    "(name), or also without suffix and Roboflow's .rf.HASH (stem).",
)
asked_option = choice_option(
    "--asked",
    ("authors", "all"),
    "Who was asked about images that do not list it: those who annotated them (authors, "
    "default), or all annotators, so that who drew nothing missed the objects (all).",
)
_READING = (
    click.option(
        "--annotator-key", metavar="KEY", help="Key on annotations that names the annotator."
    ),
    click.option(
        "--attribution",
        metavar="NAME",
        shell_complete=completed("bboxqa.model.settings:Attribution"),
        help="How annotators are found: annotator-key, image-records or files; default the first "
        "that finds two annotators.",
    ),
    join_option,
    map_option(),
    asked_option,
    click.option(
        "--pattern",
        "filter",
        cls=RenamedOption,
        metavar="GLOB",
        help="In a folder or an archive, read only files whose names match.",
    ),
)
_MEASURING = (
    click.option(
        "--bootstrap",
        type=int,
        metavar="NUMBER",
        help="Replicates for confidence intervals, 40 to 100,000; default 1000, 0 for none.",
    ),
    seed_option,
    checks_option(),
    memory_option(),
    click.option(
        "--config",
        shell_complete=completed_configs,
        metavar="FILE",
        help="Settings in TOML, or the name of settings that come with bboxqa (coco-bbox, "
        "coco-segm, kalphacv, kalos, …); options on the command line replace them.",
    ),
    path_option(
        "--out", "Write summary.json, manifest.json and the tables as csv to this folder.", "DIR"
    ),
    click.option("--force", is_flag=True, help="Replace existing files in --out."),
    raw_csv_option(),
)


def comparing_options(command: _Command) -> _Command:
    """Add the options of `agree` that say how annotations are compared."""
    return _with(_COMPARING, command)


def reading_options(command: _Command) -> _Command:
    """Add the options of `agree` that say what is read, and how it is joined."""
    return _with(_READING, source_options(command))


def measuring_options(command: _Command) -> _Command:
    """Add the options of `agree` that say what is measured and written."""
    return _with(_MEASURING, command)


def _with(options: Sequence[Callable[[_Command], _Command]], command: _Command) -> _Command:
    # click shows options in the reverse order of decoration.
    for option in reversed(options):
        command = option(command)
    return command


named_files_option = click.option(
    "--annotator",
    "named",
    multiple=True,
    metavar="NAME=FILE",
    help="File or folder of one annotator; give at least one for each annotator.",
)


def source_of(paths: tuple[Path, ...], named: tuple[str, ...]) -> Any:
    """Return the files, or the annotators with their files."""
    if bool(paths) == bool(named):
        raise click.UsageError(
            "name the files either as FILE… or as --annotator NAME=FILE, not both"
            if paths
            else "no file given; try: bboxqa agree export.json, or bboxqa example fruits"
        )
    if not named:
        return paths
    source: dict[str, list[Path]] = {}
    for pair in named:
        name, equals, file = pair.partition("=")
        if not (name and equals and file):
            raise click.UsageError(f"--annotator is {pair!r}; expected NAME=FILE")
        source.setdefault(name, []).append(Path(file))
    return source
