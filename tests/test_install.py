"""What others install and run: the action, the hooks, the citation, and one version of all."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support.cli import run
from support.datasets import two_annotators, write

import bboxqa

ROOT = Path(__file__).parents[1]
ACTION, _HOOKS, CITATION = (
    yaml.safe_load((ROOT / name).read_text("utf-8"))
    for name in ("action.yml", ".pre-commit-hooks.yaml", "CITATION.cff")
)
HOOKS = {each["id"]: each for each in _HOOKS}


def act(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step of the action, as a runner of GitHub does."""
    given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    step = ACTION["runs"]["steps"][-1]
    values = {
        name: re.sub(r"\$\{\{ inputs\.(\S+) \}\}", lambda found: given[found[1]], text)
        for name, text in step["env"].items()
    }
    program = folder / "temp/bboxqa/bin/bboxqa"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m bboxqa "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, **values, "RUNNER_TEMP": str(folder / "temp")}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="GitHub's runners of Windows have bash")
@pytest.mark.parametrize("files", ["a b.json", "a b.json\n-odd.json\n"])
def test_the_action_marks_lines_and_fails(tmp_path, files):
    broken = two_annotators()
    broken["annotations"][0]["bbox"] = [1, 2, -3, 4]
    for name in filter(None, files.split("\n")):
        write(tmp_path / name, broken)
    done = act(tmp_path, files=files)
    assert done.returncode == 1, done.stderr
    for name in filter(None, files.split("\n")):
        assert f"::error file={name}," in done.stdout


def test_the_action_takes_a_format_and_a_severity(tmp_path):
    write(tmp_path / "a.json", two_annotators())
    done = act(tmp_path, files="a.json", format="json", fail_on="info")
    assert json.loads(done.stdout)["files"][0]["name"] == "a.json"
    severities = {each["severity"] for each in json.loads(done.stdout)["findings"]}
    assert severities <= {"info", "warning"}
    assert done.returncode == 1
    assert act(tmp_path, files="a.json", format="json").returncode == 0


def test_the_action_installs_the_clone_in_which_it_is():
    uses, install, _ = ACTION["runs"]["steps"]
    assert uses["with"]["python-version"] in "\n".join(_project()["classifiers"])
    assert '-m pip install --quiet "$GITHUB_ACTION_PATH"' in install["run"]


@pytest.mark.parametrize(
    ("hook", "to"), [("bboxqa-validate", "voc"), ("bboxqa-validate-folder", "yolo")]
)
def test_hooks_find_what_is_wrong(tmp_path, hook, to):
    write(tmp_path / "a.json", two_annotators())
    assert run("convert", "a.json", "set", "--to", to, "--lossy", cwd=tmp_path).returncode == 0
    files = sorted(path for path in (tmp_path / "set").rglob("*") if path.is_file())
    passed = [] if HOOKS[hook].get("pass_filenames") is False else files
    command = [*shlex.split(HOOKS[hook]["entry"])[1:], *HOOKS[hook].get("args", ()), *passed]
    command += ["--image-size", "100x80"] if to == "yolo" else []
    assert run(*command, cwd=tmp_path / "set").returncode == 0
    kinds = {".txt": "plain-text", ".xml": "xml", ".yaml": "yaml"}
    assert {kinds[path.suffix] for path in files} <= {*HOOKS[hook]["types_or"]}
    target = next(path for path in files if path.suffix == ".xml" or path.parent.name == "labels")
    target.write_text("0 0.5 0.5 nan 0.1\n" if to == "yolo" else "<annotation><object>")
    assert run(*command, cwd=tmp_path / "set").returncode == 1


def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_version_is_in_one_place():
    assert _project()["dynamic"] == ["version"]
    assert "version" not in CITATION
    assert CITATION["authors"] == _project()["authors"]
    texts = {path.name: path.read_text("utf-8") for path in ROOT.glob("bboxqa/**/*.py")}
    assert [name for name, text in texts.items() if "__version__ =" in text] == ["version.py"]
    assert bboxqa.__version__ in texts["version.py"]
