"""Charts draw the values that they are given, and names of any kind."""

import warnings
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection

from bboxqa.report.charts.bar_charts import decomposition, image_costs, severities
from bboxqa.report.charts.figures import page_style, shown_axes
from bboxqa.report.charts.heat_maps import confusion_matrix, pair_matrix
from bboxqa.report.charts.interval_charts import category_intervals, intervals
from bboxqa.report.charts.offset_chart import offsets
from bboxqa.report.charts.sensitivity_chart import sensitivity
from bboxqa.report.charts.svg import figure_svg

HOSTILE = ["<script>alert(1)</script>", "$x^2$ & $", "قطة", "😀", "two\nlines", "日本", "a" * 300]
EMPTY = {"f1": None, "interval": None, "alpha": None, "alpha_interval": None, "reason": None}


def of_threshold(**changed):
    return {
        "alpha": 0.6,
        "interval": [0.5, 0.75],
        "status": "ok",
        "existence": EMPTY | {"f1": 0.8, "interval": [0.7, 0.9], "reason": "1 image"},
        "class": {"alpha": -0.25, "interval": [-0.45, 0.1], "status": "ok"},
        "place": {"mean_iou": 0.9, "interval": None},
    } | changed


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
        "kind": name, "n_objects": 6, "n_any": n,
        "share_any": share, "share_any_low": low, "share_any_high": high,
        "alpha_gain": gain, "f1_gain": 0.125,
    }  # fmt: skip


def image(name, cost, alpha=0.5):
    return {"file_name": name, "cost": cost, "alpha": alpha, "f1": 0.75}


def dots(ax):
    return [tuple(float(xy[0]) for xy in line.get_data()) for line in ax.lines]


def spans(ax):
    """Return the ends of horizontal lines, and where they are."""
    return [
        (*each.get_segments()[0][:, 0].tolist(), each.get_segments()[0][0, 1])
        for each in ax.collections
        if isinstance(each, LineCollection)
    ]


def cells(ax):
    """Return the value of each cell of a heat map by row and column."""
    (found,) = [
        each
        for each in ax.collections
        if isinstance(each, PolyCollection) and each.get_array() is not None
    ]
    centres = [path.vertices[:4].mean(0).round().astype(int) for path in found.get_paths()]
    values = found.get_array().tolist()
    return {(int(y), int(x)): value for (x, y), value in zip(centres, values, strict=True)}


def texts(ax):
    return [each.get_text() for each in ax.texts]


def rows(ax):
    return [each.get_text() for each in ax.get_yticklabels()]


def test_intervals_are_dots_and_bars_at_their_values():
    ax = intervals(of_threshold())
    assert dots(ax) == [(0.6, 0), (0.8, 1), (-0.25, 3), (0.9, 4)]
    assert spans(ax) == [(0.5, 0.75, 0), (0.7, 0.9, 1), (-0.45, 0.1, 3)]
    assert ax.get_xlim() == (-0.5, 1)
    assert texts(ax) == ["0.60 [0.50, 0.75]", "0.80 [0.70, 0.90]", "1 image", "–",
                         "−0.25 [−0.45, 0.10]", "0.90"]  # fmt: skip


def test_intervals_show_the_gates():
    ax = intervals(of_threshold(), min_alpha=0.65, min_f1=0.7)
    ends = [each.get_segments()[0] for each in ax.collections]
    at = [segment[:, 0].tolist() for segment in ends if segment[0, 0] == segment[1, 0]]
    assert at == [[0.65, 0.65], [0.7, 0.7]]
    assert rows(ax)[:2] == ["Alpha, pooled\nat least 0.65", "Existence: F1\nat least 0.7"]


def test_intervals_without_any_value_say_why():
    ax = intervals(
        {
            "alpha": None, "interval": None, "status": "undefined: no pairs", "existence": EMPTY,
            "class": {"alpha": None, "interval": None, "status": "undefined"},
            "place": {"mean_iou": None, "interval": None},
        },
        min_alpha=0.5,
    )  # fmt: skip
    assert not ax.lines
    assert "undefined: no pairs" in texts(ax)


def test_categories_come_lowest_first_and_at_most_30_are_drawn():
    found = [category(f"c{each}", 1 - each / 1203, 0.25, 0.5) for each in range(1203)]
    ax = category_intervals([*found, category("none")])
    assert rows(ax)[:2] == ["c1202 (7)", "c1201 (7)"]
    assert dots(ax)[0] == (pytest.approx(1 / 1203), 0)
    assert len(dots(ax)) == 30
    assert "30 of 1,204 categories, lowest first" in texts(ax)


