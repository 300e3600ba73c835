"""Writing DOTA label files, with one folder per annotator."""

from collections.abc import Iterator

from bboxqa.core.text import one_line
from bboxqa.formats.writing.changed_names import folders_as_people, image_name_losses
from bboxqa.formats.writing.content import Content, Record, image_name
from bboxqa.formats.writing.losses import (
    ANNOTATIONS,
    ATTRIBUTES,
    CATEGORY_NAMES,
    Loss,
    Noun,
    common_losses,
    folder_losses,
    key_losses,
)
from bboxqa.formats.writing.safe_names import people_paths, safe_paths, without_ending
from bboxqa.formats.writing.shapes.outlines import bbox_corners, corner_losses, corners_of
from bboxqa.formats.writing.writer import Options, Writer, Written

_TITLE = "DOTA"
_MOST = 9
# Texts of CVAT, and of the other formats whose marks are 0 and 1.
_TEXTS = {"true": 1, "false": 0} | {str(each): each for each in range(_MOST + 1)}


def _losses(content: Content, _options: Options) -> Iterator[Loss]:
    yield from corner_losses(content, _TITLE)
    yield from common_losses(content, _TITLE, annotations=("attributes",))
    why = f"{_TITLE} only has the mark 'difficult'"
    yield from key_losses(content.annotations, ANNOTATIONS, why, _is_mark)
    yield from folder_losses(content, _TITLE)
    yield from image_name_losses(content, _TITLE, "labelTxt")
    yield from folders_as_people(content, _TITLE)
    lost = [name for name in content.category_names.values() if not _is_held(name)]
    if lost:
        why = f"{_TITLE} writes names after numbers, as words with single blanks between them"
        words = f"{why}; read as {_as_words(lost[0])!r}"
        yield Loss(len(lost), CATEGORY_NAMES, words, repr(one_line(lost[0])), "changed")
    names = [image_name(each) for each in content.images]
    lost = [name for name in names if without_ending(name) != name]
    if lost:
        why = f"{_TITLE} names files after images, without what kind of file they are"
        noun = Noun("ending of an image name", "endings of image names")
        yield Loss(len(lost), noun, why, repr(one_line(lost[0])), "changed")


def _is_held(name: str) -> bool:
    """Return whether a category name is read back unchanged."""
    return _as_words(name) == name


def _as_words(name: str) -> str:
    """Return a category name as it is written; a number could not be told from the others."""
    words = " ".join(name.split())
    return words if words and not words.replace(" ", "").isdecimal() else f"class {words}".strip()


def _is_mark(key: str, value: object) -> bool:
    """Return whether a key is the mark, or anything but an attribute."""
    first, _, name = key.partition(".")
    return first != ATTRIBUTES or (name == "difficult" and _mark(value) is not None)


def _mark(value: object) -> int | None:
    """Return a mark as DOTA has it; None for another value."""
    number = _TEXTS.get(value) if isinstance(value, str) else value
    return int(number) if isinstance(number, int | float) and number in range(_MOST + 1) else None


def _files(content: Content, _options: Options) -> Iterator[Written]:
    paths = safe_paths(image_name(each) for each in content.images)
    people = people_paths(content.annotators)
    for place, image in enumerate(content.images):
        *folders, last = paths[image_name(image)]
        for name, drawn in content.works(place):
            text = "".join(_line(content, each) for each in drawn)
            parts = (*people[name], "labelTxt", *folders, f"{last}.txt")
            yield Written(parts, text.encode())


def _line(content: Content, annotation: Record) -> str:
    corners = corners_of(annotation)
    points = bbox_corners(annotation) if corners is None else corners
    values = " ".join(f"{each:.10g}" for each in points.ravel().tolist())
    marks = annotation.get("attributes")
    difficult = marks.get("difficult", 0) if isinstance(marks, dict) else 0
    mark = _mark(difficult) or 0
    name = _as_words(content.category_names[annotation["category_id"]])
    return f"{values} {name} {mark}\n"


DOTA = Writer(_TITLE, "folder", (".txt",), _losses, _files, has_sizes=False)
"""Four corners in pixels."""
