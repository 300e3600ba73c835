"""Charts: the values that they show, as SVG of a page, and on axes by `result.plot`."""

import xml.etree.ElementTree as ET
from itertools import combinations

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import bboxqa
from bboxqa.examples import example_file
from bboxqa.model.results import Figure as Shown
from bboxqa.report.chart import (
    CLASSES,
    NAME,
    Dot,
    Path,
    Text,
    chart_svg,
    layout,
    text_width,
)
from bboxqa.report.plots import (
    Plots,
    category_intervals,
    confusion_matrix,
    decomposition,
    draw_chart,
    intervals,
    offsets,
    pair_matrix,
    sensitivity,
)

HOSTILE = ["<script>alert(1)</script>", "$x^2$ & $", "قطة", "😀", "two\nlines", "日本", "a" * 300]
NAMES = [
    "intervals", "category_intervals", "sensitivity", "pair_matrix", "confusion_matrix", "offsets",
    "decomposition",
]  # fmt: skip


FIGURES = [
    Shown("Existence", 0.8, (0.7, 0.9), "same objects (F1)"),
    Shown("  above chance", reason="1 image"),
    Shown("Class", -0.25, (-0.45, 0.1)),
    Shown("Place", 0.9),
    Shown("Alpha of 3 annotators", 0.6, (0.5, 0.75)),
]


def drawn_texts(ax):
    return [text.get_text() for text in ax.texts]


def category(name, alpha=None, low=None, high=None, **more):
    return {
        "category": name, "alpha": alpha, "low": low, "high": high, "f1": 0.5, "f1_low": 0.25,
        "f1_high": 0.75, "n_annotations": 7,
    } | more  # fmt: skip


def pair(first, second, f1, n_units=5, alpha=None):
    return {
        "annotator_1": first, "annotator_2": second, "f1": f1, "alpha": alpha, "n_units": n_units,
    }  # fmt: skip


def confusion(annotator, category, others, n):
    return {"annotator": annotator, "category": category, "others": others, "n": n}


def edge(name, percent, px=None, low=None, high=None, *, systematic=False):
    return {
        "annotator": "ann", "edge": name, "offset_percent": percent, "offset_px": px,
        "offset_px_low": low, "offset_px_high": high, "systematic": systematic,
    }  # fmt: skip


def kind(name, n, share, low=None, high=None, gain=None):
    return {
        "kind": name, "n_objects": 6, "n_any": n, "share_any": share, "share_any_low": low,
        "share_any_high": high, "alpha_gain": gain, "f1_gain": 0.125,
    }  # fmt: skip


def dots(chart):
    return [(mark.x, mark.y) for mark in chart.marks if isinstance(mark, Dot)]


def paths(chart, *, filled=False):
    found = [mark for mark in chart.marks if isinstance(mark, Path)]
    return [[*mark.points] for mark in found if (mark.fill != "none") is filled]


def spans(chart):
    """Return the ends of horizontal lines, and where they are."""
    lines = [points for points in paths(chart) if len(points) == 2]
    return [(left[0], right[0], left[1]) for left, right in lines if left[1] == right[1]]


def cells(chart):
    """Return the row, column and colour of each cell of a matrix."""
    found = [mark for mark in chart.marks if isinstance(mark, Path) and mark.fill != "none"]
    return {(m.points[0][1] + 0.5, m.points[0][0] + 0.5): m.fill for m in found}


def texts(chart):
    return [mark.text for mark in chart.marks if isinstance(mark, Text)]


def test_intervals_are_dots_and_bars_at_their_values():
    chart = intervals(FIGURES)
    assert dots(chart) == [(0.8, 0), (-0.25, 2), (0.9, 3), (0.6, 4)]
    assert spans(chart) == [(0.7, 0.9, 0), (-0.45, 0.1, 2), (0.5, 0.75, 4)]
    assert chart.x == pytest.approx((-0.5225, 1.0725))
    assert chart.beside == [
        "0.80 [0.70, 0.90]", "–", "−0.25 [−0.45, 0.10]", "0.90", "0.60 [0.50, 0.75]"
    ]  # fmt: skip
    assert chart.rows[4] == "Alpha of 3 annotators"


