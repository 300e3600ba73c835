"""Options that several commands share, and settings built from options."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from bboxqa.cli.options.source_options import say_settings

if TYPE_CHECKING:
    from bboxqa.model.settings import AgreeSettings

# Names of earlier versions, which are accepted but not shown.
_EARLIER = {"--out": "--output", "--format": "--output-format", "--pattern": "--filter"}

A_PATH = click.Path(path_type=Path, readable=False)
"""A file or folder. Whether it can be read is found, and said, where it is read."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


class RenamedOption(click.Option):
    """An option that is also accepted under its former name."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option to a parser, under all its names."""
        shown = self.opts
        self.opts = [*shown, *(_EARLIER[name] for name in shown if name in _EARLIER)]
        super().add_to_parser(parser, ctx)
        self.opts = shown


def completed(source: str) -> Callable[..., list[str]]:
    """Return a completer of an option: names that begin with the typed text.

    `source` is a type `Literal` of names, or a function that returns names, as "module:name". It is
    imported on TAB only.
    """

    def complete(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
        found = resolve_name(source)
        before, comma, last = incomplete.rpartition(",")
        names = get_args(found) or found()
        return [before + comma + name for name in names if name.startswith(last)]

    return complete


def completed_configs(
    _context: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return completions of --config: names of bundled settings, and files."""
    from bboxqa.model.settings_files import bundled_configs

    names = [name for name in bundled_configs() if name.startswith(incomplete)]
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


def threshold_options(*, multiple: bool = False) -> Callable[[_Command], _Command]:
    """Return the options of the threshold of a similarity, for IoU and for others."""
    more = " Can be given several times." if multiple else ""
    texts = {
        "--threshold": f"The same for a similarity that is not IoU, such as centroid.{more}",
        "--iou": f"Least similarity of two annotations of one object; default 0.5.{more}",
    }

    def decorate(command: _Command) -> _Command:
        # click shows options in the reverse order of decoration.
        for name, text in texts.items():
            option = click.option(name, type=float, multiple=multiple, metavar="NUMBER", help=text)
            command = option(command)
        return command

    return decorate


def files_argument(metavar: str = "FILE…|DIR") -> Callable[[_Command], _Command]:
    """Return the argument that takes any number of files."""
    return click.argument("paths", nargs=-1, metavar=metavar, type=A_PATH)


def path_option(
    name: str, text: str, metavar: str = "FILE", *, to: str = "out"
) -> Callable[[_Command], _Command]:
    """Return an option that takes a path; the option of the output is also ``-o``.

    `to` is the parameter name of the output.
    """
    names = ("-o", name, to) if name == "--out" else (name,)
    return click.option(*names, cls=RenamedOption, type=A_PATH, metavar=metavar, help=text)


def pseudonyms_option(command: _Command) -> _Command:
    """Add the option of the key of pseudonyms."""
    text = (
        "Call annotators by pseudonyms in all that is printed and written. They are kept in this "
        "file, the key, which only you can read; it must not lie in a folder that is written."
    )
    return path_option("--pseudonyms", text)(command)


def written_option() -> Callable[[_Command], _Command]:
    """Return the option that writes the output to a file instead of printing it."""
    return path_option("--out", "Write to this file instead of printing.", to="output")


def split_option(command: _Command) -> _Command:
    """Add the option that writes a page as a folder."""
    text = "Write the page as a folder: index.html, with style, script and images as files."
    return click.option("--split", is_flag=True, help=text)(command)


def top_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option that limits the images of a page; `text` is its help."""
    return click.option(
        "--top",
        type=click.IntRange(min=0),
        metavar="NUMBER",
        help=f"{text}; default 50, with --split 1000.",
    )


def page_options(command: _Command) -> _Command:
    """Add the options of pages on images."""
    command = top_option("How many of the worst images a page shows")(split_option(command))
    return click.option(
        "--images",
        multiple=True,
        metavar="DIR",
        type=A_PATH,
        help="Folder of image files, which a page shows behind the boxes. Can be given several "
        "times.",
    )(command)


def choice_option(
    name: str, choices: Sequence[str], text: str, default: str | None = None
) -> Callable[[_Command], _Command]:
    """Return an option with choices; its help ends with the default."""
    ending = "" if default is None else f"; default {default}."
    return click.option(name, type=click.Choice(choices), default=default, help=text + ending)


def format_option(*choices: str) -> Callable[[_Command], _Command]:
    """Return the option of the output format: by default text."""
    kind = click.Choice(choices)
    help_text = "What is printed; default text."
    return click.option(
        "--format", "output_format", cls=RenamedOption, type=kind, default="text", help=help_text
    )


def checks_option() -> Callable[[_Command], _Command]:
    """Return the option that also measures files that are refused by default."""
    help_text = (
        "Refuse files in which `bboxqa validate` finds boxes in another layout, many annotations "
        "twice or lists as names of annotators (default), or measure them as they are."
    )
    return click.option("--checks/--no-checks", default=None, help=help_text)


def quiet_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option that shortens the printed text; `text` is its help."""
    return click.option("-q", "--quiet", is_flag=True, help=text)


def raw_csv_option() -> Callable[[_Command], _Command]:
    """Return the option that writes cells of CSV without an apostrophe before formulas."""
    help_text = (
        "Put no apostrophe before csv cells that spreadsheets would run as formulas. Control "
        "characters of names are escaped in either case."
    )
    return click.option("--raw-csv", is_flag=True, help=help_text)


def resampling_options(draws: str = "") -> Callable[[_Command], _Command]:
    """Return the options of confidence intervals; `draws` names what is resampled."""
    replicates = (
        f"Replicates for confidence intervals{draws}, 40 to 100,000; default 1000, 0 for none."
    )
    seed = "Seed of the replicates; default 0."
    interval = "How confidence intervals are computed"
    number = click.IntRange(min=0)

    def decorate(command: _Command) -> _Command:
        # click shows options in the reverse order of decoration.
        command = choice_option("--interval", ("percentile", "bca"), interval, "percentile")(
            command
        )
        command = click.option("--seed", type=number, default=0, metavar="NUMBER", help=seed)(
            command
        )
        return click.option(
            "--bootstrap", type=number, default=1000, metavar="NUMBER", help=replicates
        )(command)

    return decorate


def removed_option(name: str, instead: str) -> Callable[[_Command], _Command]:
    """Return an option that is no longer there: it exits 2 with what to type instead."""

    def refuse(_ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{name} was removed: {instead.format(value=value)}")

    return click.option(name, hidden=True, expose_value=False, callback=refuse)


def memory_option() -> Callable[[_Command], _Command]:
    """Return the removed option that limited memory."""
    return removed_option(
        "--memory",
        "images are always compared block by block; for many projects, use `bboxqa batch`, on "
        "several machines with --scheduler",
    )


def agree_settings(
    config: str | None, options: dict[str, Any], saved: Mapping[str, Any] | None = None
) -> "AgreeSettings":
    """Return the settings of a file, or saved settings, overridden by the given options.

    Error messages name options as they are typed.
    """
    from bboxqa.pipelines.settings import agree_settings_from, read_agree_settings

    say_settings(config)
    given = {key: value for key, value in options.items() if value not in (None, ())}
    names = {key: f"--{key.replace('_', '-')}" for key in given}
    names["category_map"] = "--map"
    if {"iou", "threshold"} <= given.keys():
        raise click.UsageError("--threshold is another name of --iou; give one of them")
    for name in ("iou", "threshold"):
        if name in given:
            given["iou_threshold"], names["iou_threshold"] = given.pop(name), names[name]
    return agree_settings_from(
        {**(saved or {}), **(read_agree_settings(config) if config else {}), **given},
        names={key: names[key] for key in given},
    )


def check_bootstrap(number: int) -> None:
    """Refuse a number of replicates that is out of range, before files are read."""
    from bboxqa.model.settings import settings_from

    settings_from({"bootstrap": number}, names={"bootstrap": "--bootstrap"})
