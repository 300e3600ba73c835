"""Converting a translation to the document that rules check, with origins in the user's files."""

from pathlib import Path

import msgspec

from bboxqa.core.memory import gc_paused
from bboxqa.core.types import Steps
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.document.origin import Origin
from bboxqa.formats.document.tolerant import read_bytes, read_path
from bboxqa.formats.translation.json_files import json_stop, no_number_in
from bboxqa.formats.translation.members import archive_around, members_of
from bboxqa.formats.translation.places import Places
from bboxqa.formats.translation.plain.document_parts import DocumentParts
from bboxqa.formats.translation.source_files import size_and_digest
from bboxqa.formats.translation.translated import BrokenTextError, Translate, Translated, Wanted


def read_document(translate: Translate, path: Path, progress: Steps | None = None) -> RawDocument:
    """Return the records of a source as a COCO document with the origin of each record.

    Of a broken JSON file, the syntax errors are returned.
    """
    parts = DocumentParts()
    try:
        with gc_paused():
            wanted = Wanted(
                keypoints=True,
                progress=progress,
                add_boxes=parts.add_boxes,
            )
            found = translate(path, parts.add, wanted)
    except BrokenTextError:
        if path.suffix.lower() != ".json":
            raise
        if archive_around(path) is None:
            return _syntax_of(read_path(path))
        (member,) = members_of(path)
        return _syntax_of(read_bytes(member.read(), str(path)))
    lists = msgspec.json.encode({"images": found.images, "categories": found.categories})
    reading = read_bytes(lists, str(path))
    with gc_paused():
        parts.put_into(reading)
    reading.size, _ = size_and_digest(path, digest=False)
    reading.origin = _origin(path, found, parts)
    return reading


def _origin(path: Path, found: Translated, parts: DocumentParts) -> Origin:
    """Return what is known of the records of a source beside their content."""
    of_lists = {
        "annotations": parts.places,
        "images": found.image_places,
        "categories": found.category_places,
        "defects": [defect.where for defect in found.defects],
    }
    places = Places(path, of_lists)
    return Origin(
        found.title,
        found.defects,
        places.find,
        places.of_annotation,
        places.regions_of,
        {
            image["id"]: image["file_name"]
            for image in found.images
            if image["id"] in found.unshown_images and image.get("file_name")
        },
        [*found.notes, *(each.note for each in found.unshown)],
        parts.boxed.n_apart,
        frozenset(parts.boxed.categories_apart),
    )


def _syntax_of(read: RawDocument) -> RawDocument:
    """Return the syntax errors of a file, without its content, which is not that of COCO."""
    broken = read.broken or [_stopped_at(read)]
    return RawDocument(
        read.name,
        read.text,
        read.size,
        top={},
        encoding=read.encoding if read.broken else "",
        not_utf8=read.not_utf8,
        broken=broken,
        stopped=True,
    )


def _stopped_at(read: RawDocument) -> tuple[int, str]:
    """Return where and why the readers of tools stop at a text, though not that of COCO."""
    if read.not_utf8 is None:
        text = bytes(read.text[:])
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            if (found := no_number_in(text, error)) is not None:
                place, name = found
                return place, f"the number {name}, which JSON does not have"
            return json_stop(text, error)
    return read.not_utf8 or 0, "a text that is not UTF-8"
