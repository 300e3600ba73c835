"""The options of commands, in groups, and the settings that are built from them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from bboxqa.model.annotations import Choices
    from bboxqa.model.settings import AgreeSettings

READ, COMPARE, OUT = "What is read", "How it is compared", "What comes out"
"""The groups of options in the help of a command."""
_MORE = "Further options"
# The options that decide whether a command exits with 1.
_GATES = ("--fail-on", "--min-alpha", "--min-f1")
# Names of earlier versions, which are accepted but not shown.
_EARLIER = {"output": "out", "output-format": "format", "filter": "pattern"}
# The most thresholds of a range, and how exactly its ends have to be a step apart.
_MOST_STEPS, _NEAR = 100, 1e-9
_BOX_FORMATS = tuple(
    form + unit for unit in ("", "-shares", "-pixels") for form in ("xywh", "xyxy", "cxcywh")
)
SOURCE_OPTIONS = (
    "from_format", "image_size", "missing_txt", "voc_base", "rotated", "columns", "box_format",
    "mask",
)  # fmt: skip
"""The options for information that files of annotation tools lack."""

A_PATH = click.Path(path_type=Path, readable=False)
"""A file or folder. Whether it can be read is found, and said, where it is read."""
A_SEVERITY = click.Choice(("error", "warning", "info"))


class Option(click.Option):
    """An option of a group, from what is typed; `to` is its parameter where that differs."""

    def __init__(
        self, typed: str, group: str, text: str, to: str = "", *, rare: bool = False,
        parse: Callable[[Any], Any] | None = None, **more: Any,
    ) -> None:  # fmt: skip
        def parsed(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
            try:
                return None if parse is None or value in (None, ()) else parse(value)
            except ValueError as error:
                raise click.UsageError(f"{self.opts[0]} {error}") from None

        words = typed.split(" ")
        names = [word for word in words if word.startswith("-")]
        more |= {"metavar": " ".join(words[len(names) :]) or None, "callback": parse and parsed}
        super().__init__([*names, *filter(None, [to])], help=text, **more)
        self.group, self.rare = group, rare


class Command(click.Command):
    """A command whose help shows its options in groups, and the rare ones with --help-all."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters and --help-all, which is shown where there are rare options."""
        params = super().get_params(ctx)
        flags: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
        flags["hidden"] = not any(getattr(each, "rare", False) for each in params)
        return [*params, click.Option(["--help-all"], help="Show all options and exit.", **flags)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what was typed, in which the options of this command may have earlier names."""
        if "--help-all" in args:
            ctx.meta["bboxqa.help_all"] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        own = {name for each in self.params for name in each.opts}
        known = {name: now for name, now in _EARLIER.items() if f"--{now}" in own}
        ctx.token_normalize_func = lambda typed: known.get(typed, typed)
        given = [] if ctx.resilient_parsing else self.make_parser(ctx).parse_args([*args])[2]
        for each in given:
            is_one = isinstance(each, Option) and not (each.multiple or each.is_flag)
            if is_one and given.count(each) > 1:
                raise click.UsageError(f"{each.opts[0]} is given twice; expected one value")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups."""
        groups: dict[str, list[tuple[str, str]]] = {READ: [], COMPARE: [], OUT: [], _MORE: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            is_hidden = getattr(param, "rare", False) and not ctx.meta.get("bboxqa.help_all")
            if record is not None and not is_hidden:
                groups.setdefault(getattr(param, "group", _MORE), []).append(record)
        used = {name: records for name, records in groups.items() if records}
        for name, records in used.items():
            with formatter.section("Options" if [*used] == [_MORE] else name):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes."""
        names = [name for each in self.get_params(ctx) for name in each.opts if name in _GATES]
        failed = f" 1: a check failed ({', '.join(names)})." if names else ""
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text(f"Exit code 0: done.{failed} 2: could not run. 130: interrupted.")


FILES = click.Argument(["paths"], nargs=-1, metavar="FILE…|DIR", type=A_PATH)
"""The argument that takes any number of files."""


def format_option(*choices: str) -> Option:
    """Return the option of the output format: by default text."""
    text, kind = "What is printed; default text.", click.Choice(choices)
    return Option("--format", OUT, text, to="output_format", type=kind, default="text")


_REMOVED = {
    "since": "type `bboxqa compare {} AFTER`",
    "memory": "images are always compared block by block; for many projects, use `bboxqa batch`, "
    "on several machines with --scheduler",
}


def _removed(instead: str, value: str) -> None:
    raise ValueError(f"was removed: {instead.format(value)}")


def _sigmas(text: str) -> str | tuple[float, ...]:
    try:
        return text if text == "estimated" else tuple(map(float, text.split(",")))
    except ValueError:
        expected = "a number, numbers between commas, or estimated"
        raise ValueError(f"is {text!r}; expected {expected}") from None


def _mapped(pairs: Sequence[str]) -> dict[str, str]:
    result: dict[str, str] = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals):
            raise ValueError(f"is {pair!r}; expected OLD=NEW, or OLD= to leave it out")
        if result.setdefault(old, new) != new:
            raise ValueError(f"names {old!r} twice")
    return result


def _size(text: str) -> str | tuple[int, int]:
    """Return the size of all images, or the file that has the size of each."""
    from bboxqa.formats.choices import SIZE

    found = SIZE.fullmatch(text.strip())
    if found is None and not Path(text).exists():
        raise ValueError(
            f"is {text!r}, no file or folder; expected such as 1920x1080, a file that has the size "
            "of each image, or the folder of images"
        )
    return text if found is None else (int(found[1]), int(found[2]))


def _columns(text: str) -> dict[str, str]:
    pairs = [each.partition("=") for each in text.split(",")]
    wrong = [f"{key}{sign}{name}" for key, sign, name in pairs if not key or not name]
    if wrong:
        raise ValueError(f"is {wrong[0]!r}; expected such as image=file,x=left")
    return {key.strip(): name.strip() for key, _, name in pairs}


def _all_thresholds(texts: Sequence[str]) -> tuple[float, ...]:
    """Return the thresholds; "0.5:0.95" is each 0.05 of this range."""
    found: list[float] = []
    for text in texts:
        try:
            first, *last = map(float, text.split(":"))
            steps = round(20 * (last[0] - first)) if last else 0
            is_far = steps > 0 and abs(first + steps / 20 - last[-1]) > _NEAR
            if len(last) > 1 or not 0 <= steps <= _MOST_STEPS or is_far:
                raise ValueError  # noqa: TRY301 - the same message
        except (ValueError, OverflowError):
            raise ValueError(
                f"is {text!r}; expected a number such as 0.5, or a range such as 0.5:0.95, whose "
                "ends are a multiple of 0.05 apart"
            ) from None
        found += [round(first + step / 20, 10) for step in range(steps + 1)]
    return tuple(found)


_SHARED = {
    "annotator": Option("--annotator NAME=FILE", READ,
        "File or folder of one annotator; give at least one for each annotator.",
        to="named", multiple=True),
    "annotator_key": Option("--annotator-key KEY", READ,
        "Key on annotations that names the annotator."),
    "attribution": Option("--attribution NAME", READ,
        "How annotators are found: annotator-key, image-records or files; default the first that "
        "finds two annotators."),
    "join": Option("--join", READ,
        "Join images of several files by the whole file_name (path, default), without folders "
        "(name), or also without suffix and Roboflow's .rf.HASH (stem); none keeps them apart.",
        type=click.Choice(("path", "name", "stem", "none"))),
    "map": Option("--map OLD=NEW", READ,
        "Rename a category, such as Cat=cat, or leave it out, such as shadow=. Can be given "
        "several times.", to="category_map", multiple=True, parse=_mapped),
    "asked": Option("--asked", READ,
        "Who was asked about images that do not list it: those who annotated them (authors, "
        "default), or all annotators, so that who drew nothing missed the objects (all).",
        rare=True, type=click.Choice(("authors", "all"))),
    "pattern": Option("--pattern GLOB", READ,
        "In a folder or an archive, read only files whose names match.", rare=True, to="filter"),
    "from_format": Option("--from FORMAT", READ,
        "The format to read of a folder or archive that holds several, such as coco.",
        rare=True, to="from_format"),
    "image_size": Option("--image-size WIDTHxHEIGHT|FILE", READ,
        "The size of images of unknown size, in formats that need it: such as 1920x1080, or a "
        "table, annotations or the folder of images with the size of each.",
        rare=True, parse=_size),
    "missing_txt": Option("--missing-txt", READ,
        "YOLO, VOC, LabelMe, DOTA: whether an image without a label file was annotated, and "
        "nothing found in it (asked), or not annotated (not-asked, default).",
        rare=True, type=click.Choice(("asked", "not-asked"))),
    "voc_base": Option("--voc-base", READ,
        "Pascal VOC: the number of the first pixel in files that do not state it; default 1.",
        rare=True, type=click.Choice(("0", "1"))),
    "rotated": Option("--rotated FORM", READ,
        "COCO: what boxes of five numbers hold, such as cxcywh-ccw-degrees: cxcywh or xywh, cw "
        "or ccw (counter-clockwise), degrees or radians; without it, they are refused.", rare=True),
    "columns": Option("--columns WHAT=NAME,…", READ,
        "Tables: what columns hold, such as image=file,annotator=who,x=left; by default found "
        "from their names (docs/formats.md). Label Studio: image=KEY of data.",
        rare=True, parse=_columns),
    "box_format": Option("--box-format FORM[-UNIT]", READ,
        "Tables: whether a box is left, top, width and height (xywh), two corners (xyxy), or "
        "centre, width and height (cxcywh), and in which unit: xyxy-shares of the image or "
        "xyxy-pixels; by default inferred from names and numbers.",
        rare=True, type=click.Choice(_BOX_FORMATS)),
    "mask": Option("--mask KIND", READ,
        "Read pictures as masks: instances (each value an object), binary[:VALUE] (each file an "
        "object; VALUE 255), objects[:VALUE] (each file an object in the folder of its image) or "
        "classes (each region of a value an object of a class).", rare=True),
    "checks": Option("--checks/--no-checks", READ,
        "Refuse files in which `bboxqa validate` finds boxes in another layout, many annotations "
        "twice or lists as names of annotators (default), or measure them as they are.",
        rare=True, default=None),
    "similarity": Option("--similarity NAME", COMPARE,
        "How two annotations are compared: bbox (default), giou, centroid, obb (rotated boxes), "
        "polygon, mask, pixel, raster or keypoints."),
    "iou": Option("--iou NUMBER", COMPARE,
        "Lowest similarity (IoU) of two annotations of one object; default 0.5. Agree and compare "
        "take several, and ranges: 0.5:0.95 is each 0.05 from 0.5 to 0.95, as in COCO's AP.",
        multiple=True, parse=_all_thresholds),
    "threshold": Option("--threshold NUMBER", COMPARE,
        "The same for a similarity that is not IoU, such as centroid.", rare=True,
        multiple=True, parse=_all_thresholds),
    "matcher": Option("--matcher NAME", COMPARE,
        "How annotations are grouped into objects: auto (default; hungarian where two annotate "
        "an image, greedy where more do), hungarian, greedy, average, complete, or recursive "
        "(depends on the order of annotators)."),
    "category_lenient": Option("--category-lenient", COMPARE,
        "Prefer pairs of equal category when matching.", rare=True, is_flag=True, default=None),
    "missing": Option("--missing NAME", COMPARE,
        "A missing annotation counts as a category of its own (category, default) or not at all "
        "(ignore).", rare=True),
    "empty_images": Option("--empty-images NAME", COMPARE,
        "Images without annotations count as agreement in the mean over images (agree, default), "
        "as an object on which all agree as well (unit), or not at all (skip).", rare=True),
    "all_touched": Option("--all-touched", COMPARE,
        "With --similarity raster: fill every pixel that a polygon touches.",
        rare=True, is_flag=True, default=None),
    "sigmas": Option("--sigmas NUMBERS", COMPARE,
        "With --similarity keypoints: how far key points scatter, as one number or one for each "
        "between commas, or estimated; default COCO's.", rare=True, parse=_sigmas),
    "bootstrap": Option("--bootstrap NUMBER", COMPARE,
        "Replicates for confidence intervals, 40 to 100,000; default 1000, 0 for none.",
        rare=True, type=int),
    "seed": Option("--seed NUMBER", COMPARE,
        "Seed of the replicates; default 0.", rare=True, type=int),
    "interval": Option("--interval", COMPARE,
        "How confidence intervals are computed; default percentile.",
        type=click.Choice(("percentile", "bca"))),
    "config": Option("--config FILE", COMPARE,
        "Settings in TOML, or the name of settings that come with bboxqa (coco-bbox, coco-segm, "
        "kalphacv, kalos, …); options on the command line replace them."),
    "min_alpha": Option("--min-alpha NUMBER", OUT,
        "Exit with 1 if the pooled alpha is lower; images or projects below it are marked.",
        type=float),
    "min_f1": Option("--min-f1 NUMBER", OUT,
        "The same for F1 of all pairs of annotators: whether they drew the same objects.",
        type=float),
    "quiet": Option("-q --quiet", OUT, "Print the most important figures only.", is_flag=True),
    "pseudonyms": Option("--pseudonyms FILE", OUT,
        "Call annotators by pseudonyms in all that is printed and written. They are kept in this "
        "file, the key, which only you can read; it must not lie in a folder that is written.",
        rare=True, type=A_PATH),
    "images": Option("--images DIR", OUT,
        "Folder of image files, which a page shows behind the boxes. Can be given several times.",
        rare=True, multiple=True, type=A_PATH),
    "split": Option("--split", OUT,
        "Write the page as a folder: index.html, with style, script and images as files.",
        rare=True, is_flag=True),
    "top": Option("--top NUMBER", OUT,
        "How many of the worst images a page shows; default 50, with --split 1000.",
        rare=True, type=click.IntRange(min=0)),
    "raw_csv": Option("--raw-csv", OUT,
        "Put no apostrophe before csv cells that spreadsheets would run as formulas. Control "
        "characters of names are escaped in either case.", rare=True, is_flag=True),
    "written": Option("-o --out FILE", OUT,
        "Write to this file instead of printing.", to="output", type=A_PATH),
    "session_key": Option("--session-key KEY", READ,
        "Key on annotations or image records that names the session, where annotators annotated "
        "images in several: shows how far they agree with themselves. If each file is a session: "
        "file.", rare=True),
    "time_key": Option("--time-key KEY", READ,
        "Key on annotations that says when they were made, such as created_at: shows speed, "
        "drift and fatigue with --details.", rare=True),
    "tracks": Option("--tracks", READ,
        "Read which boxes of a video show one object, such as track_id: shows with --details "
        "whether annotators follow the same objects (IDF1), and where they switch.",
        rare=True, is_flag=True),
    "reference": Option("--reference NAME|FILE", READ,
        "Compare each annotator with an expert: one of the annotators, who then has no part in "
        "alpha, or a file or folder with the right annotations of some or all images."),
    "predictions": Option("--predictions FILE", READ,
        "COCO results of a model, which counts as one more annotator: named after this file, and "
        "asked about all images. Ids of images and categories are those of the annotated files.",
        rare=True, type=A_PATH),
    "score": Option("--score NUMBER", READ,
        "Lowest score of results that count, in --predictions and in lists of results; default "
        "0.5.", rare=True, type=click.FloatRange(0, 1)),
    "diagnose": Option("--details --diagnose", OUT,
        "Print the tables behind the answer, and with --out write them as csv.",
        to="diagnose", is_flag=True),
    "report": Option("--report FILE", OUT,
        "Write a page of html that shows the result to this file, or with --split to this folder.",
        type=A_PATH),
    "out": Option("-o --out DIR", OUT,
        "Write the figures, tables and images to this folder: json and csv.",
        to="out", type=A_PATH),
    "send_back": Option("--send-back DIR", OUT,
        "Write a file for each annotator with the objects to look at again, for the tool of --to; "
        "`bboxqa accept` takes over what they change.", type=A_PATH),
    "to": Option("--to FORMAT", OUT,
        "Format of the files of --send-back, such as cvat, label-studio or coco.", rare=True),
    "force": Option("--force", OUT, "Replace existing files in --out.", rare=True, is_flag=True),
    **{ name: Option(f"--{name}", OUT, "", hidden=True, expose_value=False,
                     parse=partial(_removed, instead))
        for name, instead in _REMOVED.items()
    },
}  # fmt: skip
READING = ("annotator_key", "attribution", "join", "map", "asked", "pattern", *SOURCE_OPTIONS)
"""The options of `agree` that say what is read, and how it is joined."""
COMPARING = (
    "similarity", "iou", "threshold", "matcher", "category_lenient", "missing", "empty_images",
    "all_touched", "sigmas",
)  # fmt: skip
"""The options of `agree` that say how annotations are compared."""


def params(*found: str | click.Parameter) -> list[click.Parameter]:
    """Return the parameters of a command: shared options, by name, and others."""
    return [_SHARED[each] if isinstance(each, str) else each for each in found]


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


def reading_of(
    config: str | None, given: dict[str, Any], saved: Mapping[str, str] = {}
) -> "Choices":
    """Return what the options, a saved result or a settings file say of the files to read."""
    from bboxqa.formats.choices import choices_from, choices_of
    from bboxqa.model.annotations import completed
    from bboxqa.model.settings import read_settings_file

    context = click.get_current_context()
    values = {name: given.pop(name, None) for name in SOURCE_OPTIONS}
    for each in context.command.params:
        name = str(each.name)
        if name in saved and context.get_parameter_source(name) is ParameterSource.DEFAULT:
            values[name] = each.process_value(context, saved[name])
    if values["voc_base"] is not None:
        values["voc_base"] = int(values["voc_base"])
    found = choices_of(values)
    if config is None:
        return found
    return completed(found, choices_from(read_settings_file(config).reading, Path(config)))


def agree_settings(
    config: str | None,
    given: dict[str, Any],
    saved: Mapping[str, Any] | None = None,
    choices: "Choices | None" = None,
) -> "AgreeSettings":
    """Return the settings of a file, or saved settings, overridden by the given options."""
    from bboxqa.pipelines.read import agree_settings_from, read_agree_settings

    given = {key: value for key, value in given.items() if value not in (None, ())}
    if {"iou", "threshold"} <= given.keys():
        raise click.UsageError("--threshold is another name of --iou; give one of them")
    for name in {"iou", "threshold"} & given.keys():
        given["iou_threshold"] = given.pop(name)
    default = {"similarity": "mask"} if choices is not None and choices.mask else {}
    of_file = read_agree_settings(config) if config else {}
    return agree_settings_from({**default, **(saved or {}), **of_file, **given})
