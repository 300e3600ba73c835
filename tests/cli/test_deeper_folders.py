"""The folders of people, of whom one has labels in a deeper folder."""

import json

import pytest
from support.cli import run

PEOPLE = ("ada lovelace", "grace hopper", "linus torvald")
COMMANDS = {
    "agree": ("--bootstrap", "0", "--out", "OUT/result", "--report", "OUT/page.html"),
    "plan": ("--target-width", "0.1"),
    "convert": ("OUT/all.json", "--to", "coco", "--lossy"),
    "draw": ("--image", "0.jpg", "--out", "OUT/drawn.svg"),
    "validate": ("--report", "OUT/page.html", "--verbose"),
}


@pytest.fixture
def folder(tmp_path):
    """Return a folder of labels of YOLO, those of the last person one folder deeper."""
    for place, inner in enumerate((*PEOPLE[:2], f"{PEOPLE[2]}/export")):
        labels = tmp_path / "in" / inner / "labels"
        labels.mkdir(parents=True)
        (labels.parent / "data.yaml").write_text("names: [cat, dog]\n")
        for image in range(9):
            label = f"{(image + place * (image == 3)) % 2} 0.5 0.5 0.2 0.2\n"
            (labels / f"{image}.txt").write_text(label)
    return tmp_path / "in"


@pytest.mark.parametrize("command", COMMANDS)
def test_everybody_has_a_pseudonym(command, folder, tmp_path):
    out, key = tmp_path / "out", tmp_path / "key.json"
    out.mkdir()
    arguments = [each.replace("OUT/", f"{out}/") for each in COMMANDS[command]]
    size = () if command == "validate" else ("--image-size", "100x100")
    outcome = run(command, folder, *arguments, *size, "--pseudonyms", key)
    assert outcome.returncode < 2, outcome.stderr
    assert json.loads(key.read_bytes()).keys() - {"(this key)"} == {*PEOPLE}
    texts = [path.read_text() for path in out.rglob("*") if path.is_file()]
    assert not [name for name in PEOPLE for text in (*texts, outcome.output) if name in text]
    if command == "validate":
        given = json.loads(key.read_bytes())
        assert f"/{given[PEOPLE[2]]}/export:" in outcome.stdout


def test_all_are_measured(folder):
    outcome = run("agree", folder, "--image-size", "100x100", "--bootstrap", "0")
    assert "9 images, 3 annotators" in outcome.stdout
    assert "left out" not in outcome.stdout
    assert "linus torvald" in outcome.stdout


def test_given_folders_keep_their_names(folder, tmp_path):
    given = (folder / PEOPLE[0], folder / PEOPLE[2] / "export")
    out = tmp_path / "out"
    run("agree", *given, "--image-size", "100x100", "--bootstrap", "0", "--out", out)
    rows = (out / "annotators.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [PEOPLE[0], "export"]
