"""Class names of YOLO, from the lines of a file or from a YAML file."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bboxqa.core.json_values import cut
from bboxqa.core.text import one_line
from bboxqa.formats.heads import is_yaml
from bboxqa.formats.member import Member

if TYPE_CHECKING:
    from yaml import Node

_MOST_CLASSES = 100_000
# A data set of 1,200 classes has 30,000 characters.
_MOST_TEXT = 1_000_000
_DIGITS = 10


@dataclass(slots=True)
class ClassNames:
    """The classes in a file."""

    names: dict[int, str] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    """The line of each name."""
    n_classes: int | None = None
    """The number under `nc`."""
    nc_line: int = 1
    keypoints: tuple[int, int] | None = None
    """Number of key points, and number of values per key point."""
    joints: dict[int, list[str]] = field(default_factory=dict)
    """Names of key points, by class."""
    shape_problem: str = ""
    """What is wrong with `kpt_shape`."""
    shape_line: int = 1
    problem: str = ""
    """Why the file cannot be read."""
    problem_line: int = 1


def class_names_of(member: Member) -> ClassNames:
    """Return the names in a file of lines or of YAML, or why it cannot be read.

    Raises DatasetError as `Member.read` does.
    """
    data = member.text()
    if b"\0" in data:
        return ClassNames(problem="the file is not text")
    text = data.decode("utf-8", "replace")
    found = names_of_yaml(text) if is_yaml(member.name) else names_of_lines(text)
    # One character in another encoding, as in a comment, does not hide the names.
    if "\ufffd" in text and not (found.names or found.keypoints or found.problem):
        found.problem = "the file is not text in UTF-8"
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
    "expected ',' or ']', but got '<stream end>'"
    """
    from yaml import MappingNode, SafeLoader, YAMLError, compose

    if len(text) > _MOST_TEXT:
        return ClassNames(problem=f"has more than {_MOST_TEXT:,} characters")
    try:
        # libyaml's loader is faster, but crashes the process if brackets are nested deeply.
        top = compose(text, Loader=SafeLoader)
    except (YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reasons = (getattr(error, name, None) for name in ("problem", "reason"))
        problem = next(filter(None, reasons), "is YAML that cannot be read")
        return ClassNames(problem=one_line(problem), problem_line=mark.line + 1 if mark else 1)
    pairs = top.value if isinstance(top, MappingNode) else []
    values = {key.value: value for key, value in pairs if isinstance(key.value, str)}
    found = ClassNames()
    if "names" in values:
        _add_names(found, values["names"])
    if (number := _number(values.get("nc"))) is not None:
        found.n_classes, found.nc_line = number, values["nc"].start_mark.line + 1
    shape = values.get("kpt_shape")
    if shape is not None and shape.value not in ("", "~", "null", "Null", "NULL"):
        numbers = [_number(each) for each in _items(shape)]
        if len(numbers) == 2 and numbers[0] and numbers[1] in (2, 3):
            found.keypoints = numbers[0], numbers[1]
            found.joints = _joints(values.get("kpt_names"), numbers[0])
        else:
            written = cut(one_line(text[shape.start_mark.index : shape.end_mark.index].strip()))
            expected = "[number of key points, 2 or 3], such as [17, 3]"
            found.shape_problem = f"kpt_shape is {written}; expected {expected}"
            found.shape_line = shape.start_mark.line + 1
    return found


def _add_names(found: ClassNames, names: "Node") -> None:
    from yaml import MappingNode, ScalarNode

    numbered = (
        [(_number(key), value) for key, value in names.value]
        if isinstance(names, MappingNode)
        else list(enumerate(_items(names)))
    )
    for number, name in numbered[:_MOST_CLASSES]:
        if number is not None and isinstance(name, ScalarNode):
            found.names[number], found.lines[number] = name.value, name.start_mark.line + 1
    if numbered and not found.names:
        found.problem = "the names of classes are not texts"
        found.problem_line = names.start_mark.line + 1


def _joints(names: "Node | None", n_joints: int) -> dict[int, list[str]]:
    """Return the names of key points by class, from a list for each class."""
    from yaml import MappingNode

    pairs = names.value if isinstance(names, MappingNode) else ()
    listed = ((_number(key), [str(each.value) for each in _items(value)]) for key, value in pairs)
    return {
        number: joints
        for number, joints in listed
        if number is not None and len(joints) == n_joints
    }


def _items(node: "Node | None") -> "list[Node]":
    from yaml import SequenceNode

    return node.value if isinstance(node, SequenceNode) else []


def _number(node: "Node | None") -> int | None:
    text = node.value if node is not None and isinstance(node.value, str) else ""
    return int(text) if text.isdecimal() and len(text) < _DIGITS else None
