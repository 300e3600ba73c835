"""`bboxqa simulate` as a user meets it."""

import json

import pytest
from support.cli import run

import bboxqa


def test_writes_what_the_function_returns(tmp_path):
    options = ["--images", 20, "--objects", 3, "--categories", "cow,sheep", "--seed", 2]
    options += ["--annotators", "ann,bob", "--annotator", "bob: miss=0.2"]
    found = run("simulate", "--out", "trial.json", *options, cwd=tmp_path)
    assert found.returncode == 0
    expected = bboxqa.simulate(
        images=20, objects=3, categories=["cow", "sheep"], seed=2, annotators=["ann", "bob"],
        errors={"bob": "miss=0.2"},
    )  # fmt: skip
    assert json.loads((tmp_path / "trial.json").read_text("utf-8")) == expected.document()
    truth = json.loads((tmp_path / "trial_truth.json").read_text("utf-8"))
    assert truth["annotations"] == expected.truth()["annotations"]
    assert found.output == (
        f"Written: trial.json: {len(expected)} annotations by 2 annotators\n"
        f"Written: trial_truth.json: {len(expected.scene)} objects\n"
    )


def test_a_truth_of_its_own(tmp_path):
    run("simulate", "--images", 4, cwd=tmp_path)
    found = run("simulate", "--truth", "simulated_truth.json", "--out", "again.json", cwd=tmp_path)
    assert found.returncode == 0
    again, truth = (
        json.loads((tmp_path / name).read_text("utf-8"))
        for name in ("again_truth.json", "simulated_truth.json")
    )
    for document in (again, truth):
        names = {each["id"]: each["name"] for each in document["categories"]}
        for each in document["annotations"]:
            each["category"] = names[each.pop("category_id")]
    assert again["annotations"] == truth["annotations"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "a.json", "--images", 3], "--images is for scenes that are drawn; leave"),
        (["--annotator", "p03: mis=1"], "p03: no error is called 'mis'; did you mean 'miss'?"),
        (["--profiles", "none.toml"], "none.toml: cannot be read"),
        (["--out", "."], ".: is a folder; name a file"),
    ],
)
def test_what_is_wrong_is_said(options, message, tmp_path):
    found = run("simulate", *options, cwd=tmp_path)
    assert found.returncode == 2
    assert message in found.output
    assert list(tmp_path.iterdir()) == []
