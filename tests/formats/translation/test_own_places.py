"""Annotations without ids of their own are shown by where they stand."""

import csv
import json

import numpy as np
import pytest
from support import cli

import bboxqa

LABEL_ME = {
    "version": "5.2.1", "flags": {}, "imagePath": "a.jpg", "imageData": None,
    "imageWidth": 100, "imageHeight": 80,
}  # fmt: skip
VOC = (
    "<annotation>\n<filename>a.jpg</filename>\n<size><width>100</width><height>80</height></size>\n"
    "<object><name>cat</name>\n<bndbox><xmin>5</xmin><ymin>6</ymin><xmax>30</xmax>"
    "<ymax>40</ymax></bndbox></object>\n</annotation>\n"
)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def yolo(folder):
    put(folder / "data.yaml", "names: [cat, dog]\n")
    put(folder / "labels" / "a.txt", "0 .2 .2 .1 .1\n\n1 .5 .5 .1 .1\n")


def voc(folder):
    put(folder / "Annotations" / "a.xml", VOC)


def label_me(folder):
    shape = {"label": "cat", "points": [[5, 6], [30, 40]], "shape_type": "rectangle"}
    put(folder / "a.json", json.dumps(LABEL_ME | {"shapes": [shape, shape | {"label": "dog"}]}))


def dota(folder):
    put(folder / "labelTxt" / "a.txt", "gsd:0.1\n1 1 9 1 9 9 1 9 cat 0\n")


def shown(path):
    with bboxqa.reading(image_size=(100, 80)):
        of = bboxqa.read_coco(path, min_annotators=1).annotations
    return sorted(of.shown_ids(np.arange(len(of))))


@pytest.mark.parametrize(
    ("make", "places"),
    [
        (yolo, ["labels/a.txt:1", "labels/a.txt:3"]),
        (voc, ["Annotations/a.xml:4"]),
        (label_me, ["a.json#/shapes/0", "a.json#/shapes/1"]),
        (dota, ["labelTxt/a.txt:2"]),
    ],
)
def test_places_are_files_with_lines_or_pointers(tmp_path, make, places):
    make(tmp_path / "ann")
    assert shown(tmp_path / "ann") == places


def test_files_of_several_formats_are_joined(tmp_path):
    yolo(tmp_path / "ann")
    annotation = {"id": 7, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9]}
    images = [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}]
    whole = {
        "images": images,
        "annotations": [annotation],
        "categories": [{"id": 1, "name": "cat"}],
    }
    put(tmp_path / "bob.json", json.dumps(whole))
    with bboxqa.reading(image_size=(100, 80)):
        of = bboxqa.read_coco([tmp_path / "ann", tmp_path / "bob.json"], join="stem").annotations
    assert sorted(of.shown_ids(np.arange(3))) == ["7", "labels/a.txt:1", "labels/a.txt:3"]


def test_the_review_names_the_lines_of_each_annotator(tmp_path):
    for name, line in (("ann", ""), ("bob", "\n"), ("eve", "\n\n")):
        label = 1 if name == "eve" else 0
        width = ".201" if name == "bob" else ".2"
        text = f"{line}{label} .2 .2 .1 .1\n0 .7 .7 {width} .2\n1 .5 .2 .1 .1\n"
        put(tmp_path / "in" / name / "labels" / "a.txt", text)
    out, size = ["--out", str(tmp_path / "out")], ["--image-size", "100x80"]
    people = [str(tmp_path / "in" / name) for name in ("ann", "bob", "eve")]
    done = cli.run("agree", *people, "--diagnose", *out, *size)
    assert done.returncode == 0, done.output
    with (tmp_path / "out" / "review.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["annotations"] == "ann: labels/a.txt:1; bob: labels/a.txt:2; eve: labels/a.txt:3"
