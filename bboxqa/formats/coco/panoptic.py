"""The segments of panoptic COCO as annotations with boxes and categories."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, find
from bboxqa.core.text import count, one_line
from bboxqa.formats.columns import Columns
from bboxqa.formats.records import (
    AnnotationFile,
    Category,
    FileColumns,
    Image,
    annotator_name,
    id_number,
    ids_of,
)
from bboxqa.model.file_places import FilePlaces


def segments_file(file: AnnotationFile, columns: Columns, path: Path) -> AnnotationFile:
    """Return a panoptic file, whose outlines are in PNG files that are not read."""
    counts = np.array(columns.segment_counts or (), np.int64)
    found, own_ids = file.columns, None
    if not (np.diff(np.sort(found.id)) > 0).all():
        n = len(found.id)
        of = np.repeat(np.arange(len(counts)), counts)
        places = np.arange(n) - (np.cumsum(counts) - counts)[of]
        pairs = zip(of.tolist(), places.tolist(), strict=True)
        at = np.array([f"/annotations/{row}/segments_info/{place}" for row, place in pairs])
        own_ids = FilePlaces((path.name,), np.zeros(n, np.int32), at)
        found = replace(found, id=np.arange(1, n + 1), text_ids=None)
    _name_asked(found, columns.empty_records, file.images)
    notes = (*_outline_notes(len(found.id)), *_stuff_notes(found, file.categories))
    lists = None if file.lists is None else _with_segments(file.lists)
    file = replace(file, lists=lists, notes=(*file.notes, *notes))
    return replace(file, columns=found, records="segments", own_ids=own_ids)


def _with_segments(lists: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lists of a file with segments as annotations, in the order of columns."""
    flat = [
        {**segment, "image_id": record["image_id"]}
        for record in lists["annotations"]
        for segment in record["segments_info"]
    ]
    return {**lists, "annotations": flat}


def _name_asked(
    columns: FileColumns, empty: Sequence[Mapping[str, Any]], images: Sequence[Image]
) -> None:
    """List the annotators of images about which a record without segments names one."""
    asked: dict[int, set[str]] = {}
    for key, authors in columns.authors.items():
        for record in empty:
            value: Any = record
            for part in key.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if value not in (None, ""):
                asked.setdefault(id_number(record["image_id"]), set()).add(annotator_name(value))
        if not asked:
            continue
        for number, names in asked.items():
            codes = np.unique(authors.code[columns.image_id == number]).tolist()
            names |= {authors.names[code] for code in codes if code >= 0}
        break
    for image in images if asked else ():
        if not (image.annotators or image.rater_list) and (given := asked.get(id_number(image.id))):
            image.annotators = sorted(given)


def _outline_notes(n_segments: int) -> Iterator[str]:
    if n_segments:
        outlines = count(n_segments, "segment")
        yield f"the outlines of {outlines} are in PNG files, which are not read: boxes are compared"


def _stuff_notes(columns: FileColumns, categories: Sequence[Category]) -> Iterator[str]:
    """Yield a note on the segments of stuff, such as sky."""
    stuff = [each for each in categories if each.isthing in (0, False)]
    of_stuff: BoolArray = find(ids_of(stuff), columns.category_id) >= 0
    n_stuff = int(of_stuff.sum())
    if n_stuff:
        used = find(ids_of(stuff), columns.category_id[of_stuff])
        name = one_line(stuff[int(np.bincount(used).argmax())].name)
        yield (
            f"{n_stuff:,} of {count(len(columns.id), 'segment')} are stuff (isthing 0, such as "
            f"{name!r}): boxes around stuff say little, as it has no clear extent; look at the "
            "categories one by one"
        )
