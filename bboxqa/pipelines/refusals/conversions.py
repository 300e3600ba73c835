"""Refusing conversions to a format that cannot hold what is in the files."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from bboxqa.core.errors import DatasetError, OutputError
from bboxqa.core.text import clean, count
from bboxqa.formats.translation.heads import ARCHIVES
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.losses import Loss
from bboxqa.formats.writing.registry import WRITERS
from bboxqa.formats.writing.writer import Writer

_GIVE_SIZES = (
    "Add the size of each image to the input files, or give it for all of them: "
    "--image-size 1920x1080"
)
_LEAVE_OUT = "Nothing was written. To write the rest: --lossy"


def refuse_conversion(content: Content, to_format: Writer, losses: Iterable[Loss]) -> None:
    """Raise DatasetError with all losses, and images without the size that the format needs."""
    problems = {
        _GIVE_SIZES: [*_without_size(content, to_format)],
        _LEAVE_OUT: [str(each) for each in losses],
    }
    found = [each for of_advice in problems.values() for each in of_advice]
    if found:
        raise DatasetError(found, "\n".join(advice for advice in problems if problems[advice]))


def _without_size(content: Content, to_format: Writer) -> Iterator[str]:
    if to_format.needs_sizes is None:
        return
    if names := content.without_size(drawn=to_format.needs_sizes == "drawn images"):
        some = f"{count(len(names), 'image')} without width and height, such as {names[0]!r}"
        yield f"{some}; {to_format.title} needs them"


def refuse_ending(path: Path, to_format: Writer, *, is_file: bool) -> None:
    """Raise OutputError if an output would have the name of an archive, or a folder of a file.

    No archive is written, and programs do not open a folder that is named like a file.
    """
    of_files = () if is_file else tuple(end for each in WRITERS.values() for end in each.suffixes)
    wrong = (*ARCHIVES, *of_files)
    if path.is_dir() or not path.name.lower().endswith(wrong):
        return
    stem = path.name
    while stem.lower().endswith(wrong):
        stem = stem.rpartition(".")[0]
    stem, end = stem or "out", to_format.suffixes[0]
    names, layout = [stem], "a folder"
    if is_file:
        names, layout = [stem if stem.lower().endswith(end) else stem + end], "one file"
    elif to_format.layout == "folder or file":
        names, layout = [stem, stem + end], "a folder, or one file of one annotator"
    typed = " or ".join(shlex.quote(clean(str(path.with_name(each)))) for each in names)
    is_packed = path.name.lower().endswith(ARCHIVES)
    kind = "an archive, which is not written" if is_packed else "a file"
    raise OutputError(f"{path}: is the name of {kind}; {to_format.title} is {layout}; try: {typed}")
