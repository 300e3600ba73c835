"""Refusing conversions to a format that cannot hold what is in the files."""

from collections.abc import Iterable, Iterator

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.losses import Loss
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
