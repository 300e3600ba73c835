r"""The names of classes: a list of lines, or the few keys that matter of a YAML file."""

import re
from dataclasses import dataclass, field

_KEY = re.compile(
    r"(?P<indent>\s*)(?P<quote>[\"']?)(?P<key>[^\s\"':#\[\]{}]+)(?P=quote)\s*:(?:\s+|$)"
)
_ITEM = re.compile(r"\s*-\s+(?P<value>.*)")
# A part of a flow list: a quoted text, or what ends at a comma or bracket.
_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\[\]{}]*)""")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
MOST_CLASSES = 100_000


@dataclass(slots=True)
class ClassNames:
    """What a file says about classes."""

    names: dict[int, str] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    """Where in the file each name stands."""
    n_classes: int | None = None
    """As it says under `nc`."""
    nc_line: int = 1
    keypoints: tuple[int, int] | None = None
    """Number of key points, and of values for each."""


def names_of_lines(text: str) -> ClassNames:
    r"""Return the names of a file with a name in each line, as of classes.txt and obj.names.

    Examples
    --------
    >>> names_of_lines("cat\ndog\n\n").names
    {0: 'cat', 1: 'dog'}
    """
    found = ClassNames()
    for number, line in enumerate(text.rstrip().splitlines()[:MOST_CLASSES]):
        if line.strip():
            found.names[number], found.lines[number] = line.strip(), number + 1
    return found


def names_of_yaml(text: str) -> ClassNames | None:
    r"""Return what a YAML file says under `names`, `nc` and `kpt_shape`; None without names.

    Names are a list or numbered, in brackets or in lines. The rest is not looked at.

    Examples
    --------
    >>> names_of_yaml("nc: 2\nnames: ['cat', 'dog']  # two").names
    {0: 'cat', 1: 'dog'}
    >>> names_of_yaml("names:\n  0: cat\n  3: big dog\n").names
    {0: 'cat', 3: 'big dog'}
    """
    found = ClassNames()
    lines = text.splitlines()
    has_names = False
    for place, line in enumerate(lines):
        key = _KEY.match(line)
        if key is None or key["indent"]:
            continue
        rest = line[key.end() :]
        if key["key"] == "nc" and (number := _number(rest)) is not None:
            found.n_classes, found.nc_line = number, place + 1
        elif key["key"] == "kpt_shape":
            shape = [_number(each) for each in _flow(rest, lines, place)]
            shape = shape or [
                _number(_ITEM.sub(r"\g<value>", each)) for each in lines[place + 1 : place + 3]
            ]
            if len(shape) == 2 and shape[0] and shape[1] in (2, 3):
                found.keypoints = shape[0], shape[1]
        elif key["key"] == "names":
            has_names = True
            if _plain(rest):
                _add_flow(found, rest, lines, place)
            else:
                _add_block(found, lines, place + 1)
    return found if has_names else None


def _number(text: str) -> int | None:
    plain = _plain(text).strip("\"'")
    return int(plain) if plain.isdecimal() and len(plain) < 10 else None


def _plain(text: str) -> str:
    """Return a value without comment and quotes."""
    text = text.strip()
    if text[:1] == '"':
        inside = re.match(r'"((?:[^"\\]|\\.)*)"', text)
        if inside:
            return re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], each[0]), inside[1])
    if text[:1] == "'":
        inside = re.match(r"'((?:[^']|'')*)'", text)
        if inside:
            return inside[1].replace("''", "'")
    return re.sub(r"(?:^|\s)#.*", "", text).strip()


def _flow(rest: str, lines: list[str], place: int) -> list[str]:
    """Return the parts of a value in brackets, which may go over several lines."""
    if rest.strip()[:1] not in ("[", "{"):
        return []
    text = "\n".join([rest.strip()[1:], *lines[place + 1 :]])
    parts: list[str] = []
    at = 0
    while at < len(text) and len(parts) < MOST_CLASSES:
        found = _PART.match(text, at)
        part = found[1].strip() if found else ""
        at = found.end() if found else at
        # What stands behind a quoted part, such as the value of its key.
        more = re.compile(r"[^,\[\]{}]*").match(text, at)
        part, at = part + (more[0] if more else ""), more.end() if more else at
        if part.strip():
            parts.append(part.strip())
        if text[at : at + 1] != ",":
            break
        at += 1
    return parts


def _add_flow(found: ClassNames, rest: str, lines: list[str], place: int) -> None:
    is_numbered = rest.strip().startswith("{")
    for number, part in enumerate(_flow(rest, lines, place)):
        if is_numbered:
            key, _, value = part.partition(":")
            own = _number(key)
            if own is not None:
                _add(found, own, _plain(value), place + 1)
        else:
            _add(found, number, _plain(part), place + 1)


def _add_block(found: ClassNames, lines: list[str], place: int) -> None:
    """Add names in lines of their own, up to the next key of the file."""
    for line_number, line in enumerate(lines[place:], start=place + 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item, key = _ITEM.match(line), _KEY.match(line)
        if item:
            _add(found, len(found.names), _plain(item["value"]), line_number)
        elif key and key["indent"] and key["key"].isdecimal() and len(key["key"]) < 10:
            _add(found, int(key["key"]), _plain(line[key.end() :]), line_number)
        else:
            break


def _add(found: ClassNames, number: int, name: str, line: int) -> None:
    if len(found.names) < MOST_CLASSES:
        found.names[number], found.lines[number] = name, line
