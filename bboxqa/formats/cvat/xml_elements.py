"""The elements of a file of CVAT, while it is read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Steps
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.translation.members import Member
from bboxqa.formats.translation.translated import BrokenTextError

# Elements that hold more than memory does; the others are whole when they end.
_OPEN = {"annotations", "image", "track"}
_MOST_DEEP = 100


@dataclass(slots=True)
class Element:
    """An element with its attributes, and what is inside."""

    name: str
    values: dict[str, str]
    line: int
    parent: "Element | None"
    text: str = ""
    inside: "list[Element]" = field(default_factory=list)

    def find(self, name: str) -> "Element | None":
        """Return the first element inside with a name."""
        return next((each for each in self.inside if each.name == name), None)

    def said(self, name: str) -> str:
        """Return the text of the first element inside with a name; empty if there is none."""
        found = self.find(name)
        return "" if found is None else found.text.strip()


def elements_of(
    member: Member, progress: Steps | None = None, *, runs: bool = False
) -> Iterator[Element | PlainRun]:
    """Yield images and tracks when they begin, and other elements when they end.

    With `runs`, those with nothing but plain boxes are runs.

    Raises BrokenTextError if the file is no XML, and DatasetError if it declares a document type,
    by which XML could take any amount of memory, or read other files.
    """
    reading, plain = _Reading(member), PlainRuns()
    done = 0
    for chunk in member.chunks():
        for part in plain.parts(chunk) if runs else (chunk,):
            yield from (part,) if isinstance(part, PlainRun) else reading.parsed(part)
        done += len(chunk)
        if progress is not None:
            progress(done, max(done, member.most))
    yield from reading.parsed(plain.last(), last=True)


class _Reading:
    """Makes elements of the events of the parser."""

    def __init__(self, member: Member) -> None:
        self._shown = member.shown
        self._found: list[Element] = []
        self._top: Element | None = None
        self._depth = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse

    def parsed(self, chunk: bytes, *, last: bool = False) -> list[Element]:
        """Return what begins or ends in a part of the file."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            place = f"{self._shown}:{error.lineno}:{error.offset + 1}"
            reason = expat.ErrorString(error.code)
            raise BrokenTextError(
                [f"{place}: is XML of CVAT that cannot be read: {reason}"],
                "Export it again; the file may be cut off.",
            ) from None
        found, self._found = self._found, []
        return found

    def _start(self, name: str, values: dict[str, str]) -> None:
        element = Element(name, values, self._parser.CurrentLineNumber, self._top)
        self._depth += 1
        if self._depth > _MOST_DEEP:
            raise DatasetError(
                [f"{self._shown}:{element.line}: elements nested {_MOST_DEEP} deep"],
                "CVAT writes no such files: export it again.",
            )
        if name in _OPEN:
            self._found.append(element)
        self._top = element

    def _end(self, _name: str) -> None:
        element = self._top
        if element is None:
            return
        self._depth -= 1
        self._top = element.parent
        if element.name in _OPEN or self._top is None:
            return
        if self._top.name in _OPEN:
            self._found.append(element)
        else:
            self._top.inside.append(element)

    def _text(self, text: str) -> None:
        # What stands between elements is blank.
        if self._top is not None and self._top.name not in _OPEN:
            self._top.text += text

    def _refuse(self, *_: object) -> None:
        raise DatasetError(
            [f"{self._shown}:{self._parser.CurrentLineNumber}: declares a document type (DOCTYPE)"],
            "CVAT writes none, and it could make XML read other files: remove it, or export again.",
        )
