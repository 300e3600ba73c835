"""The page of an agreement: the verdict, who and what in a line each, sections, worst images."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bboxqa.core.text import count, joined, names_in_words
from bboxqa.model.diagnosis import MOST_REVIEWED
from bboxqa.report import plots
from bboxqa.report.agreement_summary import (
    facts,
    headline,
    is_by_chance,
    next_step,
    shown_figures,
    story_lines,
)
from bboxqa.report.chart import Chart
from bboxqa.report.numbers import MINUS, estimate_text, figure_text, json_figure, measure_of
from bboxqa.report.pages import INDEX, ONE_FILE, Cell, Data, PageTarget, prose, render
from bboxqa.report.pictures import Pixels, image_address, image_pages, shown_images, worst_first
from bboxqa.report.reproduction import citation, command, inputs_table, settings_table

if TYPE_CHECKING:
    from markupsafe import Markup

Record = Mapping[str, Any]

_FEWEST = 5
"""Nothing is said about fewer objects."""
# Rates of annotators, columns of the table "annotators".
_RATES = {"misses": "miss_rate", "extras": "extra_rate", "same category": "class_share"}


class Evidence(msgspec.Struct, frozen=True, eq=False):
    """A chart and its tables; only tables where there is nothing to draw."""

    tables: Sequence[Data] = ()
    chart: Chart | None = None
    caption: str = ""


class Section(msgspec.Struct, frozen=True, eq=False):
    """A section with its title; `name` is its anchor."""

    name: str
    title: str
    sentences: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()
    lines: Sequence[str] = ()
    """Lines that are markup already."""
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    is_printed: bool = False


class Documents:
    """The JSON files of a result: "summary", "manifest", and those of a diagnosis, if any."""

    def __init__(self, files: Mapping[str, Record]) -> None:
        self.summary, self.manifest = files["summary"], files["manifest"]
        self.part: Record = self.summary["thresholds"][0]
        self.diagnosis, self.worst = files.get("diagnosis"), files.get("worst_images")
        self.tables: Record = {} if self.diagnosis is None else self.diagnosis["tables"]
        self.people: list[Record] = [] if self.diagnosis is None else self.diagnosis["annotators"]
        self.lines = [] if self.diagnosis is None else story_lines(self.diagnosis)

    @property
    def is_diagnosed(self) -> bool:
        """Whether there is a diagnosis, of annotators who are compared."""
        return self.diagnosis is not None and bool(self.summary["n_images"])

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table of the diagnosis, by column; none without the table."""
        if name not in self.tables:
            return []
        table = self.tables[name]
        return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]

    def data(self, name: str, title: str, *, is_open: bool = False) -> Data:
        """Return a table of the diagnosis as the page shows it."""
        return Data(title, self.tables[name]["columns"], self.tables[name]["rows"], is_open)


def data_of(name: str, records: Sequence[Record], *, is_open: bool = False) -> Data:
    """Return records as a table; figures with intervals become three columns."""
    flat = []
    for record in records:
        row: dict[str, Any] = {}
        for key, value in record.items():
            if isinstance(value, Mapping):
                low, high = value["interval"] or (None, None)
                row |= {key: value["value"], f"{key}_low": low, f"{key}_high": high}
            else:
                row[key] = value
        flat.append(row)
    return Data(name, [*flat[0]] if flat else [], [[*row.values()] for row in flat], is_open)


def _figure_cell(row: Record, name: str) -> Cell:
    """Return a figure with its interval as a cell; what is copied is the value alone."""
    figure = json_figure(row, name)
    value = figure["value"]
    return Cell(figure_text(figure), "" if value is None else str(value), is_number=True)


def figures_section(of: Documents, sentences: Sequence[str], measure: str) -> Section:
    """Return existence, class, place and alpha with their intervals, and what they are of."""
    rows = [
        [each.name.strip(), Cell(estimate_text(each.value, each.interval).replace("-", MINUS),
                                 str(each.value) if each.is_known else "", is_number=True),
         each.reason]
        for each in shown_figures(of.part, measure, of.summary["n_annotators"])
    ]  # fmt: skip
    table = Data("Figures", ["figure", "value and 95 % interval", "meaning"], rows, is_open=True)
    summary, images = of.summary, count(of.summary["n_images"], "image")
    of_what = f"{images}, {count(summary['n_annotations'], 'annotation')}"
    of_what += f", annotators by {summary['attribution']}"
    models = [
        f"{each['annotator']} is a model: its results with a score of {each['score']:g} or more "
        "count as annotations of one more annotator"
        for each in of.manifest["inputs"]
        if each["role"] == "predictions"
    ]
    return Section(
        "figures", "Figures", sentences, [Evidence([table])] if summary["n_images"] else [],
        notes=[of_what, *models, *facts(summary), *(f"Note: {note}" for note in summary["notes"])],
        warnings=of.diagnosis["warnings"] if of.diagnosis is not None else (), is_printed=True,
    )  # fmt: skip


