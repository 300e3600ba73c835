"""Sections of the page of an agreement that only some results have, and cards of annotators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bboxqa.core.text import count, names_in_words
from bboxqa.model.annotations import EDGES
from bboxqa.model.diagnosis import CHANGE_UNITS, NO_BOX
from bboxqa.report.agreement_text import images_compared
from bboxqa.report.charts.chart import Chart
from bboxqa.report.charts.charts import annotator_intervals, offsets
from bboxqa.report.charts.svg import chart_svg
from bboxqa.report.numbers import (
    THE_OTHERS,
    figure_text,
    interval,
    json_figure,
    number,
    others_of,
    percent,
    set_apart,
    short_name,
    signed,
)
from bboxqa.report.pages.pictures import Legend

if TYPE_CHECKING:
    from markupsafe import Markup

Documents = Mapping[str, Mapping[str, Any]]
"""The JSON files of a result by name: "summary", "manifest", and those of a diagnosis, if any."""

_SIDES = ("annotator_1", "annotator_2")
# Annotators that have a card; all are in the table.
_MOST_CARDS = 24
# With more annotators, only systematic offsets are drawn.
_MOST_DRAWN = 12
# Fewer annotators cannot form two groups of two or more.
_FEWEST_OF_GROUPS = 4
# The most members of a group that are named.
_MOST_NAMED = 12
# Columns of `boxes_per_object` that a card shows: title, count and rate.
_SHAPES = (
    ("drawn twice", "n_twice", "twice_rate"),
    ("split", "n_split", "split_rate"),
    ("merged", "n_merged", "merge_rate"),
)

Entry = tuple[str, str, str]
"""The title, value and interval of a figure on a card."""


@dataclass(frozen=True, slots=True)
class Data:
    """A table of a page, which a click shows."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """A chart and its tables; only tables where there is nothing to draw."""

    tables: Sequence[Data]
    chart: Chart | None = None
    caption: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A section with its title; `name` is its anchor."""

    name: str
    title: str
    sentences: Sequence[str]
    evidence: Sequence[Evidence]


def column_names(columns: Iterable[str], measure: str) -> list[str]:
    """Return names of columns; those of other similarities are not called IoU.

    Examples
    --------
    >>> column_names(["f1", "mean_iou"], "OKS"), column_names(["mean_iou"], "IoU")
    (['f1', 'mean_similarity'], ['mean_iou'])
    """
    own = "mean_iou" if measure == "IoU" else "mean_similarity"
    return [name.replace("mean_iou", own) for name in columns]


