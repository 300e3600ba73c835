"""Data that CVAT XML cannot hold, and the values that it has for its own attributes."""

import re
from collections.abc import Iterator

from bboxqa.core.text import one_line
from bboxqa.formats.writing.content import Content, image_name
from bboxqa.formats.writing.losses import ANNOTATIONS, ATTRIBUTES, key_losses, losses_of
from bboxqa.formats.writing.names import plain_xml
from bboxqa.formats.writing.writer import Loss, Noun, Options

TITLE = "CVAT"
LINES = ("polyline", "line", "cuboid")
OF_REVIEW = ("reason", "gain")
"""Keys of review.json that reviewers see as attributes."""
OWN = {"occluded": "0", "z_order": "0", "group_id": ""}
"""CVAT's own attributes of shapes, with their defaults."""
_VALUES = {
    "occluded": re.compile("[01]"),
    "z_order": re.compile(r"-?\d{1,9}"),
    "group_id": re.compile(r"\d{1,9}"),
}


def cvat_losses(content: Content, _options: Options) -> Iterator[Loss]:
    """Yield the data that CVAT cannot hold."""
    both = [*content.annotations, *content.held(LINES)]
    nested = [each for each in both if not _is_flat(each.get("attributes"))]
    noun = Noun("attribute of several values", "attributes of several values")
    yield from losses_of(nested, noun, f"{TITLE} has one value for each")
    yield from key_losses(both, ANNOTATIONS, f"{TITLE} has no null", _is_given)
    why = f"{TITLE} has whole numbers for it, and 0 and 1 for 'occluded'"
    yield from key_losses(both, ANNOTATIONS, why, _is_own_value)
    marked = [each for each in both if not _is_plain(each.get(ATTRIBUTES))]
    noun = Noun("attribute with a control character", "attributes with control characters")
    yield from losses_of(marked, noun, "XML has none: a mark is written", "changed")
    images = [image_name(each) for each in content.images]
    lost = [name for name in images if plain_xml(name) != name]
    names = [*content.annotators, *content.category_names.values()]
    lost += [name for name in names if not name or plain_xml(name).strip() != name]
    if lost:
        why = "XML has no control characters, and CVAT no blanks around names"
        yield Loss(len(lost), Noun("name", "names"), why, repr(one_line(lost[0])), "changed")


def _is_flat(attributes: object) -> bool:
    if not isinstance(attributes, dict):
        return attributes is None
    return all(isinstance(each, str | int | float | None) for each in attributes.values())


def _is_plain(attributes: object) -> bool:
    """Return whether XML has all characters of the names and texts of attributes."""
    pairs = attributes.items() if isinstance(attributes, dict) else ()
    return all(plain_xml(each) == each for pair in pairs for each in pair if isinstance(each, str))


def _is_given(key: str, value: object) -> bool:
    return value is not None or not key.startswith(f"{ATTRIBUTES}.")


def _is_own_value(key: str, value: object) -> bool:
    """Return whether a value is one that CVAT has for its own attribute, or any other value."""
    own = key.removeprefix(f"{ATTRIBUTES}.")
    if own == key or own not in OWN or value is None:
        return True
    return own_text(own, value) is not None


def own_text(name: str, value: object) -> str | None:
    """Return the value of one of CVAT's own attributes as CVAT writes it; None for another value.

    >>> own_text("occluded", "true"), own_text("z_order", "true"), own_text("z_order", -1)
    ('1', None, '-1')
    """
    is_text_of_mark = name == "occluded" and value in ("true", "false")
    text = flag(value == "true" if is_text_of_mark else value)
    return text if _VALUES[name].fullmatch(text) else None


def becomes_text(name: str, value: object) -> bool:
    """Return whether an attribute is a number, true or false, and is written."""
    is_written = name != "rotation" and _is_own_value(f"{ATTRIBUTES}.{name}", value)
    return is_written and isinstance(value, int | float)


def flag(value: object) -> str:
    """Return a value as CVAT writes it, with 0 and 1 for true and false."""
    return str(int(value)) if isinstance(value, bool) else str(value)
