"""Scenes as drawings: looks, outlines, labels and their fonts, figures and files."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import font_manager
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from support.datasets import document_of
from support.rectangles import inside, overlap

import bboxqa
from bboxqa.report.chart import DASHES, N_TOLD_APART, SERIES, series_style
from bboxqa.report.drawing import (
    Drawing,
    Look,
    Scene,
    Shape,
    draw_shapes,
    place_labels,
    scene_figure,
    shapes_by,
)
from bboxqa.report.pictures import line_style
from bboxqa.report.plots import page_style


def series_look(place):
    color, dashes = series_style(place)
    return Look(SERIES[color], DASHES[dashes])


TRIANGLE = np.array([(10.0, 20), (30, 20), (20, 50)])


def scene(**changes):
    """Return three annotators, of whom the third drew nothing, in an image of 100 × 80 pixels."""
    shapes = (
        Shape((10, 10, 30, 30), (), "ann", "cat", 1),
        Shape((12, 10, 30, 30), (), "bob", "dog", 1),
        Shape((50, 40, 40, 30), (TRIANGLE,), "bob", "cat", 2),
    )
    values = {
        "name": "a.png", "width": 100, "height": 80, "shapes": shapes,
        "annotators": ("ann", "bob", "cid"), "categories": ("cat", "dog"),
        "asked": ("ann", "bob", "cid"),
    }  # fmt: skip
    return Scene(**{**values, **changes})


@pytest.mark.parametrize(
    ("by", "drawn", "keys"),
    [
        ("annotator", [(0, "cat"), (1, "dog"), (1, "cat")], ["ann (1)", "bob (2)", "cid (0)"]),
        ("category", [(0, "ann"), (1, "bob"), (0, "bob")], ["cat (2)", "dog (1)"]),
        ("unit", [(0, "1"), (0, ""), (1, "2")], ["1  cat / dog (2 of 3)", "2  cat (1 of 3)"]),
    ],
)  # fmt: skip
def test_colours_labels_and_keys(by, drawn, keys):
    outlines, found = shapes_by(scene(), by)
    assert [(each.look.color, each.label) for each in outlines] == [
        (SERIES[place], label) for place, label in drawn
    ]
    assert [name for name, _ in found] == keys


def test_colours_and_lines_differ_and_are_those_of_a_page():
    every = [series_look(place) for place in range(N_TOLD_APART)]
    assert len(set(every)) == N_TOLD_APART
    assert len({look.color for look in every[:8]}) == len({look.dashes for look in every[:8]}) == 8
    assert every[0].dashes == ()
    for first, second in pairwise(every):
        assert first.color != second.color
        assert first.dashes != second.dashes
    for place, look in enumerate(every):
        names = f"stroke-series-{SERIES.index(look.color)} dash-{DASHES.index(look.dashes)}"
        assert line_style(place) == names


@pytest.fixture
def ax():
    with page_style():
        yield Figure(figsize=(7, 5), layout="constrained").subplots()


def drawn_paths(ax):
    """Return color and vertices of each outline; the first collection is the casing."""
    _, lines = ax.collections
    colors = [to_hex(color) for color in lines.get_edgecolors()]
    paths = [path.to_polygons(closed_only=False)[0].tolist() for path in lines.get_paths()]
    return list(zip(colors, paths, strict=True))


def test_outlines_are_drawn_where_the_data_say(ax):
    blue, red = Look("#0072b2"), Look("#d55e00")
    outlines = [Shape((10, 20, 30, 40), look=blue), Shape((0, 0, 9, 9), (TRIANGLE,), look=red)]
    draw_shapes(ax, (100, 80), outlines)
    assert drawn_paths(ax) == [
        ("#0072b2", [[10, 20], [40, 20], [40, 60], [10, 60], [10, 20]]),
        ("#d55e00", [*TRIANGLE.tolist(), TRIANGLE[0].tolist()]),
    ]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_labels_cover_no_other_and_stay_inside(ax):
    random = np.random.default_rng(0)
    boxes = np.hstack([random.uniform(0, 80, (40, 2)), random.uniform(5, 20, (40, 2))])
    outlines = [Shape(tuple(box), look=Look("#0072b2"), label="cat") for box in boxes.tolist()]
    part = (0, 0, 100, 100)
    n_hidden = draw_shapes(ax, (100, 100), outlines, part=part)
    labels = [each for each in ax.patches if isinstance(each, FancyBboxPatch)]
    assert len(labels) + n_hidden == 40
    assert len(labels) > 30
    assert len(ax.texts) == len(labels)
    places = [(p.get_x(), p.get_y(), p.get_x() + p.get_width(), p.get_y() + p.get_height())
              for p in labels]  # fmt: skip
    assert all(min(p[:2]) > -1e-9 and max(p[2:]) < 100 + 1e-9 for p in places)
    for a, b in combinations(places, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_each_annotator_who_was_asked_has_a_panel():
    with page_style():
        figure = scene_figure(scene(), "annotator", side_by_side=True)
    assert [ax.get_title("left") for ax in figure.axes] == [
        "ann: 1 annotation", "bob: 2 annotations", "cid: 0 annotations",
    ]  # fmt: skip
    assert [len(drawn_paths(ax)) for ax in figure.axes] == [1, 2, 0]
    assert [color for color, _ in drawn_paths(figure.axes[1])] == [SERIES[1]] * 2


def drawing(name="a.png", **changes):
    of = scene(name=name, **changes)
    with page_style():
        figure = scene_figure(of, "annotator")
    return Drawing(name, "annotator", figure, tuple(figure.axes))


FORMATS = {".PNG": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_are_of_the_format_of_their_name_and_the_same_each_time(tmp_path, suffix):
    first = drawing().save(tmp_path / f"first{suffix}").read_bytes()
    assert first.startswith(FORMATS[suffix])
    assert first == drawing().save(tmp_path / f"second{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("b/a b.jpg", "a b"), ("../../x:y?.png", "x_y_"), ("\\\\host\\a.png", "a"), ("", "image")],
)
def test_the_default_name_is_safe_in_every_folder(name, expected):
    assert str(drawing(name).default_path()) == f"{expected}_annotator.png"


BOUNDS = (0, 0, 400, 300)

rectangles = st.tuples(
    st.integers(-20, 400), st.integers(-20, 300), st.integers(0, 300), st.integers(0, 300)
).map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3]))
sizes = st.tuples(st.integers(1, 30), st.integers(1, 16))


class TestPlaceLabels:
    @given(st.lists(st.tuples(rectangles, sizes), max_size=25))
    def test_no_label_covers_another_in_a_crowded_panel(self, labelled):
        bounds = (0, 0, 60, 40)
        places = place_labels([box for box, _ in labelled], [size for _, size in labelled], bounds)
        shown = [place for place in places if place is not None]
        assert all(inside(place, bounds) for place in shown)
        for place, (_, (width, height)) in zip(places, labelled, strict=True):
            assert place is None or (place[2] - place[0], place[3] - place[1]) == (width, height)
        assert not any(overlap(*pair) for pair in combinations(shown, 2))

    def test_a_panel_is_filled_to_the_last_free_place(self):
        places = place_labels([(0, 0, 20, 20)] * 5, [(10, 10)] * 5, (0, 0, 20, 20), gap=0)
        assert [place is None for place in places] == [False] * 4 + [True]

    def test_a_lone_label_stands_on_its_box(self):
        assert place_labels([(20, 20, 60, 60)], [(10, 8)], BOUNDS) == [(20, 12, 30, 20)]

    def test_no_label_hides_a_small_box_while_there_is_room_elsewhere(self):
        """Above the box is another one, which a label would hide, and outlines cross elsewhere."""
        boxes = [(50, 50, 54, 54), (50, 44, 53, 47), (56, 30, 300, 90), (0, 57, 300, 99)]
        sizes = [(20, 10), (1, 1), (1, 1), (1, 1)]
        place, *_ = place_labels(boxes, sizes, BOUNDS)
        assert not any(overlap(place, box) for box in boxes[:2])


# Of a script of the Bronze Age, which hardly any font has.
RARE = "\U00012f90"


def font(path, family, signs):
    """Write a font in which every sign is a square."""
    names = [".notdef", *(f"s{number}" for number in range(len(signs)))]
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 700), (700, 700), (700, 0)):
        pen.lineTo(point)
    pen.closePath()
    square = pen.glyph()
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord(sign): name for name, sign in zip(names[1:], signs, strict=True)})
    made.setupGlyf(dict.fromkeys(names, square))
    made.setupHorizontalMetrics(dict.fromkeys(names, (800, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable(
        {"familyName": family, "styleName": "Regular", "psName": family.replace(" ", "")}
    )
    made.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    made.setupPost()
    made.save(path)
    return str(path)


@pytest.fixture
def installed(tmp_path):
    """Install a font with the rare sign while a test runs."""
    path = font(tmp_path / "rare.ttf", "Yu Gothic", RARE)
    font_manager.fontManager.addfont(path)
    yield
    entries = font_manager.fontManager.ttflist
    entries[:] = [entry for entry in entries if entry.fname != path]


def named(category):
    rows = [(1, who, 1, (5, 5, 30, 30)) for who in ("ann", "日本")]
    return document_of(rows, categories=(category, "cow"), size=(60, 50))


def test_a_sign_that_no_font_has_is_a_text_of_svg(tmp_path):
    drawing = bboxqa.draw(named(RARE * 3), 1)
    for suffix in ("png", "pdf", "svg"):
        drawing.save(tmp_path / f"1.{suffix}")
    # Texts of SVG are texts, which the fonts of the reader show.
    assert RARE * 3 in (tmp_path / "1.svg").read_text("utf-8")
    assert "日本" in (tmp_path / "1.svg").read_text("utf-8")


def test_a_font_that_has_the_sign_is_used(installed, tmp_path):
    drawing = bboxqa.draw(named(RARE), 1)
    assert "Yu Gothic" in drawing.axes[0].texts[0].get_fontfamily()
    assert b"+YuGothic" in drawing.save(tmp_path / "1.pdf").read_bytes()
    axes = bboxqa.agree(named(RARE), bootstrap=0).plot.pair_matrix(ax=Figure().subplots())
    assert all("Yu Gothic" in text.get_fontfamily() for text in axes.texts)
