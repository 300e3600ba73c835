"""What is said when a command ends early or was typed wrongly, and how it is traced."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.cli import python, run
from support.datasets import write
from support.forks import CLOSED, forked
from support.mutants import clean, text

from bboxqa.cli import cli
from bboxqa.cli.console import exit_code_of
from bboxqa.core.text import count

SIMULATED = Path(__file__).parents[1] / "data/simulated.json"

SIGNALS = pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("INT", 130, "Interrupted"),
        ("TERM", 143, "Ended by SIGTERM"),
        ("HUP", 129, "Ended by SIGHUP"),
    ],
)


def _wrong_type():
    try:
        count(None, "image")
    except TypeError as error:
        return error


# Ends the run at the moment at which a file has been put in place.
_ENDED = """
import os, sys
from pathlib import Path
from signal import SIG{name}
from bboxqa.cli import main

replace = Path.replace

def replace_then_stop(self, target):
    replace(self, target)
    os.kill(os.getpid(), SIG{name})

Path.replace = replace_then_stop
sys.argv = ["bboxqa", "validate", "a.json", "b.json", "--fix"]
main()
"""


def test_convert_without_a_format_says_which_there_are_and_what_to_type():
    error = run("convert", "a b.json", "out").stderr
    assert "Error: --to is missing, one of coco, label-studio, " in error
    assert error.endswith("; try: bboxqa convert 'a b.json' out --to coco\n")
    for name, to in (("m.csv", "csv"), ("m.xml", "cvat"), ("m.txt", "coco")):
        assert f"{name} --to {to}\n" in run("convert", "a.json", name).stderr
    assert "bboxqa convert export.json out.json --to coco" in run("convert").stderr


@SIGNALS
def test_a_signal_leaves_no_hidden_file_and_no_false_word(tmp_path, name, code, words):
    document = clean(0)
    document["annotations"][3]["id"] = 0
    for file in ("a.json", "b.json"):
        (tmp_path / file).write_bytes(text(document))
    done = python(_ENDED.format(name=name), cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.split("\n")[-2] == f"{words}; written before that (1): a.fixed.json"
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.json", "a.fixed.json"}


def test_an_unexpected_error_is_one_line_with_its_place(capsys):
    assert exit_code_of(_wrong_type(), []) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("internal error: TypeError: ")
    assert "(bboxqa/core/text.py:" in line
    assert line.endswith(
        "; please report this line, the command and the version; BBOXQA_DEBUG=1 shows the traceback"
    )


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_debug_switch_shows_the_traceback(monkeypatch, tmp_path, value, shown):
    monkeypatch.setenv("BBOXQA_DEBUG", value)
    done = run("agree", "gone.json", cwd=tmp_path)
    assert done.returncode == 2
    assert ("Traceback (most recent call last):" in done.stderr) == shown
    assert "Error: gone.json: no such file" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's pipe")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("--help", 0), ("--version", 0), ("explain", 0), ("example krippendorff", 0),
        ("validate {good}", 0), ("validate {bad}", 1), ("agree {good} --bootstrap 0", 0),
        ("agree {good} --min-alpha 0.99", 1), ("plan {good} --target-width 0.1", 0),
        ("compare {good} {good} --bootstrap 0", 0), ("stats {table}", 0), ("batch {folder}", 1),
        ("agree", 2),
    ],
)  # fmt: skip
def test_a_reader_that_ends_early_does_not_change_the_exit_code(tmp_path, arguments, code):
    bad = write(tmp_path / "root/x.json", '{"images": [')
    table = write(
        tmp_path / "labels.csv", "unit,annotator,value\n1,ann,a\n1,bob,b\n2,ann,a\n2,bob,a\n"
    )
    paths = {"good": SIMULATED, "bad": bad, "table": table, "folder": bad.parent}
    line = arguments.format(**{name: shlex.quote(str(path)) for name, path in paths.items()})
    done = forked(*shlex.split(line), cwd=tmp_path, stdout=CLOSED, stderr=CLOSED)
    assert done.returncode == code
    if "batch" in line:
        assert (tmp_path / "bboxqa-batch/index.html").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is of Linux")
def test_a_full_disk_behind_standard_output_is_named():
    done = forked("--help", stdout="/dev/full")
    assert (done.returncode, done.stderr) == (2, "Error: output: No space left on device\n")


INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "bboxqa.cli.console":
            os.kill(os.getpid(), signal.SIG{name})
sys.meta_path.insert(0, Interrupting())
from bboxqa.__main__ import main
main()
"""


@SIGNALS
def test_a_signal_while_the_program_is_loaded_has_no_traceback(name, code, words):
    script = INTERRUPTED_IMPORT.replace("{name}", name)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr == f"{words}; nothing was written.\n"


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
        assert run(command, "--help-all").returncode == 0
        return
    every = run(command, "--help-all").stdout
    assert known <= set(re.findall(r"--[a-z0-9-]+", every))
    assert "What is read:" in every
