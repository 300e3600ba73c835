"""Agreement of annotators with themselves."""

from collections.abc import Mapping
from typing import Any

from bboxqa.core.text import count
from bboxqa.report.charts.annotator_charts import annotator_intervals
from bboxqa.report.pages.html_document import interval, number
from bboxqa.report.pages.sections.section import Documents, Evidence, Section, data_of

_ALL = "all annotators"


def repeats_section(documents: Documents) -> Section | None:
    """Return F1 of each annotator between sessions, beside the one with the others."""
    found = documents["summary"]["thresholds"][0].get("repeats")
    if found is None:
        return None
    everyone, *people = found
    diagnosis = documents.get("diagnosis")
    others = {} if diagnosis is None else {row["name"]: row for row in diagnosis["annotators"]}
    chart = annotator_intervals(
        "Agreement of annotators with themselves",
        [_figures(row, others) for row in people],
        {"f1": "F1 with themselves", "others": "F1 with the others"} if others
        else {"f1": "F1 with themselves"},
    )  # fmt: skip
    named = [row | {"annotator": row["annotator"] or _ALL} for row in found]
    caption = "How far annotators drew the same objects again, with the 95 % interval"
    text = (
        f"In {count(everyone['n_images'], 'image')} that were annotated again, F1 of annotators "
        f"with themselves is {number(everyone['f1']['value'])} "
        f"{interval(everyone['f1']['interval'])}. Who agrees with others less than with themselves "
        "understands the task differently; who does not agree with themselves is not sure about it."
    )
    tables = [data_of("Annotators with themselves", named)]
    return Section("repeats", "The same images again", [text], [Evidence(tables, chart, caption)])


def _figures(row: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    name = row["annotator"]
    beside = others[name]["f1"] if name in others else {"value": None, "interval": None}
    return {"name": name, "f1": row["f1"], "others": beside}
