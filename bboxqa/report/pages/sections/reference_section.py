"""Agreement of annotators with a reference."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bboxqa.core.text import count, names_in_words
from bboxqa.model.annotations import EDGES
from bboxqa.report.charts.annotator_charts import annotator_intervals
from bboxqa.report.pages.sections.section import Documents, Evidence, Section, data_of


def reference_section(documents: Documents) -> Section | None:
    """Return precision, recall, F1, class, place and offsets of each annotator."""
    found = documents["summary"]["thresholds"][0].get("reference")
    if found is None:
        return None
    people = found["annotators"]
    figures = [{key: row[key] for key in row if "offset" not in key} for row in people]
    chart = annotator_intervals(
        "Agreement with the reference",
        people,
        {"f1": "F1", "precision": "precision", "recall": "recall"},
    )
    caption = (
        "F1, precision (how much of what the annotator drew is right) and recall (how much of the "
        "reference was drawn), with their 95 % intervals"
    )
    return Section(
        "reference",
        "Against the reference",
        [_coverage(found)],
        [
            Evidence([data_of("Annotators against the reference", figures)], chart, caption),
            *_offsets(people),
        ],
    )


def _offsets(people: Sequence[Mapping[str, Any]]) -> Iterator[Evidence]:
    """Yield the offsets of edges, or of rotated boxes, from the reference."""
    rotated = [
        {"name": row["name"], **{_measure(each): each for each in row["rotated_offsets"]}}
        for row in people
        if row.get("rotated_offsets")
    ]
    edges = [
        {"name": row["name"], **dict(zip(EDGES, row["offset_px"], strict=True))}
        for row in people
        if row["offset_px"]
    ]
    if rotated:
        yield Evidence([data_of("Rotated boxes against those of the reference", rotated)])
    if edges:
        yield Evidence([data_of("Edges (px) against those of the reference", edges)])


def _measure(offset: Mapping[str, Any]) -> str:
    unit = "°, clockwise" if offset["unit"] == "degrees" else "px"
    return f"{offset['measure']} ({unit})"


def _coverage(found: Mapping[str, Any]) -> str:
    """Return the number of images of the reference that count, and its objects there."""
    images = count(found["n_reference_images"], "image")
    text = (
        f"{names_in_words([found['name']])[0]}: {found['n_images']:,} of its {images} were "
        "annotated; it has "
        f"{count(found['n_annotations'], 'object')} there."
    )
    if found["n_empty_images"]:
        empty = count(found["n_empty_images"], "image")
        text += f" {empty} of it have none: all that was drawn there is wrong."
    return text
