"""Write measurements down as Markdown: tables, ratios and what is known about the machine."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Measurement, median_seconds, peak_megabytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COLUMNS = (
    "tool",
    "similarity",
    "annotations",
    "median s",
    "min-max s",
    "runs",
    "peak MB",
    "÷ bboxqa",
    "÷ bboxqa, no bootstrap",
    "pooled alpha",
    "mean image alpha",
)


@dataclass(slots=True)
class Row:
    """All runs of one command."""

    tool: str
    similarity: str
    annotations: int
    runs: list[Measurement] = field(default_factory=list)
    failure: str | None = None
    slow: bool = False
    alpha: float | None = None
    mean_image_alpha: float | None = None

    @property
    def seconds(self) -> float | None:
        """The median of the wall times, or None where the command failed."""
        return median_seconds(self.runs) if self.runs and self.failure is None else None


def ratio(row: Row | None, reference: Row | None) -> float | None:
    """Give how many times longer a row took than another one, where both succeeded."""
    if row is None or reference is None or row.seconds is None or reference.seconds is None:
        return None
    return row.seconds / reference.seconds


def ratio_per_annotation(row: Row, reference: Row) -> float | None:
    """Give the ratio of the times per annotation."""
    times = ratio(row, reference)
    return None if times is None else times * reference.annotations / row.annotations


def number(value: float | None, form: str) -> str:
    """Format a number; a dash where there is none."""
    return "-" if value is None else format(value, form)


def find(rows: Iterable[Row], like: Row, tool: str) -> Row | None:
    """Give the row of a tool on the same similarity and file as another row."""
    for row in rows:
        same = (row.similarity, row.annotations) == (like.similarity, like.annotations)
        if row.tool == tool and same:
            return row
    return None


def cells(row: Row, rows: Sequence[Row], references: Sequence[str]) -> list[str]:
    """Give the texts of one row, in the order of the columns."""
    start = [row.tool, row.similarity, f"{row.annotations:,}"]
    if row.failure is not None:
        failure = row.failure.replace("|", "\\|")
        return [*start, f"failed: {failure}", *["-"] * (len(COLUMNS) - len(start) - 1)]
    seconds = [run.wall_seconds for run in row.runs]
    return [
        *start,
        f"{statistics.median(seconds):.2f}",
        f"{min(seconds):.2f}-{max(seconds):.2f}",
        f"{len(seconds)}{' (slow)' if row.slow else ''}",
        f"{peak_megabytes(row.runs):,.0f}",
        *(number(ratio(row, find(rows, row, tool)), ".2f") for tool in references),
        number(row.alpha, ".4f"),
        number(row.mean_image_alpha, ".4f"),
    ]


def table(rows: Sequence[Row], references: Sequence[str]) -> str:
    """Give a Markdown table of rows; `references` are the two tools of the ratio columns."""
    lines = [COLUMNS, ["---"] * 3 + ["---:"] * (len(COLUMNS) - 3)]
    lines += [cells(row, rows, references) for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def processor_name() -> str:
    """Give the processor's name where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def machine_facts() -> list[str]:
    """Describe the machine without naming it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        f"- {platform.system()}, {platform.machine()}, {processor_name()}",
        f"- {cores} cores, {memory:.0f} GB of memory",
    ]


def version_facts(environments: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Describe what is installed in each tool's environment."""
    return [
        f"- {tool}: " + ", ".join(f"{name} {version}" for name, version in found.items())
        for tool, found in environments.items()
    ]


def write_text(path: Path, text: str) -> None:
    """Write a file so that it appears under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
