"""What is wrong with records that falsify a result, in few words; the rules say it in full."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import alike
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.columns import Columns, Kind
from bboxqa.formats.measured import Measured, measured
from bboxqa.formats.records import ID_KEYS, AnnotationFile, Category, Image, ReadSettings
from bboxqa.model.annotations import Source

UNUSABLE = "has a value that cannot be used: see bboxqa validate"
_EXPECTED = {
    "": "an object",
    **dict.fromkeys(ID_KEYS, "a whole number, or text"),
    "bbox": "4 finite numbers: x, y, width, height",
    "iscrowd": "0 or 1",
    "segmentation": "a list of rings [x, y, x, y, ...] of finite numbers, or size and counts",
    "keypoints": "finite numbers: x, y and visibility of each",
    "attributes.rotation": "an angle in degrees",
}


def problems_of(
    name: str, columns: Columns, found: Measured, records: str = "annotations"
) -> Iterator[str]:
    """Yield problems with annotations of a file, and with the names of their annotators."""
    listed = []
    for key, wrong in found.wrong.items():
        rows = np.flatnonzero(wrong & ~found.wrong[""] if key else wrong)
        is_there = columns.kind.get(key, columns.record)[rows] != Kind.MISSING
        for part, is_what in ((rows[is_there], "cannot be used"), (rows[~is_there], "is missing")):
            if not len(part):
                continue
            row = int(part[0])
            own = f" (id {columns.text_ids.get(row, columns.id[row])})"
            has_id = columns.valid["id"][row] and records == "annotations"
            label = f"{records}{_place(columns, row)}{own * bool(has_id)}{more_rows(part)}"
            said = f"{key or 'the record'} {is_what}; expected {_EXPECTED[key]}"
            listed.append((row, f"{name}: {label}: {said}"))
    yield from (problem for _, problem in sorted(listed))
    for texts in columns.annotator_texts.values():
        yield from (f"{name}: annotators {problem}" for problem in alike(sorted(texts)))


def more_rows(rows: IndexArray) -> str:
    """Return how many rows have the problem of the first as well."""
    return f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""


def _place(columns: Columns, row: int) -> str:
    """Return where an annotation, or a segment of a panoptic record, is in a file."""
    if columns.segment_counts is None:
        return f"[{row}]"
    ends = np.cumsum(columns.segment_counts)
    of = int(np.searchsorted(ends, row, side="right"))
    return f"[{of}].segments_info[{row - ends[of] + columns.segment_counts[of]}]"


def file_of_records(
    source: Source,
    images: list[Image],
    categories: list[Category],
    records: Sequence[dict[str, Any]],
    options: ReadSettings,
) -> AnnotationFile:
    """Return the file of annotations given as records with COCO's keys, such as of a plugin.

    Raises DatasetError if values of records cannot be used.
    """
    builder = ColumnsBuilder(options)
    builder.add(records)
    columns = builder.done()
    found = measured(columns, options)
    if problems := [*problems_of(source.name, columns, found)]:
        raise DatasetError(problems, files=[Path(source.name)] * len(problems))
    lists = {
        "images": msgspec.to_builtins(images),
        "categories": msgspec.to_builtins(categories),
        "annotations": records,
    }
    kept = lists if options.records else None
    return AnnotationFile(source, images, categories, found.columns, found.notes, lists=kept)
