"""Class names and key points of YOLO, from the lines of a file or from a YAML file."""

import re
from collections.abc import Collection, Iterator
from os.path import exists
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING

import msgspec

from bboxqa.core.json_values import cut
from bboxqa.core.text import one_line
from bboxqa.formats.heads import is_yaml
from bboxqa.formats.member import Member

if TYPE_CHECKING:
    from yaml import Node

_MOST_CLASSES, _MOST_PARTS = 100_000, 100
# Patterns, addresses and absolute paths.
_ELSEWHERE = re.compile(r"^/|[:*]")
# A data set of 1,200 classes has 30,000 characters.
_MOST_TEXT = 1_000_000


class ClassNames(msgspec.Struct):
    """The classes in a file."""

    names: dict[int, str] = msgspec.field(default_factory=dict)
    lines: dict[int, int] = msgspec.field(default_factory=dict)
    """The line of each name."""
    n_classes: int | None = None
    """The number under `nc`."""
    nc_line: int = 1
    keypoints: tuple[int, int] | None = None
    """Number of key points, and number of values per key point."""
    joints: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """Names of key points, by class."""
    parts: dict[str, list[tuple[str, int]]] = msgspec.field(default_factory=dict)
    """The paths under `train` and `val`, each with its line."""
    root: str = ""
    """The folder from which these lead, under `path`."""
    problem: str = ""
    """Why the file cannot be read, or what is wrong with `kpt_shape`."""
    problem_line: int = 1


def class_names_of(member: Member) -> ClassNames:
    """Return the names in a file of lines or of YAML, or why it cannot be read.

    Raises DatasetError as `Member.read` does.
    """
    data = member.text()
    text = data.decode("utf-8", "replace")
    found = names_of_yaml(text) if is_yaml(member.name) else names_of_lines(text)
    # One character in another encoding, as in a comment, does not hide the names.
    is_readable = bool(found.names or found.keypoints or found.problem)
    if b"\0" in data or ("\ufffd" in text and not is_readable):
        return ClassNames(problem="is not text in UTF-8")
    return found


def names_of_lines(text: str) -> ClassNames:
    r"""Return the names in a file with one name per line, such as classes.txt and obj.names.

    Examples
    --------
    >>> names_of_lines("cat\ndog\n\n").names
    {0: 'cat', 1: 'dog'}
    """
    lines = enumerate(text.rstrip().splitlines()[:_MOST_CLASSES])
    names = {number: line.strip() for number, line in lines if line.strip()}
    return ClassNames(names, {number: number + 1 for number in names})


def names_of_yaml(text: str) -> ClassNames:
    r"""Return `names`, `nc` and `kpt_shape` of a YAML file, as far as it has them.

    Names are a list, or a mapping from numbers. Unquoted words are texts: a class may be called
    ``no``.

    Examples
    --------
    >>> names_of_yaml("nc: 2\nnames: ['cat', 'dog']  # two").names
    {0: 'cat', 1: 'dog'}
    >>> names_of_yaml("names:\n  0: cat\n  3: no\n").names
    {0: 'cat', 3: 'no'}
    >>> names_of_yaml("nc: 1\nnames: [cat").problem
    "is YAML that cannot be read: expected ',' or ']', but got '<stream end>'"
    """
    from yaml import SafeLoader, YAMLError, compose

    if len(text) > _MOST_TEXT:
        return ClassNames(problem=f"has more than {_MOST_TEXT:,} characters of YAML")
    try:
        # libyaml's loader is faster, but crashes the process if brackets are nested deeply.
        top = compose(text, Loader=SafeLoader)
    except (YAMLError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        problem = f"is YAML that cannot be read: {one_line(problem or 'nested too deeply')}"
        return ClassNames(problem=problem, problem_line=mark.line + 1 if mark else 1)
    values = dict(_pairs(top))
    found = ClassNames()
    names = values.get("names")
    for number, name in _numbered(names)[:_MOST_CLASSES]:
        if isinstance(name.value, str):
            found.names[number], found.lines[number] = name.value, name.start_mark.line + 1
    if names is not None and names.value and not (found.names or isinstance(names.value, str)):
        found.problem = "the names of classes are not texts"
        found.problem_line = names.start_mark.line + 1
    found.n_classes = _number(values.get("nc"))
    if found.n_classes is not None:
        found.nc_line = values["nc"].start_mark.line + 1
    found.root = _text(values.get("path"))
    for key in ("train", "val"):
        named = values.get(key)
        listed = named.value if named is not None and named.id == "sequence" else [named]
        found.parts[key] = [
            (_text(each), each.start_mark.line + 1) for each in listed[:_MOST_PARTS] if each
        ]
    shape = values.get("kpt_shape")
    if shape is not None and shape.value not in ("", "~", "null", "Null", "NULL"):
        numbers = [_number(each) for _, each in _numbered(shape)]
        if len(numbers) == 2 and numbers[0] and numbers[1] in (2, 3):
            found.keypoints = n_joints, _ = numbers[0], numbers[1]
            listed = _numbered(values.get("kpt_names"))
            joints = {number: [str(n.value) for _, n in _numbered(each)] for number, each in listed}
            found.joints = {number: own for number, own in joints.items() if len(own) == n_joints}
        else:
            written = cut(one_line(text[shape.start_mark.index : shape.end_mark.index].strip()))
            expected = "[number of key points, 2 or 3], such as [17, 3]"
            found.problem = f"kpt_shape is {written}; expected {expected}"
            found.problem_line = shape.start_mark.line + 1
    return found


def missing_parts(
    found: ClassNames, member: Member, known: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield what is wrong with paths of train and val that name nothing, each with its line.

    `known` are folders and files of the source, which may be named by the end of their path.
    """
    for key, paths in found.parts.items():
        for path, line in paths:
            plain = normpath(path.replace("\\", "/")) if path else ""
            # Absolute paths may be of another machine.
            if (
                plain
                and not _ELSEWHERE.search(plain)
                and not _is_there(plain, found, member, known)
            ):
                yield f"{key} is {cut(one_line(path))}, which names no file or folder", line


def _is_there(path: str, found: ClassNames, member: Member, known: Collection[str]) -> bool:
    folder = Path(member.shown).parent
    # `Path.exists` raises an error for a name that is too long.
    if member.is_file and any(exists(folder / each / path) for each in (found.root, "")):  # noqa: PTH110
        return True
    end = "/".join(each for each in path.split("/") if each not in ("..", "."))
    return not end or any(f"/{each}".endswith(f"/{end}") for each in known)


def _text(node: "Node | None") -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _pairs(node: "Node | None") -> "list[tuple[str, Node]]":
    """Return the keys and values of a mapping; none of any other node."""
    pairs = node.value if node is not None and node.id == "mapping" else []
    return [(key.value, value) for key, value in pairs if isinstance(key.value, str)]


def _numbered(node: "Node | None") -> "list[tuple[int, Node]]":
    """Return the values of a list, or of a mapping from numbers, with their numbers."""
    if node is not None and node.id == "sequence":
        return [*enumerate(node.value)]
    return [(int(key), value) for key, value in _pairs(node) if _is_number(key)]


def _number(node: "Node | None") -> int | None:
    text = node.value if node is not None else None
    return int(text) if isinstance(text, str) and _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10