def table_rows(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table of the document "diagnosis", by column."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def svg_of(chart: Chart, label: str) -> "Markup":
    """Return a chart as an element of a page."""
    from markupsafe import Markup

    return Markup(chart_svg(chart, label))  # noqa: S704 - `chart_svg` escapes texts


def data_of(name: str, records: Sequence[Mapping[str, Any]]) -> Data:
    """Return records as a table; figures with intervals become three columns.

    Examples
    --------
    >>> found = data_of("F1", [{"name": "ann", "f1": {"value": 0.9, "interval": [0.8, 0.95]}}])
    >>> found.columns, found.rows
    (['name', 'f1', 'f1_low', 'f1_high'], [['ann', 0.9, 0.8, 0.95]])
    """
    flat = [dict(_cells(record)) for record in records]
    return Data(name, [*flat[0]] if flat else [], [[*row.values()] for row in flat])


def _cells(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, Mapping):
            low, high = value["interval"] or (None, None)
            yield from ((key, value["value"]), (f"{key}_low", low), (f"{key}_high", high))
        else:
            yield key, value


def reference_section(documents: Documents) -> Section | None:
    """Return precision, recall, F1, class, place and offsets of each annotator."""
    found = documents["summary"]["thresholds"][0].get("reference")
    if found is None:
        return None
    people = found["annotators"]
    figures = [{key: row[key] for key in row if "offset" not in key} for row in people]
    names = {"f1": "F1", "precision": "precision", "recall": "recall"}
    chart = annotator_intervals("Agreement with the reference", people, names)
    caption = (
        "F1, precision (how much of what the annotator drew is right) and recall (how much of the "
        "reference was drawn), with their 95 % intervals"
    )
    text = (
        f"{names_in_words([found['name']])[0]}: {found['n_images']:,} of its "
        f"{count(found['n_reference_images'], 'image')} were annotated; it has "
        f"{count(found['n_annotations'], 'object')} there."
    )
    if found["n_empty_images"]:
        empty = count(found["n_empty_images"], "image")
        text += f" {empty} of it have none: all that was drawn there is wrong."
    table = data_of("Annotators against the reference", figures)
    evidence = [Evidence([table], chart, caption), *_offsets(people)]
    return Section("reference", "Against the reference", [text], evidence)


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


def model_section(documents: Documents) -> Section | None:
    """Return F1 of the predictions of a model with each annotator."""
    given = [each for each in documents["manifest"]["inputs"] if each["role"] == "predictions"]
    if not given:
        return None
    name, lowest = given[0]["annotator"], given[0]["score"]
    every = documents["summary"]["thresholds"][0]["pairs"]
    pairs = [row for row in every if name in (row[side] for side in _SIDES)]
    title = f"F1 of {set_apart(short_name(name))} with each annotator"
    figures = [
        {"name": row[_SIDES[row[_SIDES[0]] == name]], "f1": json_figure(row, "f1")} for row in pairs
    ]
    chart = annotator_intervals(title, figures, {"f1": title})
    columns = [*pairs[0]] if pairs else []
    table = Data("Pairs with the model", columns, [[*row.values()] for row in pairs])
    caption = "How far the model and each annotator drew the same objects, with the 95 % interval"
    said = (
        f"{name} is a model: its results with a score of {lowest:g} or more count as annotations "
        "of one more annotator."
    )
    compared = _compared(documents.get("diagnosis", {}).get("annotators", ()), name)
    evidence = [Evidence([table], chart, caption)]
    return Section("model", "Results of a model", [said, *compared], evidence)


def _compared(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Return a comparison of the model's F1 with that of the annotators."""
    own = next((row["f1"] for row in rows if row["name"] == name), {"value": None})
    known = [row["f1"]["value"] for row in rows if row["name"] != name]
    known = [value for value in known if value is not None]
    if own["value"] is None or not known:
        return []
    above = sum(value > own["value"] for value in known)
    text = (
        f"Its F1 with all annotators is {figure_text(own)}; theirs with all others, and with "
        f"the model, is from {number(min(known))} to {number(max(known))}, and higher for {above} "
        f"of {len(known)}."
    )
    return [text]


def repeats_section(documents: Documents) -> Section | None:
    """Return F1 of each annotator between sessions, beside the one with the others."""
    found = documents["summary"]["thresholds"][0].get("repeats")
    if found is None:
        return None
    everyone, *people = found
    others = {
        row["name"]: row["f1"] for row in documents.get("diagnosis", {}).get("annotators", ())
    }
    nothing = {"value": None, "interval": None}
    figures = [
        {"name": row["annotator"], "f1": row["f1"], "others": others.get(row["annotator"], nothing)}
        for row in people
    ]
    names = {"f1": "F1 with themselves", "others": "F1 with the others"}
    chart = annotator_intervals("Agreement of annotators with themselves", figures, names)
    named = [row | {"annotator": row["annotator"] or "all annotators"} for row in found]
    caption = "How far annotators drew the same objects again, with the 95 % interval"
    text = (
        f"In {count(everyone['n_images'], 'image')} that were annotated again, F1 of annotators "
        f"with themselves is {figure_text(everyone['f1'])}. Who agrees with others less than with "
        "themselves understands the task differently; who does not agree with themselves is not "
        "sure about it."
    )
    evidence = [Evidence([data_of("Annotators with themselves", named)], chart, caption)]
    return Section("repeats", "The same images again", [text], evidence)


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
    titles = {"work": "Time", "work_sessions": "Sessions", "work_hours": "Hours of sessions"}
    time, *sessions = (_data(diagnosis["tables"][name], title) for name, title in titles.items())
    sentences = [_speed(everyone), *(_change(everyone, people, name) for name in CHANGE_UNITS)]
    caption = (
        "Left of 0, agreement falls. A change does not say why: images may differ, too. "
        "Annotators with too little work to tell are in the table only"
    )
    evidence = [
        Evidence([time], speed, "Within sessions, with the 95 % interval"),
        Evidence(sessions, changes, caption),
    ]
    return Section("time", "Time", sentences, evidence)


def _data(table: Mapping[str, Any], title: str) -> Data:
    return Data(title, table["columns"], table["rows"])


def _are_known(people: Sequence[Mapping[str, Any]], names: Iterable[str]) -> bool:
    """Return whether any annotator has one of the figures."""
    return any(row[name]["value"] is not None for row in people for name in names)


def _speed(everyone: Mapping[str, Any]) -> str:
    worked = (
        f"Annotators worked {number(everyone['hours'], 1)} hours in "
        f"{count(everyone['n_sessions'], 'session')}"
    )
    if everyone["per_minute"]["value"] is None:
        return f"{worked}. Their speed is unknown."
    return f"{worked}, and drew {figure_text(everyone['per_minute'], 1)} annotations a minute."


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


def tracks_section(documents: Documents) -> Section | None:
    """Return IDF1 and identity switches of each pair of annotators."""
    tables = documents.get("diagnosis", {}).get("tables", {})
    rows = table_rows(tables["tracks"]) if "tracks" in tables else []
    if not rows:
        return None
    lowest = min(rows, key=lambda row: row["idf1"])
    people = f"{lowest['annotator_1']} and {lowest['annotator_2']}"
    switches = len(tables["track_switches"]["rows"])
    said = figure_text(json_figure(lowest, "idf1"))
    middle = f"is lowest of {people}, {said}" if len(rows) > 1 else f"of {people} is {said}"
    text = f"IDF1 {middle}; {count(switches, 'identity switch', 'identity switches')} in all."
    shown = [
        _data(tables[name], title)
        for name, title in (("tracks", "Tracks"), ("track_switches", "Identity switches"))
    ]
    return Section("tracks", "Tracks", [text], [Evidence(shown)])


def annotator_cards(diagnosis: Mapping[str, Any] | None, of: Legend) -> list[dict[str, Any]]:
    """Return cards of annotators with errors in most objects, the lowest F1 first."""
    if diagnosis is None:
        return []
    tables = diagnosis["tables"]
    shapes, rows = (_by_annotator(tables[name]) for name in ("boxes_per_object", "annotators"))
    n_errors = {
        name: row["n_missed"] + row["n_extra"] + sum(shapes[name][n] for _, n, _ in _SHAPES)
        for name, row in rows.items()
    }
    order = sorted(rows, key=lambda name: -n_errors[name])
    cells = table_rows(tables["confusion_matrix"])
    confused, charts = _confusions(cells, [*rows]), _offset_charts(diagnosis, order[:_MOST_CARDS])
    several = len({row["category"] for row in cells} - {NO_BOX}) > 1
    shown = [row for row in diagnosis["annotators"] if row["name"] in order[:_MOST_CARDS]]
    # Those without an F1 come last.
    shown.sort(key=lambda row: (row["f1"]["value"] is None, row["f1"]["value"] or 0.0))
    return [
        {
            "name": (name := row["name"]),
            "style": of.style(name) if name in of.annotators else "",
            "figures": [
                *_figures(row, images_compared(rows[name]), others_of(name, [*rows]),
                          several=several),
                # Objects drawn twice, split and merged.
                *(_share(title, json_figure(shapes[name], rate)) for title, n, rate in _SHAPES
                  if shapes[name][n]),
            ],
            "chart": charts.get(name, ""),
            # Objects to which others gave another category may not match, such as parts of a group.
            "confused": "" if row["class_share"]["value"] == 1 else confused.get(name, ""),
            "n": row["n"],
            "misses": row["miss_rate"]["value"],
            "extras": row["extra_rate"]["value"],
        }
        for row in shown
    ]  # fmt: skip


def _by_annotator(table: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {row["annotator"]: row for row in table_rows(table)}


def _figures(
    row: Mapping[str, Any], compared: str, others: str, *, several: bool
) -> Iterator[Entry]:
    yield "annotations", number(row["n"]), ""
    if compared:
        yield "images without shared boxes", compared, ""
    yield f"F1 with {others}", number(row["f1"]["value"]), interval(row["f1"]["interval"])
    yield _share("misses", row["miss_rate"])
    yield _share("extras", row["extra_rate"])
    if several:
        yield _share("same category", row["class_share"])


def _share(title: str, figure: Mapping[str, Any]) -> Entry:
    bounds = figure["interval"] and [100 * each for each in figure["interval"]]
    return title, percent(figure["value"]), interval(bounds, 1)


def _offset_charts(diagnosis: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return charts of offsets by annotator; none for rotated boxes and key points."""
    tables = diagnosis["tables"]
    if "offsets" not in tables:
        return {}
    own: dict[str, list[Mapping[str, Any]]] = {}
    for row in table_rows(tables["offsets"]):
        if row["annotator"] in names:
            own.setdefault(row["annotator"], []).append(row)
    copies, every = table_rows(tables["copies"]), [row["name"] for row in diagnosis["annotators"]]
    return {
        who: svg_of(offsets(rows, title="", copies=copies, others=others_of(who, every)),
                    f"Offsets of {who}")
        for who, rows in own.items()
        if len(own) <= _MOST_DRAWN or any(row["systematic"] for row in rows)
    }  # fmt: skip


def _confusions(rows: Sequence[Mapping[str, Any]], every: Sequence[str]) -> dict[str, str]:
    """Return the most frequent difference of each annotator from most others, in words."""
    # In pairs, the errors of one would show up for all others.
    worst: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if NO_BOX not in (row["category"], row["others"]) and row["category"] != row["others"]:
            most = worst.get(row["annotator"], {})
            # Results of earlier versions do not have the number.
            if row.get("n_most", 0) > most.get("n_most", 0):
                worst[row["annotator"]] = row
    return {name: _confusion(row, others_of(name, every)) for name, row in worst.items()}


def _confusion(row: Mapping[str, Any], others: str) -> str:
    who = "most others say" if others == THE_OTHERS else f"{others} says"
    own, theirs = names_in_words((row["category"], row["others"]))
    return f"most often differs on: {own}, where {who} {theirs} ({count(row['n_most'], 'object')})"


def group_sentences(diagnosis: Mapping[str, Any] | None) -> list[str]:
    """Return sentences on groups of annotators who agree more among themselves."""
    if diagnosis is None or len(diagnosis["annotators"]) < _FEWEST_OF_GROUPS:
        return []
    groups: dict[int, list[str]] = {}
    for row in table_rows(diagnosis["tables"]["agreement_groups"]):
        groups.setdefault(row["group"], []).append(row["annotator"])
    if len(groups) < 2:
        return ["No annotators were found who agree more among themselves than with the others."]
    sentences = [
        f"Group {number}: {', '.join(names_in_words(names[:_MOST_NAMED]))}"
        + (f" and {len(names) - _MOST_NAMED:,} more." if names[_MOST_NAMED:] else ".")
        for number, names in sorted(groups.items())
    ]
    first = (
        f"The annotators form {len(groups)} groups, which agree more within than with each other: "
        "each may read the instructions in its own way."
    )
    return [first, *sentences]
