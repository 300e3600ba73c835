"""Names of images and annotators come back, or are listed as losses."""

import json
from collections import Counter

import pytest
from support.converted import ENDINGS, by_folders, document, written

import bboxqa
from bboxqa.core.text import clean

FORMATS = ["coco", "label-studio", "cvat", "yolo", "dota", "voc", "labelme", "csv"]
IMAGES = [
    ["a.jpg", "a.png"],
    ["a.jpg", "A.jpg"],
    ["a/b.jpg", "a/b.png", "b.jpg"],
    # Frames of two videos, as the labels of two annotators, have the same names.
    ["v1/1.jpg", "v2/1.jpg"],
    ["images/a.jpg", "a.jpg"],
    ["train/images/b/a.jpg", "x/labels/a.jpg", "obj_train_data/b.jpg"],
    ["C:\\x\\a.jpg", "x\\b.jpg", "a:b.jpg", "con.jpg", ".hidden.jpg"],
    ["/home/a.jpg", "./b.jpg", "../c.jpg", "a//d.jpg", "s3://d/e.jpg"],
    [" a.jpg", "b .jpg", "c\nd.jpg", "e\rf.jpg", "g#h%20.jpg"],
    ["noext", "v1.2", "x.xml", "y.JPG", "a.b.c.jpeg", "z.jpg/w.jpg"],
    ["license_plate1.jpg", "notes 1.jpg", "readme.jpg", "labels.jpg", "train.jpg", "classes.jpg"],
    ["uc?id=1&token=a", "uc?id=2", "a.png?page=1", "a.png?page=2"],
    ["x" * 230 + ".jpg"],
]
PEOPLE = [
    "ann", " bob ", "a/b", "labels", "train", "images", "con", ".", "7", "07", "8.0", "=1+1", "nan",
    "two\nlines", "a\rb",
]  # fmt: skip


def _back(tmp_path, content, to):
    """Return a document after it was in another format, and its losses as numbers by noun."""
    out, back = tmp_path / f"out{ENDINGS.get(to, '')}", tmp_path / "back.json"
    found = bboxqa.convert(written(tmp_path / "source.json", content), out, to=to, lossy=True)
    with bboxqa.reading(image_size=(200, 100)):
        bboxqa.convert(out, back, to="coco", **by_folders(to, found))
    n_lost = Counter()
    for each in found.losses:
        n_lost[each.what] += each.n
    return json.loads(back.read_bytes()), n_lost


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("names", IMAGES, ids=lambda names: names[0][:12])
def test_names_of_images_come_back_or_are_listed(names, to, tmp_path):
    images = [(name, 200, 100, ["ann", "bob"]) for name in names]
    # Nothing is drawn in the last image by bob.
    boxes = [(place, "ann", 0, [20 + place, 10, 60.5, 40]) for place in range(len(names))]
    boxes += [(place, "bob", 0, [20 + place, 10, 60.5, 40]) for place in range(len(names) - 1)]
    back, n_lost = _back(tmp_path, document(images, boxes), to)
    name_of = {each["id"]: each["file_name"] for each in back["images"]}
    found = {round(each["bbox"][0]): name_of[each["image_id"]] for each in back["annotations"]}
    assert len(back["images"]) == len(names)
    assert [each["annotators"] for each in back["images"]] == [["ann", "bob"]] * len(names)
    changed = sum(found[20 + place] != name for place, name in enumerate(names))
    assert n_lost["names of images"] + n_lost["names"] == changed


@pytest.mark.parametrize("to", FORMATS)
def test_names_of_annotators_come_back_or_are_listed(to, tmp_path):
    boxes = [(0, who, 0, [20 + place, 10, 60.5, 40]) for place, who in enumerate(PEOPLE)]
    back, n_lost = _back(tmp_path, document([("a.jpg", 200, 100, PEOPLE)], boxes), to)
    found = {round(each["bbox"][0]): each["annotator"] for each in back["annotations"]}
    assert len({*found.values()}) == len(PEOPLE)
    changed = sum(found[20 + place] != clean(who) for place, who in enumerate(PEOPLE))
    assert n_lost["names of annotators"] + n_lost["names"] == changed
