"""Annotations are the same after they were in another format."""

import json
import os
import tempfile
from collections import Counter
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from support.converted import (
    ENDINGS,
    asked_about,
    by_folders,
    document,
    drawn,
    there_and_back,
    written,
)

import bboxqa
from bboxqa import DatasetError
from bboxqa.core.text import clean

# Formats that are written and read, and the largest error of a coordinate in pixels.
ROUNDED = {
    "coco": 0, "label-studio": 1e-9, "cvat": 2e-6, "yolo": 1e-5, "yolo-segment": 1e-5,
    "yolo-obb": 1e-5, "yolo-pose": 1e-5, "dota": 1e-5, "voc": 1e-6, "labelme": 1e-9, "csv": 0,
    "parquet": 0,
}  # fmt: skip
FUZZ = "BBOXQA_FUZZ" in os.environ
KEEPS_IDS = {"coco", "label-studio", "csv", "parquet"}

NAMES = ["street/a 1.jpg", "b.png", "ö/ü#%20.jpeg"]
PEOPLE = ["ann", "7", "bob@example.org", "Jörg Ö"]


@st.composite
def documents(draw):
    """Return a document of boxes by several annotators, some of whom drew nothing."""
    images, annotations = [], []
    for place, name in enumerate(NAMES):
        width, height = draw(st.integers(20, 4000)), draw(st.integers(20, 4000))
        asked = draw(st.lists(st.sampled_from(PEOPLE), unique=True, max_size=3, min_size=1))
        images.append((name, width, height, sorted(asked)))
        for who in asked:
            for _ in range(draw(st.integers(not annotations, 2))):
                x, y = draw(st.floats(0, width - 10)), draw(st.integers(0, height - 10))
                wide = draw(st.floats(1, width - x, exclude_max=True))
                # Tables refuse boxes of numbers up to 2, which may be shares of the image.
                high = draw(st.integers(3, height - y))
                category = draw(st.integers(0, 1))
                annotations.append((place, who, category, [x, y, wide, high]))
    # Folders of equal annotations are refused.
    boxes = {}
    for place, who, category, box in annotations:
        boxes.setdefault(who, []).append((place, category, *np.round(box, 1).tolist()))
    assume(len({(*sorted(each),) for each in boxes.values()}) == len(boxes))
    content = document(images, annotations)
    n = len(annotations)
    ids = draw(st.lists(st.integers(0, 10**6), unique=True, min_size=n, max_size=n))
    for each, number in zip(content["annotations"], ids, strict=True):
        each["id"] = number
    return content


@pytest.mark.parametrize(("to", "then"), [*combinations_with_replacement(ROUNDED, 2)])
def test_each_box_stays_with_its_id_category_image_and_annotator(to, then):
    @settings(max_examples=40 if FUZZ else 2)
    @given(content=documents())
    def check(content):
        with tempfile.TemporaryDirectory() as folder:
            source = written(Path(folder, "source.json"), content)
            back = there_and_back(source, Path(folder), to, then, to)
        assert asked_about(back) == asked_about(content)
        error = 2 * ROUNDED[to] + ROUNDED[then]
        _check_same(back, content, error, ids={to, then} <= KEEPS_IDS)

    if not FUZZ:
        # Without it, all pairs would have the same examples.
        check = seed(f"{to} {then}")(check)
    check()


def _check_same(content, expected, error, *, ids):
    """Check that annotations are the same; without `ids`, each is compared with the nearest."""
    found, wanted = drawn(content, ids=ids), drawn(expected, ids=ids)
    assert found.keys() == wanted.keys()
    for key, boxes in wanted.items():
        own, given_boxes = np.array(boxes), np.array(found[key])
        assert own.shape == given_boxes.shape, key
        rows, columns = linear_sum_assignment(np.abs(own[:, None] - given_boxes[None]).max(2))
        np.testing.assert_allclose(given_boxes[columns], own[rows], rtol=1e-12, atol=error)


@pytest.mark.parametrize(
    ("key", "value", "back"),
    [
        ("occluded", True, "1"), ("occluded", "1", "1"), ("occluded", "maybe", None),
        ("occluded", 2, None), ("occluded", 0.5, None), ("z_order", -3, "-3"),
        ("occluded", "true", "1"), ("z_order", "true", None), ("label.occluded", "1", "1"),
        ("z_order", "high", None), ("z_order", 1.5, None), ("group_id", 4, "4"),
        ("group_id", "g", None),
        ("side", None, None), ("z_order", None, None), ("side", "", ""), ("side", "a\rb", "a\rb"),
        ("age", 3, "3"), ("seen", False, "false"),
    ],
)  # fmt: skip
def test_cvat_keeps_an_attribute_or_lists_it(key, value, back, tmp_path):
    content = document(
        [("a.jpg", 90, 90, ["ann"])],
        [(0, "ann", 0, {"bbox": [5, 5, 30, 40], "attributes": {key: value}})],
    )
    source, out = written(tmp_path / "source.json", content), tmp_path / "out"
    if back is None:
        with pytest.raises(DatasetError, match=rf"1 annotation with 'attributes\.{key}'"):
            bboxqa.convert(source, out, to="cvat")
    found = bboxqa.convert(source, out, to="cvat", lossy=back is None)
    as_text = f"become text in attributes of CVAT: '{key}'"
    # What is left out is listed among the losses only.
    becomes_text = back is not None and isinstance(value, int | float)
    assert any(as_text in each for each in found.notes) == becomes_text
    bboxqa.convert(out, tmp_path / "back.json", to="coco")
    (annotation,) = json.loads((tmp_path / "back.json").read_bytes())["annotations"]
    assert annotation.get("attributes") == (None if back is None else {key: back})


# Names of images and annotators come back, or are listed as losses.
FORMATS = ["coco", "label-studio", "cvat", "yolo", "dota", "voc", "labelme", "csv"]
CALLED_IMAGES = [
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
CALLED = [
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
@pytest.mark.parametrize("names", CALLED_IMAGES, ids=lambda names: names[0][:12])
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
    boxes = [(0, who, 0, [20 + place, 10, 60.5, 40]) for place, who in enumerate(CALLED)]
    back, n_lost = _back(tmp_path, document([("a.jpg", 200, 100, CALLED)], boxes), to)
    found = {round(each["bbox"][0]): each["annotator"] for each in back["annotations"]}
    assert len({*found.values()}) == len(CALLED)
    changed = sum(found[20 + place] != clean(who) for place, who in enumerate(CALLED))
    assert n_lost["names of annotators"] + n_lost["names"] == changed
