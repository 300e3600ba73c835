"""Notes on annotations read from YOLO labels."""

from collections.abc import Iterator, Mapping

from bboxqa.core.text import count, one_line
from bboxqa.formats.translation.given_sizes import given_words
from bboxqa.formats.translation.translated import tally_notes
from bboxqa.formats.yolo.label_files import LabelFiles

_IMAGES = (("nameless", "image", "without a picture: named as the label file, without suffix"),)
_LABELS = (
    ("sizeless", "label", "left out: the size of the image is not known"),
    ("pose", "label", "with key points, which are not compared"),
    ("score", "label", "with a further number, taken as the confidence of a model"),
)


def notes_of(tally: Mapping[str, int], files: LabelFiles) -> Iterator[str]:
    """Yield a note for each fact that was counted, inferred or left out."""
    if tally.get("unnamed") and files.key_point_shape is not None:
        file = one_line(files.key_point_shape.name)
        yield f"{file} has no names of classes, which training needs: categories are class numbers"
    elif tally.get("unnamed"):
        yield "no data.yaml or classes.txt: categories are class numbers"
    elif files.n_names > 1 and files.names is not None:
        several = f"{count(files.n_names, 'file')} with class names"
        yield f"{several}: {one_line(files.names.name)} is used"
    if number := tally.get("given"):
        yield f"{count(number, 'image')} without a picture: {given_words()}"
    yield from tally_notes(tally, _IMAGES)
    yield from _of_shapes(tally)


def _of_shapes(tally: Mapping[str, int]) -> Iterator[str]:
    if number := tally.get("oriented"):
        are = "is rectangular: taken as an oriented box"
        if number > 1:
            are = "are rectangular: taken as oriented boxes"
        yield f"{count(number, 'outline')} of four points {are}"
    if tally.get("box") and tally.get("outline"):
        boxes = count(tally["box"], "box", "boxes")
        yield f"{boxes} and {count(tally['outline'], 'polygon')} mixed"
    if number := tally.get("inferred"):
        inferred = f"{count(number, 'key point')} of x, y and visibility are inferred"
        yield f"no kpt_shape in data.yaml: {inferred}, as all labels have these"
    if (number := tally.get("unsure", 0)) and number == tally["outline"]:
        are = "is taken as an outline" if number == 1 else "are taken as outlines"
        shape = "kpt_shape: [number of key points, 3] in data.yaml"
        yield f"{count(number, 'label')} {are}, but may be a box and key points: {shape} says so"
    yield from tally_notes(tally, _LABELS)
