"""The notebooks of the documentation run, and show what they say."""

import ast
import json
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from bboxqa.report.plots import Plots

DOCS = Path(__file__).parents[1] / "docs"
CHARTS, DOORS = (
    json.loads((DOCS / name).read_text("utf-8")) for name in ("notebook.ipynb", "three_doors.ipynb")
)


def code_of(notebook):
    return ["".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == "code"]


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
    html = [shown(cell, names) for cell in code_of(CHARTS)]
    new = [number for number in plt.get_fignums() if number not in before]
    axes = [ax for number in new for ax in plt.figure(number).axes]
    # The only bold text of a chart.
    titles = [each.get_text() for ax in axes for each in ax.texts if each.get_weight() == "bold"]
    for number in new:
        plt.close(number)
    return html, titles, names


def test_the_notebook_runs_and_shows_what_it_says(ran, tmp_path):
    html, titles, names = ran
    data, report, result, story, review = (each for each in html if each)
    assert "30 images, 3 annotators" in data
    assert "Nothing found: " in report
    assert "Alpha of 3 annotators" in result
    assert "p03 misses" in story
    assert "p03 calls cow sheep" in story
    assert review.count("<tr>") == 6
    assert titles == [
        "Objects by kind of disagreement", "F1 of pairs of annotators",
        "Offsets of edges in pixels", "Confusion of categories", "Alpha of categories",
        "Agreement by threshold", *["Offsets of edges in pixels"] * 2,
    ]  # fmt: skip
    assert names["result"].n_annotators == 3
    assert (tmp_path / "offsets.pdf").stat().st_size > 5000


def test_three_doors_run_and_show_what_they_say(capsys):
    assert len(DOORS["cells"]) == 10
    before, names = set(plt.get_fignums()), {}
    found, agreement, categories, suspects = filter(
        None, [shown(cell, names) for cell in code_of(DOORS)]
    )
    for number in set(plt.get_fignums()) - before:
        plt.close(number)
    assert "bbox width is -20" in found
    assert "3 annotators" in agreement
    story = capsys.readouterr().out
    assert "cid misses" in story
    assert "cid calls sheep cow" in story
    assert categories.count("<tr") == 4
    assert suspects.count("<td>missing</td>") == 5


def test_the_notebooks_have_no_outputs_and_show_every_chart():
    assert all(not each.get("outputs") for each in CHARTS["cells"] + DOORS["cells"])
    charts = {name for name in vars(Plots) if not name.startswith("_")} - {"intervals"}
    assert all(f"result.plot.{name}(" in "\n".join(code_of(CHARTS)) for name in charts)
