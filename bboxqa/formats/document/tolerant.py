"""Reading a COCO file as far as possible, even if it is broken."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from bboxqa.core.memory import gc_paused
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.document.builder import WHOLE, AnnotationsBuilder
from bboxqa.formats.document.content import BYTE_ORDER_MARK, RESULTS_LIST, RawDocument
from bboxqa.formats.document.scanner import Scanner, Sink
from bboxqa.formats.opening import named_errors, read_whole

_MARKS = (
    (BYTE_ORDER_MARK, "utf-8-sig", "UTF-8 with a byte order mark"),
    (b"\xff\xfe\x00\x00", "utf-32", "UTF-32"),
    (b"\x00\x00\xfe\xff", "utf-32", "UTF-32"),
    (b"\xff\xfe", "utf-16", "UTF-16"),
    (b"\xfe\xff", "utf-16", "UTF-16"),
)
_FIRST = b' \t\r\n{["-0123456789ntf'


class _HeldRecords(list[Any]):
    """The sink of a list of records that is held in memory."""

    add = list.extend


def read_path(
    path: Path, progress: Steps | None = None, settings: ReadOptions = WHOLE
) -> RawDocument:
    """Return the content of a file, even if it is broken.

    `progress` is called as ``progress(done, total)`` with bytes. Raises DatasetError if the file
    does not exist or cannot be opened.
    """
    with named_errors(path, "a COCO JSON file"):
        text = read_whole(path)
    if progress is not None:
        settings = replace(settings, progress=progress)
    return read_bytes(text, str(path), settings)


def read_bytes(text: bytes, name: str, settings: ReadOptions = WHOLE) -> RawDocument:
    """Return the document in the content of a file, even if it is broken; see `read_path`."""

    def new_sink(key: str) -> Sink:
        return AnnotationsBuilder(settings) if key == RESULTS_LIST else _HeldRecords()

    reading = RawDocument(name, text, len(text))
    start = _decode(reading)
    scanner = Scanner(reading, new_sink, settings)
    with gc_paused():
        scanner.read(start)
    reading.images, reading.categories = scanner.sinks["images"], scanner.sinks["categories"]
    reading.annotations = scanner.sinks["annotations"].done()
    return reading


def _decode(reading: RawDocument) -> int:
    """Convert other encodings to UTF-8; return where the document begins."""
    head = reading.text[:4]
    for mark, encoding, named in _MARKS:
        if head.startswith(mark):
            reading.encoding = named
            if encoding == "utf-8-sig":
                return len(mark)
            reading.text = reading.text[:].decode(encoding, "replace").encode()
            return 0
    # JSON begins with an ASCII character, so zero bytes show the width of characters.
    first = head[:2].replace(b"\0", b"")
    if len(head) > 1 and len(first) == 1 and first in _FIRST:
        encoding = "utf-16-le" if head[1] == 0 else "utf-16-be"
        reading.encoding = encoding.upper()
        reading.text = reading.text[:].decode(encoding, "replace").encode()
    return 0
