"""The page of an agreement: the verdict, the evidence and the worst images."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bboxqa.core.text import count
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.charts.copied import note_left_out
from bboxqa.report.pages.cards import annotator_cards, group_sentences
from bboxqa.report.pages.citation import citation
from bboxqa.report.pages.html_document import Cell, interval, number, percent, percents, render
from bboxqa.report.pages.image_pages import INDEX, image_address, image_pages
from bboxqa.report.pages.page_charts import drawn_sections, page_charts
from bboxqa.report.pages.pictures import (
    TOP,
    Picture,
    Pixels,
    ShownImages,
    shown_images,
    worst_first,
)
from bboxqa.report.pages.reproduce import command, inputs_table, settings_table
from bboxqa.report.pages.sections.registry import sections
from bboxqa.report.pages.sections.section import Section, column_names, table_rows
from bboxqa.report.pages.story import shown_line, story_lines, story_tables
from bboxqa.report.pages.verdict import verdict

# With fewer cards, a page needs no search.
_FEW_CARDS = 6
_IOU = ("bbox", "obb", "polygon", "mask", "pixel", "raster")


def agreement_page(
    documents: Mapping[str, Mapping[str, Any]],
    pixels: Mapping[str, Pixels] | None = None,
    *,
    top: int = TOP,
    above: str = "",
) -> str:
    """Return the page of a result of `agree`.

    Every number on it comes from the documents.

    Parameters
    ----------
    documents : mapping of str to mapping
        "summary" and "manifest", and "diagnosis" and "worst_images" if they exist: the contents of
        the files of these names that ``bboxqa agree --out`` writes.
    pixels : mapping of str to Pixels, optional
        The pixels of images by file name; others are blank.
    top : int
        The number of worst images that are shown.
    above : str
        URL of a parent page to link to; empty for none.
    """
    return _page(documents, _shown(documents, pixels or {}, top, every=False), above)


def agreement_pages(
    documents: Mapping[str, Mapping[str, Any]],
    pixels: Mapping[str, Pixels] | None = None,
    *,
    top: int,
    above: str = "",
) -> Iterator[tuple[str, str]]:
    """Yield the pages of a result of `agree` in a folder, each with its name.

    "index.html" is the page of `agreement_page`, which has the same parameters; its images link to
    the pages of `image_pages`. Style, script and pixels are files in the same folder.
    """
    images = _shown(documents, pixels or {}, top, every=True)
    yield INDEX, _page(documents, images, above, linked=True)
    yield from image_pages(images)


def _shown(
    documents: Mapping[str, Mapping[str, Any]],
    pixels: Mapping[str, Pixels],
    top: int,
    *,
    every: bool,
) -> ShownImages:
    people, worst = _names(documents.get("diagnosis")), documents.get("worst_images")
    return shown_images(worst, worst_first(worst, every=every)[:top], pixels, people)


def _page(
    documents: Mapping[str, Mapping[str, Any]],
    images: ShownImages,
    above: str,
    *,
    linked: bool = False,
) -> str:
    summary, manifest = documents["summary"], documents["manifest"]
    diagnosis = documents.get("diagnosis")
    part = summary["thresholds"][0]
    further = sections(documents)
    settings = manifest["settings"]
    measure = measure_of(summary["similarity"])
    return render(
        "agreement",
        linked=linked,
        above=above,
        title=_title(summary, part),
        kicker=f"{_title(summary, part)}{_on(summary)}",
        summary=summary,
        part=part,
        diagnosis=diagnosis,
        verdict=verdict(summary, settings, diagnosis),
        sections=_sections(summary, diagnosis, further, has_images=bool(images.pictures)),
        further=drawn_sections(further, measure),
        charts=page_charts(summary, settings, diagnosis, documents.get("worst_images"), measure),
        figures=_figures(part, measure),
        caption=_caption(summary, part),
        has_intervals=_has_intervals(part),
        threshold_label=f"{measure} {part['iou_threshold']:g}",
        tables={} if diagnosis is None else diagnosis["tables"],
        pairs=_table(part["pairs"], measure),
        categories=_table(part["categories"], measure),
        confused=_confused(diagnosis),
        costs=_costs(images.pictures),
        cards=annotator_cards(diagnosis, images.legend),
        few_cards=_FEW_CARDS,
        judges_offsets=_judges_offsets(diagnosis),
        left_out=_left_out(diagnosis),
        groups=group_sentences(diagnosis),
        story=[] if diagnosis is None else [*map(shown_line, story_lines(diagnosis))],
        named_tables=[] if diagnosis is None else story_tables(diagnosis),
        images=images,
        address_of=image_address if linked else None,
        command=_command(manifest, part),
        citation=citation(summary, measure),
        settings=settings_table(manifest),
        inputs=inputs_table(manifest["inputs"]),
    )


def _command(manifest: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """Return the command that makes the result again."""
    defaults = msgspec.json.decode(msgspec.json.encode(AgreeSettings()))
    return command(manifest, defaults, part["reference"]["name"] if "reference" in part else None)


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


def _caption(summary: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """Return the caption of the chart of figures."""
    if not summary["bootstrap"]:
        return "Each figure, without intervals (--bootstrap 0)"
    if _has_intervals(part):
        return "Each figure with its 95 % interval"
    return "Each figure; the images are too few for intervals"


def _has_intervals(part: Mapping[str, Any]) -> bool:
    bounds = (part["interval"], part["existence"]["interval"], part["place"]["interval"])
    return any(each is not None for each in bounds)


def _names(diagnosis: Mapping[str, Any] | None) -> list[str]:
    return [] if diagnosis is None else [row["name"] for row in diagnosis["annotators"]]


def _left_out(diagnosis: Mapping[str, Any] | None) -> str:
    """Return a note on boxes that the figures of annotators leave out, if any."""
    return "" if diagnosis is None else note_left_out(table_rows(diagnosis["tables"]["annotators"]))


def _judges_offsets(diagnosis: Mapping[str, Any] | None) -> bool:
    """Return whether some offsets on cards are systematic, and drawn in bold."""
    tables = {} if diagnosis is None else diagnosis["tables"]
    return any(
        row["systematic"]
        for name in ("offsets", "rotated_offsets")
        if name in tables
        for row in table_rows(tables[name])
    )


def _confused(diagnosis: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the confusion matrix of all annotators together."""
    met: Counter[tuple[str, str]] = Counter()
    for row in [] if diagnosis is None else table_rows(diagnosis["tables"]["confusion_matrix"]):
        met[row["category"], row["others"]] += row["n"]
    rows = [[category, others, n] for (category, others), n in met.most_common()]
    return {"columns": ["category", "others", "n"], "rows": rows}


