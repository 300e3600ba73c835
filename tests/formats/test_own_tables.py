"""Tables that bboxqa writes, given to bboxqa stats."""

import csv
import json

import numpy as np
import pytest
from support.cli import run
from support.datasets import dataset, document, image, object_rows, write

import bboxqa
from bboxqa import stats
from bboxqa.formats.ratings.reader import read_ratings

NOTE = "a missed object has the value (missing), and intervals draw images"


def rows():
    return object_rows(np.random.default_rng(3), n_images=20)


@pytest.fixture
def folder(tmp_path):
    """Write a result with two thresholds; one category is called as a missing rating is."""
    names = {0: "NA", 1: "cat", 2: "dog"}
    records = [
        {"id": n, "image_id": i, "category_id": c, "bbox": b, "annotator": f"r{a}"}
        for n, (i, a, c, b) in enumerate(rows())
    ]
    content = document(
        records,
        [image(i) for i in range(20)],
        [{"id": number, "name": name} for number, name in names.items()],
    )
    data = write(tmp_path / "data.json", content)
    out = tmp_path / "result"
    options = ("--iou", 0.5, "--iou", 0.7, "--bootstrap", 0, "--out", out)
    assert run("agree", data, *options).returncode == 0
    return out


def alphas_of(folder):
    summary = json.loads((folder / "summary.json").read_text())
    return {str(part["iou_threshold"]): part["alpha"] for part in summary["thresholds"]}


def measured(path, *options):
    result = run("stats", path, "--coefficient", "krippendorff_alpha", "--bootstrap", 0,
                 "--format", "json", *options)  # fmt: skip
    assert result.returncode == 0, result.stderr
    return {
        task["task"]: task["coefficients"]["krippendorff_alpha"]["value"]
        for task in json.loads(result.stdout)
    }


@pytest.mark.parametrize(
    "options",
    [(), ("--value", "category"), ("--layout", "units-x-raters"), ("--by", "iou_threshold")],
)
def test_alpha_of_units_is_that_of_agree(folder, options):
    found, expected = measured(folder / "units.csv", *options), alphas_of(folder)
    assert found.keys() == expected.keys()
    for threshold, alpha in expected.items():
        assert found[threshold] == pytest.approx(alpha, abs=1e-12)


def test_one_threshold_is_one_table(folder):
    lines = (folder / "units.csv").read_text().splitlines(keepends=True)
    path = folder / "one.csv"
    path.write_text("".join([lines[0], *(line for line in lines if line.startswith("0.7,"))]))
    found = measured(path)
    assert found == {None: pytest.approx(alphas_of(folder)["0.7"], abs=1e-12)}
    ratings = read_ratings(path)[None]
    images = {row["image"] for row in csv.DictReader(path.read_text().splitlines())}
    assert ratings.data.n_groups == len(images)
    assert NOTE in run("stats", path, "--bootstrap", 0).stdout


@pytest.mark.parametrize("name", ["images", "pairs", "categories"])
def test_tables_of_results_are_no_ratings(folder, name):
    for options in ((), ("--layout", "units-x-raters"), ("--layout", "counts")):
        result = run("stats", folder / f"{name}.csv", *options)
        assert result.returncode == 2
        assert "is a table of results of bboxqa; expected ratings" in result.stderr
        assert "Ratings are in units.csv" in result.stderr


def test_units_as_a_frame():
    result = bboxqa.agree(dataset(rows()), bootstrap=0)
    units = {name: list(column) for name, column in zip(
        result.units.columns, zip(*result.units.rows(), strict=True), strict=True)}  # fmt: skip
    frames = [(units, {}), (result.units.to_pandas(), {"value": "category"})]
    for frame, options in frames:
        ratings = stats.ratings_from_frame(frame, **options)
        found = stats.measure(ratings, ["krippendorff_alpha"], bootstrap=0).coefficients
        assert found["krippendorff_alpha"].value == pytest.approx(result.alpha, abs=1e-12)
        assert ratings.data.n_groups == len(set(units["image"]))
