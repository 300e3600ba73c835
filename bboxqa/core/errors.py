"""Exceptions whose text a command can print unchanged, and its options as arguments of Python."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def naming(where: object) -> Iterator[None]:
    """Name a file before what is wrong with its settings, which are no options."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


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

    def with_advice(self, more: Sequence[str]) -> Self:
        """Return the error after adding lines of advice."""
        self.added = (*self.added, *more)
        self.advice = "\n".join(filter(None, (self.advice, *more)))
        self.args = self.problems, self.advice
        return self

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
    """No image has two annotators, or a file holds no objects; it may be sound."""


_P = ParamSpec("_P")
_R = TypeVar("_R")

# What is typed in Python for options that are no argument of their name.
_ARGUMENTS = {
    "annotator": "{NAME: FILE, …} in place of files", "iou": "iou_threshold=…",
    "map": "category_map={…}", "from": "from_format=…", "no-checks": "checks=False",
    **{name: f"{name.replace('-', '_')}=True" for name in ("force", "lossy", "split",
                                                           "add-proposed", "side-by-side")},
}  # fmt: skip
_OF_READING = (
    "columns", "image-size", "missing-txt", "voc-base", "box-format", "rotated", "from", "mask",
)  # fmt: skip
# Those that are options of commands only are left out.
_OPTION = r"(?<![\w-])--(?!details|verbose|report|send-back)([a-z][a-z0-9-]*)"


def in_python(text: str) -> str:
    """Return how options in a message, but not in commands, are typed in Python; "" for none."""
    plain = re.sub(r"bboxqa [a-z]+\b[^`\n]*", "", text)
    given = []
    for name in dict.fromkeys(re.findall(_OPTION, plain)):
        typed = _ARGUMENTS.get(name, f"{name.replace('-', '_')}=…")
        given.append(f"--{name} is {f'bboxqa.reading({typed})' if name in _OF_READING else typed}")
    return f"In Python: {', '.join(given)}" if given else ""


def in_python_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function whose errors have a note on the arguments that their options are."""

    @wraps(function)
    def call(*args: _P.args, **more: _P.kwargs) -> _R:
        try:
            return function(*args, **more)
        except BboxqaError as error:
            if note := in_python(str(error)):
                error.add_note(note)
            raise

    return call
