"""With a key of pseudonyms, no command shows the name of a person."""

import gzip
import json
import re
import shutil

import pytest
from support.cli import run
from support.converted import document, written
from support.named_people import (
    PEOPLE,
    SOURCES,
    files_named_after_people,
    folders_named_after_people,
    jobs_of_assignees,
    key_on_annotations,
    names_shown,
    tasks_completed_by,
)

from bboxqa.core.pseudonyms import pseudonyms_of

COMMANDS = {
    "plan": ("plan", "IN", "--target-width", "0.1"),
    "plan as json": ("plan", "IN", "--target-width", "0.1", "--format", "json"),
    "draw": ("draw", "IN", "--image", "0.jpg", "--out", "OUT/drawn.svg"),
    "draw as png": ("draw", "IN", "--image", "0.jpg", "--by", "unit", "--out", "OUT/drawn.png"),
    "draw panels": ("draw", "IN", "--image", "0.jpg", "--side-by-side", "--out", "OUT/drawn.svg"),
    "draw findings": ("draw", "IN", "--image", "0.jpg", "--by", "finding", "--out", "OUT/f.svg"),
    "compare": ("compare", "IN", "IN", "--bootstrap", "0", "--out", "OUT/changes"),
    "compare as json": ("compare", "IN", "IN", "--bootstrap", "0", "--format", "json"),
    "validate": ("validate", "IN", "--verbose", "--max-findings", "0", "--show-consequences"),
    "validate page": (
        *("validate", "IN", "--report", "OUT/page.html"),
        *("--write-baseline", "OUT/known.json"),
    ),
    **{
        f"validate as {view}": ("validate", "IN", "--format", view, "--out", "OUT/found")
        for view in ("concise", "json", "jsonl", "sarif", "github", "junit", "html")
    },
}


@pytest.fixture(params=SOURCES, ids=lambda make: make.__name__)
def source(request, tmp_path):
    (tmp_path / "in").mkdir()
    return request.param(tmp_path / "in")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_output_and_no_error_shows_a_name(source, command, tmp_path):
    out, key = tmp_path / "out", tmp_path / "key.json"
    out.mkdir()
    arguments = [str(each).replace("OUT/", f"{out}/") for each in command]
    arguments = [source if each == "IN" else each for each in arguments]
    outcome = run(*arguments, "--pseudonyms", key)
    assert "internal error" not in outcome.output
    assert names_shown(outcome, out) == []
    assert {*json.loads(key.read_bytes())} >= {*PEOPLE}


