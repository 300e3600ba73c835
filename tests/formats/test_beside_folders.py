"""Folders of labels beside the folder of labels that a data set has."""

import json
import shlex
import zipfile

import pytest
from support.cli import run
from support.tool_files import write

import bboxqa
from bboxqa import DatasetError, read_coco, validate

VOC = (
    "<annotation><filename>{name}.jpg</filename><size><width>100</width><height>80</height></size>"
    "<object><name>cat</name><bndbox><xmin>40</xmin><ymin>30</ymin><xmax>60</xmax><ymax>50</ymax>"
    "</bndbox></object></annotation>"
)
SHAPES = [{"label": "cat", "shape_type": "rectangle", "points": [[40, 30], [60, 50]]}]
LABELME = json.dumps(
    {"version": "5.2", "imagePath": "NAME.jpg", "shapes": SHAPES, "imageWidth": 100,
     "imageHeight": 80}
)  # fmt: skip
KINDS = {
    "yolo": ("labels", "txt", "0 .5 .5 .2 .25\n"),
    "dota": ("labelTxt", "txt", "40 30 60 30 60 50 40 50 cat 0\n"),
    "voc": ("Annotations", "xml", VOC),
    "labelme": ("annotations", "json", LABELME),
}
SAME = "folders with labels of images of the same names"
LEFT_OUT = "left out, as others are in a folder for labels"


def made(folder, kind, *folders, names="ab"):
    """Write labels to some folders; return the whole."""
    _, suffix, text = KINDS[kind]
    for each in folders:
        for name in names:
            label = text.replace("{name}", name).replace("NAME", name)
            write(folder, **{f"{each}/{name}.{suffix}": label})
    return folder


def notes_of(path):
    """Return the notes of one annotator, which validation has as well."""
    with bboxqa.reading(image_size=(100, 80), voc_base=0):
        data = read_coco(path, min_annotators=1)
        notes = [each for each in data.notes if SAME in each or LEFT_OUT in each]
        assert [each for each in validate(path).notes if SAME in each or LEFT_OUT in each] == notes
    return notes


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_note_says_to_type_reads_each_folder_as_an_annotators(tmp_path, kind):
    main = KINDS[kind][0]
    folder = made(tmp_path / "my set", kind, main, f"{main}_bob", f"{main}_cid")
    note, *others = notes_of(folder)
    assert f"({main}, {main}_bob, {main}_cid) do not count as annotators" in note
    assert [LEFT_OUT in each for each in others] == [True] * (kind == "yolo")
    typed = shlex.split(note.partition("bboxqa agree ")[2])
    with bboxqa.reading(image_size=(100, 80), voc_base=0):
        data = read_coco(typed)
    assert data.annotator_names == (main, f"{main}_bob", f"{main}_cid")
    assert data.assigned.shape == (2, 3)
    assert data.assigned.all()


def test_agree_says_so_where_nobody_is_named(tmp_path):
    folder = made(tmp_path, "yolo", "labels", "labels_bob")
    found = run("agree", folder, "--image-size", "100x80")
    assert found.returncode == 2
    assert f"bboxqa agree {folder}/labels {folder}/labels_bob" in found.stderr.replace("\n", "")


def test_the_note_hides_names_where_people_have_pseudonyms(tmp_path):
    made(tmp_path / "ann", "yolo", "labels", "labels_bob")
    made(tmp_path / "cid", "yolo", "labels")
    with bboxqa.reading(image_size=(100, 80)):
        data = read_coco(tmp_path, pseudonyms=tmp_path.parent / "key.json")
        done = bboxqa.convert(
            tmp_path / "ann", tmp_path.parent / "o.json", to="coco",
            pseudonyms=tmp_path.parent / "key.json",
        )  # fmt: skip
    key = ("--pseudonyms", tmp_path.parent / "key.json")
    printed = run("validate", tmp_path, "--image-size", "100x80", *key).stdout
    (note,) = [each for each in data.notes if SAME in each]
    assert note.endswith("bboxqa agree FOLDER FOLDER …")
    for notes in (data.notes, [printed], done.notes):
        assert any("2 label files left out" in each for each in notes)
        assert "labels_bob" not in str(notes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beside", ["images", "train", "other"])
def test_folders_of_other_images_and_splits_have_no_note(tmp_path, kind, beside):
    main = KINDS[kind][0]
    folder = made(tmp_path, kind, main)
    if beside == "other":
        made(folder, kind, "videos", names="cd")
    elif beside == "train":
        made(folder, kind, f"train/{main}")
    else:
        write(folder, **{f"images/{name}.txt": "a caption of a picture" for name in "ab"})
    assert not [each for each in notes_of(folder) if SAME in each]


@pytest.mark.parametrize("kind", ["yolo", "dota"])
def test_labels_outside_of_the_folder_for_labels_are_counted(tmp_path, kind):
    main, suffix, _ = KINDS[kind]
    folder = made(tmp_path / "set", kind, f"data/{main}", "out", "out/empty")
    for name in ("out/a", "out/empty/a", "out/empty/b"):
        (folder / f"{name}.{suffix}").write_text("")
    write(folder, **{"captions/a.txt": "a cat on a mat", "captions/b.txt": "2 dogs"})
    some = f"2 label files {LEFT_OUT} (such as out/a.txt)"
    assert notes_of(folder) == [some]
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        for file in sorted(folder.rglob("*.txt")):
            archive.write(file, file.relative_to(folder).as_posix())
    assert notes_of(tmp_path / "set.zip") == [some]


def test_several_data_sets_have_one_note(tmp_path):
    for name in ("one", "two"):
        made(tmp_path / name, "voc", "Annotations", "Annotations_bob")
    (note,) = notes_of([tmp_path / "one", tmp_path / "two"])
    assert "do not count as annotators, and so in 1 other folder; if each is by another" in note


def test_a_folder_with_one_file_of_the_same_name_is_no_source(tmp_path):
    folder = made(tmp_path, "yolo", "labels")
    write(folder, **{"logs/a.txt": "started\n"})
    assert notes_of(folder) == []
    with bboxqa.reading(image_size=(100, 80)), pytest.raises(DatasetError) as error:
        read_coco(folder)
    assert SAME not in str(error.value)
