"""Options that have one name in all commands."""

import json

import pytest
from support.cli import run
from support.datasets import two_annotators, write


def test_the_version_in_short():
    assert run("-V").stdout == run("--version").stdout != ""


@pytest.mark.parametrize(("size", "hint"), [("500", "500MB"), ("1.5", "1.5MB")])
def test_a_size_without_a_unit_is_refused(tmp_path, size, hint):
    write(tmp_path / "x.json", two_annotators())
    done = run("validate", "x.json", "--memory", size, cwd=tmp_path)
    assert done.returncode == 2
    assert f"'{size}' has no unit; expected such as {hint}" in done.stderr


@pytest.mark.parametrize("option", ["-o", "--out", "--output"])
def test_what_is_written_has_one_option(tmp_path, option):
    write(tmp_path / "x.json", two_annotators())
    assert run("agree", "x.json", option, "made", cwd=tmp_path).returncode == 0
    assert (tmp_path / "made/summary.json").is_file()
    assert run("validate", "x.json", "--exit-zero", option, "found", cwd=tmp_path).returncode == 0
    assert (tmp_path / "found").is_file()


@pytest.mark.parametrize("option", ["--format", "--output-format"])
def test_what_is_printed_has_one_option(tmp_path, option):
    write(tmp_path / "x.json", two_annotators())
    assert "files" in json.loads(run("validate", "x.json", option, "json", cwd=tmp_path).stdout)


@pytest.mark.parametrize("option", ["--pattern", "--filter"])
def test_names_in_folders_have_one_option(tmp_path, option):
    write(tmp_path / "in/x.json", two_annotators())
    write(tmp_path / "in/y.json", "broken")
    assert run("agree", "in", option, "x*", cwd=tmp_path).returncode == 0
