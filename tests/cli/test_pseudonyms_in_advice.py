"""Pseudonyms are for people only, and commands in advice have the key."""

import json

import pytest
from support.cli import run
from support.converted import document, written
from support.named_people import PEOPLE, broken_file_named_after_a_person

HEAD = "image,annotator,category,x,y,width,height"


@pytest.fixture
def key(tmp_path):
    return tmp_path / "the key.json"


@pytest.mark.parametrize("command", ["validate", "compare"])
def test_annotations_of_nobody_are_by_no_person(command, tmp_path, key):
    files = []
    for who in ("ann", "bob"):
        table = tmp_path / "in" / f"{who}.csv"
        table.parent.mkdir(exist_ok=True)
        table.write_text(f"{HEAD}\na.jpg,,cat,1,2,30,40\nb.jpg,,dog,1,2,30,40\n")
        files.append(table.parent)
    sources = files[:1] if command == "validate" else files
    options = () if command == "validate" else ("--bootstrap", "0")
    outcome = run(command, *sources, "--pseudonyms", key, *options)
    assert outcome.returncode == 0
    assert {*json.loads(key.read_bytes())} == {"ann", "bob"}


@pytest.mark.parametrize(
    "command",
    [
        ("agree", "FILE"),
        ("plan", "FILE", "--target-width", "1"),
        ("draw", "FILE", "--image", "a.jpg", "--out", "x.svg"),
        ("compare", "FILE", "FILE"),
        ("convert", "FILE", "x.json", "--to", "coco"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_in_advice_has_the_key(command, tmp_path, key):
    content = document([("a.jpg", 200, 100, None)], [(0, "ann", 0, [1, 2, 30, 40])])
    content["annotations"][0]["bbox"][2] = None
    file = written(tmp_path / "all.json", content)
    outcome = run(*(file if each == "FILE" else each for each in command), "--pseudonyms", key)
    assert outcome.returncode == 2
    advised = outcome.stderr.rstrip().splitlines()[-1]
    assert advised.endswith(f": bboxqa validate {file} --pseudonyms '{key}'")


def test_advice_to_fix_has_no_key(tmp_path, key):
    images = [(f"{place}.jpg", 200, 100, None) for place in range(10)]
    drawn = [(n, who, 0, [1, 2, 30, 40]) for n in range(10) for who in ("ann", "bob", "bob")]
    outcome = run(
        "agree", written(tmp_path / "all.json", document(images, drawn)), "--pseudonyms", key
    )
    assert f": bboxqa validate {tmp_path / 'all.json'} --fix\n" in outcome.stderr


def test_a_command_in_advice_names_no_path_that_cannot_be_typed(tmp_path, key):
    folder = broken_file_named_after_a_person(tmp_path)
    outcome = run("agree", folder, "--pseudonyms", key)
    known = json.loads(key.read_bytes())
    assert f"{folder}/{known[PEOPLE[1]]}.json" in outcome.stderr
    advised = outcome.stderr.rstrip().splitlines()[-1]
    assert advised.endswith(f": bboxqa validate FILE --pseudonyms '{key}'")


def test_advice_to_fix_a_file_named_after_a_person_names_no_path(tmp_path, key):
    images = [(f"{place}.jpg", 200, 100, None) for place in range(10)]
    drawn = [(n, who, 0, [1, 2, 30, 40]) for n in range(10) for who in ("ann", "bob", "bob")]
    file = written(tmp_path / "bob.json", document(images, drawn))
    outcome = run("agree", file, "--pseudonyms", key)
    assert ": bboxqa validate FILE --fix\n" in outcome.stderr


def test_a_key_named_after_a_person_is_not_shown(tmp_path):
    content = document([("a.jpg", 200, 100, None)], [(0, "ann", 0, [1, 2, 30, 40])])
    content["annotations"][0]["bbox"][2] = None
    file = written(tmp_path / "all.json", content)
    outcome = run("agree", file, "--pseudonyms", tmp_path / "ann.json")
    assert outcome.stderr.rstrip().endswith(f": bboxqa validate {file} --pseudonyms KEY")
