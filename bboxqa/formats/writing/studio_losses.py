"""Data that Label Studio JSON cannot hold, and names as it writes them."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from bboxqa.formats.label_studio.image_paths import image_names, may_be_image
from bboxqa.formats.label_studio.people import person
from bboxqa.formats.label_studio.studio_notes import GROUND_TRUTH
from bboxqa.formats.writing.content import Content, image_name
from bboxqa.formats.writing.losses import (
    ANNOTATIONS,
    key_losses,
    label_losses,
    losses_of,
    name_losses,
)
from bboxqa.formats.writing.outlines import Record
from bboxqa.formats.writing.writer import Loss, Noun, Options

TITLE = "Label Studio"
TIMES = ("created_at", "updated_at", "lead_time")
"""Keys of the work of an annotator on a task."""
BEGUN = "prediction"
"""The source of annotations that a machine began."""
LINES = ("polyline", "line")
# Characters of a URL that need an escape.
_PLAIN = re.compile(r"[^\w/.~+,@()-]")


def studio_losses(content: Content, options: Options) -> Iterator[Loss]:
    """Yield the data that Label Studio cannot hold."""
    times = () if options.as_predictions else TIMES
    apart = _differing(content, times)
    why = f"{TITLE} holds one time for all annotations of an annotator in an image"
    yield from losses_of(apart, Noun("time that differs", "times that differ"), why)
    if options.as_predictions:
        why = f"{TITLE} has no place for it"
        yield from key_losses(
            content.annotations, ANNOTATIONS, why, lambda key, _: key not in TIMES
        )
    why = f"{TITLE} only says what began as a prediction"
    yield from key_losses(content.annotations, ANNOTATIONS, why, _is_begun)
    yield from _name_losses(content, options)


def _is_begun(key: str, value: object) -> bool:
    """Return whether a key is that of an accepted prediction, or anything but a source."""
    return key != "source" or value == BEGUN


def _name_losses(content: Content, options: Options) -> Iterator[Loss]:
    """Yield losses of names and ids that would be read back differently."""
    names = [image_name(each) for each in content.images]
    read = image_names(map(address, names))
    why = f"{TITLE} names images by the path of a URL"
    yield from name_losses("image", names, lambda name: read[address(name)], why)
    lost = [str(each["id"]) for each in content.images if not 0 < each["id"] < 1 << 53]
    if lost:
        why = f"{TITLE} numbers tasks from 1"
        yield Loss(len(lost), Noun("id of an image", "ids of images"), why, lost[0], "changed")
    why = f"{TITLE} would show another name"
    yield from name_losses(
        "annotator", content.annotators, lambda name: _read_person(name, options), why
    )
    yield from label_losses(content, TITLE)


def _read_person(name: str, options: Options) -> str:
    if options.as_predictions:
        return f"model {name}" if name.isdecimal() else name.strip()
    return name if name == GROUND_TRUTH else person(written_person(name), {})


def written_person(name: str) -> object:
    """Return an annotator as Label Studio writes people: by number, or by e-mail."""
    return int(name) if name.isdecimal() and str(int(name)) == name else {"email": name}


def address(name: str) -> str:
    """Return the name of an image as a part of a URL."""
    plain = _PLAIN.sub(lambda found: quote(found[0]), name)
    return plain if may_be_image("image", plain) else quote(name)


def _differing(content: Content, keys: Sequence[str]) -> list[Record]:
    """Return the annotations whose times differ from the annotator's first in the image."""
    found = []
    for of_image in content.by_image.values():
        for drawn in of_image.values():
            first = [drawn[0].get(key) for key in keys]
            found += [each for each in drawn if [each.get(key) for key in keys] != first]
    return found
