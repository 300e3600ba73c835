"""What has changed since a result was saved."""

import csv
import json
import shutil

import pytest
from support.cli import run
from support.reference import data_file


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a file, and its result."""
    folder = tmp_path_factory.mktemp("since")
    shutil.copy(data_file("simulated.json"), folder / "export.json")
    shutil.copy(data_file("simulated_reviewed.json"), folder / "reviewed.json")
    measured = run("agree", "export.json", "--out", "result", "--bootstrap", "0", cwd=folder)
    assert measured.returncode == 0
    return folder


def since(folder, file, *more):
    outcome = run("agree", file, "--since", "result", "-q", *more, cwd=folder)
    return outcome.returncode, outcome.stdout.partition("Since result\n")[2] or outcome.stderr


def rows(text):
    """Return the second word of each row, by the words before it."""
    pairs = (line.strip().rsplit("  ", 1)[0].partition("  ") for line in text.splitlines())
    return {name: rest.split()[0] if rest.split() else "" for name, _, rest in pairs}


def test_the_files_of_before_are_compared(saved):
    code, text = since(saved, "reviewed.json")
    assert code == 0
    found = rows(text)
    # As `bboxqa compare` counts them: docs/compare.md.
    assert [found[each] for each in ("moved", "renamed", "removed", "added")] == [
        "31",
        "16",
        "16",
        "15",
    ]
    assert "alpha, pooled, IoU 0.5" in text


def test_ids_tell_annotations_apart_where_the_file_was_replaced(saved, tmp_path):
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    shutil.copy(saved / "reviewed.json", tmp_path / "export.json")
    _, text = since(tmp_path, "export.json")
    lines = [line.split() for line in text.splitlines()]
    # One category has another name in all annotations, which renames none of them.
    assert ["renamed", "16"] in lines
    assert ["removed", "16"] in lines
    assert ["added", "15"] in lines
    assert ["alpha,", "pooled,", "IoU", "0.5", "0.6194", "0.6986", "+0.0792"] in lines
    assert "export.json has changed since it was measured" in text


def test_settings_are_those_of_the_result(saved):
    code, text = since(saved, "reviewed.json", "--iou", "0.6")
    assert code == 2
    assert "--iou is 0.6, but 0.5 in the result to compare with" in text


def test_json_has_what_changed(saved):
    outcome = run(
        "agree", "reviewed.json", "--since", "result", "--format", "json", cwd=saved
    )  # fmt: skip
    found = json.loads(outcome.stdout)["since"]
    alpha = found["figures"][0]
    assert alpha["name"] == "alpha, pooled, IoU 0.5"
    assert alpha["difference"] == pytest.approx(alpha["now"] - alpha["before"])
    assert found["comparison"]["changes"]


def test_units_name_annotations_as_the_review_does(tmp_path):
    boxes = '<box label="cat" xtl="1" ytl="1" xbr="{}" ybr="20"></box>\n'
    for who, right in (("ann", 20), ("bob", 60)):
        (tmp_path / f"{who}.xml").write_text(
            "<annotations><version>1.1</version>\n"
            f'<image id="0" name="a.jpg" width="90" height="90">\n{boxes.format(right)}</image>'
            "</annotations>"
        )
    out = tmp_path / "out"
    run("agree", tmp_path / "ann.xml", tmp_path / "bob.xml", "--diagnose", "--out", out)
    with (out / "units.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert {row["annotation"] for row in rows} == {"ann.xml:3", "bob.xml:3", ""}
    (image,) = json.loads((out / "worst_images.json").read_bytes())["images"]
    assert {each["annotation"] for each in image["shapes"]} == {"ann.xml:3", "bob.xml:3"}
