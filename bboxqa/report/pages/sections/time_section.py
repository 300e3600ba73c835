"""Speed of annotators, and changes of agreement over time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bboxqa.core.text import count
from bboxqa.model.diagnosis import CHANGE_UNITS
from bboxqa.report.charts.annotator_charts import annotator_intervals
from bboxqa.report.pages.html_document import interval, number, signed
from bboxqa.report.pages.sections.section import Data, Documents, Evidence, Section


def time_section(documents: Documents) -> Section | None:
    """Return speed, drift and fatigue of each annotator."""
    diagnosis = documents.get("diagnosis", {})
    if "work" not in diagnosis:
        return None
    everyone, *people = diagnosis["work"]
    speed = changes = None
    if _are_known(people, ["per_minute"]):
        title = "Annotations a minute"
        speed = annotator_intervals(title, people, {"per_minute": title}, highest_first=True)
    if _are_known(people, CHANGE_UNITS):
        figures = {name: f"{unit} ({name})" for name, unit in CHANGE_UNITS.items()}
        changes = annotator_intervals("Change of F1 with the others", people, figures, at_zero=True)
    tables = {
        name: Data(title, table["columns"], table["rows"])
        for name, title in (
            ("work", "Time"), ("work_sessions", "Sessions"), ("work_hours", "Hours of sessions"),
        )
        for table in (diagnosis["tables"][name],)
    }  # fmt: skip
    return Section(
        "time",
        "Time",
        [_speed(everyone), *(_change(everyone, people, name) for name in CHANGE_UNITS)],
        [
            Evidence([tables["work"]], speed, "Within sessions, with the 95 % interval"),
            Evidence(
                [tables["work_sessions"], tables["work_hours"]],
                changes,
                "Left of 0, agreement falls. A change does not say why: images may differ, too. "
                "Annotators with too little work to tell are in the table only",
            ),
        ],
    )


def _are_known(people: Sequence[Mapping[str, Any]], names: Iterable[str]) -> bool:
    """Return whether any annotator has one of the figures."""
    return any(row[name]["value"] is not None for row in people for name in names)


def _speed(everyone: Mapping[str, Any]) -> str:
    found = everyone["per_minute"]
    worked = (
        f"Annotators worked {number(everyone['hours'], 1)} hours in "
        f"{count(everyone['n_sessions'], 'session')}"
    )
    if found["value"] is None:
        return f"{worked}. Their speed is unknown."
    bounds = interval(found["interval"], 1)
    return f"{worked}, and drew {number(found['value'], 1)} {bounds} annotations a minute."


def _change(everyone: Mapping[str, Any], people: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the change of F1 of all annotators together, and whether it is significant."""
    found, unit = everyone[name], CHANGE_UNITS[name]
    if found["value"] is None:
        reasons = " or ".join(dict.fromkeys(row[name]["status"] for row in people))
        return f"How F1 changes {unit} is unknown: each annotator has {reasons}."
    text = f"F1 of all annotators together changes by {signed(found['value'], 3)}"
    if found["interval"] is None:
        return f"{text} {unit}, without an interval."
    low, high = found["interval"]
    change = f"{text} [{signed(low, 3)}, {signed(high, 3)}] {unit}"
    return f"{change}." if low > 0 or high < 0 else f"{change}, which may be chance."
