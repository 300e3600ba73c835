"""Scenes as drawings: looks, outlines, labels, figures and files."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

from bboxqa.core.errors import OutputError
from bboxqa.model.findings import Severity
from bboxqa.report.charts.axes import page_style, quiet_figure
from bboxqa.report.charts.palette import DASHES, N_TOLD_APART, SERIES, TEXT, series_style
from bboxqa.report.drawing.canvas import draw_outlines, visible
from bboxqa.report.drawing.drawing import Drawing, scene_figure
from bboxqa.report.drawing.scene import Look, Outline, Scene, Shape, outlines_by
from bboxqa.report.pages.pictures import line_style


def series_look(place):
    color, dashes = series_style(place)
    return Look(SERIES[color], DASHES[dashes])


TRIANGLE = np.array([(10.0, 20), (30, 20), (20, 50)])


def scene(**changes):
    """Return three annotators, of whom the third drew nothing, in an image of 100 × 80 pixels."""
    shapes = (
        Shape((10, 10, 30, 30), (), "ann", "cat", 1, ("B001",)),
        Shape((12, 10, 30, 30), (), "bob", "dog", 1, ("B002", "B001")),
        Shape((50, 40, 40, 30), (TRIANGLE,), "bob", "cat", 2, ("B002",)),
    )
    values = {
        "name": "a.png", "width": 100, "height": 80, "shapes": shapes,
        "annotators": ("ann", "bob", "cid"), "categories": ("cat", "dog"),
        "asked": ("ann", "bob", "cid"),
        "rules": (("B002", Severity.ERROR, "no box"), ("B001", Severity.INFO, "small")),
    }  # fmt: skip
    return Scene(**{**values, **changes})


def looks(by, of=None):
    outlines, keys = outlines_by(of or scene(), by)
    return [(each.look.color, each.label) for each in outlines], [name for name, _ in keys]


def test_annotators_have_colours_and_labels_name_categories():
    drawn, keys = looks("annotator")
    assert drawn == [(SERIES[0], "cat"), (SERIES[1], "dog"), (SERIES[1], "cat")]
    assert keys == ["ann (1)", "bob (2)", "cid (0)"]


def test_labels_do_not_repeat_the_only_category():
    alone = tuple(Shape((0, 0, 9, 9), (), name, "cat") for name in ("ann", "bob"))
    drawn, _ = looks("annotator", scene(shapes=alone, categories=("cat",)))
    assert [label for _, label in drawn] == ["", ""]


def test_categories_have_colours_and_labels_name_annotators():
    drawn, keys = looks("category")
    assert drawn == [(SERIES[0], "ann"), (SERIES[1], "bob"), (SERIES[0], "bob")]
    assert keys == ["cat (2)", "dog (1)"]


def test_of_very_many_categories_those_of_the_image_have_colours_of_their_own():
    names = tuple(f"category {number}" for number in range(1203))
    shapes = tuple(Shape((0, 0, 9, 9), category=names[place]) for place in (0, 32, 64))
    drawn, _ = looks("category", scene(shapes=shapes, categories=names))
    assert len({color for color, _ in drawn}) == 3


def test_annotators_of_one_image_share_no_colour_while_others_are_free():
    names = tuple(f"p{number:02}" for number in range(18))

    def looks_of(*places):
        shapes = tuple(Shape((0, 0, 9, 9), (), names[place], "cat") for place in places)
        own = scene(shapes=shapes, annotators=names, asked=(), categories=("cat",))
        return [outline.look for outline in outlines_by(own, "annotator")[0]]

    # The second has the colour of the first in other images.
    assert series_look(1).color == series_look(9).color
    assert len({look.color for look in looks_of(1, 9, 17, 2, 3, 4, 5, 6)}) == 8
    assert looks_of(1, 4) == [series_look(1), series_look(4)]
    every = looks_of(*range(18))
    assert every == [series_look(place) for place in range(18)]


def test_a_category_with_most_of_many_annotations_has_no_labels():
    def drawn(n_cats):
        shapes = [Shape((0, 0, 9, 9), (), "ann", "cat")] * n_cats
        shapes += [Shape((5, 5, 9, 9), (), "bob", "dog")] * 5
        return looks("annotator", scene(shapes=tuple(shapes)))

    labels, keys = drawn(21)
    assert [label for _, label in labels] == [""] * 21 + ["dog"] * 5
    assert keys == ["ann (21)", "bob (5)", "cid (0)", "no label: cat (21)"]
    labels, keys = drawn(20)
    assert [label for _, label in labels] == ["cat"] * 20 + ["dog"] * 5
    assert keys == ["ann (20)", "bob (5)", "cid (0)"]
    shapes = (Shape((0, 0, 9, 9), (), "ann", "cat"),) * 22
    many = scene(shapes=(*shapes, Shape((50, 50, 9, 9), (), "bob", "dog")))
    figure, _ = scene_figure(many, "annotator", side_by_side=True)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["no label: cat (22)"]


def test_a_unit_has_one_colour_and_one_label():
    drawn, keys = looks("unit")
    assert drawn == [(SERIES[0], "1"), (SERIES[0], ""), (SERIES[1], "2")]
    assert keys == ["1  cat / dog (2 of 3)", "2  cat (1 of 3)"]


def test_findings_have_the_colour_of_the_worst_and_all_codes():
    drawn, keys = looks("finding")
    worst, info = SERIES[1], SERIES[0]
    # The outline and the box of the third are both drawn, as either can be wrong.
    assert drawn == [(info, "B001"), (worst, "B002, B001"), (worst, ""), (worst, "B002")]
    assert keys == ["B002 error: no box (2)", "B001 info: small (2)"]


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
        yield quiet_figure(figsize=(7, 5), layout="constrained").subplots()


def drawn_paths(ax):
    """Return color and vertices of each outline; the first collection is the casing."""
    _, lines = ax.collections
    colors = [to_hex(color) for color in lines.get_edgecolors()]
    paths = [path.to_polygons(closed_only=False)[0].tolist() for path in lines.get_paths()]
    return list(zip(colors, paths, strict=True))


def test_outlines_are_drawn_where_the_data_say(ax):
    blue, red = Look("#0072b2"), Look("#d55e00")
    outlines = [Outline((10, 20, 30, 40), blue), Outline((0, 0, 9, 9), red, rings=(TRIANGLE,))]
    draw_outlines(ax, (100, 80), outlines)
    assert drawn_paths(ax) == [
        ("#0072b2", [[10, 20], [40, 20], [40, 60], [10, 60], [10, 20]]),
        ("#d55e00", [*TRIANGLE.tolist(), TRIANGLE[0].tolist()]),
    ]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_pixels_fill_the_image_in_its_own_size(ax):
    pixels = np.zeros((8, 10, 3), np.uint8)
    draw_outlines(ax, (100, 80), [], pixels)
    (image,) = ax.images
    assert image.get_extent() == [0, 100, 80, 0]
    assert image.get_array().shape == (8, 10, 3)


def test_what_reaches_beyond_the_image_is_seen_up_to_half_of_its_size():
    look = Look("#000000")
    margin = 0.004 * 110
    assert visible(100, 80, [Outline((90, 10, 20, 20), look)]) == pytest.approx(
        (-margin, -margin, 110 + margin, 80 + margin)
    )
    far = visible(100, 80, [Outline((-1e6, 10, 20, 20), look), Outline((0, 1e5, 9, 9), look)])
    margin = 0.004 * 150
    assert far == pytest.approx((-50 - margin, -margin, 100 + margin, 120 + margin))


def test_labels_cover_no_other_and_stay_inside(ax):
    random = np.random.default_rng(0)
    boxes = np.hstack([random.uniform(0, 80, (40, 2)), random.uniform(5, 20, (40, 2))])
    outlines = [Outline(tuple(box), Look("#0072b2"), "cat") for box in boxes.tolist()]
    part = (0, 0, 100, 100)
    n_hidden = draw_outlines(ax, (100, 100), outlines, part=part)
    labels = [each for each in ax.patches if isinstance(each, FancyBboxPatch)]
    assert len(labels) + n_hidden == 40
    assert len(labels) > 30
    assert len(ax.texts) == len(labels)
    places = [(p.get_x(), p.get_y(), p.get_x() + p.get_width(), p.get_y() + p.get_height())
              for p in labels]  # fmt: skip
    assert all(min(p[:2]) > -1e-9 and max(p[2:]) < 100 + 1e-9 for p in places)
    for a, b in combinations(places, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_long_labels_are_cut_before_they_are_left_out(ax):
    outlines = [
        Outline((x, y, 4, 4), Look(SERIES[0]), name * 4)
        for x in range(0, 90, 30)
        for y, name in zip(range(0, 80, 8), "abcdefghij", strict=True)
    ]
    assert draw_outlines(ax, (100, 80), outlines) < len(outlines)
    longer = [replace(each, label=each.label * 75) for each in outlines]
    ax.clear()
    assert draw_outlines(ax, (100, 80), longer) < len(outlines)
    assert {text.get_text()[0] for text in ax.texts} <= set("abcdefghij")
    assert all("…" in text.get_text() for text in ax.texts)


def test_labels_that_would_be_the_same_when_cut_are_left_out(ax):
    names = ("P" * 40 + "a" + "P" * 40, "P" * 40 + "b" + "P" * 40)
    outlines = [
        Outline((x, y, 4, 4), Look(SERIES[0]), names[x % 2])
        for x in range(0, 90, 9)
        for y in range(0, 80, 9)
    ]
    assert draw_outlines(ax, (100, 80), outlines) == len(outlines)


def test_labels_that_would_cover_the_image_are_left_out(ax):
    box = Outline((0, 0, 50, 50), Look("#0072b2"), "a category of a long name")
    assert draw_outlines(ax, (100, 100), [box] * 400) == 400
    assert len(ax.texts) == 0


def test_lines_and_letters_are_smaller_in_smaller_axes():
    outline = Outline((10, 10, 60, 60), Look("#0072b2"), "cat")
    found = []
    with page_style():
        for inches in (2, 4, 7):
            ax = quiet_figure(figsize=(inches, inches), layout="constrained").subplots()
            draw_outlines(ax, (100, 100), [outline])
            found.append((ax.collections[1].get_linewidths()[0], ax.texts[0].get_fontsize()))
    assert [sorted(each) for each in zip(*found, strict=True)] == [
        list(each) for each in zip(*found, strict=True)
    ]
    assert found[0][0] < found[2][0]
    assert found[0][1] < found[2][1]


def test_each_annotator_who_was_asked_has_a_panel():
    with page_style():
        figure, _ = scene_figure(scene(), "annotator", side_by_side=True)
    assert [text.get_text() for text in figure.texts] == [
        "ann: 1 annotation", "bob: 2 annotations", "cid: 0 annotations",
    ]  # fmt: skip
    assert [len(drawn_paths(ax)) for ax in figure.axes] == [1, 2, 0]
    assert [color for color, _ in drawn_paths(figure.axes[1])] == [SERIES[1]] * 2


@pytest.mark.parametrize("size", [(100, 80), (3000, 20), (20, 3000)])
@pytest.mark.parametrize("side_by_side", [False, True])
def test_panels_have_the_shape_of_the_image(size, side_by_side):
    of = scene(width=size[0], height=size[1], shapes=())
    with page_style():
        figure, _ = scene_figure(of, "annotator", side_by_side=side_by_side)
    left, top, right, bottom = visible(*size, [])
    for ax in figure.axes:
        extent = ax.get_window_extent()
        assert extent.width / extent.height == pytest.approx((right - left) / (bottom - top))
    assert max(figure.get_size_inches()) < 12


def test_names_written_from_the_right_do_not_turn_the_numbers_behind_them():
    name = "\u05d3\u05e0\u05d4"
    shapes = (Shape((10, 10, 30, 30), (), name, "cat"), Shape((10, 10, 30, 30), (), "ann", "cat"))
    both = {"shapes": shapes, "annotators": ("ann", name), "asked": ("ann", name)}
    figure, _ = scene_figure(scene(**both), "annotator", side_by_side=True)
    titles = [text.get_text() for text in figure.texts]
    # They are set apart: UAX 9, FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE.
    assert titles == ["ann: 1 annotation", f"\u2068{name}\u2069: 1 annotation"]
    assert looks("annotator", scene(**both))[1] == ["ann (1)", f"\u2068{name}\u2069 (1)"]


def test_no_text_is_wider_than_the_figure():
    name = "annotator with a long name"
    of = scene(width=10, height=2000, shapes=(), annotators=(name,), asked=(name,))
    for side_by_side in (False, True):
        with page_style():
            figure, _ = scene_figure(of, "annotator", side_by_side=side_by_side)
            figure.draw_without_rendering()
        texts = [*figure.texts, *(text for each in figure.legends for text in each.get_texts())]
        assert [text.get_text().startswith(name) for text in texts] == [True]
        assert texts[0].get_window_extent().x1 <= figure.bbox.x1


def test_a_long_legend_says_how_much_it_leaves_out():
    shapes = tuple(Shape((unit, 0, 9, 9), unit=unit) for unit in range(1, 101))
    with page_style():
        figure, _ = scene_figure(scene(shapes=shapes), "unit")
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert (len(names), names[-1]) == (24, "and 77 more")


def drawing(name="a.png", **changes):
    of = scene(name=name, **changes)
    with page_style():
        figure, _ = scene_figure(of, "annotator")
    return Drawing(name, "annotator", figure, tuple(figure.axes))


FORMATS = {".PNG": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_are_of_the_format_of_their_name_and_the_same_each_time(tmp_path, suffix):
    first = drawing().save(tmp_path / f"first{suffix}").read_bytes()
    assert first.startswith(FORMATS[suffix])
    assert first == drawing().save(tmp_path / f"second{suffix}").read_bytes()


def test_names_of_any_kind_are_drawn_as_they_are(tmp_path):
    name = "$x_1$ <b> & \U0001f34e שלום"
    shape = Shape((10, 10, 50, 50), (), name, "cat")
    of = drawing(shapes=(shape,), annotators=(name,), asked=(name,))
    text = of.save(tmp_path / "a.svg").read_text("utf-8")
    assert "\u2068$x_1$ &lt;b&gt; &amp; \U0001f34e שלום\u2069 (1)" in text
    of.save(tmp_path / "a.png")


def test_other_files_and_existing_ones_are_refused(tmp_path):
    for name in ("a.jpg", "a"):
        with pytest.raises(OutputError, match=r"expected \.png, \.svg, \.pdf"):
            drawing().save(tmp_path / name)
    path = tmp_path / "a.png"
    path.write_bytes(b"kept")
    with pytest.raises(OutputError, match="already exists"):
        drawing().save(path)
    assert path.read_bytes() == b"kept"
    assert drawing().save(path, force=True).read_bytes() != b"kept"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("b/a b.jpg", "a b"), ("../../x:y?.png", "x_y_"), ("\\\\host\\a.png", "a"), ("", "image")],
)
def test_the_default_name_is_safe_in_every_folder(name, expected):
    assert str(drawing(name).default_path()) == f"{expected}_annotator.png"


def test_boxes_that_a_rule_finds_to_coincide_have_different_lines():
    boxes = [(10, 10, 40, 30), (11, 10, 40, 31), (60, 10, 40, 30), (10, 10, 40, 30)]
    codes = ["D002", "D002", "D002", "B001"]
    found = tuple(Shape(box, codes=(code,)) for box, code in zip(boxes, codes, strict=True))
    rules = (("B001", Severity.ERROR, "empty"), ("D002", Severity.WARNING, "twice"))
    outlines, _ = outlines_by(scene(shapes=found, rules=rules), "finding")
    assert [each.look.dashes for each in outlines] == [(), DASHES[1], (), ()]
    assert [each.look.color for each in outlines] == [SERIES[4], TEXT, SERIES[4], SERIES[1]]


@pytest.mark.parametrize(("n", "opacity"), [(100, 0.1), (101, 0)])
def test_outlines_that_cover_a_drawing_very_often_are_not_filled(n, opacity, ax):
    # Filling 6,500 polygons of one place took 33 s.
    ring = np.array([(0, 0), (100, 0), (100, 80), (0, 80)], float)
    outline = Outline((0, 0, 100, 80), Look("#ff0000"), rings=(ring,))
    draw_outlines(ax, (100, 80), [outline] * n, part=(0, 0, 100, 80))
    (lines,) = [each for each in ax.collections if each.get_zorder() == 3]
    assert {float(color[3]) for color in lines.get_facecolors()} == {opacity}
