"""Agreement of a model with the annotators."""

from collections.abc import Mapping, Sequence
from typing import Any

from bboxqa.report.charts.annotator_charts import annotator_intervals
from bboxqa.report.charts.labels import set_apart, short_name
from bboxqa.report.pages.html_document import interval, number
from bboxqa.report.pages.sections.section import Data, Documents, Evidence, Section

_SIDES = ("annotator_1", "annotator_2")


def model_section(documents: Documents) -> Section | None:
    """Return F1 of the predictions of a model with each annotator."""
    given = [each for each in documents["manifest"]["inputs"] if each["role"] == "predictions"]
    if not given:
        return None
    name, lowest = given[0]["annotator"], given[0]["score"]
    every = documents["summary"]["thresholds"][0]["pairs"]
    pairs = [row for row in every if name in (row[side] for side in _SIDES)]
    title = f"F1 of {set_apart(short_name(name))} with each annotator"
    chart = annotator_intervals(title, [_figures(row, name) for row in pairs], {"f1": title})
    columns = [*pairs[0]] if pairs else []
    table = Data("Pairs with the model", columns, [[*row.values()] for row in pairs])
    caption = "How far the model and each annotator drew the same objects, with the 95 % interval"
    given_as = (
        f"{name} is a model: its results with a score of {lowest:g} or more count as annotations "
        "of one more annotator."
    )
    compared = _compared(documents.get("diagnosis", {}).get("annotators", ()), name)
    return Section(
        "model",
        "Results of a model",
        [given_as, *compared],
        [Evidence([table], chart, caption)],
    )


def _figures(pair: Mapping[str, Any], name: str) -> dict[str, Any]:
    first, second = (pair[side] for side in _SIDES)
    ends = [pair["f1_low"], pair["f1_high"]]
    figure = {"value": pair["f1"], "interval": None if None in ends else ends}
    return {"name": second if first == name else first, "f1": figure}


def _compared(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Return a comparison of the model's F1 with that of the annotators."""
    of_model = [row["f1"] for row in rows if row["name"] == name]
    others = [row["f1"]["value"] for row in rows if row["name"] != name]
    known = [value for value in others if value is not None]
    if not of_model or of_model[0]["value"] is None or not known:
        return []
    found, bounds = of_model[0]["value"], interval(of_model[0]["interval"])
    above = sum(value > found for value in known)
    text = (
        f"Its F1 with all annotators is {number(found)} {bounds}; theirs with all others, and with "
        f"the model, is from {number(min(known))} to {number(max(known))}, and higher for {above} "
        f"of {len(known)}."
    )
    return [text]