def annotator_lines(of: Documents) -> list[tuple[str, "Markup"]]:
    """Return what is said of each annotator, or of several, as names and sentences."""
    from markupsafe import Markup

    found: dict[tuple[str, ...], list[Markup]] = {}
    for line in of.lines:
        if line.annotators:
            # The name stands beside the sentence.
            start = f"{names_in_words(line.annotators[:1])[0]} "
            text = line.text.removeprefix(start) if len(line.annotators) == 1 else line.text
            found.setdefault(line.annotators, []).append(prose(text))
    return [
        (joined(names_in_words(names)), Markup("; ").join(lines)) for names, lines in found.items()
    ]


def causes_section(of: Documents) -> Section:
    """Return kinds of disagreement, other thresholds, and sentences that are about no annotator."""
    lines = [prose(line.text) for line in of.lines if not line.annotators]
    evidence = []
    if kinds := [row for row in of.rows("decomposition") if row["n_any"] >= _FEWEST]:
        gain = "F1" if of.part["alpha"] is None else "alpha"
        evidence = [
            Evidence(
                [of.data("decomposition", "Kinds of disagreement")], plots.decomposition(kinds),
                f"Objects by how their annotators disagree, and what {gain} would gain if one kind "
                "were settled. Gains overlap",
            ),
            Evidence(
                [of.data("sensitivity", "Thresholds")],
                plots.sensitivity(of.rows("sensitivity"), of.part["iou_threshold"]),
                "The same figures at other thresholds; the line marks the chosen one",
            ),
        ]  # fmt: skip
    return Section("causes", "Where agreement is lost", (), evidence, lines, is_printed=True)


def annotators_section(of: Documents) -> Section:
    """Return the figures and offsets of each annotator, and F1 of each two."""
    # With one category, all have the same one.
    several = len(of.part["categories"]) > 1
    rates = {title: rate for title, rate in _RATES.items() if several or rate != "class_share"}
    people = [row for row in of.rows("annotators") if row["n"] >= _FEWEST]
    people.sort(key=lambda row: (row["f1"] is None, row["f1"] or 0.0))
    figures = [
        [row["annotator"], row["n"], *(_figure_cell(row, each) for each in ("f1", *rates.values()))]
        for row in people
    ]
    columns = ["annotator", "annotations", "F1 with the others", *rates]
    evidence = [Evidence([Data("Annotators", columns, figures, is_open=True)])] * bool(figures)
    order = [row["annotator"] for row in of.rows("agreement_matrix")]
    shared = [pair for pair in of.part["pairs"] if pair["n_units"] >= _FEWEST]
    # Two annotators have one pair, whose F1 is that of all.
    if len(order) > 2 and shared:
        caption = "F1 of each two annotators, matched alone: how far they drew the same objects"
        pairs = data_of("Pairs", of.part["pairs"])
        evidence.append(Evidence([pairs], plots.pair_matrix(order, shared), caption))
    evidence += [
        Evidence([of.data(name, name.replace("_", " ").capitalize())])
        for name in ("offsets", "rotated_offsets")
        if of.rows(name)
    ]
    moved = {row["annotator"] for row in of.rows("offsets") if row["systematic"]}
    if moved:
        rows = [row for row in of.rows("offsets") if row["annotator"] in moved]
        caption = "How far the edges of boxes are from those of the others, with the 95 % interval"
        evidence.append(Evidence(chart=plots.offsets(rows), caption=caption))
    return Section("annotators", "Annotators", (), evidence)


def categories_section(of: Documents) -> Section | None:
    """Return agreement by category, and which are confused; a single one cannot be confused."""
    categories = of.part["categories"]
    if len(categories) < 2:
        return None
    # About as many annotations as an object has, on average.
    n_drawn = sum(row["n_annotations"] for row in categories) / max(of.part["n_units"], 1)
    evidence = []
    if shown := [row for row in categories if row["n_annotations"] >= _FEWEST * n_drawn]:
        caption = "How far annotators agree on each category"
        table = data_of("Categories", categories)
        evidence.append(Evidence([table], plots.category_intervals(shown), caption))
    if pairs := [row for row in of.rows("confusions") if row["n"] >= _FEWEST]:
        evidence.append(Evidence(
            [data_of("Confused pairs", pairs)],
            plots.confusion_matrix(of.rows("confusion_matrix"), least=_FEWEST),
            "How often two annotators gave an object the same category, different ones, or one of "
            "them drew no box",
        ))  # fmt: skip
    return Section("categories", "Categories", (), evidence) if evidence else None


def reference_section(of: Documents) -> Section | None:
    """Return precision, recall, F1, class and place of each annotator."""
    found = of.part.get("reference")
    if found is None:
        return None
    text = (
        f"{names_in_words([found['name']])[0]}: {found['n_images']:,} of its "
        f"{count(found['n_reference_images'], 'image')} were annotated; it has "
        f"{count(found['n_annotations'], 'object')} there. Precision is how much of what the "
        "annotator drew is right, recall how much of the reference was drawn."
    )
    if found["n_empty_images"]:
        empty = count(found["n_empty_images"], "image")
        text += f" {empty} of it have none: all that was drawn there is wrong."
    figures = [{key: row[key] for key in row if "offset" not in key} for row in found["annotators"]]
    tables = [data_of("Reference", figures, is_open=True)]
    return Section("reference", "Against the reference", [text], [Evidence(tables)])


