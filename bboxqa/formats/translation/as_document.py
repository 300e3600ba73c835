"""From a translation to the document that rules look at, with places in the user's own files."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bboxqa.core.memory import gc_paused
from bboxqa.core.types import Steps
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.document.origin import Origin, Where
from bboxqa.formats.document.tolerant import read_bytes, read_path
from bboxqa.formats.translation.boxed import Boxed
from bboxqa.formats.translation.places import Places
from bboxqa.formats.translation.translated import BrokenTextError, Record, Translate, Wanted


def read_document(
    translate: Translate, path: Path, progress: Steps | None = None, memory: int | None = None
) -> RawDocument:
    """Return the records of a source as a COCO document that knows where each of them stands.

    A broken json file is read as far as it can be, as COCO is.
    """
    boxed, encoder = Boxed(), msgspec.json.Encoder()
    parts: list[bytes] = []
    places: list[Where] = []

    def add(records: Sequence[Record], where: Sequence[Where]) -> None:
        kept, kept_places = boxed.take(records, where)
        if kept:
            parts.append(encoder.encode(kept)[1:-1])
            places.extend(kept_places)

    try:
        with gc_paused():
            found = translate(path, add, Wanted(progress=progress))
    except BrokenTextError:
        if path.suffix.lower() != ".json":
            raise
        return read_path(path, memory=memory)
    head = encoder.encode({"images": found.images, "categories": found.categories})
    text = head[:-1] + b', "annotations": [' + b", ".join(parts) + b"]}"
    reading = read_bytes(text, str(path), memory=memory)
    reading.size = path.stat().st_size
    of_lists = {
        "annotations": places,
        "images": found.image_places,
        "categories": found.category_places,
        "defects": [defect.where for defect in found.defects],
    }
    reading.origin = Origin(found.title, found.defects, Places(path, of_lists).find)
    return reading
