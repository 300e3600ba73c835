"""What is said when a command ends early, and how it is traced."""

import json
import shlex
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.cli import python, run
from support.datasets import annotation, document, image, write
from support.forks import CLOSED, forked
from support.mutants import clean, text

from bboxqa.cli.failures import exit_code_of
from bboxqa.core.interrupts import Interrupted
from bboxqa.core.text import count

SIMULATED = Path(__file__).parents[1] / "data/simulated.json"

# Ends the run when the first mended file has been announced.
_INTERRUPTED = """
import sys
import click

echo = click.echo

def echo_then_stop(message=None, **more):
    echo(message, **more)
    if "\u2192" in message:
        raise KeyboardInterrupt

click.echo = echo_then_stop
from bboxqa.cli import main

sys.argv = ["bboxqa", "validate", "a.json", "b.json", "--fix"]
main()
"""


def _wrong_type():
    try:
        count(None, "image")
    except TypeError as error:
        return error


def test_an_interrupted_fix_names_what_it_wrote(tmp_path):
    document = clean(0)
    document["annotations"][3]["id"] = 0
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(text(document))
    done = python(_INTERRUPTED, cwd=tmp_path)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "Interrupted; written before that (1): a.fixed.json"
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.json", "a.fixed.json"}


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


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("INT", 130, "Interrupted"),
        ("TERM", 143, "Ended by SIGTERM"),
        ("HUP", 129, "Ended by SIGHUP"),
    ],
)
def test_a_signal_leaves_no_hidden_file_and_no_false_word(tmp_path, name, code, words):
    document = clean(0)
    document["annotations"][3]["id"] = 0
    for file in ("a.json", "b.json"):
        (tmp_path / file).write_bytes(text(document))
    done = python(_ENDED.format(name=name), cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.split("\n")[-2] == f"{words}; written before that (1): a.fixed.json"
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.json", "a.fixed.json"}


def test_an_interrupted_change_in_place_names_the_copy(tmp_path):
    document = clean(0)
    document["annotations"][3]["id"] = 0
    (tmp_path / "a.json").write_bytes(text(document))
    script = _ENDED.format(name="INT").replace('"b.json", "--fix"', '"--fix", "--in-place"')
    done = python(script, cwd=tmp_path)
    assert done.returncode == 130
    copy = tmp_path / "a.json.bak"
    assert done.stderr.split("\n")[-2] == f"Interrupted; written before that (1): {copy}"
    assert (tmp_path / "a.json").read_bytes() == text(document)


def test_signals_that_are_ignored_stay_ignored(tmp_path):
    script = (
        "import os, sys, signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "import bboxqa.pipelines.agree_files as agree\n"
        "def hung_up(*_, **__): os.kill(os.getpid(), signal.SIGHUP); raise SystemExit(7)\n"
        "agree.read_for = hung_up\n"
        "from bboxqa.cli import main\n"
        "sys.argv = ['bboxqa', 'agree', 'x.json']\n"
        "main()\n"
    )
    assert python(script, cwd=tmp_path).returncode == 7


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_signal_while_python_ends_does_not_change_the_exit_code(name, tmp_path):
    script = (
        "import atexit, os, signal, sys\n"
        f"atexit.register(os.kill, os.getpid(), signal.SIG{name})\n"
        "from bboxqa.__main__ import main\n"
        "sys.argv = ['bboxqa', '--version']\n"
        "main()\n"
    )
    done = python(script, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_many_written_files_are_counted(capsys, tmp_path):
    assert exit_code_of(KeyboardInterrupt(), [tmp_path / f"{n}.json" for n in range(12)]) == 130
    line = capsys.readouterr().err.strip()
    assert line.startswith("Interrupted; written before that (12): ")
    assert line.endswith("9.json and 2 more")


def test_a_signal_while_a_class_is_created_is_no_internal_error(capsys):
    error = RuntimeError("Error calling __set_name__ on 'property'")
    error.__cause__ = Interrupted(signal.SIGTERM)
    assert exit_code_of(error, []) == 143
    assert capsys.readouterr().err == "Ended by SIGTERM; nothing was written.\n"


def test_an_unexpected_error_is_one_line_with_its_place(capsys):
    assert exit_code_of(_wrong_type(), []) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("internal error: TypeError: ")
    assert "(bboxqa/core/text.py:" in line
    assert line.endswith(
        "; please report this line, the command and the version; BBOXQA_DEBUG=1 shows the traceback"
    )


def test_a_path_in_an_archive_that_is_too_long_is_shortened(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("ann", "bob", "/".join(["n" * 200] * 30), "\x1bc" + "n" * 300):
            archive.writestr(f"{name}.json", SIMULATED.read_bytes())
    done = run("agree", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {path}/")
    assert done.stderr.endswith("nnn.json: File name too long\n")
    assert len(done.stderr) < 500
    assert "\x1b" not in done.stderr


def test_an_unexpected_error_in_a_command(tmp_path):
    (tmp_path / "x.csv").write_text("unit,annotator,value\n1,a,x\n1,b,x\n")
    script = (
        "import sys, msgspec\n"
        "def broken(*_, **__): raise TypeError('cannot be written')\n"
        "msgspec.json.encode = broken\n"
        "from bboxqa.cli import main\n"
        "sys.argv = ['bboxqa', 'stats', 'x.csv', '--format', 'json', '--bootstrap', '0']\n"
        "main()\n"
    )
    done = python(script, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("internal error: TypeError: cannot be written (bboxqa/")


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_debug_switch_shows_the_traceback(monkeypatch, tmp_path, value, shown):
    monkeypatch.setenv("BBOXQA_DEBUG", value)
    done = run("agree", "gone.json", cwd=tmp_path)
    assert done.returncode == 2
    assert ("Traceback (most recent call last):" in done.stderr) == shown
    assert "Error: gone.json: no such file" in done.stderr


def test_the_debug_switch_shows_the_error_behind_the_one_for_users(monkeypatch, tmp_path):
    monkeypatch.setenv("BBOXQA_DEBUG", "1")
    (tmp_path / "wrong.toml").write_text("iou_threshold = ")
    (tmp_path / "x.json").write_text(json.dumps(clean(0)))
    done = run("agree", "x.json", "--config", "wrong.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "tomllib.TOMLDecodeError" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: wrong.toml: is not TOML")


def test_the_debug_switch_shows_nothing_for_wrong_usage(monkeypatch):
    monkeypatch.setenv("BBOXQA_DEBUG", "1")
    assert "Traceback" not in run("agree", "--nope").stderr


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
        if name == "bboxqa.cli.batch":
            os.kill(os.getpid(), signal.SIG{name})
sys.meta_path.insert(0, Interrupting())
from bboxqa.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("INT", 130, "Interrupted"),
        ("TERM", 143, "Ended by SIGTERM"),
        ("HUP", 129, "Ended by SIGHUP"),
    ],
)
def test_a_signal_while_the_program_is_loaded_has_no_traceback(name, code, words):
    script = INTERRUPTED_IMPORT.replace("{name}", name)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr == f"{words}; nothing was written.\n"


@pytest.mark.parametrize(
    ("command", "is_named"),
    [
        (("agree", "in"), True),
        (("convert", "in", "out.json", "--to", "coco"), True),
        (("compare", "in", "in"), False),
        (("draw", "in", "--image", "1.jpg", "--out", "out.svg"), False),
        (("plan", "in", "--target-width", "0.1"), False),
    ],
)
def test_no_option_is_advised_that_a_command_does_not_have(command, is_named, tmp_path):
    for who in ("ann", "bob"):
        # Splits with the same boxes would be copies, of which one is read.
        for left, name in enumerate(("train", "val", "more")):
            drawn = document([annotation(1, bbox=[left, 10, 20, 20])], [image(1)])
            write(tmp_path / f"in/{who}/{name}.json", drawn)
    outcome = run(*command, cwd=tmp_path)
    assert outcome.returncode == 2
    assert "it is not sure who made which" in outcome.stderr
    names = "--annotator NAME=FOLDER --annotator NAME=FILE"
    first = f", and use what this writes: bboxqa convert {names} named.json --to coco"
    advised = f"Name the files of each annotator{f': {names}' if is_named else first}\n"
    last = "If each file is by one annotator nevertheless: --attribution files"
    assert outcome.stderr.endswith(f"\n{advised}{last}\n")
    folders = (f"--annotator={who}={tmp_path}/in/{who}" for who in ("ann", "bob"))
    assert run("convert", *folders, "named.json", "--to", "coco", cwd=tmp_path).returncode == 0
    assert "not sure who" not in run(*command, "--attribution", "files", cwd=tmp_path).stderr
