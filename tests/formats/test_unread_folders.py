"""Folders beside those of annotators in which nothing is read."""

import os
import shutil
from pathlib import Path

import pytest
from support.tool_files import write

import bboxqa
from bboxqa.core.errors import DatasetError
from bboxqa.formats.folders.unread_folders import unread_folders
from bboxqa.formats.inputs import list_files

GOOD = "0 0.5 0.5 0.2 0.2\n"


def people(folder, **texts):
    """Write labels of two images for each person."""
    for who, text in ({"ann": GOOD, "bob": GOOD} | texts).items():
        write(folder, **{f"{who}/{name}.txt": text for name in "ab"})
    return folder


def read(folder):
    with bboxqa.reading(image_size=(100, 80)):
        return bboxqa.read_coco(folder)


def told(folder):
    """Return the notes on folders that are left out, without the path in front."""
    notes = [each for each in read(folder).notes if "left out" in each]
    return [each.replace(f"{folder}/", "") for each in notes]


def without(place, around=""):
    """Return the note on a folder without annotations."""
    found = f"{around}{place}; to see why: bboxqa validate {around}{place}"
    return f"1 folder left out, in which no annotations are found: {found}"


CLOSED = "1 folder left out, which cannot be opened: "


@pytest.mark.parametrize(
    "text",
    [
        "0 0,5 0,5 0,2 0,2\n",
        "0,0.5,0.5,0.2,0.2\n",
        "traffic light 0.5 0.5 0.2 0.2\n",
        "0 50 40 20 16\n",
        "two cats and 3 dogs on 4 sofas\n",
        "P0: 7.07e+02 0.0 6.04e+02 0.0 0.0 7.07e+02 1.8e+02 0.0\n",
        "2024-01-01 10:00:00\n",
    ],
)
def test_texts_of_another_form_are_told(tmp_path, text):
    people(tmp_path, cid=text)
    assert read(tmp_path).annotator_names == ("ann", "bob")
    assert told(tmp_path) == [without("cid")]


def test_a_class_that_is_written_as_a_float_is_read(tmp_path):
    data = read(people(tmp_path, cid=GOOD.replace("0 ", "0.0 ", 1)))
    assert data.annotator_names == ("ann", "bob", "cid")
    assert data.category_names == ("class 0",)


def test_labels_that_are_too_deep_are_named(tmp_path):
    people(tmp_path)
    write(tmp_path, **{"cid/export/2024/new/a.txt": GOOD, "cid/export/2024/new/b.txt": GOOD})
    data = read(tmp_path)
    assert data.annotator_names == ("ann", "bob")
    deep = f"{tmp_path}/cid/export/2024/new"
    note = f"1 folder left out, of annotations that are too deep to be read with others: {deep}"
    assert note in data.notes
    assert len(read([tmp_path / "ann", tmp_path / "bob", deep]).annotator_names) == 3


@pytest.mark.parametrize("around", [".", "labels"])
@pytest.mark.parametrize("name", ["boxes.docx", "labels.7z", "a.ann", "a.txt.gz"])
def test_a_folder_without_a_known_format_is_told(tmp_path, around, name):
    people(tmp_path / around)
    write(tmp_path / around, **{f"cid/{name}": "x", "cid/images/a.jpg": "x"})
    place = os.path.normpath(f"{around}/cid")
    assert told(tmp_path) == [without(place)]
    with bboxqa.reading(image_size=(100, 80)):
        assert without(place, f"{tmp_path}/") in bboxqa.validate(tmp_path).notes
    files = list_files([tmp_path])
    (hidden,) = unread_folders([tmp_path], files, hidden=True)
    assert "cid" not in hidden


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"images/a.jpg": "x", "images/b.jpg": "x", "images/Thumbs.db": "x"},
        {"day1/a.jpg": "x", "day1/b.jpg": "x"},
        {".git/config": "x"},
        {"__pycache__/a.pyc": "x"},
        {"notes.txt": "0 1 2 3 4"},
    ],
)
def test_folders_of_pictures_and_files_beside_folders_are_not_told(tmp_path, more):
    assert told(write(people(tmp_path), **more)) == []


def test_an_empty_folder_beside_those_of_files_is_told(tmp_path):
    write(tmp_path, **{f"{who}/a.json": coco() for who in ("ann", "bob")})
    (tmp_path / "cid/labels").mkdir(parents=True)
    assert told(tmp_path) == [without("cid")]


def test_an_archive_without_labels_beside_others_is_told(tmp_path):
    people(tmp_path / "in", cid="0 0,5 0,5 0,2 0,2\n")
    for who in ("ann", "bob", "cid"):
        shutil.make_archive(str(tmp_path / "all" / who), "zip", tmp_path / "in" / who)
    data = read(tmp_path / "all")
    assert data.annotator_names == ("ann", "bob")
    assert "1 file left out: no annotations in a known format (cid.zip)" in data.notes


def test_labels_with_line_ends_of_old_systems_are_read(tmp_path):
    data = read(people(tmp_path, cid=GOOD.replace("\n", "\r") * 2))
    assert data.annotator_names == ("ann", "bob", "cid")
    assert len(data.annotations) == 8


def coco():
    boxes = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20]}]
    images = [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}]
    return {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}


@pytest.mark.parametrize("around", [".", "labels"])
def test_a_link_to_a_folder_that_is_gone_is_an_error(tmp_path, around):
    people(tmp_path / around)
    for name in ("notes.md", "images"):
        (tmp_path / around / name).symlink_to("gone")
    assert told(tmp_path) == []
    (tmp_path / around / "cid").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatasetError, match=r"/cid: is a link that leads nowhere") as error:
        read(tmp_path)
    folders = [tmp_path / around / who for who in ("ann", "bob")]
    assert error.value.advice.endswith(f": {folders[0]} {folders[1]}")
    assert read(folders).annotator_names == ("ann", "bob")


def test_pictures_that_are_gone_do_not_keep_files_from_being_read(tmp_path):
    write(tmp_path, **{f"{who}.json": coco() for who in ("ann", "bob")})
    (tmp_path / "images").symlink_to(tmp_path / "elsewhere")
    assert told(tmp_path) == []


@pytest.fixture
def closing(monkeypatch):
    """Return a function that closes a folder, so that it cannot be listed."""
    real, closed = os.scandir, set()

    def listing(folder="."):
        if Path(folder) in closed:
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", listing)
    return closed.add


@pytest.mark.parametrize("around", [".", "labels"])
def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path, closing, around):
    people(tmp_path / around, cid=GOOD)
    write(tmp_path / around, **{"photos/a.jpg": "x"})
    closing(tmp_path / around / "photos")
    assert read(tmp_path).annotator_names == ("ann", "bob", "cid")
    closing(tmp_path / around / "cid")
    with pytest.raises(DatasetError, match=r"/cid: cannot be read: Permission denied"):
        read(tmp_path)


def test_a_folder_that_cannot_be_listed_beside_files_is_told(tmp_path, closing):
    write(tmp_path, **{f"{who}.json": coco() for who in ("ann", "bob")}, **{"cid/a.json": coco()})
    closing(tmp_path / "cid")
    assert told(tmp_path) == [f"{CLOSED}cid"]


def test_the_only_folder_that_cannot_be_listed_is_an_error(tmp_path, closing):
    write(tmp_path, **{"cid/a.txt": GOOD})
    closing(tmp_path / "cid")
    with pytest.raises(DatasetError, match=r"/cid: cannot be read: Permission denied"):
        read(tmp_path)
