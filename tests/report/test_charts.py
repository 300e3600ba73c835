"""Charts as a part of a page: nothing inline, nothing of the user is markup."""

import re

import matplotlib as mpl
import pytest
from matplotlib.lines import Line2D

from bboxqa.report.charts.figures import new_axes, page_style
from bboxqa.report.charts.palette import CLASSES
from bboxqa.report.charts.svg import figure_svg


@pytest.fixture(scope="module")
def svg():
    with page_style():
        ax = new_axes(4, 2)
        ax.bar([0, 1], [1, 2], hatch="//", label="bars")
        ax.plot([0, 1], [0, 1], label="a line")
        ax.set_title("<script>alert(1)</script> $x_1$")
        ax.legend()
        return figure_svg(ax.figure, "one", 'a "chart"')


def test_no_inline_style_and_no_style_sheet(svg):
    assert "style" not in svg


def test_texts_are_text_and_not_markup_or_mathematics(svg):
    assert "&lt;script&gt;alert(1)&lt;/script&gt; $x_1$" in svg
    assert "<script" not in svg


def test_ids_begin_with_the_name_and_what_is_referred_to_exists(svg):
    ids = set(re.findall(r' id="([^"]*)"', svg))
    assert all(each.startswith("one-") for each in ids)
    referred = set(re.findall(r'(?:href="|url\()#([^")]*)', svg))
    assert referred
    assert referred <= ids


def test_colours_of_the_palette_are_classes(svg):
    assert "fill-series-0" in svg
    assert "stroke-dim" in svg
    assert not [color for color in CLASSES if color in svg]


def test_the_label_is_escaped(svg):
    assert 'aria-label="a &quot;chart&quot;"' in svg


def test_the_same_figure_is_the_same_text():
    def drawn():
        with page_style():
            ax = new_axes(3, 2)
            ax.plot([0, 1])
            return figure_svg(ax.figure, "a", "a")

    assert drawn() == drawn()


def test_a_figure_is_drawn_once():
    draws = []

    class Counted(Line2D):
        def draw(self, renderer):
            draws.append(renderer)
            super().draw(renderer)

    with page_style():
        ax = new_axes(3, 2)
        ax.add_line(Counted([0, 1], [0, 1]))
        figure_svg(ax.figure, "a", "a")
    assert len(draws) == 1


def test_a_style_within_the_style_changes_nothing():
    size = mpl.rcParams["font.size"]
    with page_style():
        mpl.rcParams["font.size"] = 17
        with page_style():
            assert mpl.rcParams["font.size"] == 17
    assert mpl.rcParams["font.size"] == size
