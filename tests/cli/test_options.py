"""Options that have one name in all commands."""

import json
import os
import re
from pathlib import Path

import click
import pytest
from support.cli import run
from support.datasets import two_annotators, write
from support.forks import forked

from bboxqa.cli import cli
from bboxqa.core.file_names import folder_problem
from bboxqa.matching import matchers
from bboxqa.rules.registry import RULES


def test_the_version_in_short():
    assert run("-V").stdout == run("--version").stdout != ""


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


@pytest.mark.parametrize(
    ("command", "earlier"),
    [
        ("agree", {"--output", "--filter"}),
        ("batch", {"--output"}),
        ("compare", {"--output", "--filter"}),
        ("stats", {"--output", "--output-format"}),
        ("validate", {"--output", "--output-format"}),
    ],
)
def test_names_of_earlier_versions_are_not_shown(command, earlier):
    shown = set(re.findall(r"--[a-z0-9-]+", run(command, "--help").stdout))
    assert "--out" in shown
    assert not shown & earlier


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_help_shows_at_most_twenty_options_and_help_all_the_others(command):
    shown = re.findall(r"^  (-.*?)(?:  |$)", run(command, "--help").stdout, re.MULTILINE)
    assert len(shown) <= 20
    named = {name for each in shown for name in re.findall(r"--[a-z0-9-]+", each)}
    known = {
        each.opts[-1]
        for each in cli.commands[command].params
        if isinstance(each, click.Option) and not each.hidden
    }
    if "--help-all" not in named:
        assert known <= named | {"-q", "-v"}
        return
    every = run(command, "--help-all").stdout
    assert known <= set(re.findall(r"--[a-z0-9-]+", every))
    assert "What is read:" in every


@pytest.mark.parametrize("option", ["--pattern", "--filter"])
def test_names_in_folders_have_one_option(tmp_path, option):
    write(tmp_path / "in/x.json", two_annotators())
    write(tmp_path / "in/y.json", "broken")
    assert run("agree", "in", option, "x*", cwd=tmp_path).returncode == 0


def test_the_threshold_has_a_name_for_what_is_not_iou(tmp_path):
    write(tmp_path / "x.json", two_annotators())
    one, other = (
        run("agree", "x.json", "--similarity", "centroid", name, 0.7, cwd=tmp_path).stdout
        for name in ("--iou", "--threshold")
    )
    assert one == other
    assert "centroid=0.70" in one
    both = run("agree", "x.json", "--threshold", "0.5", "--iou", "0.5", cwd=tmp_path)
    assert both.returncode == 2
    assert "--threshold is another name of --iou; give one of them" in both.stderr
    for command in (["agree", "x.json"], ["plan", "x.json", "--target-width", "0.1"]):
        wrong = run(*command, "--threshold", "7", cwd=tmp_path)
        assert wrong.returncode == 2
        assert "--threshold" in wrong.stderr
        assert "--iou" not in wrong.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("agree --similarity p", ["polygon", "pixel"]),
        ("agree --matcher ", matchers.names()),
        ("agree --missing i", ["ignore"]),
        ("agree --empty-images s", ["skip"]),
        ("agree --attribution f", ["files"]),
        ("plan --similarity gi", ["giou"]),
        ("stats --coefficient gwet", ["gwet_ac1", "gwet_ac2"]),
        ("validate --ignore B,S01", [f"B,{code}" for code in RULES if code.startswith("S01")]),
        ("validate --min-severity w", ["warning"]),
        ("explain F00", [code for code in RULES if code.startswith("F00")]),
    ],
)
def test_names_are_completed_on_tab(typed, completed, monkeypatch):
    words = f"bboxqa {typed}"
    monkeypatch.setenv("_BBOXQA_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    done = run()
    assert done.stdout.split() == [f"plain,{name}" for name in completed]


def test_settings_are_completed_by_bundled_names_and_files(monkeypatch):
    monkeypatch.setenv("_BBOXQA_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "bboxqa agree --config ka")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert run().stdout.split() == ["plain,kalos", "plain,kalphacv", "file,ka"]


def test_no_option_says_in_its_own_words_that_a_file_cannot_be_read():
    kinds = [
        (name, param.name, param.type)
        for name, command in cli.commands.items()
        for param in command.params
    ]
    of_paths = [each for each in kinds if isinstance(each[2], click.Path)]
    assert len(of_paths) > 20
    assert [each for each in of_paths if each[2].readable] == []


def test_a_link_in_a_circle_is_no_folder_that_can_be_read(tmp_path):
    export = write(tmp_path / "x.json", two_annotators())
    (tmp_path / "circle").symlink_to("circle")
    reason = os.strerror(40)
    done = run("validate", export, "--images", "circle", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"Error: circle: cannot be read: {reason}\n")
    assert folder_problem(Path(export)) == f"{export}: is a file; expected a folder"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="has no such device")
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--image-size", "is a pipe or a device; expected a file"),
        ("--pseudonyms", "is no regular file; expected a key of pseudonyms"),
        ("--config", "has more than 1 MB; expected a file of settings"),
        ("--predictions", "is a pipe or a device of more than 256 MB"),
    ],
)
def test_files_without_an_end_are_not_read_whole(option, message, tmp_path):
    export = write(tmp_path / "x.json", two_annotators())
    done = forked("agree", export, option, "/dev/zero", limits={"RLIMIT_CPU": (20, 21)})
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"Error: /dev/zero: {message}")
    assert done.memory < 1 << 29


def test_a_file_of_sizes_that_does_not_exist_is_no_file(tmp_path):
    export = write(tmp_path / "x.json", two_annotators())
    done = run("agree", export, "--image-size", "sizes.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "--image-size is 'sizes.csv', which is no file; expected such as 1920x" in done.stderr


def test_a_folder_in_place_of_settings_is_called_a_folder(tmp_path):
    export = write(tmp_path / "x.json", two_annotators())
    done = run("agree", export, "--config", ".", cwd=tmp_path)
    assert done.stderr.startswith("Error: .: is a folder, and none of the settings that come with")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can read everything")
@pytest.mark.parametrize(
    "typed", [("validate", "locked"), ("validate", "x.json", "--images", "locked")]
)
def test_a_locked_folder_is_named_with_the_reason(typed, tmp_path):
    write(tmp_path / "x.json", two_annotators())
    (tmp_path / "locked").mkdir(0o000)
    done = run(*typed, cwd=tmp_path)
    assert done.stderr == "Error: locked: cannot be read: Permission denied\n"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["plan", "x.json", "--target-width", 0.1, "--bootstrap", 0], "--bootstrap is 0; expected"),
        (["agree", "x.json", "--top", 5], "--top is for --report FILE or --out DIR, which are"),
        (["stats", "x.csv", "--coefficient", "alpha"], "--coefficient is 'alpha'; expected one of"),
    ],
)
def test_messages_name_the_option_that_was_typed(typed, message, tmp_path):
    write(tmp_path / "x.json", two_annotators())
    (tmp_path / "x.csv").write_text("unit,annotator,value\n1,a,x\n1,b,x\n")
    done = run(*typed, cwd=tmp_path)
    assert done.returncode == 2
    assert f"Error: {message}" in done.stderr
