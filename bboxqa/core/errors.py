"""Exceptions whose text a command can print unchanged, and their text in the words of Python."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

_SHOWN = 20


class BboxqaError(Exception):
    """Root of all errors raised on purpose; its text is written for the user."""

    def change_texts(self, change: Callable[[str], str]) -> None:
        """Change every text of the message."""
        self.args = tuple(map(change, self.args))


class ConfigError(BboxqaError):
    """A setting has an unknown name, a wrong type, or contradicts another one.

    Parameters
    ----------
    problem : str
        What is wrong.
    setting : str, optional
        The keyword that is wrong, with which the message begins; commands name its option instead.

    Examples
    --------
    >>> print(ConfigError("is -3; expected 1 or more", "images"))
    images is -3; expected 1 or more
    """

    def __init__(self, problem: str, setting: str = "") -> None:
        self.setting = setting
        super().__init__(f"{setting} {problem}" if setting else problem)


class OutputError(BboxqaError):
    """A result cannot be written where the user asked."""


class DatasetError(BboxqaError):
    """Annotations that cannot be measured, with every reason that was found.

    Parameters
    ----------
    problems : sequence of str
        One text per problem, each naming file, record and key, what was found and what was
        expected. The message shows the first 20.
    advice : str
        How to go on.
    command : str
        The command in the advice that looks for defects, or fixes them.
    total : int, optional
        The number of problems, where `problems` has only the first of them.
    files : sequence of path or None, optional
        For each problem, the file whose content has it; None for problems that are not in one file.
        By default all are None.

    Examples
    --------
    >>> error = DatasetError(["a.json: annotation 9: bbox width is -3; expected 0 or more"])
    >>> print(error)
    a.json: annotation 9: bbox width is -3; expected 0 or more
    >>> len(DatasetError(["x"] * 30).problems)
    30
    """

    def __init__(
        self,
        problems: Sequence[str],
        advice: str = "",
        *,
        command: str = "",
        total: int | None = None,
        files: Sequence[Path | None] | None = None,
    ) -> None:
        self.problems = tuple(problems)
        self.advice = advice
        self.command = command
        self.total = len(self.problems) if total is None else total
        self.files = (None,) * len(self.problems) if files is None else tuple(files)
        # The lines of advice that `with_advice` added.
        self.added: tuple[str, ...] = ()
        super().__init__(self.problems, advice)

    def with_advice(self, more: Iterable[str]) -> Self:
        """Return the error with more lines of advice."""
        added = (*self.added, *more)
        advice = "\n".join(filter(None, (self.advice, *added[len(self.added) :])))
        error = type(self)(
            self.problems, advice, command=self.command, total=self.total, files=self.files
        )
        error.added = added
        return error

    def change_texts(self, change: Callable[[str], str]) -> None:
        """Change every text of the message."""
        self.problems = tuple(map(change, self.problems))
        self.advice, self.command = change(self.advice), change(self.command)
        self.args = self.problems, self.advice

    def __str__(self) -> str:
        lines = list(self.problems[:_SHOWN])
        left_out = self.total - len(lines)
        if self.total > 1:
            lines = [f"{self.total:,} problems:", *(f"  {line}" for line in lines)]
        if left_out:
            lines.append(f"  … and {left_out:,} more")
        if self.advice:
            lines.append(self.advice)
        return "\n".join(lines)


class NothingToCompareError(DatasetError):
    """No image has two annotators; the annotations may be sound."""


class OtherKindError(NothingToCompareError):
    """The files listed in `files` hold captions, results or other records instead of objects."""


_P = ParamSpec("_P")
_R = TypeVar("_R")

# Options whose value is a word, and what may follow others as a value, not as part of a sentence.
_WORDED = (
    "similarity|from|mask|join|attribution|missing-txt|session-key|asked|level|weights|unit|layout|"
    "interval|by|box-format|sigmas|to"
)
_PERSON = r"'[^'\n]*'|[^\s'=]+=\S*[^\s,.;)]"
_VALUE = (
    r"'[^'\n]*'|\w+=(?:[^\s).;:,]|[.,](?=[\w…]))*|[\w.]*[A-Z]{2,}|\d(?:[\w.,]*\w)?(?:,\.+)?|"
    r"\w+-(?:shares|pixels)"
)
_OPTION = (
    rf"(?<![\w-])--(?!details|verbose|report|send-back)(?:(annotator) ({_PERSON})|"
    rf"({_WORDED}) (?!(?:says|is|has)\b)([a-z][\w-]*(?::\d+)?)|"
    rf"([a-z][a-z0-9-]*)(?: ({_VALUE}))?)(?![\w-])"
)
_ARGUMENTS = {
    "iou": "iou_threshold", "map": "category_map", "from": "from_format",
    "no-checks": "checks=False",
    **{name: f"{name.replace('-', '_')}=True" for name in
       ("force", "lossy", "split", "side-by-side", "add-proposed")},
}  # fmt: skip
_OF_READING = (
    "columns", "image-size", "missing-txt", "voc-base", "box-format", "rotated", "from", "mask",
)  # fmt: skip


def in_python(text: str) -> str:
    """Return a message with arguments in place of options; commands to type stay.

    Examples
    --------
    >>> in_python("name it with --annotator-key KEY; see bboxqa validate --help")
    'name it with annotator_key="KEY"; see bboxqa validate --help'
    >>> in_python("Edit NAME: --annotator NAME=a.json --annotator NAME=b.json")
    'Edit NAME: {"NAME": "a.json", "NAME": "b.json"}'
    """

    def argument(option: re.Match[str]) -> str:
        name, value = (*filter(None, option.groups()), "")[:2]
        size, typed = re.fullmatch(r"(\d+)x(\d+)", value), value.strip("',…")
        literal = value if re.fullmatch(r"\d[\d.]*|'[^=]*'", value) else f'"{typed}"'
        if size:
            literal = f"({size[1]}, {size[2]})"
        elif re.fullmatch(r"[\d.]+(,[\d.]+)+", typed):
            literal = f"[{typed.replace(',', ', ')}]"
        elif "=" in typed:
            listed = [typed] if name == "annotator" else typed.split(",")
            pairs = (part.partition("=")[::2] for part in listed if "=" in part)
            quote = "" if name == "parts" else '"'
            literal = ", ".join(f'"{key}": {quote}{each}{quote}' for key, each in pairs).join("{}")
        if name == "annotator" and value:
            return literal
        argument = _ARGUMENTS.get(name, name.replace("-", "_"))
        if name in _OF_READING:
            return f"bboxqa.reading({argument}={literal if value else '…'})"
        return argument if "=" in argument else f"{argument}={literal if value else ''}"

    parts = re.split(r"(bboxqa [a-z]+\b[^`\n]*)", text)
    people = re.compile(r'"\}(\s+)\{"')
    parts[::2] = [people.sub(r'",\1"', re.sub(_OPTION, argument, part)) for part in parts[::2]]
    return "".join(parts)


def in_python_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that names arguments of Python in its errors, and notes of its result."""

    @wraps(function)
    def call(*args: _P.args, **more: _P.kwargs) -> _R:
        try:
            found = function(*args, **more)
        except BboxqaError as error:
            named = getattr(error, "setting", "")
            start = _ARGUMENTS.get(named, named).partition("=")[0]
            error.change_texts(lambda text: start + in_python(text.removeprefix(named)))
            raise
        from msgspec.structs import replace

        fields = ((name, getattr(found, name, None)) for name in ("notes", "headlines"))
        texts = {name: (*map(in_python, each),) for name, each in fields if isinstance(each, tuple)}
        return replace(found, **texts) if texts else found  # type: ignore[type-var]

    return call