def test_categories_without_alpha_have_f1():
    ax = category_intervals([category("cow"), category("pig", f1=0.75, f1_low=None)])
    assert (dots(ax), spans(ax)) == ([(0.5, 0), (0.75, 1)], [(0.25, 0.75, 0)])
    assert ax.get_title("left") == "F1 of categories"


def of_thresholds(**columns):
    names = ("alpha", "f1", "class_alpha")
    table = {f"{name}{end}": [None] * 3 for name in names for end in ("", "_low", "_high")}
    table |= {"threshold": [0.1, 0.5, 0.9], "f1_by_chance": [0.3, 0.1, 0.0]} | columns
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def test_sensitivity_draws_curves_bands_and_the_chosen_threshold():
    ax = sensitivity(
        of_thresholds(f1=[0.9, 0.8, None], f1_low=[0.7, 0.7, None], f1_high=[1, 0.9, None]), 0.5
    )
    f1, chance, chosen = ax.lines
    np.testing.assert_array_equal(f1.get_xdata(), [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(f1.get_ydata(), [0.9, 0.8, np.nan])
    np.testing.assert_array_equal(chance.get_ydata(), [0.3, 0.1, 0])
    assert chosen.get_xdata() == [0.5, 0.5]
    (band,) = ax.collections
    assert {tuple(xy) for xy in band.get_paths()[0].vertices} == {
        (0.1, 0.7), (0.1, 1), (0.5, 0.7), (0.5, 0.9),
    }  # fmt: skip


def test_sensitivity_without_any_agreement_says_so():
    ax = sensitivity(of_thresholds(f1_by_chance=[None] * 3))
    assert texts(ax) == ["no agreement is defined at any threshold"]


def hatched(ax):
    """Return the row and column of hatched cells, each of which has five lines."""
    middles = ax.patches[0].get_path().vertices.reshape(-1, 2, 2).mean(1)
    # The middle one of the five goes through the centre of its cell.
    centres = {(int(y), int(x)) for x, y in middles if x == int(x) and y == int(y)}
    assert len(middles) == 5 * len(centres)
    return centres


def test_pairs_are_cells_in_the_order_given_and_hatched_where_nothing_is_shared():
    ax = pair_matrix(["c", "a", "b"], [pair("a", "b", 0.5, 1234), pair("b", "c", None)])
    assert cells(ax) == {(1, 2): 0.5, (2, 1): 0.5}
    assert hatched(ax) == {(0, 1), (1, 0)}
    assert rows(ax) == ["c", "a", "b"]
    assert sorted(texts(ax)[:4]) == ["0.50\n1,234", "0.50\n1,234", "–\n5", "–\n5"]
    assert "hatched" in texts(ax)[-1]
    assert "below the value: units of the pair" in texts(ax)
    ax.figure.draw_without_rendering()
    # The legend does not make the cells small.
    assert ax.get_window_extent().width > 0.5 * ax.figure.bbox.width


@pytest.mark.parametrize(("n", "n_units", "least"), [(3, 9, 10), (10, 498, 9), (10, 12345, 7)])
def test_the_letters_in_cells_fill_them_and_no_more(n, n_units, least):
    names = [f"p{each:02}" for each in range(n)]
    ax = pair_matrix(names, [pair(a, b, 0.94, n_units) for a in names for b in names if a < b])
    ax.figure.draw_without_rendering()
    found = [text for text in ax.texts if text.get_text() == f"0.94\n{n_units:,}"]
    assert len(found) == n * (n - 1)
    assert min(text.get_fontsize() for text in found) >= least
    side = ax.get_window_extent().width / n
    assert max(text.get_window_extent().width for text in found) < side
    # The numbers in the cells replace a scale of colours.
    assert len(ax.figure.axes) == 1


def test_the_colours_of_cells_without_numbers_have_a_scale():
    names = [f"w{each:02}" for each in range(17)]
    ax = pair_matrix(names, [pair(name, "w00", 0.5) for name in names[1:]])
    assert len(ax.figure.axes) == 2


def test_pairs_can_show_alpha():
    ax = pair_matrix(["a", "b"], [pair("a", "b", 0.5, alpha=-0.125)], "alpha")
    assert set(cells(ax).values()) == {-0.125}


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.99, 1.0), (0.3, 1.0), (0.0, 0.0), (0.0, 0.01)])
def test_the_colours_of_pairs_have_no_values_that_are_impossible(values):
    ax = pair_matrix(["a", "b", "c"], [pair("a", "b", values[0]), pair("b", "c", values[1])])
    (cells,) = (each for each in ax.collections if isinstance(each, PolyCollection))
    low, *_, high = cells.norm.boundaries
    assert 0 <= low < high <= 1 + 1e-9
    assert low <= min(values) + 1e-9
    assert high >= max(values) - 1e-9


