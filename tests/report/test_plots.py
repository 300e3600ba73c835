"""`result.plot`: the charts of a result, with its figures."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from urllib.parse import unquote

import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import bboxqa
from bboxqa.examples import example_file
from bboxqa.report.charts.plots import Plots

NAMES = [
    "intervals", "category_intervals", "sensitivity", "pair_matrix", "confusion_matrix", "offsets",
    "decomposition", "image_costs",
]  # fmt: skip


def new():
    return Figure().subplots()


@pytest.fixture(scope="module")
def result():
    data = bboxqa.read_coco(example_file("fruits"))
    return bboxqa.agree(data, iou_threshold=[0.55, 0.9], min_alpha=0.8, min_f1=0.7)


def test_each_chart_is_drawn_on_the_axes_given(result):
    assert [name for name in vars(Plots) if not name.startswith("_")] == NAMES
    for name in NAMES:
        ax = new()
        arguments = ("Ann1",) if name == "offsets" else ()
        assert getattr(result.plot, name)(*arguments, ax=ax) is ax
        assert ax.get_title("left") or name == "intervals"


def test_charts_show_the_figures_of_the_first_threshold(result):
    first = result.thresholds[0]
    ax = result.plot.intervals(new())
    assert ax.lines[0].get_xdata() == [first.alpha]
    assert ax.lines[1].get_xdata() == [first.existence.f1]
    assert ax.get_yticklabels()[0].get_text() == "Alpha, pooled\nat least 0.8"
    assert result.plot.sensitivity(new()).lines[-1].get_xdata() == [0.55, 0.55]
    expected = dict(zip(first.categories["category"], first.categories["alpha"], strict=True))
    ax = result.plot.category_intervals(new())
    names = [label.get_text().split()[0] for label in ax.get_yticklabels()]
    drawn = [line.get_xdata()[0] for line in ax.lines]
    assert dict(zip(names, drawn, strict=True)) == expected


def test_pairs_are_in_the_order_of_the_agreement_matrix(result):
    ax = result.plot.pair_matrix(new(), figure="alpha")
    order = result.diagnose().tables["agreement_matrix"]["annotator"].tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert sorted(set(ax.collections[0].get_array())) == sorted(
        set(result.thresholds[0].pairs["alpha"])
    )


def test_the_diagnosis_is_made_once(result):
    assert result.plot is result.plot
    calls = []

    class Counted:
        def diagnosis(self, of):
            calls.append(of)
            return result.diagnoser.diagnosis(of)

    counted = replace(result, diagnoser=Counted())
    for _ in range(2):
        counted.plot.decomposition(new())
        counted.plot.offsets("Ann2", new())
        counted.diagnose()
    assert len(calls) == 1


def test_without_axes_pyplot_shows_the_chart(result):
    before = plt.get_fignums()
    ax = result.plot.decomposition()
    try:
        assert plt.get_fignums() != before
        assert plt.gcf() is ax.figure
    finally:
        plt.close(ax.figure)


def test_names_that_do_not_exist_are_refused(result):
    with pytest.raises(bboxqa.ConfigError, match="annotator is 'Bob'; expected one of Ann1, Ann2"):
        result.plot.confusion_matrix("Bob")
    with pytest.raises(bboxqa.ConfigError, match="figure is 'F1'; expected one of f1, alpha"):
        result.plot.pair_matrix(figure="F1")


def test_of_two_annotators_the_drawing_of_offsets_names_the_other_one():
    errors = {"p01": "jitter=1", "p02": "offset=5,0"}
    simulated = bboxqa.simulate(images=12, annotators=2, errors=errors, seed=2)
    found = bboxqa.agree(bboxqa.read_coco(simulated.document()), bootstrap=50)
    for name, other in (("p01", "p02"), ("p02", "p01")):
        written = [text.get_text() for text in found.plot.offsets(name, new()).texts]
        assert f"dashed: {other}" in written


def test_a_notebook_shows_the_intervals_as_a_picture(result):
    html = result._repr_html_()
    before, _, rest = html.partition('src="data:image/svg+xml,')
    assert before.endswith('<img alt="Agreement with its 95 % intervals" ')
    svg = unquote(rest.partition('"')[0])
    root = ET.fromstring(svg)  # noqa: S314
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Existence: F1" in texts
    assert len(html) < 60_000


def test_only_charts_import_matplotlib():
    script = (
        "import sys, bboxqa\n"
        "from bboxqa.examples import example_file\n"
        "bboxqa.agree(bboxqa.read_coco(example_file('fruits'))).plot\n"
        "bboxqa.validate(example_file('fruits'))\n"
        "print('matplotlib' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.stdout == "False\n", found.stderr
