"""Parsing XML, whole or in chunks, while refusing document types and entities; and writing it."""

import re
from collections.abc import Iterable, Mapping
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import msgspec

from bboxqa.formats.heads import absence_of

_MOST_DEEP, _MOST_ELEMENTS = 100, 1_000_000
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_NOTHING: Mapping[str, object] = {}


class XmlError(ValueError):
    """A file that is not XML, or is refused; its text follows "a.xml: "."""

    def __init__(self, text: str, line: int, column: int = 0) -> None:
        super().__init__(text)
        self.line, self.column = line, column


class Element(msgspec.Struct):
    """An element with its attributes and children."""

    name: str
    line: int
    values: dict[str, str] = msgspec.field(default_factory=dict)
    text: str = ""
    inside: "list[Element]" = msgspec.field(default_factory=list)

    def all(self, name: str) -> "list[Element]":
        """Return the children with a name."""
        return [each for each in self.inside if each.name == name]

    def find(self, name: str) -> "Element | None":
        """Return the first child with a name."""
        return next((each for each in self.inside if each.name == name), None)

    def child(self, name: str) -> "Element":
        """Return the first child with a name; an empty one if there is none."""
        return self.find(name) or Element(name, self.line)

    def said(self, name: str) -> str:
        """Return the text of the first child with a name; "" if there is none."""
        return self.child(name).text.strip()


def tree_of(data: bytes) -> Element:
    """Return the root element of a small file, with all its descendants."""
    elements = XmlElements(most=_MOST_ELEMENTS)
    inside = elements.parsed(data, last=True)
    if elements.root is None:
        raise XmlError("has no element", 1)
    elements.root.inside = inside
    return elements.root


class XmlElements:
    """Parses a file into the children of its root, which may be larger than memory."""

    def __init__(self, most: int | None = None) -> None:
        self.root: Element | None = None
        self._most = most
        self._n = self._n_bytes = 0
        self._found: list[Element] = []
        self._path: list[Element] = []
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        # Pieces of a long text are joined one by one.
        parser.buffer_size = 1 << 18
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse

    def parsed(self, chunk: bytes, *, last: bool = False) -> list[Element]:
        """Return the children of the root that end in a chunk of the file, with all inside."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            line, column = error.lineno, error.offset + 1
            if not self._n_bytes and (absence := absence_of(chunk)):
                raise XmlError(absence, line, column) from None
            reason = f"is XML that cannot be read: {expat.ErrorString(error.code)}"
            raise XmlError(reason, line, column) from None
        except XmlError:
            raise
        except (LookupError, ValueError):
            raise XmlError("is XML in an unknown encoding", 1, 1) from None
        self._n_bytes += len(chunk)
        found, self._found = self._found, []
        return found

    def _start(self, name: str, values: dict[str, str]) -> None:
        line, path = self._parser.CurrentLineNumber, self._path
        element = Element(name, line, values)
        self._n += 1
        if len(path) >= _MOST_DEEP:
            raise XmlError(f"elements nested {_MOST_DEEP} deep", line)
        if self._most is not None and self._n > self._most:
            raise XmlError(f"has more than {self._most:,} elements", line)
        if not path:
            self.root = element
        path.append(element)

    def _end(self, _name: str) -> None:
        element = self._path.pop()
        if self._path:
            (self._path[-1].inside if len(self._path) > 1 else self._found).append(element)

    def _text(self, text: str) -> None:
        # The text of the root is only the blanks between its children.
        if len(self._path) > 1:
            self._path[-1].text += text

    def _refuse(self, *_: object) -> None:
        raise XmlError("declares a document type (DOCTYPE)", self._parser.CurrentLineNumber)


def plain_xml(text: str) -> str:
    """Return text with characters that XML does not allow replaced by a marker."""
    return _NO_XML.sub("\ufffd", text)


def block(
    depth: int, name: str, inside: Iterable[str], values: Mapping[str, object] = _NOTHING
) -> str:
    """Return an element in lines of its own, around written elements that are one level deeper."""
    pad = "  " * depth
    return f"{pad}<{name}{_attributes(values)}>\n{''.join(inside)}{pad}</{name}>\n"


def leaf(depth: int, name: str, text: object, values: Mapping[str, object] = _NOTHING) -> str:
    """Return an element that holds a text, in a line."""
    plain = escape(plain_xml(str(text)), {"\r": "&#13;"})
    return f"{'  ' * depth}<{name}{_attributes(values)}>{plain}</{name}>\n"


def leaves(depth: int, texts: Mapping[str, object]) -> str:
    """Return an element for each text, by its name."""
    return "".join(leaf(depth, name, text) for name, text in texts.items())


def quoted(text: object) -> str:
    """Return the value of an attribute in quotes."""
    return quoteattr(plain_xml(str(text)))


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {key}={quoted(each)}" for key, each in values.items())
