"""Scenes as drawings: looks, outlines, labels, figures and files."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from bboxqa.core.errors import OutputError
from bboxqa.model.findings import Severity
from bboxqa.report.chart import DASHES, N_TOLD_APART, SERIES, series_style
from bboxqa.report.drawing import (
    Drawing,
    Look,
    Scene,
    Shape,
    draw_shapes,
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
    outlines, keys = shapes_by(of or scene(), by)
    return [(each.look.color, each.label) for each in outlines], [name for name, _ in keys]


def test_annotators_have_colours_and_labels_name_categories():
    drawn, keys = looks("annotator")
    assert drawn == [(SERIES[0], "cat"), (SERIES[1], "dog"), (SERIES[1], "cat")]
    assert keys == ["ann (1)", "bob (2)", "cid (0)"]


def test_categories_have_colours_and_labels_name_annotators():
    drawn, keys = looks("category")
    assert drawn == [(SERIES[0], "ann"), (SERIES[1], "bob"), (SERIES[0], "bob")]
    assert keys == ["cat (2)", "dog (1)"]


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
        figure, _ = scene_figure(scene(), "annotator", side_by_side=True)
    assert [ax.get_title("left") for ax in figure.axes] == [
        "ann: 1 annotation", "bob: 2 annotations", "cid: 0 annotations",
    ]  # fmt: skip
    assert [len(drawn_paths(ax)) for ax in figure.axes] == [1, 2, 0]
    assert [color for color, _ in drawn_paths(figure.axes[1])] == [SERIES[1]] * 2


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
