"""Converting a translation to the document that rules check, with origins in the user's files."""

from pathlib import Path

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.memory import gc_paused
from bboxqa.core.types import Steps
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.document.origin import Origin, Where
from bboxqa.formats.document.tolerant import read_bytes, read_path
from bboxqa.formats.translation.boxes.own_ids import shown_file
from bboxqa.formats.translation.json_files import no_number_in
from bboxqa.formats.translation.members import archive_around, members_of
from bboxqa.formats.translation.places import Places
from bboxqa.formats.translation.plain.document_parts import DocumentParts
from bboxqa.formats.translation.source_files import size_and_digest
from bboxqa.formats.translation.translated import BrokenTextError, Translate, Wanted
from bboxqa.model.file_places import place_in_words


def read_document(
    translate: Translate, path: Path, progress: Steps | None = None, memory: int | None = None
) -> RawDocument:
    """Return the records of a source as a COCO document with the origin of each record.

    Of a broken JSON file, the syntax errors are returned.
    """
    parts = DocumentParts(memory)
    try:
        with gc_paused():
            wanted = Wanted(
                keypoints=True,
                progress=progress,
                bounded=memory is not None,
                add_boxes=parts.add_boxes,
            )
            found = translate(path, parts.add, wanted)
    except BrokenTextError:
        if path.suffix.lower() != ".json":
            raise
        if archive_around(path) is None:
            return _syntax_of(read_path(path, memory=memory))
        (member,) = members_of(path)
        return _syntax_of(read_bytes(member.read(), str(path), memory=memory))
    lists = msgspec.json.encode({"images": found.images, "categories": found.categories})
    reading = read_bytes(lists, str(path), memory=memory)
    with gc_paused():
        parts.put_into(reading)
    reading.size, _ = size_and_digest(path, digest=False)
    of_lists = {
        "annotations": parts.places,
        "images": found.image_places,
        "categories": found.category_places,
        "defects": [defect.where for defect in found.defects],
    }

    def place_of(row: int) -> str:
        where = parts.places[row]
        return place_in_words(shown_file(path, where.member), where.at)

    def regions_of(rows: IndexArray) -> IndexArray:
        first: dict[Where, int] = {}
        listed = rows.tolist()
        # Several boxes may be on one line, but not at one pointer.
        found = (
            first.setdefault(where, row) if isinstance(where.at, str) else row
            for row, where in zip(listed, map(parts.places.__getitem__, listed), strict=True)
        )
        return np.fromiter(found, np.int64, len(rows))

    reading.origin = Origin(
        found.title,
        found.defects,
        Places(path, of_lists).find,
        place_of,
        regions_of,
        {
            image["id"]: image["file_name"]
            for image in found.images
            if image["id"] in found.unshown_images and image.get("file_name")
        },
        found.notes,
        parts.boxed.n_apart,
        frozenset(parts.boxed.categories_apart),
    )
    return reading


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
        memory=read.memory,
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
            return 0, str(error)
    return read.not_utf8 or 0, "a text that is not UTF-8"