def test_of_many_annotators_those_who_share_most_are_drawn():
    names = [f"w{each:02}" for each in range(42)]
    ax = pair_matrix(names, [pair(name, "w41", 0.5, 100 - place)
                             for place, name in enumerate(names[:41])])  # fmt: skip
    assert rows(ax) == [*names[:39], "w41"]
    assert "40 of 42 annotators, with most units" in texts(ax)


def test_confusions_are_shares_of_a_row():
    found = [
        confusion("a", "cow", "cow", 3), confusion("b", "cow", "cow", 3),
        confusion("a", "cow", "(no box)", 2), confusion("b", "(no box)", "cow", 5),
    ]  # fmt: skip
    ax = confusion_matrix(found)
    assert cells(ax) == {(0, 0): 75, (0, 1): 25, (1, 0): 100}
    assert rows(ax) == ["cow (8)", "no box (5)"]
    assert cells(confusion_matrix(found, "a")) == {(0, 0): 60, (0, 1): 40}


def test_names_from_the_right_are_set_apart_and_not_escaped():
    cow, ann = "\u05e4\u05e8\u05d4", "\u05d0\u05df"
    ax = confusion_matrix([confusion(ann, cow, cow, 3), confusion(ann, "(no box)", cow, 5)], ann)
    assert rows(ax) == [f"\u2068{cow}\u2069 (3)", "no box (5)"]
    assert [label.get_text() for label in ax.get_xticklabels()] == [cow, "no box"]
    assert f"row: category by \u2068{ann}\u2069; in brackets: pairs" in texts(ax)


def test_of_many_categories_the_confused_are_drawn_and_the_others_are_a_column():
    names = [f"c{each:02}" for each in range(30)]
    found = [confusion("a", name, name, 9) for name in names]
    found += [confusion("a", "c29", "c28", 1), confusion("a", "c29", "c00", 1)]
    found += [confusion("a", "c29", name, 1) for name in names[20:27]]
    ax = confusion_matrix(found)
    # c29 with each of 9, and then those that come first of those used most: c00, c20 … c26, c28.
    kept = {"c29", "c28", "c00", *names[20:27]}
    assert kept < {label.partition(" ")[0] for label in rows(ax)}
    assert len(rows(ax)) == 21
    assert cells(ax)[19, 19] == pytest.approx(50)
    assert "20 of 30 categories, confused most" in texts(ax)


def test_offsets_move_the_edges_so_much_larger_as_is_said():
    ax = offsets(
        [edge("left", -2.0, -3.25, -4, -2.5, systematic=True), edge("top", 0.0, 0.0),
         edge("right", 4.0, 6.5), edge("bottom", None)]
    )  # fmt: skip
    box = ax.lines[1]
    # 5 times 4 % is the most that fits in a quarter of the side.
    assert sorted(set(box.get_xdata())) == pytest.approx([-0.1, 1.2])
    assert sorted(set(box.get_ydata())) == [0, 1]
    assert "drawn 5 times as large" in texts(ax)
    assert {"−3.2 px\n[−4.0, −2.5]", "0.0 px", "+6.5 px", "–"} <= set(texts(ax))


def test_offsets_by_chance_are_numbers_without_an_arrow():
    small = [edge("left", 0.2, 0.2, -0.1, 0.5), edge("top", -0.3, -0.3, -0.6, 0.0)]
    ax = offsets(small)
    assert set(ax.lines[1].get_xdata()) | set(ax.lines[1].get_ydata()) == {0, 1}
    assert "no systematic offset" in texts(ax)
    assert {"+0.2 px\n[−0.1, +0.5]", "−0.3 px\n[−0.6, 0.0]"} <= set(texts(ax))
    # The one that is systematic decides how much larger offsets are drawn.
    ax = offsets([*small, edge("right", 4.0, 4.0, 3.5, 4.5, systematic=True)])
    assert sorted(set(ax.lines[1].get_xdata())) == pytest.approx([0, 1.2])
    assert set(ax.lines[1].get_ydata()) == {0, 1}


