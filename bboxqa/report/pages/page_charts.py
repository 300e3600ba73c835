"""The charts of a page, as svg."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bboxqa.report.charts.bar_charts import decomposition, image_costs
from bboxqa.report.charts.figures import page_style
from bboxqa.report.charts.heat_maps import confusion_matrix, pair_matrix
from bboxqa.report.charts.interval_charts import category_intervals, intervals
from bboxqa.report.charts.labels import others_of
from bboxqa.report.charts.offset_chart import offsets
from bboxqa.report.charts.rotated_offset_chart import rotated_offsets
from bboxqa.report.charts.sensitivity_chart import sensitivity
from bboxqa.report.charts.svg import figure_svg
from bboxqa.report.pages.pictures import worst_first
from bboxqa.report.pages.sections.section import Section, column_names, table_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    # How a chart is drawn, its label and the arguments.
    _Chart = tuple[Callable[..., Axes], str, tuple[Any, ...], dict[str, Any]]

# With more annotators, only systematic offsets are drawn.
_MOST_DRAWN = 12
_TWO = 2
# Size of the cache of charts, for two pages: a page that is too large is made again with fewer
# pixels, and its charts take most of the time.
_MOST_KEPT = 40
# Keys of a threshold and of an image that charts use.
_FIGURES = ("alpha", "interval", "status", "existence", "class", "place")
_OF_IMAGE = ("file_name", "cost", "alpha", "f1")


@page_style()
def page_charts(
    summary: Mapping[str, Any],
    settings: Mapping[str, Any],
    diagnosis: Mapping[str, Any] | None,
    worst: Mapping[str, Any] | None,
    measure: str,
) -> dict[str, Markup]:
    """Return the charts of a page by name; without a diagnosis only the chart of the figures.

    `measure` is the name of the values of the similarity.
    """
    part = summary["thresholds"][0]
    gates = {"min_alpha": settings["min_alpha"], "min_f1": settings["min_f1"], "measure": measure}
    figures = {key: part[key] for key in _FIGURES}
    charts = {
        "intervals": _once(intervals, "intervals", "Figures with intervals", figures, **gates)
    }
    if worst is not None:
        images = [
            {key: image[key] for key in _OF_IMAGE} for image in worst_first(worst, every=False)
        ]
        shown = images, worst["n_images"], "F1" if part["alpha"] is None else "alpha"
        charts["image_costs"] = _once(image_costs, "image_costs", "What images cost", *shown)
    return charts if diagnosis is None else charts | _of_diagnosis(diagnosis["tables"], part)


def _of_diagnosis(tables: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Markup]:
    decomposed, confused, copies, by_threshold = (
        table_rows(tables[name])
        for name in ("decomposition", "confusion_matrix", "copies", "sensitivity")
    )
    drawn: dict[str, _Chart] = {
        "decomposition": (decomposition, "Objects by kind of disagreement", (decomposed,), {}),
        "sensitivity": (
            sensitivity, "Agreement by threshold", (by_threshold, part["iou_threshold"]), {}
        ),
        "category_intervals": (
            category_intervals, "Agreement by category", (part["categories"],), {}
        ),
        "confusion_matrix": (
            confusion_matrix, "Confusion of categories", (confused,), {"copies": copies}
        ),
    }  # fmt: skip
    order = [row["annotator"] for row in table_rows(tables["agreement_matrix"])]
    if len(order) > _TWO:
        # Two have one pair, whose F1 is that of all.
        label = "Agreement of each two annotators"
        drawn["pair_matrix"] = (pair_matrix, label, (order, part["pairs"]), {})
    return {
        name: _once(draw, name, label, *values, **more)
        for name, (draw, label, values, more) in drawn.items()
    }


@page_style()
def drawn_sections(sections: Sequence[Section], measure: str) -> list[dict[str, Any]]:
    """Return sections as the template shows them, with their charts as svg.

    `measure` is the name of the values of the similarity.
    """
    return [
        {
            "name": section.name,
            "title": section.title,
            "sentences": section.sentences,
            "evidence": [
                {
                    "chart": None if each.chart is None
                    else _svg(each.chart, f"{section.name}-{place}", each.caption),
                    "caption": each.caption,
                    "tables": [
                        replace(table, columns=column_names(table.columns, measure))
                        for table in each.tables
                    ],
                }
                for place, each in enumerate(section.evidence)
            ],
        }
        for section in sections
    ]  # fmt: skip


@page_style()
def offset_charts(diagnosis: Mapping[str, Any], names: Collection[str]) -> dict[str, Markup]:
    """Return charts of offsets by annotator; none for key points."""
    tables = diagnosis["tables"]
    is_rotated = "rotated_offsets" in tables
    if not is_rotated and "offsets" not in tables:
        return {}
    rows = table_rows(tables["rotated_offsets" if is_rotated else "offsets"])
    copies = table_rows(tables["copies"])
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["annotator"] in names:
            by_name.setdefault(row["annotator"], []).append(row)
    if len(by_name) > _MOST_DRAWN:
        by_name = {
            name: own for name, own in by_name.items() if any(row["systematic"] for row in own)
        }
    draw = rotated_offsets if is_rotated else offsets
    every = [row["name"] for row in diagnosis["annotators"]]
    return {
        name: _once(
            draw, f"offsets-{place}", f"Offsets of {name}", own,
            title="", copies=copies, others=others_of(name, every),
        )
        for place, (name, own) in enumerate(by_name.items())
    }  # fmt: skip


def _once(draw: "Callable[..., Axes]", name: str, label: str, *values: Any, **more: Any) -> Markup:
    """Return the chart ``draw(*values, **more)``, cached for several pages of one result."""
    return _drawn_once(draw, name, label, json.dumps((values, more)))


@lru_cache(_MOST_KEPT)
def _drawn_once(draw: "Callable[..., Axes]", name: str, label: str, content: str) -> Markup:
    values, more = json.loads(content)
    return _svg(draw(*values, **more), name, label)


def _svg(ax: "Axes", name: str, label: str) -> Markup:
    """Return a chart as a part of a page; matplotlib escapes its texts."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # noqa: S101
    return Markup(figure_svg(figure, name, label))  # noqa: S704
