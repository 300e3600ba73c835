"""Reading a COCO file for the rules, as far as possible, even if it is broken."""

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bboxqa.core.memory import gc_paused, trim_memory
from bboxqa.core.types import Steps
from bboxqa.formats.document.builder import AnnotationsBuilder
from bboxqa.formats.document.content import BYTE_ORDER_MARK, RawDocument
from bboxqa.formats.document.record_list import RecordList
from bboxqa.formats.document.scanner import Scanner, Sink
from bboxqa.formats.opening import named_errors, read_whole
from bboxqa.formats.windows import Text

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


def read_path(path: Path, progress: Steps | None = None) -> RawDocument:
    """Return the content of a file, even if it is broken.

    `progress` is called as ``progress(done, total)`` with bytes. Raises DatasetError if the file
    does not exist or cannot be opened.
    """
    with named_errors(path, "a COCO JSON file"):
        # Pipes and empty files cannot be memory-mapped.
        if not path.is_file() or path.stat().st_size == 0:
            return read_bytes(read_whole(path), str(path))
        with path.open("rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return read_bytes(text, str(path), progress)


def read_bytes(text: Text, name: str, progress: Steps | None = None) -> RawDocument:
    """Return the document in the content of a file, even if it is broken; see `read_path`."""

    def new_sink(key: str) -> Sink:
        if key == "annotations":
            return AnnotationsBuilder()
        return _HeldRecords()

    reading = RawDocument(name, text, len(text))
    sinks = _scan(reading, new_sink, progress)
    reading.images, reading.categories = sinks["images"], sinks["categories"]
    reading.annotations = sinks["annotations"].done()
    trim_memory()
    return reading


def read_records(text: Text, name: str) -> tuple[RawDocument, dict[str, RecordList]]:
    """Return a document without its lists, and its lists, which are decoded on access."""
    reading = RawDocument(name, text, len(text))
    return reading, _scan(reading, lambda _: RecordList(reading.text, name))


def _scan(
    reading: RawDocument, new_sink: Callable[[str], Sink], progress: Steps | None = None
) -> dict[str, Any]:
    """Read a document into sinks, and return the sinks by the name of their list."""
    start = _decode(reading)
    scanner = Scanner(reading, new_sink, progress)
    with gc_paused():
        scanner.read(start)
    return scanner.sinks


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
