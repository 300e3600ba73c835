"""What a user of `bboxqa example` reads and gets."""

import re

import pytest
from support.cli import run

from bboxqa.cli.simulate import example
from bboxqa.examples.lessons import EXAMPLES


@pytest.mark.parametrize("name", ["fruits", "krippendorff"])
def test_an_example_is_walked_through_and_written(name, tmp_path):
    done = run("example", name, cwd=tmp_path)
    assert done.returncode == 0
    assert "agrees" in done.stdout
    assert "DIFFERS" not in done.stdout
    folder = tmp_path / f"bboxqa-example-{name}"
    assert (folder / f"{name}.txt").read_text() in done.stdout + "\n"
    again = run("example", name, cwd=tmp_path)
    assert again.returncode == 0
    shown = [line for line in done.stdout.splitlines() if not line.startswith("Written: ")]
    assert again.stdout.splitlines() == [*shown, f"Already there: {folder.name}"]
    (folder / f"{name}.txt").write_text("mine")
    third = run("example", name, cwd=tmp_path)
    assert third.returncode == 2
    assert third.stderr == (
        f"Error: {folder.name}/{name}.txt: is another file; name another folder with --out, or "
        "add --force\n"
    )
    assert third.stdout == "".join(f"{line}\n" for line in shown)
    assert run("example", name, "--force", cwd=tmp_path).returncode == 0
    assert (folder / f"{name}.txt").read_text() in done.stdout + "\n"


def test_files_that_are_not_of_the_example_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert run("example", "fruits", "--out", tmp_path).returncode == 0
    (tmp_path / "fruits.json").unlink()
    again = run("example", "fruits", "--out", tmp_path)
    assert again.stdout.splitlines()[-1] == f"Written: {tmp_path / 'fruits.json'}"
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_help_names_all_examples():
    (name,) = (each for each in example.params if each.name == "name")
    assert set(name.type.choices) == EXAMPLES.keys()
    (listed,) = re.findall(r"NAME is (.+)\.$", example.help, re.MULTILINE)
    assert set(re.split(", | or ", listed)) == EXAMPLES.keys()
