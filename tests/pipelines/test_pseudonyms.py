"""Pseudonyms stand in place of annotators in all that is written."""

import gzip
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


def test_texts_of_records_have_no_name_in_any_case(tmp_path):
    drawn = [(0, who, 0, [10, 10, 50, 40]) for who in ("bob", "Zoë", "li")]
    content = document([("a.jpg", 640, 480, ["bob", "Zoë", "li"])], drawn)
    content["annotations"][0] |= {"note": "checked by Bob, ZOË and Bobby", "Bob": "li", "bob": 1}
    source = written(tmp_path / "in.json", content)
    key = tmp_path / "key.json"
    bboxqa.convert(source, tmp_path / "out.json", to="coco", pseudonyms=key)
    given = json.loads(key.read_bytes())
    (found,) = (
        each
        for each in json.loads((tmp_path / "out.json").read_bytes())["annotations"]
        if "note" in each
    )
    assert found["note"] == f"checked by {given['bob']}, {given['Zoë']} and Bobby"
    # Keys are names of things, unless they are exactly a name.
    assert (found["Bob"], found[given["bob"]]) == (given["li"], 1)


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


SAVED = ("--bootstrap", "0", "--no-checks", "--diagnose", "--out")


@pytest.mark.parametrize("named", [False, True])
def test_splits_of_saved_results_are_no_people(tmp_path, source, named):
    content = json.loads(source.read_bytes())
    for image in content["images"]:
        del image["annotators"]
    for each in content["annotations"]:
        del each["annotator"], each["created_by"]
    files = [written(tmp_path / f"{name}.json", content) for name in ("train", "val")]
    by_file = [*files, "--attribution", "files"]
    given = [f"--annotator={file.stem}={file}" for file in files] if named else by_file
    saved = run("agree", *given, *SAVED, tmp_path / "run")
    assert saved.returncode == 0, saved.stderr
    key = tmp_path / "key.json"
    made = run("report", tmp_path / "run", "--pseudonyms", key, "--out", tmp_path / "page.html")
    assert made.returncode == 0, made.stderr
    # Names that the user gives are those of people.
    assert (b"person-01" in (tmp_path / "page.html").read_bytes()) is named
    assert key.exists() is named


def test_a_model_of_a_saved_result_keeps_its_name(tmp_path, source):
    content = json.loads(source.read_bytes())
    ann = PEOPLE[0]
    content["annotations"] = [each for each in content["annotations"] if each["annotator"] == ann]
    results = [
        {name: each[name] for name in ("image_id", "category_id", "bbox")} | {"score": 0.9}
        for each in content["annotations"]
    ]
    for image in content["images"]:
        image["annotators"] = [ann]
    team = written(tmp_path / "team.json", content)
    model = written(tmp_path / "yolo-nano.json", results)
    saved = run("agree", team, "--predictions", model, "--score", "0.5", *SAVED, tmp_path / "run")
    assert saved.returncode == 0, saved.stderr
    key = tmp_path / "key.json"
    made = run("report", tmp_path / "run", "--pseudonyms", key, "--out", tmp_path / "page.html")
    assert made.returncode == 0, made.stderr
    assert {*json.loads(key.read_bytes())} == {ann}


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


@pytest.mark.parametrize(("end", "packed"), [(".xml", bytes), (".xml.gz", gzip.compress)])
def test_places_in_files_named_after_people_have_no_name(end, packed, tmp_path):
    boxes = '<box label="cat" xtl="1" ytl="1" xbr="{}" ybr="20"></box>\n'
    for who, right in (("anna", 20), ("bert", 60)):
        text = (
            "<annotations><version>1.1</version>\n"
            f'<image id="0" name="a.jpg" width="90" height="90">\n{boxes.format(right)}</image>'
            "</annotations>"
        )
        (tmp_path / f"{who}{end}").write_bytes(packed(text.encode()))
    files = [tmp_path / f"anna{end}", tmp_path / f"bert{end}"]
    out, key = tmp_path / "out", tmp_path / "key.json"
    outcome = run("agree", *files, "--diagnose", "--out", out, "--pseudonyms", key)
    assert outcome.returncode == 0
    for path in out.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "anna" not in text, path
        assert "bert" not in text, path
    assert f"person-01{end}:3" in (out / "units.csv").read_text()


def test_a_file_named_after_somebody_in_the_key_has_the_pseudonym(tmp_path, source):
    key = tmp_path / "key.json"
    key.write_text('{"zoe": "person-07"}')
    data = bboxqa.read_coco(source.rename(tmp_path / "zoe.json"), pseudonyms=key)
    assert [each.name for each in data.sources] == [f"{tmp_path}/person-07.json"]
    assert "person-07" not in data.annotator_names


def test_a_model_named_as_somebody_in_the_key_keeps_its_name(tmp_path, source):
    key, model = tmp_path / "key.json", tmp_path / "yolo.json"
    key.write_text('{"yolo": "person-07"}')
    content = json.loads(source.read_bytes())
    of = {"image_id": content["images"][0]["id"], "category_id": content["categories"][0]["id"]}
    model.write_text(json.dumps([of | {"bbox": [1, 1, 9, 9], "score": 0.9}]))
    data = bboxqa.read_coco(source, predictions=model, pseudonyms=key)
    assert "yolo" in data.annotator_names
    assert "yolo" in [each.annotator for each in data.sources]
