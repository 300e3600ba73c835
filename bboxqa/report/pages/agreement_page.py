"""The page of an agreement: the verdict, the evidence and the worst images."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from bboxqa.core.text import count
from bboxqa.model.diagnosis import Line
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.charts import charts
from bboxqa.report.numbers import interval, number, percent
from bboxqa.report.pages.html_document import Cell, prose, render, table_anchor
from bboxqa.report.pages.pictures import (
    INDEX,
    TOP,
    Pixels,
    ShownImages,
    image_address,
    image_pages,
    shown_images,
    worst_first,
)
from bboxqa.report.pages.reproduce import citation, command, inputs_table, settings_table
from bboxqa.report.pages.sections import (
    Data,
    Documents,
    Section,
    annotator_cards,
    column_names,
    group_sentences,
    model_section,
    reference_section,
    repeats_section,
    svg_of,
    table_rows,
    time_section,
    tracks_section,
)
from bboxqa.report.pages.verdict import story_lines, verdict

if TYPE_CHECKING:
    from markupsafe import Markup

SECTIONS: tuple[Callable[[Documents], Section | None], ...] = (
    reference_section,
    model_section,
    repeats_section,
    time_section,
    tracks_section,
)
"""Functions that return a section of the documents of a result; None if they lack its data."""

# With fewer cards, a page needs no search.
_FEW_CARDS = 6
_IOU = ("bbox", "obb", "polygon", "mask", "pixel", "raster")
# Tables that sentences name, and what a page calls them: those that it has in any case, those of
# the drawings on cards, and others.
_ON_PAGES = {
    "annotators": "Annotators",
    "boxes_per_object": "Boxes per object",
    "agreement_groups": "Groups",
    "reference": "Annotators against the reference",
}
_OFFSETS = {"offsets": "Offsets of edges", "rotated_offsets": "Offsets of rotated boxes"}
_NAMED = {
    "category_use": "Use of categories",
    "copies": "Shared boxes",
    "quarter_turns": "Quarter turns",
    "joint_annotators": "Key points by annotator",
}
_TITLES = _ON_PAGES | _OFFSETS | _NAMED
_CSV = ".csv"

Record = Mapping[str, Any]


def agreement_pages(
    documents: Documents,
    pixels: Mapping[str, Pixels] | None = None,
    *,
    top: int = TOP,
    above: str = "",
    split: bool = False,
) -> Iterator[tuple[str, str]]:
    """Yield the page of a result of `agree` with its name, "index.html".

    Every number on it comes from the documents. If it is `split`, style, script and pixels are
    files in its folder, and the pages of `image_pages` follow, to which its images link.

    `documents` are "summary" and "manifest", and "diagnosis" and "worst_images" if they exist: the
    contents of the files of these names that ``bboxqa agree --out`` writes. `pixels` are those of
    images by file name, of which the `top` worst are shown; `above` is the URL of a parent page.
    """
    people = [row["name"] for row in documents.get("diagnosis", {}).get("annotators", ())]
    worst = documents.get("worst_images")
    images = shown_images(worst, worst_first(worst, every=split)[:top], pixels or {}, people)
    yield INDEX, _page(documents, images, above, linked=split)
    if split:
        yield from image_pages(images)


def _page(documents: Documents, images: ShownImages, above: str, *, linked: bool) -> str:
    summary, manifest = documents["summary"], documents["manifest"]
    diagnosis, part = documents.get("diagnosis"), summary["thresholds"][0]
    further = [each for make in SECTIONS if (each := make(documents)) is not None]
    measure, settings = measure_of(summary["similarity"]), manifest["settings"]
    tables = {} if diagnosis is None else diagnosis["tables"]
    title = _title(summary, part)
    defaults = msgspec.json.decode(msgspec.json.encode(AgreeSettings()))
    reference = part["reference"]["name"] if "reference" in part else None
    return render(
        "agreement",
        linked=linked,
        above=above,
        title=title,
        kicker=title
        + (f" on {count(summary['n_images'], 'image')}" if summary["n_images"] else ""),
        summary=summary,
        part=part,
        diagnosis=diagnosis,
        verdict=verdict(summary, settings, diagnosis),
        sections=_section_titles(documents, further, has_images=bool(images.pictures)),
        further=[_drawn(section, measure) for section in further],
        charts={name: svg_of(*chart) for name, chart in _charts(documents, measure).items()},
        figures=_figures(part, measure),
        caption=_caption(summary, part),
        has_intervals=_has_intervals(part),
        threshold_label=f"{measure} {part['iou_threshold']:g}",
        tables=tables,
        pairs=_table(part["pairs"], measure),
        categories=_table(part["categories"], measure),
        confused=_confused(tables),
        costs={
            "columns": ["file_name", "cost", "alpha", "f1"],
            "rows": [
                [each["record"][key] for key in ("file_name", "cost", "alpha", "f1")]
                for each in images.pictures
            ],
        },
        cards=annotator_cards(diagnosis, images.legend),
        few_cards=_FEW_CARDS,
        # Whether some offsets on cards are systematic, and drawn in bold.
        judges_offsets=any(
            row["systematic"]
            for name in tables
            if name in _OFFSETS
            for row in table_rows(tables[name])
        ),
        groups=group_sentences(diagnosis),
        story=[] if diagnosis is None else [*map(shown_line, story_lines(diagnosis))],
        named_tables=[] if diagnosis is None else _named_tables(diagnosis),
        images=images,
        address_of=image_address if linked else None,
        command=command(manifest, defaults, reference),
        citation=citation(summary, measure),
        settings=settings_table(manifest),
        inputs=inputs_table(manifest["inputs"]),
    )


def measure_of(similarity: str) -> str:
    """Return the name of a similarity's values on a page.

    Examples
    --------
    >>> measure_of("polygon"), measure_of("keypoints"), measure_of("centroid")
    ('IoU', 'OKS', 'centroid')
    """
    if similarity in _IOU:
        return "IoU"
    return "OKS" if similarity == "keypoints" else similarity


def _title(summary: Record, part: Record) -> str:
    people = f"Agreement of {count(summary['n_annotators'], 'annotator')}"
    alone = "reference" in part and not summary["n_images"]
    return f"{people} with {part['reference']['name']}" if alone else people


def _section_titles(
    documents: Documents, further: Sequence[Section], *, has_images: bool
) -> dict[str, str]:
    """Return the titles of the sections of a page, by their anchors."""
    summary, has_diagnosis = documents["summary"], "diagnosis" in documents
    titles = {"figures": "Figures"}
    if summary["n_images"]:
        titles["causes"] = "Where agreement is lost"
    if summary["n_images"] and has_diagnosis:
        titles["annotators"] = "Annotators"
        # A single category cannot be confused.
        if len(summary["thresholds"][0]["categories"]) > 1:
            titles["categories"] = "Categories"
    titles |= {section.name: section.title for section in further}
    return titles | ({"images": "Images"} if has_images else {}) | {"reproduce": "How to reproduce"}


def _charts(documents: Documents, measure: str) -> dict[str, tuple[Any, str]]:
    """Return the charts of a page with their labels, by name."""
    settings, part = documents["manifest"]["settings"], documents["summary"]["thresholds"][0]
    gates = {"min_alpha": settings["min_alpha"], "min_f1": settings["min_f1"]}
    found = charts.intervals(part, measure=measure, **gates)
    drawn: dict[str, tuple[Any, str]] = {"intervals": (found, "Figures with intervals")}
    worst = documents.get("worst_images")
    if worst is not None:
        figure = "F1" if part["alpha"] is None else "alpha"
        shown = worst_first(worst, every=False)
        costs = charts.image_costs(shown, worst["n_images"], figure)
        drawn["image_costs"] = (costs, "What images cost")
    if "diagnosis" not in documents:
        return drawn
    names = ("decomposition", "confusion_matrix", "copies", "sensitivity", "agreement_matrix")
    tables = documents["diagnosis"]["tables"]
    kinds, confused, copies, thresholds, order = (table_rows(tables[name]) for name in names)
    sensitivity = charts.sensitivity(thresholds, part["iou_threshold"])
    drawn |= {
        "decomposition": (charts.decomposition(kinds), "Objects by kind of disagreement"),
        "sensitivity": (sensitivity, "Agreement by threshold"),
        "category_intervals": (
            charts.category_intervals(part["categories"]), "Agreement by category"
        ),
        "confusion_matrix": (
            charts.confusion_matrix(confused, copies=copies), "Confusion of categories"
        ),
    }  # fmt: skip
    # Two annotators have one pair, whose F1 is that of all.
    if len(order) > 2:
        matrix = charts.pair_matrix([row["annotator"] for row in order], part["pairs"])
        drawn["pair_matrix"] = (matrix, "Agreement of each two annotators")
    return drawn


def _drawn(section: Section, measure: str) -> dict[str, Any]:
    """Return a section as the template shows it, with its charts as svg."""
    evidence = [
        {
            "chart": each.chart and svg_of(each.chart, each.caption),
            "caption": each.caption,
            "tables": [
                replace(table, columns=column_names(table.columns, measure))
                for table in each.tables
            ],
        }
        for each in section.evidence
    ]
    return {"name": section.name, "title": section.title, "sentences": section.sentences,
            "evidence": evidence}  # fmt: skip


def _figures(part: Record, measure: str) -> dict[str, Any]:
    """Return the figures of a threshold as a table, without intervals where there are none."""
    existence, named, place = part["existence"], part["class"], part["place"]
    share, ends = named["share"], named["share_interval"]
    as_percents = f"[{', '.join(map(percent, ends))}]" if ends else ""
    as_percent = Cell(percent(share), "" if share is None else str(share), is_number=True)
    rows = [
        ["alpha", part["alpha"], _bounds(part["interval"]),
         part["alpha_reason"] or "all of it in one figure: existence and category"],
        ["existence: F1", existence["f1"], _bounds(existence["interval"]),
         "how far annotators drew the same objects"],
        ["existence: above chance", existence["alpha"], _bounds(existence["alpha_interval"]),
         existence["reason"] or f"F1 by chance is {number(existence['chance'], 4)}"],
        ["class: alpha", named["alpha"], _bounds(named["interval"]),
         "how far they named the objects alike that two or more drew"
         if named["alpha"] is not None else named["status"]],
        ["class: equal", as_percent, _bounds(ends, as_percents),
         "share of matched pairs of equal category"],
        [f"place: mean {measure}", place["mean_iou"], _bounds(place["interval"]),
         f"of {count(place['n_pairs'], 'matched pair')}; median {number(place['median_iou'], 4)}"],
    ]  # fmt: skip
    if len(part["categories"]) < 2:
        # With a single category, all are equal.
        del rows[4]
    columns = ["figure", "value", "95 % interval", "meaning"]
    if not _has_intervals(part):
        columns, rows = [*columns[:2], columns[3]], [[*row[:2], row[3]] for row in rows]
    return {"columns": columns, "rows": rows}


def _bounds(bounds: list[float] | None, shown: str = "") -> Cell:
    """Return an interval with four digits, or as it is `shown`."""
    if bounds is None:
        return Cell("")
    return Cell(shown or interval(bounds, 4), f"[{bounds[0]}, {bounds[1]}]")


def _caption(summary: Record, part: Record) -> str:
    """Return the caption of the chart of figures."""
    if not summary["bootstrap"]:
        return "Each figure, without intervals (--bootstrap 0)"
    if _has_intervals(part):
        return "Each figure with its 95 % interval"
    return "Each figure; the images are too few for intervals"


def _has_intervals(part: Record) -> bool:
    bounds = (part["interval"], part["existence"]["interval"], part["place"]["interval"])
    return any(each is not None for each in bounds)


def _table(records: Sequence[Record], measure: str) -> dict[str, Any]:
    """Return records as a table; columns of other similarities are not called IoU."""
    columns = column_names(records[0] if records else (), measure)
    return {"columns": columns, "rows": [[*row.values()] for row in records]}


def _confused(tables: Record) -> dict[str, Any]:
    """Return the confusion matrix of all annotators together."""
    met: Counter[tuple[str, str]] = Counter()
    for row in table_rows(tables["confusion_matrix"]) if tables else ():
        met[row["category"], row["others"]] += row["n"]
    rows = [[category, others, n] for (category, others), n in met.most_common()]
    return {"columns": ["category", "others", "n"], "rows": rows}


def _named_tables(diagnosis: Record) -> list[Data]:
    """Return the tables of offsets, and those that the story names and no chart has."""
    tables = diagnosis["tables"]
    named = {line.see.removesuffix(_CSV) for line in story_lines(diagnosis)}
    return [
        Data(title, tables[name]["columns"], tables[name]["rows"])
        for name, title in (_OFFSETS | _NAMED).items()
        if name in tables and tables[name]["rows"] and (name in _OFFSETS or name in named)
    ]


def shown_line(line: Line) -> "Markup":
    """Return a sentence of the story, with a link to the table of the page that has more.

    Examples
    --------
    >>> print(shown_line(Line("2 more stand out: offsets.csv", see="offsets.csv")))
    2 more stand out: <a href="#table-offsets-of-edges">Offsets of edges</a>
    """
    from markupsafe import Markup

    if not line.see:
        return prose(line.text)
    # Names of annotators, which may contain anything, stand before it.
    before, see, after = line.text.rpartition(line.see)
    title = _TITLES.get(see.removesuffix(_CSV))
    if title is not None:
        link = Markup('<a href="#{}">{}</a>').format(table_anchor(title), title)
    elif see.endswith(_CSV):
        link = prose(see)
    else:
        link = Markup('<a href="#annotators">the tables below</a>')
    return prose(before) + link + prose(after)
