"""The notebook of the documentation runs, and shows what it says."""

import ast
import json
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from bboxqa.report.charts.plots import Plots

NOTEBOOK = json.loads((Path(__file__).parents[1] / "docs/notebook.ipynb").read_text("utf-8"))
CODE = ["".join(each["source"]) for each in NOTEBOOK["cells"] if each["cell_type"] == "code"]


def shown(cell, names):
    """Run a cell, and return the html of its last line, as a notebook shows it."""
    body = ast.parse(cell).body
    last = body.pop() if isinstance(body[-1], ast.Expr) and not cell.endswith(";") else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    return value._repr_html_() if value is not None else ""


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """The html that each cell shows, and the titles of the figures of pyplot."""
    monkeypatch.chdir(tmp_path)
    before, names = set(plt.get_fignums()), {}
    html = [shown(cell, names) for cell in CODE]
    new = [number for number in plt.get_fignums() if number not in before]
    axes = [ax for number in new for ax in plt.figure(number).axes]
    titles = [ax.get_title("left") for ax in axes if ax.get_label() != "<colorbar>"]
    for number in new:
        plt.close(number)
    return html, titles, names


def test_the_notebook_runs_and_shows_what_it_says(ran, tmp_path):
    html, titles, names = ran
    data, report, result, story, review = (each for each in html if each)
    assert "30 images, 3 annotators" in data
    assert "Nothing found: " in report
    assert 'alt="Agreement with its 95 % intervals"' in result
    assert "p03 misses" in story
    assert "cow and sheep are confused" in story
    assert review.count("<tr>") == 6
    assert titles == [
        "Objects by kind of disagreement", "F1 of pairs of annotators", "p03",
        "Confusion of categories", "Alpha of categories", "Agreement by threshold",
        "What images cost in alpha", "p01", "p03",
    ]  # fmt: skip
    assert names["result"].n_annotators == 3
    assert (tmp_path / "offsets.pdf").stat().st_size > 5000


def test_the_notebook_has_no_outputs_and_shows_every_chart():
    assert all(not each.get("outputs") for each in NOTEBOOK["cells"])
    charts = {name for name in vars(Plots) if not name.startswith("_")} - {"intervals"}
    assert all(f"result.plot.{name}(" in "\n".join(CODE) for name in charts)