def test_categories_come_lowest_first_and_at_most_30_are_drawn():
    found = [category(f"c{each}", 1 - each / 1203, 0.25, 0.5) for each in range(1203)]
    chart = category_intervals([*found, category("none")])
    assert chart.rows[:2] == ["c1202 (7)", "c1201 (7)"]
    assert dots(chart)[0] == (pytest.approx(1 / 1203), 0)
    assert len(dots(chart)) == 30
    assert "30 of 1,203 categories, lowest first" in chart.legend
    assert texts(category_intervals([category("a", f1=None)])) == ["there is nothing to compare"]


def of_thresholds(**columns):
    names = ("alpha", "f1", "class_alpha")
    table = {f"{name}{end}": [None] * 3 for name in names for end in ("", "_low", "_high")}
    table |= {"threshold": [0.1, 0.5, 0.9], "f1_by_chance": [0.3, 0.1, 0.0]} | columns
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def test_sensitivity_draws_curves_bands_and_the_chosen_threshold():
    f1 = {"f1": [0.9, 0.8, None], "f1_low": [0.7, 0.7, None], "f1_high": [1, 0.9, None]}
    chart = sensitivity(of_thresholds(**f1), 0.5)
    assert paths(chart) == [
        [(0.1, 0.9), (0.5, 0.8)],
        # Chance of less than 0.05 is not shown.
        [(0.1, 0.3), (0.5, 0.1)],
        [(0.5, 0.0), (0.5, 1.0)],
    ]
    assert paths(chart, filled=True) == [[(0.1, 0.7), (0.5, 0.7), (0.5, 0.9), (0.1, 1)]]
    assert [key.name for key in chart.keys] == ["existence: F1", "F1 by chance"]


def test_pairs_are_cells_in_the_order_given_and_blank_where_nothing_is_shared():
    chart = pair_matrix(["c", "a", "b"], [pair("a", "b", 0.5, 1234), pair("b", "c", None)])
    assert {*cells(chart)} == {(1, 2), (2, 1)}
    assert chart.rows == ["c", "a", "b"]
    assert sorted(texts(chart)) == ["0.50\n1,234", "0.50\n1,234", "–\n5", "–\n5"]
    assert [*filter(None, chart.legend)] == [
        "blank: nothing to compare", "below the value: objects that either drew"
    ]  # fmt: skip


def test_confusions_are_shares_of_a_row():
    found = [
        confusion("a", "cow", "cow", 3), confusion("b", "cow", "cow", 3),
        confusion("a", "cow", "(no box)", 2), confusion("b", "(no box)", "cow", 5),
    ]  # fmt: skip
    chart = confusion_matrix(found)
    assert texts(chart) == ["75", "25", "100"]
    assert [*cells(chart)] == [(0, 0), (0, 1), (1, 0)]
    assert chart.rows == ["cow (8)", "no box (5)"]
    assert texts(confusion_matrix(found, "a")) == ["60", "40"]


def test_offsets_are_dots_and_intervals_of_each_edge():
    chart = offsets(
        [edge("left", -2.0, -3.25, -4.0, -2.5, systematic=True), edge("top", 0.0, 0.0),
         edge("right", 4.0, 6.5), edge("bottom", None)]
    )  # fmt: skip
    assert chart.rows == ["ann: left", "ann: top", "ann: right"]
    assert chart.beside == ["−3.25 [−4.00, −2.50]", "0.00", "6.50"]
    assert dots(chart) == [(-3.25, 0), (0, 1), (6.5, 2)]
    assert spans(chart) == [(-4, -2.5, 0)]


def test_kinds_are_dots_of_per_cent_with_intervals():
    found = [kind("all agree", 6, 0.75, 0.5, 0.875), kind("missed", 2, 0.25, gain=0.1)]
    chart = decomposition(found)
    assert dots(chart) == [(75, 0), (25, 1)]
    assert spans(chart) == [(50, 87.5, 0)]
    assert chart.beside == ["6 objects", "2 objects\nalpha +0.100 if settled"]