def test_the_figure_of_the_upper_edge_does_not_touch_the_legend():
    wide = [edge(name, 9.4, 9.9, 9.7, 10.0, systematic=True) for name in ("left", "right")]
    ax = offsets([*wide, edge("top", 0.2, 0.2, 0.0, 0.4), edge("bottom", 0.1, 0.1, 0.0, 0.2)])
    ax.figure.draw_without_rendering()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
    gap = boxes["drawn 2 times as large"].y0 - boxes["+0.2 px\n[0.0, +0.4]"].y1
    assert gap > boxes["drawn 2 times as large"].height / 2


def test_offsets_larger_than_the_box_are_drawn_smaller():
    ax = offsets([edge("left", -200.0, -9.0)])
    assert min(ax.lines[1].get_xdata()) == pytest.approx(-0.2)
    assert "drawn 10 times smaller" in texts(ax)


def test_kinds_are_bars_of_per_cent_with_intervals():
    ax = decomposition([kind("all agree", 6, 0.75, 0.5, 0.875), kind("missed", 2, 0.25, gain=0.1)])
    assert [bar.get_width() for bar in ax.patches] == [75, 25]
    assert spans(ax) == [(50, 87.5, 0)]
    assert texts(ax) == ["6 objects", "2 objects\nalpha +0.100 if settled",
                         "an object may have several kinds"]  # fmt: skip


def test_costs_are_bars_and_those_unknown_are_left_out():
    ax = image_costs([image("a", 0.25), image("b", -0.5, None), image("c", None)], 9)
    assert [bar.get_width() for bar in ax.patches] == [0.25, -0.5]
    assert texts(ax)[:2] == ["0.50", "–"]
    assert "2 of 9 images, costliest first" in texts(ax)
    assert texts(image_costs([image("a", 0.25)], 1, "F1"))[0] == "0.75"


def test_severities_are_bars():
    ax = severities({"error": 2, "warning": 0, "info": 1500})
    assert [bar.get_width() for bar in ax.patches] == [2, 0, 1500]
    assert texts(ax) == ["2", "0", "1,500"]


@pytest.mark.parametrize(
    "ax",
    [
        lambda: category_intervals([]),
        lambda: sensitivity([]),
        lambda: pair_matrix([], []),
        lambda: pair_matrix(["a"], []),
        lambda: confusion_matrix([]),
        lambda: offsets([]),
        lambda: decomposition([]),
        lambda: image_costs([], 0),
    ],
)
def test_nothing_to_draw_is_said(ax):
    assert len(texts(ax())) == 1


def test_two_annotators_who_share_nothing_are_hatched():
    ax = pair_matrix(["a", "b"], [])
    assert hatched(ax) == {(0, 1), (1, 0)}
    assert not ax.collections


def test_names_of_any_kind_are_drawn_without_a_warning():
    ax = category_intervals([category(name, 0.5) for name in HOSTILE])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = figure_svg(ax.figure, "a", "b")
        ax.figure.savefig(BytesIO(), bbox_inches="tight")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; (7)" in svg
    assert "$x^2$ &amp; $ (7)" in svg
    assert f"{'a' * 14}…{'a' * 13} (7)" in svg
    assert "two\\nlines" in svg


def test_what_a_notebook_sets_while_a_chart_is_drawn_stays():
    before = mpl.rcParams["interactive"]
    try:
        with page_style():
            mpl.rcParams["interactive"] = not before
        assert mpl.rcParams["interactive"] is not before
    finally:
        mpl.rcParams["interactive"] = before


def test_a_chart_can_be_shown_by_pyplot_and_the_settings_of_the_session_stay():
    before = dict(mpl.rcParams)
    ax = severities({"error": 1}, axes=shown_axes)
    try:
        assert plt.gcf() is ax.figure
        assert dict(mpl.rcParams) == before
    finally:
        plt.close(ax.figure)


@pytest.mark.parametrize(
    "chart",
    [
        lambda name: image_costs([image(name, 0.25)], 1),
        lambda name: category_intervals([category(name, 0.5, 0.25, 0.75), category("b")]),
    ],
)
def test_long_names_of_rows_leave_room_for_the_title(chart):
    ax = chart("A LONG NAME, AS OF A PICTURE OF A CAMERA.PNG")
    ax.figure.draw_without_rendering()
    texts = [ax.title, ax._left_title, *ax.texts]
    ends = [each.get_window_extent().x1 for each in texts if each.get_text()]
    assert max(ends) <= ax.figure.bbox.x1 + 1
