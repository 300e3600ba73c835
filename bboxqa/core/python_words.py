"""Messages in the words of Python: arguments instead of the options of commands."""

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from msgspec.structs import replace

from bboxqa.core.errors import BboxqaError

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Any word behind these is their value; at the end of a line also behind those.
_NAMED, _KEYS = "similarity|from|mask", "annotator-key|session-key|time-key|reference"
_OTHERS = (
    "attribution|join|asked|map|sigmas|predictions|pseudonyms|images|bootstrap|image-size|"
    "missing-txt|voc-base|columns|box-format|layout|unit|weights|interval|by|iou|score|rotated|"
    "ground-truth|min-f1|annotator|value|cluster|n-options|no-checks|force|lossy|split|"
    "side-by-side|out|sent|add-proposed|parts|group-by"
)
# What may follow any option as its value; other words are part of the sentence.
_VALUE = (
    r"'[^'\n]+'|\w+=(?:[^\s).;:]|\.(?=\d))*|[\w.]*[A-Z]{3,}|\d+x\d+|[\d.,]*\d(?:,\.+)?|"
    r"\w+-(?:shares|pixels|x-units|x-raters)|(?:files|name|path|stem|none|all|asked|session|file|"
    r"estimated|linear|quadratic|bca|category|m?s|(?:xy|cxcy)(?:wh|xy))\b"
)
_NAMES = {
    "iou": "iou_threshold", "map": "category_map", "from": "from_format", "no-checks": "checks",
}  # fmt: skip
_FLAGS = {
    "no-checks": "False",
    **dict.fromkeys(("force", "lossy", "split", "side-by-side", "add-proposed"), "True"),
}  # fmt: skip
_OF_READING = (
    "columns", "image-size", "missing-txt", "voc-base", "box-format", "rotated", "from", "mask",
)  # fmt: skip
# A command to type stays as it is.
_COMMAND = r"(bboxqa [a-z]+\b[^`\n]*)"
_PERSON = r"--annotator (?:'([^'\n]*)'|([^\s'=]+=\S*[^\s,.;)]))"
_PEOPLE = rf"{_PERSON}(?:\s+{_PERSON})*"
# Compiled when a message is changed, which takes longer than importing this module.
_OPTION = (
    rf"(?m)(?<![\w-])--(?:({_NAMED})(?: (?!says)([a-z][\w-]*(?::\d+)?))?|"
    rf"({_KEYS})(?: ({_VALUE}|\S+$))?|({_OTHERS})(?: ({_VALUE}))?)(?![\w-])"
)


def in_python(text: str) -> str:
    """Return a message with arguments in place of options; commands to type stay.

    Examples
    --------
    >>> in_python("If each file is by another person: --attribution files")
    'If each file is by another person: attribution="files"'
    >>> in_python("name it with --annotator-key if there is one; see bboxqa validate --help")
    'name it with annotator_key= if there is one; see bboxqa validate --help'
    >>> in_python("--image-size gives it: 1920x1080, and --columns image=NAME the column")
    'bboxqa.reading(image_size=…) gives it: 1920x1080, and \
bboxqa.reading(columns={"image": "NAME"}) the column'
    >>> in_python("Edit NAME: --annotator NAME=a.json --annotator NAME=b.json")
    'Edit NAME: {"NAME": "a.json", "NAME": "b.json"}'
    """
    parts = re.split(_COMMAND, text)
    parts[::2] = [re.sub(_OPTION, _argument, re.sub(_PEOPLE, _people, part)) for part in parts[::2]]
    return "".join(parts)


def _people(options: re.Match[str]) -> str:
    """Return one mapping of annotators to files for options that follow each other."""

    def item(found: re.Match[str]) -> str:
        return ": ".join(f'"{part}"' for part in (found[1] or found[2]).split("=", 1)) + ","

    return f"{{{re.sub(_PERSON, item, options[0]).removesuffix(',')}}}"


def _argument(option: re.Match[str]) -> str:
    name, value = (*filter(None, option.groups()), "")[:2]
    argument = f"{_NAMES.get(name, name.replace('-', '_'))}={_FLAGS.get(name) or _literal(value)}"
    if name not in _OF_READING:
        return argument
    return f"bboxqa.reading({argument}{'' if value else '…'})"


def _literal(value: str) -> str:
    """Return the value of an option as Python writes it."""
    if re.fullmatch(r"\d+x\d+", value):
        return f"({value.replace('x', ', ')})"
    if "=" in value:
        pairs = (part.split("=", 1) for part in value.strip("',…").split(",") if "=" in part)
        items = ", ".join(
            f'"{key}": ' + (each if re.fullmatch(r"0?\.\d+", each) else f'"{each}"')
            for key, each in pairs
        )
        return f"{{{items}}}"
    if "," in value:
        return f"[{value.replace(',', ', ')}]"
    return value if re.fullmatch(r"[\d.]*|'.*'", value) else f'"{value}"'


def in_python_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that names arguments of Python in its errors, and notes of its result."""

    @wraps(function)
    def call(*args: _P.args, **more: _P.kwargs) -> _R:
        try:
            found = function(*args, **more)
        except BboxqaError as error:
            named = getattr(error, "setting", "")
            start = _NAMES.get(named, named)
            error.change_texts(lambda text: start + in_python(text.removeprefix(named)))
            raise
        fields = ((name, getattr(found, name, None)) for name in ("notes", "headlines"))
        texts = {name: (*map(in_python, each),) for name, each in fields if isinstance(each, tuple)}
        return replace(found, **texts) if texts else found  # type: ignore[type-var]

    return call