def repeats_section(of: Documents) -> Section | None:
    """Return F1 of each annotator between sessions."""
    found = of.part.get("repeats")
    if found is None:
        return None
    text = (
        f"In {count(found[0]['n_images'], 'image')} that were annotated again, F1 of annotators "
        f"with themselves is {figure_text(found[0]['f1'])}. Who agrees with others less than with "
        "themselves understands the task differently; who does not agree with themselves is not "
        "sure about it."
    )
    named = [row | {"annotator": row["annotator"] or "all annotators"} for row in found]
    tables = [data_of("Annotators with themselves", named, is_open=True)]
    return Section("repeats", "The same images again", [text], [Evidence(tables)])


# Sections of tables alone, with what is said of them.
_OF_VIDEOS_AND_TIMES = {
    "Time": (
        {"work": "Time", "work_sessions": "Sessions"},
        ["A change of F1 does not say why: images may differ, too."],
    ),
    "Tracks": ({"tracks": "Tracks", "track_switches": "Identity switches"}, []),
}  # fmt: skip


def table_sections(of: Documents) -> Iterator[Section]:
    """Yield speed, drift and fatigue of each annotator, and tracks of each pair of annotators."""
    for title, (names, sentences) in _OF_VIDEOS_AND_TIMES.items():
        first = next(iter(names))
        if of.rows(first):
            # Without it, the section would show nothing before a click.
            tables = [of.data(name, each, is_open=name == first) for name, each in names.items()]
            yield Section(title.lower(), title, sentences, [Evidence(tables)])


_OF_DIAGNOSIS = (causes_section, annotators_section, categories_section)


def agreement_pages(
    files: Mapping[str, Mapping[str, Any]],
    pixels: Mapping[str, Pixels] | None = None,
    target: PageTarget = ONE_FILE,
) -> Iterator[tuple[str, str]]:
    """Yield the page of a result of `agree` with its name, "index.html".

    Every number on it comes from the `files` "summary" and "manifest", and "diagnosis" and
    "worst_images" if they exist. Of a folder, style, script and pixels are files in it, and the
    pages of `image_pages` follow. `pixels` are those of images by file name.
    """
    of = Documents(files)
    shown = worst_first(of.worst, every=target.split)[: target.top]
    images = shown_images(of.worst, shown, pixels or {}, [row["name"] for row in of.people])
    summary, manifest = of.summary, of.manifest
    measure = measure_of(summary["similarity"])
    reference = of.part["reference"]["name"] if "reference" in of.part else None
    title = f"Agreement of {count(summary['n_annotators'], 'annotator')}"
    if reference is not None and not summary["n_images"]:
        title += f" with {reference}"
    status, told, *sentences = headline(summary["thresholds"], manifest["settings"])
    made = [
        figures_section(of, sentences, measure),
        *([make(of) for make in _OF_DIAGNOSIS] if of.is_diagnosed else []),
        reference_section(of),
        repeats_section(of),
        *table_sections(of),
    ]
    n_images = f" on {count(summary['n_images'], 'image')}" if summary["n_images"] else ""
    sections = [each for each in made if each is not None]
    page = render(
        "agreement",
        linked=target.split,
        above=target.above,
        title=title,
        kicker=title + n_images,
        status=status,
        verdict=told,
        next_step=next_step(of.part, of.diagnosis),
        people=annotator_lines(of),
        send_back=_send_back(of, reference),
        anchors={section.name: section.title for section in sections}
        | ({"images": "Images"} if images.pictures else {})
        | {"reproduce": "How to reproduce"},
        sections=sections,
        measure=measure,
        images=images,
        images_printed=target.n_images is not None,
        address_of=image_address if target.split else None,
        command=command(manifest, reference),
        citation=citation(summary, manifest),
        settings=settings_table(manifest),
        inputs=inputs_table(manifest["inputs"]),
    )
    yield INDEX, page
    if target.split:
        yield from image_pages(images)


def _send_back(of: Documents, reference: str | None) -> tuple[str, str] | None:
    """Return how much is to be looked at again, and the command that sends it to each annotator."""
    rows = of.rows("review_images")
    # Only the command line knows the tool.
    target = ("--send-back", "again", "--to", of.manifest.get("tool", "cvat"))
    send = command(of.manifest, reference, target)
    if not rows or not send or is_by_chance(of.part):
        return None
    n_objects = sum(row["n_objects"] for row in rows)
    where = f"in {count(len(rows), 'image')}"
    if n_objects > MOST_REVIEWED:
        where = f"of {n_objects:,}, those that cost most"
    objects = count(min(n_objects, MOST_REVIEWED), "object")
    return f"{objects} {where}, a file for each annotator", send