@pytest.mark.parametrize(
    ("make", "command"),
    [
        (key_on_annotations, "draw panels"),
        (jobs_of_assignees, "draw"),
        (files_named_after_people, "validate as sarif"),
        (tasks_completed_by, "validate"),
        (tasks_completed_by, "compare"),
    ],
)
def test_names_are_shown_without_a_key(make, command, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    arguments = [str(each).replace("OUT/", f"{out}/") for each in COMMANDS[command]]
    (tmp_path / "in").mkdir()
    source = make(tmp_path / "in")
    outcome = run(*[source if each == "IN" else each for each in arguments])
    assert names_shown(outcome, out) != []


def test_every_command_calls_a_person_the_same(tmp_path):
    source, key = key_on_annotations(tmp_path), tmp_path / "key.json"
    drawn = tmp_path / "drawn.svg"
    run("draw", source, "--image", "0.jpg", "--pseudonyms", key, "--out", drawn)
    given = json.loads(key.read_bytes())
    assert all(given[who] in drawn.read_text() for who in PEOPLE)
    found = json.loads(run("validate", source, "--pseudonyms", key, "--format", "json").stdout)
    (case,) = [each for each in found["findings"] if each["code"] == "A001"]
    assert given[PEOPLE[0]] in case["message"]
    assert given[f"{PEOPLE[0]} "] in case["message"]
    assert case["line"] == 1
    changes = tmp_path / "changes"
    run("compare", source, source, "--pseudonyms", key, "--bootstrap", "0", "--out", changes)
    assert all(given[who] in (changes / "annotators.csv").read_text() for who in PEOPLE)
    assert json.loads(key.read_bytes()) == given


def test_known_findings_stay_known_with_the_key(tmp_path):
    source, key, known = key_on_annotations(tmp_path), tmp_path / "key.json", tmp_path / "known"
    run("validate", source, "--pseudonyms", key, "--write-baseline", known)
    again = run("validate", source, "--pseudonyms", key, "--baseline", known, "--format", "json")
    assert json.loads(again.stdout)["findings"] == []


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_fixes_have_the_content_of_the_file(option, tmp_path):
    source = key_on_annotations(tmp_path)
    refused = run("validate", source, option, "--pseudonyms", tmp_path / "key.json")
    assert refused.returncode == 2
    assert "shows the file with names; leave out --pseudonyms" in refused.stderr
    assert not (tmp_path / "key.json").exists()


def test_fixes_that_are_refused_are_not_proposed(tmp_path):
    source = key_on_annotations(tmp_path)
    assert "fixable with --fix" in run("validate", source).stdout
    assert "--fix" not in run("validate", source, "--pseudonyms", tmp_path / "key.json").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--target-width", "0.1", "--out"),
        ("draw", "--image", "0.jpg", "--force", "--out"),
        ("validate", "--report"),
        ("validate", "--write-baseline"),
    ],
)
def test_the_key_is_not_written_over(arguments, tmp_path):
    source, key = key_on_annotations(tmp_path), tmp_path / "key.json"
    key.write_text('{"ann": "person-01"}')
    refused = run(arguments[0], source, *arguments[1:], key, "--pseudonyms", key)
    assert refused.returncode == 2
    assert key.read_text() == '{"ann": "person-01"}'


def test_the_key_is_not_among_results(tmp_path):
    source, out = key_on_annotations(tmp_path), tmp_path / "out"
    refused = run("compare", source, source, "--out", out, "--pseudonyms", out / "key.json")
    assert refused.returncode == 2
    assert "would be in" in refused.stderr
    assert not out.exists()


def test_a_file_that_is_no_key_is_refused_first(tmp_path):
    source = key_on_annotations(tmp_path)
    for arguments in (
        ("plan", tmp_path / "none.json", "--target-width", "1"),
        ("validate", source),
    ):
        refused = run(*arguments, "--pseudonyms", source)
        assert refused.returncode == 2
        assert "is not a key of pseudonyms; expected an object" in refused.stderr


def test_a_file_named_after_a_known_person_has_the_pseudonym(tmp_path):
    source, key = files_named_after_people(tmp_path), tmp_path / "keys/key.json"
    run("compare", source, source, "--pseudonyms", key, "--bootstrap", "0")
    given = json.loads(key.read_bytes())
    alone = run("validate", source / f"{PEOPLE[0]}.json", "--pseudonyms", key)
    assert f"{given[PEOPLE[0]]}.json: 5 images" in alone.stdout
    assert "lovelace" not in alone.output


COMPARE = ("compare", "--bootstrap", "0", "--no-checks")


def test_versions_named_after_people_have_pseudonyms(tmp_path):
    (tmp_path / "in").mkdir()
    source, key = files_named_after_people(tmp_path / "in"), tmp_path / "key.json"
    files = [source / f"{who}.json" for who in PEOPLE]
    run("validate", source, "--pseudonyms", key)
    given = json.loads(key.read_bytes())
    for number, versions in enumerate((files[:2], files[:0:-1], (files[1], source))):
        changes = tmp_path / "changes" / str(number)
        outcome = run(*COMPARE, *versions, "--pseudonyms", key, "--out", changes)
        assert outcome.returncode == 0, outcome.stderr
        assert f"before: {tmp_path}/in/{given[versions[0].stem]}.json" in outcome.stdout
        assert names_shown(outcome, changes) == []
    assert json.loads(key.read_bytes()) == given


