"""Writing DOTA label files, with one folder per annotator."""

from collections.abc import Iterator

from bboxqa.formats.translation.shapes import mapping
from bboxqa.formats.writing.content import Content, Options, Writer, Written, image_name
from bboxqa.formats.writing.losses import ATTRIBUTES
from bboxqa.formats.writing.names import people_paths, safe_paths
from bboxqa.formats.writing.outlines import bbox_corners, corners_of

_TITLE = "DOTA"
_MOST = 9
# Texts of CVAT, and of the other formats whose marks are 0 and 1.
_TEXTS = {"true": 1, "false": 0} | {str(each): each for each in range(_MOST + 1)}


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
            text = ""
            for each in drawn:
                corners = corners_of(each)
                points = bbox_corners(each) if corners is None else corners
                values = " ".join(f"{value:.10g}" for value in points.ravel().tolist())
                difficult = _mark(mapping(each.get(ATTRIBUTES)).get("difficult", 0))
                category = _as_words(content.category_names[each["category_id"]])
                text += f"{values} {category} {difficult or 0}\n"
            parts = (*people[name], DOTA.folder, *folders, f"{last}.txt")
            yield Written(parts, text.encode())


DOTA = Writer(
    _TITLE,
    "folder",
    (".txt",),
    _files,
    frozenset({"corners", "attributes"}),
    keeps=_is_mark,
    reads={"category": _as_words},
    folder="labelTxt",
    # Files have no suffixes of pictures.
    read_name=lambda _, place: place,
)
"""Four corners in pixels."""