@pytest.mark.parametrize(
    "chart",
    [
        category_intervals([]), sensitivity([]), pair_matrix([], []), pair_matrix(["a"], []),
        confusion_matrix([]), offsets([]), decomposition([]),
    ],
)  # fmt: skip
def test_nothing_to_draw_is_said(chart):
    assert len(texts(chart)) == 1
    assert drawn_texts(draw_chart(chart, Figure().subplots())) == [*texts(chart), chart.title]


@pytest.fixture(scope="module")
def svg():
    found = [category(name, 0.5, 0.25, 0.75) for name in HOSTILE]
    return chart_svg(category_intervals(found), 'a "chart"')


def test_nothing_of_a_chart_is_inline_or_markup(svg):
    root = ET.fromstring(svg)  # noqa: S314
    assert "style" not in svg
    assert "<script" not in svg
    shown = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]
    assert {"<script>alert(1)</script> (7)", "$x^2$ & $ (7)", "two\\nlines (7)"} < {*shown}
    assert f"{'a' * 14}…{'a' * 13} (7)" in shown
    assert 'aria-label="a &quot;chart&quot;"' in svg


def test_colours_of_the_palette_are_classes(svg):
    assert "fill-series-0" in svg
    assert "stroke-dim" in svg
    assert not [color for color in CLASSES if color in svg]


@pytest.mark.parametrize(
    "chart",
    [
        category_intervals([category("W" * 40, 0.5, 0.25, 0.75), category("b")]),
        decomposition([kind("all agree", 6000, 0.99, 0.9, 1, 0.1)]),
    ],
)
def test_all_texts_have_room(chart):
    found = layout(chart)
    widest = max(text_width(text, NAME) for text in chart.beside)
    assert found.left + found.width + 8 + widest <= found.total_width
    assert 0 <= found.at(0, len(chart.rows) - 1)[1] <= found.total_height
    assert all(text_width(name, NAME) < found.left for name in chart.rows)


def test_numbers_of_a_matrix_fit_into_their_cells():
    names = [*"abcdefghij"]
    pairs = [pair(*both, 0.5, 1_234_567) for both in combinations(names, 2)]
    chart = pair_matrix(names, pairs)
    written = [mark for mark in chart.marks if isinstance(mark, Text)]
    widest = max(text_width(mark.text, mark.size) for mark in written)
    assert widest < chart.height / len(names)


@pytest.fixture(scope="module")
def result():
    data = bboxqa.read_coco(example_file("fruits"))
    return bboxqa.agree(data, iou_threshold=[0.55, 0.9], min_alpha=0.8, min_f1=0.7)


def test_charts_are_drawn_in_subplots_and_saved_as_pdf(tmp_path):
    data = bboxqa.simulate(images=8, annotators=10, categories=("cow", "sheep"), seed=1)
    result = bboxqa.agree(data.document(), bootstrap=40)
    assert [name for name in vars(Plots) if not name.startswith("_")] == NAMES
    figure = Figure(figsize=(16, 8), layout="constrained")
    for name, ax in zip(NAMES, figure.subplots(2, 4).flat[: len(NAMES)], strict=True):
        arguments = ("p03",) if name == "offsets" else ()
        assert getattr(result.plot, name)(*arguments, ax=ax) is ax
    figure.savefig(tmp_path / "all.pdf")
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")


def test_axes_show_the_figures_of_the_first_threshold(result):
    found = drawn_texts(result.plot.intervals(Figure().subplots()))
    assert {f"{result.existence.f1:.2f}", "Alpha of 3 annotators"} < {*found}
    ax = result.plot.pair_matrix(Figure().subplots())
    order = result.diagnose().tables["agreement_matrix"]["annotator"].tolist()
    assert [text for text in drawn_texts(ax) if text in order] == order * 2


def test_without_axes_pyplot_shows_the_chart_and_settings_of_the_session_stay(result):
    before = dict(mpl.rcParams)
    ax = result.plot.decomposition()
    try:
        assert plt.gcf() is ax.figure
        assert dict(mpl.rcParams) == before
    finally:
        plt.close(ax.figure)