@pytest.mark.parametrize("order", [1, -1])
def test_a_version_is_named_after_somebody_of_the_other(order, tmp_path):
    (tmp_path / "in").mkdir()
    source, key = files_named_after_people(tmp_path / "in"), tmp_path / "key.json"
    versions = (source / f"{PEOPLE[1]}.json", source)[::order]
    outcome = run(*COMPARE, *versions, "--pseudonyms", key, "--out", tmp_path / "changes")
    assert outcome.returncode == 0, outcome.stderr
    assert names_shown(outcome, tmp_path / "changes") == []


def test_a_version_named_after_an_address_has_a_pseudonym(tmp_path):
    (tmp_path / "in").mkdir()
    source, key = files_named_after_people(tmp_path / "in"), tmp_path / "key.json"
    versions = (source / f"{PEOPLE[0]}.json", source / f"{PEOPLE[2]}.json")
    outcome = run(*COMPARE, *versions, "--pseudonyms", key, "--out", tmp_path / "changes")
    assert outcome.returncode == 0, outcome.stderr
    assert names_shown(outcome, tmp_path / "changes") == []
    assert {*json.loads(key.read_bytes())} == {PEOPLE[0], PEOPLE[2]}


@pytest.mark.parametrize(("command", "n_files"), [("validate", 1), ("compare", 2)])
def test_a_single_file_named_after_an_address_has_a_pseudonym(command, n_files, tmp_path):
    source = files_named_after_people(tmp_path) / f"{PEOPLE[0]}.json"
    outcome = run(command, *[source] * n_files, "--pseudonyms", tmp_path / "key.json")
    assert "person-01.json" in outcome.output
    assert names_shown(outcome) == []


def test_a_file_named_after_a_person_is_beside_one_that_names_people(tmp_path):
    team = key_on_annotations(tmp_path)
    (tmp_path / "in").mkdir()
    alone = files_named_after_people(tmp_path / "in") / f"{PEOPLE[1]}.json"
    text = team.read_text().replace("Bob Mc'Arthur, jr", "eve")
    team.write_text(text)
    key = tmp_path / "key.json"
    outcome = run("validate", team, alone, "--pseudonyms", key)
    given = json.loads(key.read_bytes())
    assert PEOPLE[1] in given
    assert "export" not in given
    assert f"{given[PEOPLE[1]]}.json: 5 images" in outcome.stdout
    assert names_shown(outcome) == []


SPLITS = (
    ("train/_annotations.coco.json", "valid/_annotations.coco.json"),
    ("annotations/instances_train2017.json", "annotations/instances_val2017.json"),
    ("train.json", "Val.json", "test.json"),
)


@pytest.mark.parametrize("places", SPLITS)
@pytest.mark.parametrize("command", [("validate",), ("agree", "--bootstrap", "0", "--no-checks")])
def test_splits_are_no_people(command, places, tmp_path):
    files = _copies(tmp_path, places)
    key = tmp_path / "key.json"
    outcome = run(*command, *files, "--pseudonyms", key)
    assert "person-" not in outcome.output
    assert not key.exists()


def test_splits_beside_other_files_are_no_people(tmp_path):
    places = ("set/train/_annotations.coco.json", "set/val/_annotations.coco.json", "ann.json")
    files = _copies(tmp_path, places)
    key = tmp_path / "key.json"
    # A person may have the name of a split.
    key.write_text('{"train": "person-01"}')
    outcome = run("validate", *files, "--pseudonyms", key)
    known = json.loads(key.read_bytes())
    # As in ann/train.json, ann/val.json and bob.json, what is around splits may be a person.
    assert {*known} == {"train", "set", "ann"}
    assert known["train"] == "person-01"
    val = f"{tmp_path}/{known['set']}/val/_annotations.coco.json"
    assert f"{val}: 5 images" in outcome.stdout


def test_val_beside_ann_is_a_person(tmp_path):
    files = _copies(tmp_path, ("val.json", "ann.json"))
    key = tmp_path / "key.json"
    run("validate", *files, "--pseudonyms", key)
    assert {*json.loads(key.read_bytes())} == {"val", "ann"}


