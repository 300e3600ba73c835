"""Pseudonyms stand in place of annotators in all that is written."""

import json
import stat

import pytest
from support.cli import run
from support.converted import document, written

import bboxqa
from bboxqa import ConfigError, OutputError

PEOPLE = ["ann@example.org", "Bob Mc'Arthur", "7"]


@pytest.fixture
def source(tmp_path):
    """A file in which people are named by keys of several kinds."""
    images = [(f"{place}.jpg", 200, 100, PEOPLE) for place in range(12)]
    drawn = [
        (place, who, (place + (who == "7") * (place < 4)) % 2, [10, 10, 50 - 9 * (who == "7"), 40])
        for place in range(12)
        for who in PEOPLE
        if (place, who) != (5, PEOPLE[1])
    ]
    content = document(images, drawn)
    for each in content["annotations"]:
        who = each["annotator"]
        each["note"] = f"checked by {who}" if who != "7" else "checked"
        each["created_by"] = 7 if who == "7" else who
    return written(tmp_path / "export.json", content)


def names_in(folder):
    """Return the files that hold a name; a number is looked for where annotators stand."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert files
    marks = [name.encode() for name in PEOPLE[:2]] + [
        b'annotator":"7"',
        b'annotator": "7"',
        b'_by":7',
        b">7</username>",
        b" by 7",
    ]
    return [each.name for each in files if any(mark in each.read_bytes() for mark in marks)]


def test_no_output_of_agree_has_a_name(tmp_path, source):
    key = tmp_path / "keys/key.json"
    (tmp_path / "out").mkdir()
    arguments = ("agree", source, "--bootstrap", "0", "--diagnose", "--pseudonyms", key)
    outcome = run(*arguments, "--out", tmp_path / "out/run", "--report", tmp_path / "out/page.html")
    assert outcome.returncode == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    given = json.loads(key.read_bytes())
    assert sorted(given) == sorted(PEOPLE)
    assert sorted(given.values()) == ["person-01", "person-02", "person-03"]
    assert names_in(tmp_path / "out") == []
    assert not any(name in outcome.output for name in PEOPLE[:2])
    assert given[PEOPLE[0]] in outcome.stdout
    # The next run calls everybody the same.
    again = run(*arguments)
    assert json.loads(key.read_bytes()) == given
    assert again.stdout.splitlines()[:8] == outcome.stdout.splitlines()[:8]


def test_converted_records_have_no_name(tmp_path, source):
    key = tmp_path / "key.json"
    (tmp_path / "out").mkdir()
    for to, out in (("coco", "out/all.json"), ("cvat", "out/cvat"), ("csv", "out/all.csv")):
        bboxqa.convert(source, tmp_path / out, to=to, lossy=True, pseudonyms=key)
    assert names_in(tmp_path / "out") == []
    people = sorted(json.loads(key.read_bytes()).values())
    assert sorted(each.stem for each in (tmp_path / "out/cvat").iterdir()) == people


def test_pages_of_saved_results_have_no_name(tmp_path, source):
    key = tmp_path / "key.json"
    two = json.loads(source.read_bytes())
    for each in two["images"]:
        each["annotators"] = PEOPLE[:2]
    two["annotations"] = [each for each in two["annotations"] if each["annotator"] != "7"]
    written(tmp_path / "two.json", two)
    saved = ("--bootstrap", "0", "--diagnose", "--out")
    run("agree", tmp_path / "two.json", *saved, tmp_path / "run")
    (tmp_path / "out").mkdir()
    page = tmp_path / "out/page.html"
    made = run("report", tmp_path / "run", "--pseudonyms", key, "--out", page)
    assert made.returncode == 0, made.stderr
    assert names_in(tmp_path / "out") == []
    assert b"person-01" in page.read_bytes()
    # A number inside of a sentence may be anything.
    run("agree", source, *saved, tmp_path / "run7")
    refused = run("report", tmp_path / "run7", "--pseudonyms", key, "--out", page)
    assert refused.returncode == 2
    assert "the annotator '7' cannot be distinguished from other words" in refused.stderr


def test_a_reference_is_named_as_in_the_file(tmp_path, source):
    key = tmp_path / "key.json"
    found = run("agree", source, "--bootstrap", "0", "--pseudonyms", key, "--reference", PEOPLE[0])
    assert found.returncode == 0, found.stderr
    assert json.loads(key.read_bytes())[PEOPLE[0]] in found.stdout


def test_the_key_is_not_passed_on(tmp_path, source):
    refused = run("agree", source, "--out", tmp_path / "out", "--pseudonyms", tmp_path / "out/k")
    assert refused.returncode == 2
    assert "would be in" in refused.stderr
    with pytest.raises(OutputError, match="would be in"):
        bboxqa.convert(source, tmp_path / "out", to="cvat", pseudonyms=tmp_path / "out/k")
    assert not (tmp_path / "out").exists()


def test_another_file_is_no_key(source):
    with pytest.raises(ConfigError, match="is not a key of pseudonyms; expected an object"):
        bboxqa.read_coco(source, pseudonyms=source)
    assert "annotations" in json.loads(source.read_bytes())


def test_a_file_named_after_somebody_in_the_key_has_the_pseudonym(tmp_path, source):
    key = tmp_path / "key.json"
    key.write_text('{"zoe": "person-07"}')
    data = bboxqa.read_coco(source.rename(tmp_path / "zoe.json"), pseudonyms=key)
    assert [each.name for each in data.sources] == [f"{tmp_path}/person-07.json"]
    assert "person-07" not in data.annotator_names
