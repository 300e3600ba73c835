"""What a user of `bboxqa compare` reads, and what it writes."""

import csv
import json
import shutil

import jsonschema
import pytest
from support.cli import run
from support.datasets import annotation, document, write
from support.reference import data_file

from bboxqa.report.comparison import comparison_schema

TABLES = {
    "alpha_categories.csv", "alpha_images.csv", "annotators.csv", "categories.csv", "changes.csv",
    "images.csv", "renames.csv",
}  # fmt: skip
# Behind what docs/compare.md shows.
TABLES_SHOWN = """\
Renamed annotations
 category_before  category_after  n_annotations
 person           car                         8
 bicycle          car                         4
 person           bicycle                     4

Images, most changed
 image          n_before  n_after  n_unchanged  n_moved  n_renamed  n_removed  n_added
 street_44.jpg         7        8            4        0          1          2        3
 street_57.jpg         7        6            2        1          3          1        0
 street_23.jpg         4        5            2        1          0          1        2
 street_12.jpg         6        6            3        2          1          0        0
 street_20.jpg         4        4            2        1          0          1        1
 … and 30 more rows (in images.csv of --out DIR)

Categories, most changed
 category             n_before  n_after  n_unchanged  n_moved  n_renamed_from  n_renamed_to  n_removed  n_added
 bicycle                   102       99           77       14               4             4          7        4
 car                        69       85           59        5               0            12          5        9
 person → pedestrian        93       79           65       12              12             0          4        2

Annotators, most changed
 annotator  n_before  n_after  n_unchanged  n_moved  n_renamed  n_removed  n_added
 cid              84       86           56       15          9          4        6
 ann              92       90           70        9          6          7        5
 bob              88       87           75        7          1          5        4

Alpha by category, largest differences at IoU 0.5
 category    alpha_before  alpha_after  difference      low    high
 pedestrian        0.6935       0.7900      0.0965  -0.0224  0.2231
 bicycle           0.7517       0.7987      0.0470  -0.0624  0.1795
 car               0.6735       0.6772      0.0037  -0.0985  0.1279
"""  # noqa: E501 - as it is printed


@pytest.fixture
def folder(tmp_path):
    shutil.copy(data_file("simulated.json"), tmp_path / "before.json")
    shutil.copy(data_file("simulated_reviewed.json"), tmp_path / "after.json")
    return tmp_path


def compared(folder, *options):
    return run("compare", "before.json", "after.json", *options, cwd=folder)


def test_tables_follow_the_answer(folder):
    done = compared(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.partition("\n\nRenamed")[2] == TABLES_SHOWN.removeprefix("Renamed")


def test_json_and_files_say_the_same(folder):
    done = compared(folder, "--format", "json", "--out", "out")
    assert done.stderr == "Written: out\n"
    out = folder / "out"
    assert {file.name for file in out.iterdir()} == TABLES | {"summary.json", "manifest.json"}
    found = json.loads(done.stdout)
    assert json.loads((out / "summary.json").read_text("utf-8")) == found
    assert found["changes"] == {
        "unchanged": 201, "moved": 31, "renamed": 16, "moved_and_renamed": 0,
        "crowd_flag_changed": 0, "removed": 16, "added": 15,
    }  # fmt: skip
    assert found["images"] == {
        "n_both": 59, "renamed": [], "removed": ["street_60.jpg"], "added": ["street_61.jpg"]
    }  # fmt: skip
    assert found["matched_by"] == "id"
    (part,) = found["thresholds"]
    pooled = part["pooled"]
    assert pooled["difference"] == pytest.approx(pooled["after"] - pooled["before"])
    low, high = pooled["interval"]
    assert low < pooled["difference"] < high
    with (out / "changes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 31 + 16 + 16 + 15
    assert {row["change"] for row in rows} == {"moved", "renamed", "removed", "added"}
    with (out / "alpha_images.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file))[:2] == ["iou_threshold", "image"]
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert [source["name"] for source in manifest["inputs"]] == ["before.json", "after.json"]


def test_json_is_what_the_schema_says(folder):
    jsonschema.Draft202012Validator.check_schema(comparison_schema())
    text = (folder / "after.json").read_text("utf-8")
    write(folder / "renamed.json", json.loads(text.replace("street_", "road_")))
    alone = document([annotation(1, iscrowd=1)], json.loads(text)["images"][:1])
    write(folder / "alone.json", alone)
    for second in ("before.json", "after.json", "renamed.json", "alone.json"):
        done = run(
            "compare", "before.json", second, "--bootstrap", 40, "--format", "json", cwd=folder
        )
        jsonschema.validate(json.loads(done.stdout), comparison_schema())


@pytest.mark.parametrize(("lowest", "code"), [(0.65, 0), (0.72, 1)])
def test_the_gate_is_the_alpha_of_all_images_after(folder, lowest, code):
    assert compared(folder, "--min-alpha", lowest, "--bootstrap", 0).returncode == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["before.json"], "Missing argument 'AFTER'"),
        (["before.json", "no.json"], "no.json"),
        (["before.json", "after.json", "--iou", 2], "--iou is 2; expected more than 0"),
        (["before.json", "after.json", "--similarity", "box"], "did you mean 'bbox'"),
        (
            ["before.json", "after.json", "--annotator-key", "who"],
            "no annotation has the key 'who'",
        ),
    ],
)
def test_what_cannot_be_compared(folder, arguments, message):
    done = run("compare", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
