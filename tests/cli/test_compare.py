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
TABLES_SHOWN = [
    "Renamed annotations",
    "Images, most changed",
    "Categories, most changed",
    "Annotators, most changed",
    "Alpha by category, largest differences at IoU 0.5",
]


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
    blocks = done.stdout.split("\n\n")[-5:]
    assert [block.splitlines()[0] for block in blocks] == TABLES_SHOWN
    rows = {line.split("  ")[0].strip(): line.split() for line in done.stdout.splitlines()}
    assert rows["street_44.jpg"][1:] == ["7", "8", "4", "0", "1", "2", "3"]
    assert rows["person → pedestrian"][3:] == ["93", "79", "65", "12", "12", "0", "4", "2"]
    assert rows["cid"][1:] == ["84", "86", "56", "15", "9", "4", "6"]
    assert rows["pedestrian"][1:] == ["0.6935", "0.7900", "0.0965", "-0.0224", "0.2231"]
    assert " … and 30 more rows (in images.csv of --out DIR)" in blocks[1]


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
