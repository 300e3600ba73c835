"""Parts of a walk-through: steps, checked values, and their text."""

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from bboxqa.report.numbers import decimal
from bboxqa.report.tables import table_lines

WIDTH = 92
"""The longest line of running text; tables may be a little wider, up to 100."""

MISSING = "missing"
"""The table entry of an annotator who was asked and drew nothing."""


class Check(NamedTuple):
    """A computed and an expected value, both as they are printed."""

    what: str
    computed: str
    expected: str
    agrees: bool

    @property
    def verdict(self) -> str:
        """Whether the value is the expected one, in words."""
        return "agrees" if self.agrees else f"DIFFERS: expected {self.expected}"

    def text(self) -> str:
        """Return the check as a paragraph that ends in its verdict."""
        return hang("- ", f"{self.what} = {self.computed}: {self.verdict}")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a walk-through."""

    title: str
    explanation: str
    """The explanation of the step."""
    body: str
    """A table, as text."""
    checks: tuple[Check, ...] = ()
    """The values that are compared with expected ones."""
    verdicts_in_body: bool = False
    """Whether the body itself shows the verdicts; then only checks that differ are listed below."""

    def text(self) -> str:
        """Return the step as paragraphs with a blank line between them."""
        listed = [one.text() for one in self.checks if not (self.verdicts_in_body and one.agrees)]
        title = f"{self.title}\n{'-' * len(self.title)}"
        parts = [title, hang("", self.explanation), textwrap.indent(self.body, "  ")]
        # Self-explanatory tables have no explanation.
        return "\n\n".join(part for part in (*parts, "\n".join(listed)) if part)


@dataclass(frozen=True, slots=True)
class Walk:
    """A worked example, step by step."""

    name: str
    introduction: str
    """The name of the example, and what it shows."""
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    """Misprints in the source of the example."""

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all steps."""
        return tuple(one for step in self.steps for one in step.checks)

    @property
    def agrees(self) -> bool:
        """Whether every value is the expected one; false if none was compared."""
        return self.n_checks > 0 and all(one.agrees for one in self.checks)

    @property
    def n_checks(self) -> int:
        """The number of values that were compared."""
        return len(self.checks)

    def text(self) -> str:
        """Return the walk-through for a terminal of 100 columns."""
        title = f"Worked example: {self.name}"
        parts = [f"{title}\n{'=' * len(title)}", hang("", self.introduction)]
        parts += [step.text() for step in self.steps]
        if self.notes:
            notes = [hang("- ", note) for note in self.notes]
            parts.append("\n".join(["Misprints in the source of this example:", *notes]))
        return "\n\n".join([*parts, self._summary()]) + "\n"

    def _summary(self) -> str:
        differing = sum(not one.agrees for one in self.checks)
        if differing:
            return f"{differing} of {self.n_checks} checks DIFFER from what is expected."
        return f"All {self.n_checks} checks agree with what is expected."


def check(what: str, computed: str, expected: str) -> Check:
    """Compare two values as they are printed, with the same rounding.

    Examples
    --------
    >>> check("alpha", digits(0.02222), digits(0.0222)).text()
    '- alpha = 0.0222: agrees'
    """
    return Check(what, computed, expected, computed == expected)


def digits(value: float) -> str:
    """Return a number with four digits, and zero without a sign.

    Examples
    --------
    >>> digits(2 / 3), digits(-1e-9)
    ('0.6667', '0.0000')
    """
    # Rounded twice, so that the last bit does not decide ties such as -0.40625.
    return decimal(round(value, 12))


def short(value: float) -> str:
    """Return a number with at most four decimals, without trailing zeros.

    Examples
    --------
    >>> short(2.0), short(0.5), short(1200000.0)
    ('2', '0.5', '1200000')
    """
    return f"{value:.4f}".rstrip("0").rstrip(".")


def hang(head: str, text: str) -> str:
    """Return text after a head, wrapped with a hanging indent.

    Examples
    --------
    >>> hang("n = ", "1 + 1")
    'n = 1 + 1'
    """
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (), gap: int = 2
) -> str:
    """Return rows below their titles; the columns of `left` are words."""
    return "\n".join(table_lines([titles, *rows], left, gap=gap))


def side_by_side(*blocks: str) -> str:
    r"""Return blocks of lines side by side.

    Examples
    --------
    >>> print(side_by_side("a\nb", "c"))
    a     c
    b
    """
    columns = [block.splitlines() for block in blocks]
    widths = [max(map(len, column), default=0) for column in columns]
    return "\n".join(
        "     ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip_longest(*columns, fillvalue="")
    )
