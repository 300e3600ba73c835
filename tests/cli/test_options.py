"""Options that have one name in all commands."""

import re

import click
import pytest
from support.cli import run
from support.datasets import two_annotators, write

from bboxqa.cli import cli


@pytest.mark.parametrize("command", cli.list_commands(None))
def test_help_shows_at_most_twenty_options_and_help_all_the_others(command):
    shown = re.findall(r"^  (-.*?)(?:  |$)", run(command, "--help").stdout, re.MULTILINE)
    assert len(shown) <= 20
    named = {name for each in shown for name in re.findall(r"--[a-z0-9-]+", each)}
    known = {
        each.opts[-1]
        for each in cli.get_command(None, command).params
        if isinstance(each, click.Option) and not each.hidden
    }
    if "--help-all" not in named:
        assert known <= named | {"-q", "-v"}
        return
    every = run(command, "--help-all").stdout
    assert known <= set(re.findall(r"--[a-z0-9-]+", every))
    assert "What is read:" in every


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["plan", "x.json", "--target-width", 0.1, "--bootstrap", 0], "--bootstrap is 0; expected"),
        (["agree", "x.json", "--top", 5], "--top is for --report FILE, which is missing"),
        (["stats", "x.csv", "--coefficient", "alpha"], "--coefficient is 'alpha'; expected one of"),
    ],
)
def test_messages_name_the_option_that_was_typed(typed, message, tmp_path):
    write(tmp_path / "x.json", two_annotators())
    (tmp_path / "x.csv").write_text("unit,annotator,value\n1,a,x\n1,b,x\n")
    done = run(*typed, cwd=tmp_path)
    assert done.returncode == 2
    assert f"Error: {message}" in done.stderr
