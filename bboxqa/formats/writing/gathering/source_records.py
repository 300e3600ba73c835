"""Reading the records of a source with all keys, translated to COCO lists."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.coco.panoptic import segment_records
from bboxqa.formats.coco.reader import COCO
from bboxqa.formats.coco.results import result_records
from bboxqa.formats.document.content import BYTE_ORDER_MARK
from bboxqa.formats.document.origin import WRITTEN_ANGLE, Where
from bboxqa.formats.registry import format_of
from bboxqa.formats.translation.boxes.own_ids import shown_file
from bboxqa.formats.translation.translated import Translate, Wanted
from bboxqa.formats.writing.outlines import Record
from bboxqa.model.file_places import place_in_words

# The code of the defect that someone annotated an image again.
_AGAIN = "T007"
_OF_TOOLS = ("session", WRITTEN_ANGLE)


def records_of(path: Path, file: AnnotationFile) -> Record:
    """Return the COCO lists of a source that was read, translated if needed.

    Translations also have `apart`, the annotations without a box, and `repeats`, the places of
    annotations that are left out, by someone who had annotated the image before.
    """
    found = format_of(path)
    if found.translate is not None:
        return _translated(found.translate, path)
    if found is COCO or found.document is None:
        content = path.read_bytes()
    else:
        content = bytes(found.document(path).text[:])
    content = content.removeprefix(BYTE_ORDER_MARK)
    try:
        records: Any = msgspec.json.decode(content)
    except msgspec.DecodeError:
        # Python's decoder accepts NaN, which can only be in values that are not used.
        records = json.loads(content)
    if isinstance(records, list):
        return result_records(records, file)
    lists: Record = segment_records(records) if file.records == "segments" else records
    return lists


def _translated(translate: Translate, path: Path) -> Record:
    boxed: list[Record] = []
    apart: list[Record] = []

    def add(records: Sequence[Record], _places: Sequence[Where]) -> None:
        for record in records:
            (boxed if "bbox" in record else apart).append(record)
            for key in _OF_TOOLS:
                record.pop(key, None)

    found = translate(path, add, Wanted(keypoints=True))
    for number, record in enumerate(boxed, start=1):
        record.setdefault("id", number)
    lists = {"images": found.images, "categories": found.categories, "annotations": boxed}
    repeats = [
        place_in_words(shown_file(path, each.where.member), each.where.at)
        for each in found.defects
        if each.code == _AGAIN
    ]
    return {**lists, "apart": apart, "repeats": repeats}
