"""Tables that bboxqa writes, given to bboxqa stats."""

import csv
import json

import numpy as np
import pytest
from support.cli import run
from support.datasets import dataset, document, image, object_rows, write

import bboxqa
from bboxqa import stats
from bboxqa.core.errors import DatasetError
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


def test_thresholds_are_not_mixed(folder):
    with pytest.raises(DatasetError, match=r"holds units at 2 thresholds, 0.5, 0.7; expected one"):
        read_ratings(folder / "units.csv", by="image")


def test_other_columns_of_units_are_read_as_asked(folder):
    found = read_ratings(folder / "units.csv", value="state", by="iou_threshold")
    assert {ratings.value_names for ratings in found.values()} == {("drawn", "missing")}


@pytest.mark.parametrize(
    ("name", "what"),
    [("images", "of images"), ("pairs", "of pairs of annotators"), ("categories", "of categories")],
)
def test_tables_of_results_are_no_ratings(folder, name, what):
    for options in ((), ("--layout", "units-x-raters"), ("--layout", "counts")):
        result = run("stats", folder / f"{name}.csv", *options)
        assert result.returncode == 2
        assert f"is a table {what}, {name}.csv of bboxqa agree; expected ratings" in result.stderr
        assert "Ratings are in units.csv" in result.stderr


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory):
    """Write all tables of diagnoses: of boxes with times and a reference, and of rotated boxes."""
    top = tmp_path_factory.mktemp("diagnosed")
    data = write(top / "data.json", timed(0))
    gold = write(top / "gold.json", timed(0, only="r0"))
    after = write(top / "after.json", timed(2))
    plain = ("--bootstrap", 40, "--diagnose")
    options = (*plain, "--time-key", "at", "--reference", gold)
    assert run("agree", data, *options, "--out", top / "boxes").returncode == 0
    turned = (*plain, "--similarity", "obb", "--out", top / "turned")
    assert run("agree", data, *turned).returncode == 0
    assert run("compare", data, after, "--bootstrap", 40, "--out", top / "changes").returncode == 0
    return top


def timed(shift, only=None):
    """Return annotations with a time and an angle; the boxes of r1 are moved by `shift`."""
    records = [
        {
            "id": n, "image_id": i, "category_id": c, "annotator": f"r{a}",
            "bbox": [b[0] + shift * (a == 1), *b[1:]], "attributes": {"rotation": 10 + n % 7},
            "at": f"2024-05-0{1 + i % 3}T10:{n % 60:02}:00",
        }
        for n, (i, a, c, b) in enumerate(rows())
        if only in (None, f"r{a}")
    ]  # fmt: skip
    categories = [{"id": k, "name": f"c{k}", "supercategory": "all"} for k in range(3)]
    return document(records, [image(i) for i in range(20)], categories)


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


class Header(tuple):  # noqa: SLOT001
    """A header that counts how often it is read."""

    n_read = 0

    def __iter__(self):
        Header.n_read += 1
        return super().__iter__()
