"""Notes on annotations read from YOLO labels."""

from collections.abc import Iterator, Mapping

from bboxqa.core.text import count, one_line
from bboxqa.formats.translation.given_sizes import given_words
from bboxqa.formats.yolo.label_files import LabelFiles


def notes_of(tally: Mapping[str, int], files: LabelFiles) -> Iterator[str]:
    """Yield a note for each fact that was counted, inferred or left out."""
    if tally.get("unnamed"):
        yield "no data.yaml or classes.txt: categories are class numbers"
    elif files.n_names > 1 and files.names is not None:
        several = f"{count(files.n_names, 'file')} with class names"
        yield f"{several}: {one_line(files.names.name)} is used"
    if number := tally.get("given"):
        yield f"{count(number, 'image')} without a picture: {given_words()}"
    if number := tally.get("nameless"):
        some = count(number, "image")
        yield f"{some} without a picture: named as the label file, without suffix"
    yield from _of_shapes(tally)


def _of_shapes(tally: Mapping[str, int]) -> Iterator[str]:
    if number := tally.get("oriented"):
        some = f"{count(number, 'outline')} of four points"
        yield f"{some} {_is(number)} rectangular: taken as oriented {_boxes(number)}"
    if tally.get("box") and tally.get("outline"):
        yield f"{_boxes(tally['box'], tally['box'])} and {count(tally['outline'], 'polygon')} mixed"
    if number := tally.get("pose"):
        yield f"{count(number, 'label')} with key points, which are not compared"
    if number := tally.get("score"):
        yield f"{count(number, 'label')} with a further number, taken as the confidence of a model"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _boxes(number: int, shown: int | None = None) -> str:
    noun = "box" if number == 1 else "boxes"
    return noun if shown is None else f"{shown:,} {noun}"
