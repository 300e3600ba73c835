"""What has changed since a result was saved."""

import json
import re
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
    assert "export.json has changed since it was measured. To see what changed in" in text


def test_settings_are_those_of_the_result(saved, tmp_path):
    code, text = since(saved, "reviewed.json", "--iou", "0.6")
    assert code == 0
    assert "IoU 0.6" in text
    shutil.copytree(saved / "result", tmp_path / "result")
    path = tmp_path / "result/manifest.json"
    path.write_text(path.read_text().replace('"export.json"', '"gone.json"'))
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
    assert "export.json, which was measured, no longer exists" in refused.stderr


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
    drawn = {"ann": [*alike, 1, 1], "bob": [*alike, 2]}
    who = [
        (name, box, category)
        for name, categories in drawn.items()
        for box, category in zip(boxes, categories, strict=False)
    ]
    annotations = [
        {"id": number, "image_id": 1, "category_id": category, "bbox": box, "area": 1600,
         "iscrowd": 0, "annotator": name}
        for number, (name, box, category) in enumerate(who, 1)
    ]  # fmt: skip
    image = {"id": 1, "file_name": "a.jpg", "width": 400, "height": 300}
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    whole = {"images": [image], "annotations": annotations, "categories": categories}
    (folder / "export.json").write_text(json.dumps(whole))
    assert run("agree", "export.json", "--out", "result", cwd=folder).returncode == 0
    for name, to in (("cvat", "cvat"), ("tasks.json", "label-studio")):
        done = run("convert", "result/review.json", name, "--to", to, cwd=folder)
        assert done.returncode == 0
    return folder


@pytest.mark.parametrize("file", ["cvat", "tasks.json"])
def test_a_queue_without_changes_has_none(queue, file):
    done = run("compare", "result/review.json", file, cwd=queue)
    assert changes(done.stdout) == {"unchanged": 3}


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
