"""Decoding the content of files, and what is wrong with content that is damaged."""

import codecs
import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean
from bboxqa.formats.heads import absence_of, as_utf8, is_without_coco

# UTF-32 comes first, as its byte order mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAVE_AS_CSV = "Save the table as CSV in utf-8."
_TYPED = 20


@contextmanager
def parquet_errors(name: str) -> Iterator[Any]:
    """Yield the module that reads Parquet.

    Raises DatasetError if it is not installed, or if the file of this name cannot be read.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(
            [f"{name}: is Parquet, for which pyarrow is needed"],
            'Install it: pip install "bboxqa[parquet]"; or save the table as CSV.',
        ) from None
    try:
        yield parquet
    except (pa.ArrowException, OSError) as error:
        problem = f"{name}: is not Parquet that can be read: {clean(str(error).strip())}"
        raise DatasetError([problem], "Export it again.") from None


def decoded(name: str, data: bytes) -> str:
    """Decode the text of a table as UTF-8, or as its byte order mark indicates.

    Raises DatasetError if the content is not text, with the first line that is not.
    """
    marks = (each for each in MARKS if data.startswith(each[0]))
    mark, encoding = next(marks, (b"", "utf-8"))
    place = data.find(b"\0") if encoding == "utf-8" else -1
    try:
        if place < 0:
            return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        place = error.start + len(mark)
    line = data.count(b"\n", 0, place) + 1
    found = f"byte {place} of the file is {data[place]:#04x}"
    raise DatasetError([f"{name}: line {line}: is not {encoding}: {found}"], SAVE_AS_CSV)


def typed_paths(paths: Sequence[object]) -> str:
    """Return the first paths as they are typed, with "…" if there are more.

    Examples
    --------
    >>> typed_paths(["ann", "in 2"]), typed_paths(["a"] * 99)[-3:]
    ("ann 'in 2'", 'a …')
    """
    typed = shlex.join(clean(str(each)) for each in paths[:_TYPED])
    return f"{typed} …" if len(paths) > _TYPED else typed


def damage_in(name: str, content: bytes) -> str:
    """Return what is wrong with the content of a file, by its suffix; "" if nothing is.

    Examples
    --------
    >>> damage_in("a.xml", b"<a></a>"), damage_in("a.xml", b"<a>").partition(":")[0]
    ('', 'line 1')
    """
    if absence := absence_of(content):
        return absence
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".json" and not is_without_coco(content):
        with suppress(RecursionError):
            try:
                json.loads(as_utf8(content))
            except ValueError as error:
                return f"is not JSON: {error}"
    elif suffix == ".xml":
        from bboxqa.formats.xml_elements import RefusedXmlError, XmlElements, XmlError

        try:
            XmlElements().parsed(content, last=True)
        except RefusedXmlError:
            return ""
        except XmlError as error:
            return f"line {error.line}: {error}"
    elif suffix in (".csv", ".tsv") and b"\n" not in content and b"\r" not in content:
        return "ends within its first line"
    return ""
