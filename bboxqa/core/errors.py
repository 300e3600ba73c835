"""What can go wrong, as exceptions that a command can print as they are."""

from collections.abc import Sequence

__all__ = ["BboxqaError", "ConfigError", "DatasetError", "NothingToCompareError", "OutputError"]

_SHOWN = 20


class BboxqaError(Exception):
    """Root of all errors raised on purpose; its text is written for the user."""


class ConfigError(BboxqaError):
    """A setting has an unknown name, a wrong type, or contradicts another one."""


class OutputError(BboxqaError):
    """A result cannot be written where the user asked."""


class DatasetError(BboxqaError):
    """Annotations that cannot be measured, with every reason that was found.

    Parameters
    ----------
    problems
        One text per problem, each naming file, record and key, what was found and what was
        expected. All are kept in `problems`; the message shows the first 20.
    advice
        How to go on.

    Examples
    --------
    >>> error = DatasetError(["a.json: annotation 9: bbox width is -3; expected 0 or more"])
    >>> print(error)
    a.json: annotation 9: bbox width is -3; expected 0 or more
    >>> len(DatasetError(["x"] * 30).problems)
    30
    """

    def __init__(self, problems: Sequence[str], advice: str = "") -> None:
        self.problems = tuple(problems)
        self.advice = advice
        super().__init__(self.problems, advice)

    def __str__(self) -> str:
        lines = list(self.problems[:_SHOWN])
        if len(self.problems) > 1:
            lines = [f"{len(self.problems)} problems:", *(f"  {line}" for line in lines)]
        if len(self.problems) > _SHOWN:
            lines.append(f"  … and {len(self.problems) - _SHOWN} more")
        if self.advice:
            lines.append(self.advice)
        return "\n".join(lines)


class NothingToCompareError(DatasetError):
    """Annotations that may be sound, but no image of which two annotators were asked about."""