LAYOUTS = {
    "folders of people": ("{who}/train.json", "{who}/val.json"),
    "folders of splits": ("train/{who}.json", "val/{who}.json"),
    "split and name": ("train_{who}.json", "val_{who}.json"),
    "name and split": ("{who}_train2017.json", "{who}_val2017.json"),
    "labels": ("train_{who}/labels/0.txt", "val_{who}/labels/1.txt"),
}


@pytest.mark.parametrize(
    ("layout", "is_packed"),
    # Folders of labels in an archive are by one annotator.
    [*((layout, False) for layout in LAYOUTS), *((layout, True) for layout in [*LAYOUTS][:-1])],
)
def test_a_person_of_several_splits_has_one_pseudonym_in_all_commands(layout, is_packed, tmp_path):
    source = _splits_of_people(tmp_path / "in", LAYOUTS[layout])
    if is_packed:
        source = shutil.make_archive(str(tmp_path / "all"), "zip", source)
    key, out = tmp_path / "key.json", tmp_path / "out"
    out.mkdir()
    size = ("--image-size", "200x100") if layout == "labels" else ()
    for command in ("validate", "agree", "validate"):
        more = ("--report", out / "page.html")
        if command == "agree":
            more = (*size, "--bootstrap", "0", "--no-checks", "--out", out / "agree")
        outcome = run(command, source, "--pseudonyms", key, *more)
        assert outcome.returncode < 2, outcome.stderr
        assert {*json.loads(key.read_bytes())} == {"anna.mueller", "bob.smith"}
        shown = [outcome.output, *(each.read_text() for each in out.rglob("*") if each.is_file())]
        assert [each for each in shown if "mueller" in each or "smith" in each] == []


@pytest.mark.parametrize(
    "images",
    [
        # Images tell that folders are people, though files are named after people, too.
        {"first/anna": "0", "first/bert": "1", "again/carl": "0", "again/dora": "1"},
        # Files of one name in several folders may be by one person.
        {"first/anna": "0", "first/bert": "0", "again/anna": "1", "again/carl": "1"},
    ],
)
@pytest.mark.parametrize("command", ["agree", "validate"])
def test_folders_and_files_in_them_have_pseudonyms(command, images, tmp_path):
    for x, (place, image) in enumerate(images.items()):
        file = tmp_path / f"in/{place}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        content = document([(f"{image}.jpg", 200, 100, None)], [(0, None, 0, [1, 2, 30 + x, 140])])
        written(file, content)
    key, out = tmp_path / "key.json", tmp_path / "out"
    out.mkdir()
    more = ("--bootstrap", "0", "--diagnose", "--out", out / "agree") if command == "agree" else ()
    page = ("--report", out / "page.html")
    outcome = run(command, tmp_path / "in", "--pseudonyms", key, *page, *more)
    assert outcome.returncode < 2, outcome.stderr
    shown = [outcome.output, *(each.read_text() for each in out.rglob("*") if each.is_file())]
    known = json.loads(key.read_bytes())
    assert {part for place in images for part in place.split("/")} <= {*known}
    assert [name for name in known for text in shown if f"{name}.json" in text] == []
    assert [name for name in known for text in shown if f"/{name}/" in text] == []
    # Both commands have the same names.
    run("validate" if command == "agree" else "agree", tmp_path / "in", "--pseudonyms", key)
    assert json.loads(key.read_bytes()) == known


def test_a_refusal_of_unsure_folders_shows_no_name(tmp_path):
    source = _splits_of_people(tmp_path / "in", ("pre/{who}.json", "post/{who}.json"))
    outcome = run("agree", source, "--pseudonyms", tmp_path / "key.json")
    assert outcome.returncode == 2
    assert "--pattern person-0" in outcome.stderr
    assert "mueller" not in outcome.stderr
    assert "smith" not in outcome.stderr


