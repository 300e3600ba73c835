"""A small XML file as a tree, without document types and entities."""

from dataclasses import dataclass, field
from xml.parsers import expat

_MOST_DEEP, _MOST_ELEMENTS = 50, 1_000_000


class XmlError(ValueError):
    """A file that is no XML, or none that is read; its text continues "a.xml: "."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


@dataclass(slots=True)
class Element:
    """An element, and what is inside."""

    name: str
    line: int
    text: str = ""
    inside: "list[Element]" = field(default_factory=list)

    def all(self, name: str) -> "list[Element]":
        """Return the elements inside with a name."""
        return [each for each in self.inside if each.name == name]

    def find(self, name: str) -> "Element | None":
        """Return the first element inside with a name."""
        return next((each for each in self.inside if each.name == name), None)

    def said(self, name: str) -> str:
        """Return the text of the first element inside with a name; empty if there is none."""
        found = self.find(name)
        return "" if found is None else found.text.strip()


def tree_of(data: bytes) -> Element:
    r"""Return the first element of a file.

    Raises XmlError if it is no XML, or declares a document type, by which a small file could take
    any amount of memory, or read others.

    Examples
    --------
    >>> tree_of(b"<a>\n<b> c </b></a>").said("b")
    'c'
    """
    return _Tree().parsed(data)


class _Tree:
    """Makes elements of the events of the parser."""

    def __init__(self) -> None:
        self._path: list[Element] = []
        self._top: Element | None = None
        self._n = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse

    def parsed(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, str(error))
            raise XmlError(f"is XML that cannot be read: {reason}", error.lineno) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, XmlError):
                raise
            raise XmlError("is XML in an encoding that is not known", 1) from None
        if self._top is None:
            raise XmlError("has no element", 1)
        return self._top

    def _start(self, name: str, _values: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._n += 1
        if len(self._path) >= _MOST_DEEP or self._n > _MOST_ELEMENTS:
            raise XmlError("has more elements, or deeper ones, than annotations have", line)
        element = Element(name, line)
        if self._path:
            self._path[-1].inside.append(element)
        else:
            self._top = element
        self._path.append(element)

    def _end(self, _name: str) -> None:
        self._path.pop()

    def _text(self, text: str) -> None:
        self._path[-1].text += text

    def _refuse(self, *_: object) -> None:
        raise XmlError(
            "declares a document type, which annotations have not; it is not read",
            self._parser.CurrentLineNumber,
        )
