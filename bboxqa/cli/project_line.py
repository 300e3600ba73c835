"""The progress line of a project."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bboxqa.batch.run import Step


def line_of(step: "Step", log_format: str) -> str:
    """Return the outcome of a project as a line of text or json."""
    from bboxqa.core.text import clean, count, one_line

    row = step.row
    if log_format == "json":
        import dataclasses

        import msgspec

        value = dataclasses.asdict(row) | {
            "project": clean(row.project),
            "message": clean(row.message),
            "reused": step.reused,
            "done": step.done,
            "total": step.total,
        }
        return msgspec.json.encode(value).decode()
    figures = (("alpha", row.alpha), ("F1", row.f1))
    agreement = "".join(f", {name} {value:z.4f}" for name, value in figures if value is not None)
    errors = "" if row.n_errors is None else f", {count(row.n_errors, 'error')}"
    again = " (unchanged)" if step.reused else ""
    note = f": {one_line(row.message)}" if row.message else ""
    name = one_line(row.project)
    return f"{step.done}/{step.total} {name}{again}: {row.status}{agreement}{errors}{note}"
