"""`bboxqa batch` as a user meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import cli
from support.datasets import csv_rows, document_of, two_annotators, write

ADVICE = (
    "Expected a folder for each project, with what `bboxqa agree` reads (docs/formats.md); for "
    "masks, a bboxqa.toml with mask in [reading]."
)


@pytest.fixture
def run(tmp_path):
    """Return what runs a batch in a folder, and returns its exit code and its lines."""

    def call(*arguments):
        jobs = () if "--jobs" in arguments else ("--jobs", "1")
        done = cli.run("batch", *arguments, *jobs, cwd=tmp_path)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    return call


def boxes(*shifts):
    """Return a document of two annotators; one of them is off by so much, an image each."""
    rows = [
        (place, who, 1 + place % 2, (x, 10, 20, 20))
        for place, shift in enumerate(shifts, 1)
        for who, x in (("ann", 10), ("bob", 10 + shift))
    ]
    return document_of(rows, len(shifts), ("cat", "dog"), annotators=["ann", "bob"])


@pytest.fixture
def root(tmp_path):
    write(tmp_path / "root/good/x.json", boxes(0, 1, 2, 0, 0))
    write(tmp_path / "root/worse/annotations/x.json", boxes(0, 60, 2, 60, 0, 0))
    return tmp_path / "root"


def test_does_it_once(run, root, tmp_path):
    code, out, err = run("root")
    assert code == 0
    assert out == [
        "2 projects, 0 unchanged; 2 measured, 0 not measured, 0 failed",
        "Written: bboxqa-batch/index.html",
    ]
    # The larger one first.
    assert [line.split(":")[0] for line in err] == ["1/2 worse", "2/2 good"]
    assert err[1].startswith("2/2 good: measured, alpha 1.0000, F1 1.0000, 0 errors")
    assert {path.name for path in (tmp_path / "bboxqa-batch").iterdir()} >= {
        "history.sqlite", "index.html", "projects", "projects.csv", "summary.json",
    }  # fmt: skip
    code, out, err = run("root")
    assert code == 0
    assert out[0].startswith("2 projects, 2 unchanged; 2 measured")
    assert out[-1] == "Written: bboxqa-batch/index.html"
    assert err == []
    assert run("root", "--fresh")[1][0].startswith("2 projects, 0 unchanged;")


def test_one_gate_that_fails_anywhere(run, root, tmp_path):
    code, out, _ = run("root", "--min-alpha", "0.9", "--out", "res ults")
    assert code == 1
    assert out[0].startswith("2 projects, 0 unchanged; 2 measured")
    assert out[1].startswith("  worse: alpha ")
    assert out[1].endswith(", and 0.9 was asked for")
    assert out[-1] == "Written: res ults/index.html"
    table = csv_rows(tmp_path / "res ults/projects.csv")
    passed = {row["project"]: row["passed"] for row in table}
    assert passed == {"good": "True", "worse": "False"}
    # Also when nothing changed since.
    code, out, _ = run("root", "--min-alpha", "0.9", "--out", "res ults")
    assert (code, out[0].split(";")[0]) == (1, "2 projects, 2 unchanged")


def test_what_became_worse(run, root, tmp_path):
    run("root")
    write(root / "good/x.json", boxes(0, 60, 2, 0, 0))
    code, out, _ = run("root")
    assert code == 0
    assert out[0].startswith("2 projects, 1 unchanged")
    assert out[1].startswith("  worse: good: alpha fell from 1.0000 to 0.")
    summary = json.loads((tmp_path / "bboxqa-batch/summary.json").read_text())
    assert [part["project"] for part in summary["worse"]] == ["good", "good"]
    assert [part["what"].split()[0] for part in summary["worse"]] == ["alpha", "F1"]
    assert "Worse than in the last run" in (tmp_path / "bboxqa-batch/index.html").read_text()
    assert len(run("root")[1]) == 2


def test_dry_run(run, root, tmp_path):
    write(root / "worse/bboxqa.toml", "seed = 1\n")
    (root / "worse/images").mkdir()
    write(root / "good/y.json", two_annotators())
    write(root / "good/package.json", {"name": "\x1b[31m"})
    code, out, err = run("root", "--dry-run")
    assert code == 0
    assert out == [
        "good: x.json, y.json",
        "worse: annotations/x.json, images, own settings",
        "2 projects",
    ]
    assert err == ["not annotations: good/package.json"]
    assert {path.name for path in tmp_path.iterdir()} == {"root"}
    assert run("root", "--dry-run", "--pattern", "y*")[1] == ["good: y.json", "1 project"]


def test_log_of_json(run, root):
    write(root / "b\x1b'\"/x.json", '{"images": [')
    for reused in (False, True):
        code, out, err = run("root", "--log-format", "json")
        assert code == 1
        lines = [json.loads(line) for line in err]
        assert [line["done"] for line in lines] == [1, 2, 3]
        assert {line["total"] for line in lines} == {3}
        assert {line["reused"] for line in lines} == {reused}
        found = {line["project"]: line for line in lines}
        assert found.keys() == {"good", "worse", "b\\x1b'\""}
        assert found["good"]["alpha"] == 1
        assert found["b\\x1b'\""]["alpha"] is None
        assert found["b\\x1b'\""]["status"] == "failed"
        assert len(out) == 3


def test_no_project(run, tmp_path):
    write(tmp_path / "root/other.json", "{}")
    code, out, err = run("root")
    assert (code, out) == (2, [])
    assert err == [
        "Error: root: no project below this folder has annotations that are read",
        ADVICE,
    ]


def test_the_command_line_goes_over_the_settings_of_a_project(run, root):
    (root / "worse/bboxqa.toml").write_text("min_alpha = 0.1\n")
    assert run("root", "--min-alpha", "0.99")[0] == 1


def test_no_module_is_taken_from_the_folder_that_the_user_is_in(root, tmp_path):
    for name in ("numpy.py", "multiprocessing.py", "bboxqa/__init__.py"):
        write(tmp_path / name, f"raise SystemExit({name!r} + ' of the user')")
    command = [Path(sys.executable).with_name("bboxqa"), "batch", "root", "--jobs", "2"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "of the user" in done.stdout + done.stderr) == (0, False)
    assert done.stdout.startswith("2 projects, 0 unchanged; 2 measured")