def _costs(images: Sequence[Picture]) -> dict[str, Any]:
    columns = ["file_name", "cost", "alpha", "f1"]
    rows = [[image.name, image.cost, image.alpha, image.f1] for image in images]
    return {"columns": columns, "rows": rows}


def _title(summary: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    people = count(summary["n_annotators"], "annotator")
    if summary["n_images"] or "reference" not in part:
        return f"Agreement of {people}"
    return f"Agreement of {people} with {part['reference']['name']}"


def _on(summary: Mapping[str, Any]) -> str:
    return f" on {count(summary['n_images'], 'image')}" if summary["n_images"] else ""


def _sections(
    summary: Mapping[str, Any],
    diagnosis: Mapping[str, Any] | None,
    further: Sequence[Section],
    *,
    has_images: bool,
) -> dict[str, str]:
    """Return the titles of the sections of a page, by their anchors."""
    titles = {"figures": "Figures"}
    if summary["n_images"]:
        titles["causes"] = "Where agreement is lost"
        if diagnosis is not None:
            titles["annotators"] = "Annotators"
        # A single category cannot be confused.
        if diagnosis is not None and len(summary["thresholds"][0]["categories"]) > 1:
            titles["categories"] = "Categories"
    titles |= {section.name: section.title for section in further}
    if has_images:
        titles["images"] = "Images"
    return titles | {"reproduce": "How to reproduce"}


def _figures(part: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """Return the figures of a threshold as a table, without intervals where there are none."""
    existence, named, place = part["existence"], part["class"], part["place"]
    share, ends = named["share"], named["share_interval"]
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
        # With a single category, all are equal.
        *([["class: equal", as_percent, _bounds(ends, percents(ends)),
            "share of matched pairs of equal category"]] if len(part["categories"]) > 1 else []),
        [f"place: mean {measure}", place["mean_iou"], _bounds(place["interval"]),
         f"of {count(place['n_pairs'], 'matched pair')}; median {number(place['median_iou'], 4)}"],
    ]  # fmt: skip
    columns = ["figure", "value", "95 % interval", "meaning"]
    if not _has_intervals(part):
        columns, rows = [*columns[:2], columns[3]], [[*row[:2], row[3]] for row in rows]
    return {"columns": columns, "rows": rows}


def _bounds(bounds: list[float] | None, shown: str | None = None) -> Cell:
    """Return an interval with four digits, or as it is `shown`."""
    if bounds is None:
        return Cell("")
    return Cell(interval(bounds, 4) if shown is None else shown, f"[{bounds[0]}, {bounds[1]}]")


def _table(records: Sequence[Mapping[str, Any]], measure: str) -> dict[str, Any]:
    """Return records as a table; columns of other similarities are not called IoU."""
    columns = column_names([*records[0]] if records else [], measure)
    return {"columns": columns, "rows": [[*row.values()] for row in records]}
