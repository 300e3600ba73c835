"""Iterating over the elements of a CVAT file while it is read."""

from collections.abc import Iterator

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Steps
from bboxqa.formats.cvat.file_parts import chunks_of, parts_of
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.translated import BrokenTextError
from bboxqa.formats.xml_elements import (
    Element,
    EncodingXmlError,
    RefusedXmlError,
    XmlElements,
    XmlError,
)

_OPENED = ("annotations", "image", "track")


def elements_of(
    member: Member, progress: Steps | None = None, *, runs: PlainRuns | None = None
) -> Iterator[Element | PlainRun]:
    """Yield images and tracks at their start tags, and other elements at their end tags.

    With `runs`, those with nothing but plain boxes are taken out as runs: of a long file by two
    processes.

    Raises BrokenTextError if the file is not XML, and DatasetError if it is not read.
    """
    reading = XmlElements(_OPENED)
    parts: Iterator[bytes | PlainRun] = chunks_of(member, progress)
    if runs is not None:
        parts = parts_of(member, runs, progress)
    try:
        for part in parts:
            yield from (part,) if isinstance(part, PlainRun) else reading.parsed(part)
        yield from reading.parsed(b"", last=True)
    except RefusedXmlError as error:
        raise DatasetError(
            [f"{member.shown}:{error.line}: {error}"],
            "CVAT writes no such files: export it again.",
        ) from None
    except EncodingXmlError as error:
        raise DatasetError(
            [f"{member.shown}:{error.line}:{error.column}: {error}"],
            "Save it in UTF-8, as CVAT writes it, or name its encoding in the first line.",
        ) from None
    except XmlError as error:
        raise BrokenTextError(
            [f"{member.shown}:{error.line}:{error.column}: {error}"],
            "Export it from CVAT again; the file may be cut off.",
        ) from None
