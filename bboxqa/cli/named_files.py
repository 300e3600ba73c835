"""Files that are named with their annotators."""

from pathlib import Path
from typing import Any

import click

named_files_option = click.option(
    "--annotator",
    "named",
    multiple=True,
    metavar="NAME=FILE",
    help="File of one annotator; give one for each annotator.",
)


def source_of(
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    example: str = "no file given; try: bboxqa agree export.json, or bboxqa example fruits",
) -> Any:
    """Return the files, or the annotators with their files.

    `example` is what is said where there are none.
    """
    if bool(paths) == bool(named):
        raise click.UsageError(
            "name the files either as FILE… or as --annotator NAME=FILE, not both"
            if paths
            else example
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
