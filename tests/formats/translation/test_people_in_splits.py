"""Folders of labels of several people inside of splits: train/ann, train/bob, val/ann, val/bob."""

import json
import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.tool_files import asked, drawn, write

from bboxqa import convert, read_coco, reading, validate
from bboxqa.core.errors import DatasetError

IMAGES = {"train": ("a", "b", "c"), "val": ("a", "d")}
PLACES = [
    "{split}/{who}",
    "labels/{split}/{who}",
    "{split}/labels/{who}",
    "{split}/{who}/labels",
    "{split}2017/{who}",
]


def corners(split, name, who):
    """Return the box of a person in an image of a split; no two images have the same."""
    x = 5 * "abcd".index(name) + 30 * (split == "val")
    return (x, 10, x + 20, 30) if who == "ann" else (x + 2, 10, x + 20, 34)


def yolo(name, box):
    x0, y0, x1, y1 = box
    return f"0 {(x0 + x1) / 200} {(y0 + y1) / 160} {(x1 - x0) / 100} {(y1 - y0) / 80}\n"


def dota(name, box):
    x0, y0, x1, y1 = box
    return f"{x0} {y0} {x1} {y0} {x1} {y1} {x0} {y1} cat 0\n"


def voc(name, box):
    keys = ("xmin", "ymin", "xmax", "ymax")
    sides = "".join(f"<{key}>{side}</{key}>" for key, side in zip(keys, box, strict=True))
    return (
        f"<annotation><filename>{name}.jpg</filename><size><width>100</width><height>80</height>"
        f"</size><object><name>cat</name><bndbox>{sides}</bndbox></object></annotation>"
    )


def labelme(name, box):
    shape = {"label": "cat", "points": [box[:2], box[2:]], "shape_type": "rectangle"}
    size = {"imageHeight": 80, "imageWidth": 100}
    return json.dumps(
        {"version": "5.2", "shapes": [shape], "imagePath": f"{name}.jpg", "imageData": None} | size
    )


FORMATS = {"yolo": (yolo, "txt"), "dota": (dota, "txt"), "voc": (voc, "xml"),
           "labelme": (labelme, "json")}  # fmt: skip


def made(folder, kind, place, people=("ann", "bob"), splits=("train", "val")):
    """Write labels of people in splits; return the folder."""
    label, end = FORMATS[kind]
    for split, who in product(splits, people):
        inside = place.format(split=split, who=who)
        texts = {
            f"{inside}/{name}.{end}": label(name, corners(split, name, who))
            for name in IMAGES[split]
        }
        write(folder, **texts)
    return folder


def picture(path, side=100):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((80, side), np.uint8)).save(path)


def rows(data):
    """Return the annotations by the names of images without suffixes."""
    return [(row[0].removesuffix(".jpg"), *row[1:]) for row in drawn(data)]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("place", PLACES)
def test_people_in_splits_are_those_of_folders_with_splits(tmp_path, kind, place):
    with reading(image_size=(100, 80), voc_base=0):
        data = read_coco(made(tmp_path / "set", kind, place))
        truth = read_coco(made(tmp_path / "true", kind, "{who}/{split}"))
    expected = [
        (f"{split}/{name}", who, box[0])
        for split, names in IMAGES.items()
        for name, who in product(names, ("ann", "bob"))
        for box in [corners(split, name, who)]
    ]
    assert [(image, who, x) for image, who, _, x, *_ in rows(data)] == expected
    assert [row[1:] for row in rows(data)] == [row[1:] for row in rows(truth)]
    assert [*asked(data).values()] == [["ann", "bob"]] * 5
    assert data.annotator_names == ("ann", "bob")


@pytest.mark.parametrize("kind", FORMATS)
def test_people_in_a_single_split_have_their_names(tmp_path, kind):
    with reading(image_size=(100, 80)):
        data = read_coco(made(tmp_path, kind, "{split}/{who}", splits=["train"]))
    assert data.annotator_names == ("ann", "bob")
    assert len(data.image_names) == 3


@pytest.mark.parametrize(
    ("place", "pictures"),
    [
        ("{split}/{who}", "images/{split}"),
        ("{split}/{who}", "{split}/images"),
        ("labels/{split}/{who}", "images/{split}"),
        ("{split}/labels/{who}", "{split}/images"),
        ("{split}/{who}/labels", "images/{split}"),
    ],
)
def test_class_names_and_pictures_are_those_around_the_splits(tmp_path, place, pictures):
    made(tmp_path, "yolo", place)
    write(tmp_path, **{"data.yaml": "names: [cat]"})
    for split, names in IMAGES.items():
        for name in names:
            picture(tmp_path / pictures.format(split=split) / f"{name}.png")
    data = read_coco(tmp_path)
    assert data.category_names == ("cat",)
    assert drawn(data)[0] == ("train/a.png", "ann", "cat", 0, 10, 20, 20)
    assert (len(data.image_names), data.annotator_names) == (5, ("ann", "bob"))


@pytest.mark.parametrize("place", ["images/{split}/{who}", "{split}/{who}"])
def test_folders_of_images_in_splits_are_no_people(tmp_path, place):
    """Frames of clips have the same names: the folders have pictures of their own."""
    label_place = "labels/{split}/{who}" if place.startswith("images") else place
    made(tmp_path, "yolo", label_place, people=("clip1", "clip2"))
    for (split, names), who in product(IMAGES.items(), ("clip1", "clip2")):
        side = 100 if who == "clip1" else 300
        for name in names:
            picture(tmp_path / place.format(split=split, who=who) / f"{name}.png", side)
    data = read_coco(tmp_path, min_annotators=1)
    assert (len(data.image_names), len(data.annotator_names)) == (10, 1)
    with pytest.raises(DatasetError, match="no annotator is named in the files"):
        read_coco(tmp_path)


def test_splits_of_which_one_is_of_nobody_are_one_source(tmp_path):
    made(tmp_path, "labelme", "{split}/{who}", splits=["train"])
    made(tmp_path, "labelme", "{split}", people=["nobody"], splits=["val"])
    with pytest.raises(DatasetError, match="no annotator is named in the files"):
        read_coco(tmp_path)


def test_people_in_splits_are_validated_and_converted(tmp_path):
    made(tmp_path / "set", "voc", "{split}/{who}")
    assert len(validate(tmp_path / "set").files) == 4
    convert(tmp_path / "set", tmp_path / "all.json", to="coco")
    assert drawn(read_coco(tmp_path / "all.json")) == drawn(read_coco(tmp_path / "set"))


@pytest.mark.parametrize("name", ["labels", "test"])
def test_many_folders_inside_of_each_other_are_refused(tmp_path, monkeypatch, name):
    root = tmp_path / name
    root.mkdir()
    monkeypatch.chdir(root)
    for _ in range(560):
        os.mkdir(name)  # noqa: PTH102 - the path is too long for one name
        os.chdir(name)
    write(Path(), **{"a.txt": "0 .5 .5 .1 .1"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match="in this folder is of a known format"):
        read_coco(name)