@pytest.mark.parametrize("is_named", [True, False])
def test_labels_named_after_their_images_are_no_people_in_the_key(is_named, tmp_path):
    """Folders may be people or clips; labels of other names may be of people."""
    for who in ("anna.mueller", "bob.smith"):
        for clip in ("clip1", "clip2"):
            for frame in ("frame_1", "frame_2"):
                image = frame if is_named else "0"
                box = "".join(f"<{side}>9</{side}>" for side in ("xmin", "ymin", "xmax", "ymax"))
                path = tmp_path / f"in/{who}/{clip}/{frame}.xml"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(
                    f"<annotation><filename>{image}.jpg</filename><size><width>99</width>"
                    f"<height>99</height></size><object><name>cat</name><bndbox>{box}</bndbox>"
                    "</object></annotation>"
                )
    key = tmp_path / "key.json"
    outcome = run("agree", tmp_path / "in", "--pseudonyms", key)
    assert outcome.returncode == 2
    assert "mueller" not in outcome.stderr
    assert "smith" not in outcome.stderr
    known = json.loads(key.read_bytes())
    assert {"anna.mueller", "bob.smith", "clip1", "clip2"} <= {*known}
    assert any("frame" in each for each in known) == (not is_named)
    assert ("/frame_1.xml" in outcome.stderr) == is_named


def _splits_of_people(folder, places):
    """Write a file of each of two people to each of two places, about other images."""
    for number, who in enumerate(("anna.mueller", "bob.smith")):
        for place in places:
            file = folder / place.format(who=who)
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".txt":
                file.write_text(f"0 0.5 0.5 0.2 0.{2 + number}\n")
                continue
            # With the same images, folders may be of sessions or of people.
            image = "0.jpg" if "pre" in places[0] else f"{places.index(place)}.jpg"
            content = document([(image, 200, 100, None)], [(0, None, 0, [1, 2, 30 + number, 40])])
            written(file, content)
    return folder


def _copies(folder, places):
    """Write a file that names nobody to several places."""
    (folder / "source").mkdir()
    content = files_named_after_people(folder / "source") / f"{PEOPLE[0]}.json"
    files = [folder / each for each in places]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.read_bytes())
    return files


def test_changes_since_a_result_with_names_show_none(tmp_path):
    (tmp_path / "in").mkdir()
    source, saved = files_named_after_people(tmp_path / "in"), tmp_path / "saved"
    run("agree", source, "--bootstrap", "0", "--no-checks", "--out", saved)
    moved = source.rename(tmp_path / "now")
    key = ("--pseudonyms", tmp_path / "key.json")
    outcome = run("compare", saved, moved, *key)
    assert "no longer exists" in outcome.stdout
    assert names_shown(outcome) == []


@pytest.mark.parametrize("in_folders", [False, True])
def test_changes_since_a_result_with_pseudonyms_are_of_the_files_measured(in_folders, tmp_path):
    (tmp_path / "in").mkdir()
    source, saved = files_named_after_people(tmp_path / "in"), tmp_path / "saved"
    if in_folders:
        source = tmp_path / "folders"
        run("convert", tmp_path / "in", source, "--to", "voc", "--lossy")
    key = ("--pseudonyms", tmp_path / "key.json", "--bootstrap", "0")
    run("agree", source, "--no-checks", "--out", saved, *key)
    outcome = run("compare", saved, source, *key)
    assert "no longer exists" not in outcome.stdout
    assert re.search(r"unchanged +[1-9]\d* +100.0 % of those before", outcome.stdout)
    assert names_shown(outcome) == []
    # Without the key, nobody knows whose pseudonym a file has.
    without = run("compare", saved, source, "--bootstrap", "0")
    assert "no longer exists" not in without.stdout
    assert "if it is a pseudonym, --pseudonyms KEY finds the file" in without.stdout


@pytest.mark.parametrize("expert", [PEOPLE[0], "noor@navy.example.org", PEOPLE[1]])
def test_a_reference_file_named_after_a_person_has_the_pseudonym(expert, tmp_path):
    (tmp_path / "in").mkdir()
    annotated = files_named_after_people(tmp_path / "in")
    reference = (annotated / f"{PEOPLE[0]}.json").read_bytes()
    (tmp_path / "reference").mkdir()
    file = tmp_path / "reference" / f"{expert}.json"
    file.write_bytes(reference)
    outcome = run(
        *("agree", annotated, "--reference", file, "--no-checks", "--bootstrap", "0"),
        *("--diagnose", "--out", tmp_path / "out", "--pseudonyms", tmp_path / "key.json"),
    )
    assert "against the reference person-0" in outcome.stdout
    assert names_shown(outcome, tmp_path / "out") == []


