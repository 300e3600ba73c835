"""Noting what is left out or changed without being refused, as it is no work of annotators."""

from collections.abc import Collection, Iterator, Sequence

from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.writing.content import Content, Record
from bboxqa.formats.writing.losses import ATTRIBUTES, IMAGE_ORIGINS
from bboxqa.formats.writing.shapes.key_points import KEY_POINT
from bboxqa.formats.writing.writer import Writer

_LISTED = 5
_EMPTY: tuple[object, ...] = (None, "", [], {}, 0)


def left_out_notes(content: Content, to_format: Writer) -> Iterator[str]:
    """Yield notes on what a format has no place for, but what no annotator said, and on numbers."""
    title, held = to_format.title, to_format.holds
    if "descriptions" not in held:
        yield from _descriptions(content, title)
    elif content.differing:
        yield f"left out: {_quoted(content.differing)}, in which the files differ"
    if "unused categories" not in held:
        used = {content.category_names[each["category_id"]] for each in content.annotations}
        used |= {each["label"] for each in content.held(to_format.lines)}
        if unused := [name for name in content.category_names.values() if name not in used]:
            some = count(len(unused), "category", "categories")
            yield (
                f"left out: {some} that no annotation has ({_quoted(unused)}): {title} has no list "
                "of categories"
            )
    if lost := [*_lost_ids(content, held)]:
        yield f"left out: the ids of {_in_words(lost)}: {title} has no place for ids"
    if to_format.adds_boxes and (number := sum(map(_is_boxed, content.annotations))):
        some = count(number, "annotation") + " of key points"
        has, its, it = ("has", "its", "it is") if number == 1 else ("have", "their", "they are")
        yield (
            f"changed: {some} without a box {has} {its} extent as box in {title}: {it} compared "
            "with other boxes, and as key points with --similarity keypoints"
        )
    if names := _numeric(content, to_format):
        yield f"changed: attributes that are numbers or true are texts in {title}: {_quoted(names)}"


def _is_boxed(annotation: Record) -> bool:
    """Return whether an annotation of key points has no box of its own, but an extent."""
    _, _, width, height = annotation["bbox"]
    return annotation.get("shape") not in (None, KEY_POINT) and width * height > 0


def _numeric(content: Content, to_format: Writer) -> list[str]:
    """Return the names of attributes whose numbers, or true and false, become texts."""
    given = (each.get(ATTRIBUTES) for each in (*content.annotations, *content.apart))
    pairs = (pair for each in given if isinstance(each, dict) for pair in each.items())
    return sorted({key for key, each in pairs if to_format.becomes_text(key, each)})


def _descriptions(content: Content, title: str) -> Iterator[str]:
    """Yield notes on keys of the file, and of images, that describe their origin."""
    said = [key for key, each in content.top.items() if each not in _EMPTY]
    if keys := sorted({*said, *content.differing}):
        yield f"left out: {_quoted(keys)} of the file: {title} has no place for such keys"
    images = content.images
    if keys := [
        key for key in IMAGE_ORIGINS if any(each.get(key) not in _EMPTY for each in images)
    ]:
        yield f"left out: {_quoted(keys)} of images: {title} has no place for such keys"


def _lost_ids(content: Content, held: Collection[str]) -> Iterator[str]:
    """Yield the numbers of records whose ids are lost, with their nouns."""
    lists = (
        ("images", "image", content.images),
        ("annotations", "annotation", content.annotations),
        ("categories", "category", content.categories),
    )
    for plural, noun, records in lists:
        # Only COCO and annotations have a place for ids that are texts.
        is_text = plural == "images" and any("own_id" in each for each in records)
        if ("categories" if is_text else plural) not in held and not _count_up(records):
            yield count(len(records), noun, plural)


def _count_up(records: Sequence[Record]) -> bool:
    """Return whether ids count up from 0 or 1, as readers number records without ids."""
    ids = [each["id"] for each in records]
    is_counted = any(ids == [*range(first, first + len(ids))] for first in (0, 1))
    return is_counted and not any("own_id" in each for each in records)


def _quoted(names: Sequence[str]) -> str:
    """Return the first names in quotes, and the number of others."""
    return first_few(names, _LISTED, lambda each: repr(one_line(each)))


def _in_words(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
