"""Archives beside other annotations, which are left out."""

import gzip
import json
import shlex
import zipfile

import pytest
from support.cli import run
from support.datasets import annotation, document

import bboxqa

TEXT = json.dumps(document([annotation(1)]))


def people(folder):
    folder.mkdir()
    for who in ("bob", "cid"):
        (folder / f"{who}.json").write_text(TEXT)
    return folder


@pytest.mark.parametrize("name", ["ann.json.gz", "ann.zip"])
@pytest.mark.parametrize("command", ["agree", "validate"])
def test_an_archive_with_annotations_of_its_own_is_named_with_what_to_type(tmp_path, command, name):
    folder = people(tmp_path / "street")
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(TEXT.encode()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.json", TEXT)
    done = run(command, folder)
    typed = f"{folder} {path}"
    note = f"1 archive left out ({name}), as other files are read"
    assert note in done.output
    assert f"to read such an archive as well, name it: {typed}" in done.output
    done = run(command, *shlex.split(typed))
    assert done.returncode == 0
    assert "left out" not in done.output
    assert ("3 annotators" if command == "agree" else str(path)) in done.output


@pytest.mark.parametrize("place", ["", "all/"])
def test_an_archive_that_was_unpacked_is_not_named(tmp_path, place):
    folder = people(tmp_path / "street")
    (folder / "bob.json.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "all").mkdir()
    (folder / place / "ann.json").write_text(TEXT)
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("ann.json", TEXT)
        archive.writestr("LICENSE", "")
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        archive.writestr("a.jpg", "")
    done = run("agree", folder)
    assert done.returncode == 0
    assert "left out" not in done.output


BOX = (
    '<annotations><version>1.1</version><image id="0" name="a.jpg" width="100" height="80">'
    '<box label="cat" xtl="{}" ytl="10" xbr="30" ybr="30"/></image></annotations>'
)


@pytest.mark.parametrize("left", [10, 1])
def test_an_archive_with_other_content_of_the_same_name_is_named(tmp_path, left):
    folder = tmp_path / "job"
    folder.mkdir()
    for name, x in (("annotations.xml", 11), ("bob.xml", 12)):
        (folder / name).write_text(BOX.format(x))
    with zipfile.ZipFile(folder / "eve.zip", "w") as archive:
        archive.writestr("annotations.xml", BOX.format(left))
    note = "1 archive left out (eve.zip), as other files are read"
    assert note in run("agree", folder).output
    with zipfile.ZipFile(folder / "eve.zip", "w") as archive:
        archive.writestr("annotations.xml", BOX.format(11))
    assert "left out" not in run("agree", folder).output


@pytest.mark.parametrize("label", ["0 .5 .5 .2 .25\n", "1 1 5 1 5 3 1 3 plane 0\n"])
def test_an_archive_of_labels_is_named_unless_it_was_unpacked(tmp_path, label):
    folder = people(tmp_path / "street")
    with zipfile.ZipFile(folder / "eve.zip", "w") as archive:
        archive.writestr("1.txt", label)
    done = run("validate", folder)
    assert "1 archive left out (eve.zip), as other files are read" in done.output
    done = run("validate", folder, folder / "eve.zip", "--image-size", "100x80")
    assert f"{folder}/eve.zip: " in done.output
    assert "left out" not in done.output
    (folder / "eve").mkdir()
    (folder / "eve/1.txt").write_text(label)
    assert "archive left out" not in run("validate", folder).output


def test_an_archive_of_notes_is_not_named(tmp_path):
    folder = people(tmp_path / "street")
    with zipfile.ZipFile(folder / "notes.zip", "w") as archive:
        archive.writestr("monday.txt", "all images of the north\n")
        archive.writestr("weather.json", '{"monday": "rain"}')
    assert "left out" not in run("agree", folder).output


@pytest.mark.parametrize("hidden", [False, True])
def test_what_is_left_out_of_a_folder_of_a_named_annotator_is_said(tmp_path, hidden):
    folder = tmp_path / "ann"
    folder.mkdir()
    (folder / "a.json").write_text(TEXT)
    (tmp_path / "bob.json").write_text(TEXT)
    (folder / "smith.json").write_text(json.dumps({"colour": "red"}))
    with zipfile.ZipFile(folder / "smith.zip", "w") as archive:
        archive.writestr("x.json", TEXT)
    key = ["--pseudonyms", tmp_path / "key.json"] if hidden else []
    bob = tmp_path / "bob.json"
    done = run("agree", f"--annotator=ann={folder}", f"--annotator=bob={bob}", *key)
    assert done.returncode == 0
    assert "1 JSON file left out: no annotations" in done.output
    shown = "" if hidden else " (smith.zip)"
    note = f"1 archive left out{shown}, as other files are read; to read such an archive as well"
    assert f"{note}, unpack it" in done.output
    assert ("smith" in done.output) == (not hidden)


def test_other_formats_in_an_archive_of_a_named_annotator_are_said(tmp_path):
    path = tmp_path / "ann.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ann.xml", BOX.format(10))
        archive.writestr("more.json", TEXT)
    (tmp_path / "bob.xml").write_text(BOX.format(10))
    notes = bboxqa.read_coco({"ann": path, "bob": tmp_path / "bob.xml"}).notes
    (note,) = [each for each in notes if "left out" in each]
    assert note == (
        f"{path} is read as CVAT: 1 file of other formats left out (more.json); "
        "to read these as well, unpack it, and name the folder"
    )
