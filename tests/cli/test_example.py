"""What a user of `bboxqa example` reads and gets."""

import re

import pytest
from support.cli import run

from bboxqa.cli.example import example
from bboxqa.examples.write_example import EXAMPLES


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
    assert "is not empty; name another folder, or add --force" in third.stderr


def test_help_names_all_examples():
    (name,) = (each for each in example.params if each.name == "name")
    assert set(name.type.choices) == EXAMPLES.keys()
    (listed,) = re.findall(r"NAME is (.+)\.$", example.help, re.MULTILINE)
    assert set(re.split(", | or ", listed)) == EXAMPLES.keys()


def test_an_unknown_example_names_the_known_ones(tmp_path):
    done = run("example", "fruit", cwd=tmp_path)
    assert done.returncode == 2
    assert "'fruits', 'smiling_fruits', 'landscape', 'matching', 'iou', 'krippendorff'" in (
        done.stderr
    )
