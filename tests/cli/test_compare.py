"""What a user of `bboxqa compare` reads and writes, of files and of a saved result."""

import json
import re
import shutil

import jsonschema
import pytest
from support.cli import run
from support.datasets import annotation, csv_rows, document, document_of, write
from support.reference import data_file

from bboxqa.report.agreement_summary import schema

TABLES = {
    "alpha_categories.csv", "alpha_images.csv", "annotators.csv", "categories.csv", "changes.csv",
    "images.csv", "renames.csv",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    shutil.copy(data_file("simulated.json"), tmp_path / "before.json")
    shutil.copy(data_file("simulated_reviewed.json"), tmp_path / "after.json")
    return tmp_path


def compared(folder, *options):
    return run("compare", "before.json", "after.json", *options, cwd=folder)


@pytest.mark.parametrize(
    ("before", "after", "options", "answer"),
    [
        ("before", "after", (), "Existence rose: +0.02 [0.01, 0.05]; alpha rose: +0.07 [0.00, "),
        ("after", "before", (), "Existence fell: -0.02 [-0.05, -0.01]; alpha fell: -0.07 [-0."),
        ("before", "after", ("--bootstrap", "0"), "Existence rose: +0.02; alpha rose: +0.07; 47 "),
        ("before", "before", (), "0 annotations changed, 0 removed, 0 added"),
    ],
)
def test_the_answer_is_first(folder, before, after, options, answer):
    done = run("compare", f"{before}.json", f"{after}.json", *options, cwd=folder)
    assert done.stdout.splitlines()[5].startswith(answer)


def test_equal_versions_are_said_to_be_unchanged(folder):
    done = run("compare", "before.json", "before.json", cwd=folder)
    assert " Annotations: 264 in both, all unchanged" in done.stdout.splitlines()


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
    rows = csv_rows(out / "changes.csv")
    assert len(rows) == 31 + 16 + 16 + 15
    assert {row["change"] for row in rows} == {"moved", "renamed", "removed", "added"}
    assert [*csv_rows(out / "alpha_images.csv")[0]][:2] == ["iou_threshold", "image"]
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert [source["name"] for source in manifest["inputs"]] == ["before.json", "after.json"]


def test_json_is_what_the_schema_says(folder):
    jsonschema.Draft202012Validator.check_schema(schema("comparison"))
    text = (folder / "after.json").read_text("utf-8")
    alone = document([annotation(1, iscrowd=1)], json.loads(text)["images"][:1])
    write(folder / "alone.json", alone)
    for second in ("before.json", "after.json", "alone.json"):
        done = run(
            "compare", "before.json", second, "--bootstrap", 40, "--format", "json", cwd=folder
        )
        jsonschema.validate(json.loads(done.stdout), schema("comparison"))


@pytest.mark.parametrize(("lowest", "code"), [(0.65, 0), (0.72, 1)])
def test_the_gate_is_the_alpha_of_all_images_after(folder, lowest, code):
    assert compared(folder, "--min-alpha", lowest, "--bootstrap", 0).returncode == code


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
    outcome = run("compare", "result", file, "-q", *more, cwd=folder)
    return outcome.returncode, outcome.stdout or outcome.stderr


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
    expected = run("compare", "export.json", "reviewed.json", "-q", "--bootstrap", "0", cwd=saved)
    assert text == expected.stdout


def test_the_option_of_agree_says_what_to_type(saved):
    done = run("agree", "reviewed.json", "--since", "result", cwd=saved)
    assert done.returncode == 2
    assert "type `bboxqa compare result AFTER`" in done.stderr


def test_figures_are_compared_where_the_file_was_replaced(saved, tmp_path):
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    shutil.copy(saved / "reviewed.json", tmp_path / "export.json")
    _, text = since(tmp_path, "export.json")
    lines = [line.split() for line in text.splitlines()]
    assert "264 annotations before, 263 now" in text
    assert ["alpha,", "pooled,", "IoU", "0.5", "0.6194", "0.6986", "+0.0792"] in lines
    assert "the measured files are gone or have changed, or predictions were measured" in text


def test_settings_are_those_of_the_result(saved, tmp_path):
    code, text = since(saved, "reviewed.json", "--iou", "0.6")
    assert code == 0
    assert "IoU 0.6" in text
    shutil.copytree(saved / "result", tmp_path / "result")
    path = tmp_path / "result/manifest.json"
    content = json.loads(path.read_text().replace('"export.json"', '"gone.json"'))
    # Results of other versions have fewer settings.
    del content["settings"]["sigmas"]
    path.write_text(json.dumps(content))
    assert since(tmp_path, saved / "reviewed.json")[0] == 0
    code, text = since(tmp_path, saved / "reviewed.json", "--iou", "0.6")
    assert code == 2
    assert "--iou is 0.6, but 0.5 in the result to compare with" in text


def test_json_has_what_changed(saved, tmp_path):
    outcome = run("compare", "result", "reviewed.json", "--format", "json", cwd=saved)
    assert json.loads(outcome.stdout)["changes"]["moved"] == 31
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    (tmp_path / "export.json").unlink()
    outcome = run("compare", "result", "reviewed.json", "--format", "json", cwd=tmp_path)
    found = json.loads(outcome.stdout)
    alpha = found["figures"][0]
    assert alpha["name"] == "alpha, pooled, IoU 0.5"
    assert alpha["difference"] == pytest.approx(alpha["now"] - alpha["before"])
    assert found["annotations_by_id"] is None
    refused = run("compare", "result", "reviewed.json", "--out", "made", cwd=tmp_path)
    assert refused.returncode == 2
    assert "the measured files are gone or have changed" in refused.stderr


def changes(text):
    """Return the numbers of changes that are not 0."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    kinds = ("unchanged", "moved", "renamed", "moved and renamed", "removed", "added")
    return {name: int(more[0]) for name, *more in cells if name in kinds and more[0] != "0"}


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    """A folder with the result of two annotators, and its review queue for CVAT and Label Studio.

    Both have drawn five cats and five dogs alike. Ann has two more cats: one is a dog to Bob.
    """
    folder = tmp_path_factory.mktemp("queue")
    boxes = [[60 * (place % 5), 60 * (place // 5), 40, 40] for place in range(12)]
    alike = [1, 2] * 5
    rows = [
        (1, name, category, box)
        for name, categories in (("ann", [*alike, 1, 1]), ("bob", [*alike, 2]))
        for box, category in zip(boxes, categories, strict=False)
    ]
    content = document_of(rows, ["a.jpg"], ("cat", "dog"), size=(400, 300))
    write(folder / "export.json", content)
    assert run("agree", "export.json", "--out", "result", cwd=folder).returncode == 0
    for name, to in (("cvat", "cvat"), ("tasks.json", "label-studio")):
        done = run("convert", "result/review.json", name, "--to", to, cwd=folder)
        assert done.returncode == 0
    return folder


@pytest.mark.parametrize("file", ["cvat", "tasks.json"])
def test_a_queue_without_changes_has_none(queue, file):
    done = run("compare", "result/review.json", file, cwd=queue)
    assert " Annotations: 3 in both, all unchanged" in done.stdout.splitlines()


def accepted(prediction):
    """Return the annotation that Label Studio makes of an accepted prediction."""
    regions = [each | {"origin": "prediction"} for each in prediction["result"]]
    who = {"id": len(prediction["model_version"]), "email": prediction["model_version"]}
    return {"completed_by": who, "was_cancelled": False, "result": regions, "parent_prediction": 5}


@pytest.mark.parametrize("kept", [True, False], ids=["with predictions", "without"])
def test_accepted_annotations_of_a_queue_are_no_work_of_machines(queue, tmp_path, kept):
    shutil.copytree(queue, tmp_path, dirs_exist_ok=True)
    options = ("--to", "label-studio", "--as-predictions")
    assert run("convert", "result/review.json", "p.json", *options, cwd=tmp_path).returncode == 0
    [task] = json.loads((tmp_path / "p.json").read_text())
    task["annotations"] = [accepted(each) for each in task["predictions"]]
    works = {each["completed_by"]["email"]: each for each in task["annotations"]}
    works["bob"]["result"][0]["value"]["rectanglelabels"] = ["cat"]
    if not kept:
        task["predictions"] = []
    (tmp_path / "p.json").write_text(json.dumps([task]))
    text = run("compare", "result/review.json", "p.json", cwd=tmp_path).stdout
    assert changes(text) == {"unchanged": 2, "renamed": 1}
    for untrue in ("machine", " is a model", "had annotated the task before"):
        assert untrue not in text