LEFT_OUT = {
    "ada.json.gz": gzip.compress(b'{"images": [], "annotations": []}'),
    "ada.xml": b"<nothing/>",
    "ada.json": b'{"epochs": 1}',
}
AGREE = ("agree", "--bootstrap", "0", "--no-checks")


@pytest.mark.parametrize("command", [("validate",), AGREE])
@pytest.mark.parametrize("name", LEFT_OUT)
def test_notes_on_files_that_are_left_out_show_no_name(name, command, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    files_named_after_people(folder)
    (folder / name).write_bytes(LEFT_OUT[name])
    _check_left_out((*command, folder), tmp_path / "key.json")


def test_a_note_on_deeper_folders_shows_no_name(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    folders_named_after_people(folder)
    for place in ("old/ada", "old/one"):
        (folder / place / "labels").mkdir(parents=True)
        (folder / place / "labels/0.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    _check_left_out((*AGREE, folder, "--image-size", "100x100"), tmp_path / "key.json")


def _check_left_out(command, key):
    assert re.search(r"left out.*\bada\b", run(*command).stdout)
    outcome = run(*command, "--pseudonyms", key)
    assert "left out" in outcome.stdout
    assert not re.search(r"\bada\b", outcome.output)


def test_a_note_on_captions_shows_no_name(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    source = files_named_after_people(tmp_path) / f"{PEOPLE[0]}.json"
    for name in ("instances_ada", "instances_bob", "captions_ada"):
        (folder / f"{name}.json").write_bytes(source.read_bytes())
    outcome = run(*AGREE, folder, "--pseudonyms", tmp_path / "key.json")
    assert "1 JSON file left out: other tasks than objects\n" in outcome.stdout
    assert "ada" not in outcome.output.replace(str(tmp_path), "")


def test_an_error_on_folders_that_are_too_deep_shows_no_name(tmp_path):
    for who in ("ada", "bob"):
        labels = tmp_path / "in/team" / who / "export/labels"
        labels.mkdir(parents=True)
        (labels / "0.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    folder = tmp_path / "in/team"
    assert "inside ada, bob, which" in run("agree", folder).stderr
    outcome = run("agree", folder, "--pseudonyms", tmp_path / "key.json")
    assert "inside FOLDER, FOLDER, which is too deep" in outcome.stderr
    assert not re.search(r"\b(ada|bob)\b", outcome.stderr)


def test_an_error_on_a_folder_without_annotations_shows_no_name(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/ada.xml").write_text("<nothing/>")
    outcome = run("agree", tmp_path / "in", "--pseudonyms", tmp_path / "key.json")
    assert "FILE.xml: is XML of neither" in outcome.stderr
    assert not re.search(r"\bada\b", outcome.stderr)


@pytest.mark.parametrize("name", ["in/0.txt", "in/more.json", "in/0.xml"])
def test_advice_does_not_tell_whose_a_pseudonym_is(name, tmp_path):
    """Advice is known to all: a pseudonym in place of a name there would tell whose it is."""
    key, file = tmp_path / "key.json", tmp_path / name
    file.parent.mkdir()
    contents = {
        ".txt": "0 .5 .5 .2 .2\n",
        ".json": json.dumps(document([("0.jpg", 9, 9, None)], [(0, "", 0, [1, 2, 3, 4])])),
        ".xml": "<annotations><version>1.1</version><image id='0' name='0.jpg' width='9' "
        "height='9'><box label='x' xtl='1' ytl='1' xbr='3' ybr='3'/></image></annotations>",
    }
    file.write_text(contents[file.suffix])
    pseudonyms_of(key, ["ann", "bob", "cid", "dan", "eve"])
    options = ("agree", file.parent, "--image-size", "9x9")
    advised = run(*options).stderr
    assert "Agreement needs at least two annotators" in advised
    assert run(*options, "--pseudonyms", key).stderr == advised
