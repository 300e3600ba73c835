"""The elements of a file of CVAT, while it is read."""

from collections.abc import Iterator

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Steps
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.translation.members import Member
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
    """Yield images and tracks when they begin, and other elements when they end.

    With `runs`, those with nothing but plain boxes are taken out as runs.

    Raises BrokenTextError if the file is not XML, and DatasetError if it is not read.
    """
    reading = XmlElements(_OPENED)
    done = 0
    try:
        for chunk in member.chunks():
            for part in (chunk,) if runs is None else runs.parts(chunk):
                yield from (part,) if isinstance(part, PlainRun) else reading.parsed(part)
            done += len(chunk)
            if progress is not None:
                progress(done, max(done, member.most))
        yield from reading.parsed(b"" if runs is None else runs.last(), last=True)
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
