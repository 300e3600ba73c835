"""A sample of the annotations of a file, with outlines and areas."""

import json
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from bboxqa.formats.coco.reader import text_of
from bboxqa.formats.column_builder import ColumnsBuilder
from bboxqa.formats.columns import Columns
from bboxqa.formats.member import is_archive
from bboxqa.formats.scanner import ANNOTATIONS, BETWEEN_RECORDS, Text
from bboxqa.formats.source import head_of

_PIECES = 32
_PIECE = 1 << 14


def sample_annotations(path: Path) -> Columns:
    """Return annotations from evenly spread positions in a file; all if it has up to 500 kB.

    The file may be in an archive.
    """
    builder = ColumnsBuilder()
    for records in sample_records(path):
        builder.add(records)
    return builder.done()


def sample_records(path: Path) -> Generator[list[Any]]:
    """Yield undecoded annotations, position by position."""
    is_packed = not path.is_file() or is_archive(head_of(path))
    yield from _pieces(text_of(path) if is_packed else path.read_bytes())


def _pieces(text: Text) -> Iterator[list[Any]]:
    opening = ANNOTATIONS.search(text)
    begin = -1 if opening is None else text.find(b"{", opening.end())
    step = (len(text) - begin) // _PIECES
    decode = json.JSONDecoder().raw_decode
    while begin >= 0:
        end = BETWEEN_RECORDS.search(text, begin + _PIECE)
        stop = begin + _PIECE * _PIECES if end is None else end.start() + 1
        # A piece that begins or ends inside a record is left out of the sample.
        with suppress(ValueError, TypeError, RecursionError):
            # Text after the end of the list is ignored.
            records, _ = decode(f"[{text[begin:stop].decode()}]")
            yield [each for each in records if "image_id" in each and "bbox" in each]
        if step > _PIECE:
            end = BETWEEN_RECORDS.search(text, begin + step)
        begin = -1 if end is None else end.end() - 1
