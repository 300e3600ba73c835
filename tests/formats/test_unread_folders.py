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


@pytest.mark.parametrize(
    "text",
    [
        "0 0,5 0,5 0,2 0,2\n",
        "0,0.5,0.5,0.2,0.2\n",
        "traffic light 0.5 0.5 0.2 0.2\n",
        "0 50 40 20 16\n",
        "\n\n\ufeff0 50 40 20 16\n",
    ],
)
def test_labels_of_another_form_are_refused(tmp_path, text):
    people(tmp_path, cid=text)
    with pytest.raises(DatasetError) as refused:
        read(tmp_path)
    (problem,) = refused.value.problems
    assert problem.startswith(f"{tmp_path}/cid/a.txt: begins with '")
    assert problem.endswith("expected labels of YOLO, as beside it")
    folders = [f"{tmp_path}/ann", f"{tmp_path}/bob"]
    assert refused.value.advice.endswith(f"name the folders to read: {' '.join(folders)}")
    assert read(folders).annotator_names == ("ann", "bob")


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


@pytest.mark.parametrize("name", ["boxes.docx", "labels.7z", "a.ann", "a.txt.gz"])
def test_a_folder_without_a_known_format_is_told(tmp_path, name):
    people(tmp_path)
    write(tmp_path, **{f"cid/{name}": "x"})
    (note,) = [each for each in read(tmp_path).notes if "no annotations are found" in each]
    assert note == f"1 folder left out, in which no annotations are found: {tmp_path}/cid"
    with bboxqa.reading(image_size=(100, 80)):
        assert note in bboxqa.validate(tmp_path).notes
    files = list_files([tmp_path])
    (hidden,) = unread_folders([tmp_path], files, hidden=True)
    assert "cid" not in hidden


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"images/a.jpg": "x", "images/b.jpg": "x"},
        {".git/config": "x"},
        {"notes.txt": "0 1 2 3 4"},
    ],
)
def test_folders_of_pictures_and_files_beside_folders_are_not_told(tmp_path, more):
    write(people(tmp_path), **more)
    assert not [each for each in read(tmp_path).notes if "no annotations are found" in each]


def test_an_empty_folder_beside_those_of_files_is_told(tmp_path):
    write(tmp_path, **{f"{who}/a.json": coco() for who in ("ann", "bob")})
    (tmp_path / "cid/labels").mkdir(parents=True)
    (note,) = [each for each in read(tmp_path).notes if "no annotations are found" in each]
    assert note.endswith(f": {tmp_path}/cid")


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


def test_a_link_to_a_folder_that_is_gone_is_an_error(tmp_path):
    people(tmp_path)
    (tmp_path / "notes.md").symlink_to("gone.md")
    assert read(tmp_path).annotator_names == ("ann", "bob")
    (tmp_path / "cid").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatasetError, match=r"/cid: is a link that leads nowhere"):
        read(tmp_path)


@pytest.mark.parametrize("others", [("ann", "bob"), ()])
@pytest.mark.parametrize("around", [".", "labels"])
def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path, monkeypatch, others, around):
    write(tmp_path, **{f"{around}/{who}/{name}.txt": GOOD for who in others for name in "ab"})
    closed = tmp_path / around / "cid"
    write(closed, **{"a.txt": GOOD})
    real = os.scandir

    def listing(folder="."):
        if Path(folder) == closed:
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", listing)
    if others or around == ".":
        with pytest.raises(DatasetError, match=r"cid: cannot be read: Permission denied"):
            read(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "two cats and 3 dogs on 4 sofas\n",
        "P0: 7.07e+02 0.0 6.04e+02 0.0 0.0 7.07e+02 1.8e+02 0.0\n",
        "1.0e+00 9.0e-12 2.3e-11 5.5e-17 9.0e-12 1.0e+00 2.3e-10 3.3e-16 2.2e-11 2.3e-10 1 0\n",
        "1 0 0 0\n",
        "49.015 8.43 116.4 0.03 0.01\n",
        "2024-01-01 10:00:00\n",
    ],
)
def test_texts_of_images_that_are_no_labels_are_told(tmp_path, text):
    data = read(people(tmp_path, other=text))
    assert data.annotator_names == ("ann", "bob")
    (note,) = [each for each in data.notes if "no annotations are found" in each]
    assert note.endswith(f": {tmp_path}/other")


def test_labels_of_another_form_beside_one_folder_are_told(tmp_path):
    write(tmp_path, **{"labels_yolo/a.txt": GOOD, "labels_kitti/a.txt": "cat 0 0 0 10 10 20 20\n"})
    with bboxqa.reading(image_size=(100, 80)):
        assert "T001" not in {each.code for each in bboxqa.validate(tmp_path).findings}


def test_texts_of_nothing_named_like_labels_are_errors(tmp_path):
    """They are labels by their names, which differ from those of others by numbers."""
    write(tmp_path, **{f"{who}/im{n}.txt": GOOD for who in ("ann", "bob") for n in range(3)})
    write(tmp_path, **{"ann/im3.txt": "none", "ann/export_log.txt": "started\n", "bob/im2.txt": ""})
    for sources in ([tmp_path / "ann", tmp_path / "bob"], tmp_path):
        with pytest.raises(DatasetError, match=r"im3\.txt.*T001"):
            read(sources)
    (tmp_path / "ann/im3.txt").unlink()
    notes = read(tmp_path).notes
    assert [each for each in notes if "1 text file without labels left out: export_log.txt" in each]
