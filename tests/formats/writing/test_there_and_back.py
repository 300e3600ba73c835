"""Annotations are the same after they were in another format."""

import json
import os
import re
import tempfile
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from support.converted import asked_about, by_folders, document, drawn, there_and_back, written

import bboxqa
from bboxqa import DatasetError

DATA = Path(__file__).parents[4] / "shared/data/formats"
# Formats that are written and read, and the largest error of a coordinate in pixels.
ROUNDED = {
    "coco": 0,
    "label-studio": 1e-9,
    "cvat": 2e-6,
    "yolo": 1e-5,
    "yolo-segment": 1e-5,
    "yolo-obb": 1e-5,
    "yolo-pose": 1e-5,
    "dota": 1e-5,
    "voc": 1e-6,
    "labelme": 1e-9,
    "csv": 0,
    "parquet": 0,
}
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
                # Tables refuse boxes that are all within the first pixel.
                high = draw(st.integers(2, height - y))
                category = draw(st.integers(0, 1))
                annotations.append((place, who, category, [x, y, wide, high]))
    content = document(images, annotations)
    n = len(annotations)
    ids = draw(st.lists(st.integers(0, 10**6), unique=True, min_size=n, max_size=n))
    for each, number in zip(content["annotations"], ids, strict=True):
        each["id"] = number
    return content


@pytest.mark.parametrize(("to", "then"), [*product(ROUNDED, repeat=2)])
def test_each_box_stays_with_its_id_category_image_and_annotator(to, then):
    @settings(max_examples=40 if FUZZ else 2)
    @given(content=documents())
    def check(content):
        with tempfile.TemporaryDirectory() as folder:
            source = written(Path(folder, "source.json"), content)
            back = there_and_back(source, Path(folder), to, then)
        assert asked_about(back) == asked_about(content)
        error = ROUNDED[to] + ROUNDED[then]
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


@pytest.mark.parametrize("to", ["label-studio", "cvat", "voc", "labelme", "csv", "parquet"])
def test_nobody_gets_a_name(to, tmp_path):
    """Tables and Label Studio have a place for annotators, which stays empty."""
    content = document([("a.jpg", 90, 90, [])], [(0, None, 0, [1, 1, 9, 9])])
    for each in content["annotations"]:
        del each["annotator"]
    for each in content["images"]:
        del each["annotators"]
    back = there_and_back(written(tmp_path / "source.json", content), tmp_path, to)
    assert [each.get("annotator") for each in back["annotations"]] == [None]
    assert [each.get("annotators") for each in back["images"]] == [None]


def test_whole_pixels_stay_where_labels_of_yolo_were_rounded(tmp_path):
    # Shares of 10 digits times 352 and 288 pixels: 57.00000001 and the like.
    boxes = [[7.0 * n, 5.0 * n, 30.0 + n, 41.0] for n in range(1, 31)]
    for box in boxes[::2]:
        box[0], box[1] = box[0] + 1e-8, box[1] - 1e-8
    content = document([("a.jpg", 352, 288, ["ann"])], [(0, "ann", 0, box) for box in boxes])
    back = there_and_back(written(tmp_path / "source.json", content), tmp_path, "voc")
    found = [each["bbox"] for each in back["annotations"]]
    np.testing.assert_allclose(found, np.round(boxes), atol=1e-9)


SMALL = [[10, 10, 0, 5], [100, 50, 0.5, 5], [3, 4, 5, 0.25], [7, 7, 0.1, 0.1], [8, 8, 1, 1]]


@pytest.mark.parametrize("to", ROUNDED)
@pytest.mark.parametrize("small", SMALL, ids=str)
def test_sides_below_one_pixel_stay(small, to, tmp_path):
    # Readers of Pascal VOC infer edges from the zeros.
    boxes = [small, [0, 0, 9, 9], *([5 * n, 7 * n, 30, 40] for n in range(1, 18))]
    content = document([("a.jpg", 200, 200, ["ann"])], [(0, "ann", 0, box) for box in boxes])
    back = there_and_back(written(tmp_path / "source.json", content), tmp_path, to)
    _check_same(back, content, ROUNDED[to], ids=False)


# In turn: bob's numbers look like edges, like pixels counted from 1, and like either.
OF_BOB = [[0.5, 3, 30.25, 40.75], [0, 4, 30, 40], [5, 7, 30, 40]]


@pytest.mark.parametrize("of_bob", OF_BOB, ids=str)
@pytest.mark.parametrize("of_ann", [*SMALL, [20.5, 30.5, 9.5, 8.5], [-1, 3, 9, 9]], ids=str)
def test_all_people_of_an_output_of_pascal_voc_have_the_same_first_pixel(of_ann, of_bob, tmp_path):
    content = document(
        [("a.jpg", 200, 200, ["ann", "bob", "eve"])], [(0, "ann", 0, of_ann), (0, "bob", 0, of_bob)]
    )
    source, out = written(tmp_path / "source.json", content), tmp_path / "out"
    bboxqa.convert(source, out, to="voc", lossy=True)
    bboxqa.convert(out, tmp_path / "back.json", to="coco", attribution="files")
    back = json.loads((tmp_path / "back.json").read_bytes())
    _check_same(back, content, ROUNDED["voc"], ids=False)
    assert len(set(re.findall("<first_pixel>(.)", "".join(_texts(out))))) == 1


def _texts(folder):
    return [each.read_text() for each in folder.rglob("*.xml")]


@pytest.mark.skipif(not DATA.is_dir(), reason="shared data is absent")
@pytest.mark.parametrize(
    "name",
    ["three_annotators/test_bbox", "rotated_boxes/data_obb", "brush_prediction/test_brush_labels"],
)
def test_files_of_tools_stay(name, tmp_path):
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    bboxqa.convert(DATA / "label_studio" / f"{name}.json", first, to="coco")
    back = there_and_back(first, tmp_path, "label-studio")
    bboxqa.convert(first, second, to="coco")
    content = json.loads(second.read_bytes())
    assert content == json.loads(first.read_bytes())
    assert back["images"] == content["images"]
    pairs = zip(*(sorted(each["annotations"], key=_own) for each in (content, back)), strict=True)
    for old, new in pairs:
        assert old.keys() == new.keys()
        # Where a tool's own ids are no numbers, annotations are numbered in their order.
        for key in old.keys() - {"id"}:
            if key in ("bbox", "area"):
                assert new[key] == pytest.approx(old[key], rel=1e-9)
            elif key == "segmentation" and isinstance(old[key], list):
                assert new[key][0] == pytest.approx(old[key][0], rel=1e-9)
            else:
                assert new[key] == old[key]


@pytest.mark.skipif(not DATA.is_dir(), reason="shared data is absent")
@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("cvat/shapes_task", "cvat"),
        ("cvat/project_export", "cvat"),
        ("labelme/shapes", "labelme"),
        ("voc/cvat_export", "voc"),
        ("voc/blood_cells", "voc"),
    ],
)
def test_folders_of_tools_stay(name, to, tmp_path):
    first, again, second = (tmp_path / each for each in ("1.json", "again", "2.json"))
    options = {}
    for source, out, written_as in (
        (DATA / name, first, "coco"), (first, again, to), (again, second, "coco"),
    ):  # fmt: skip
        found = bboxqa.convert(source, out, to=written_as, lossy=True, **options)
        options = by_folders(written_as, found)
    old, new = (json.loads(each.read_bytes()) for each in (first, second))
    assert len(old["annotations"]) > 0
    assert _boxes(new) == pytest.approx(_boxes(old), abs=1e-5)
    assert _outlined(new) == _outlined(old)


def _boxes(content):
    names = {each["id"]: each["file_name"] for each in content["images"]}
    labels = {each["id"]: each["name"] for each in content["categories"]}
    boxes = sorted(
        (names[each["image_id"]], labels[each["category_id"]], each["bbox"])
        for each in content["annotations"]
    )
    return [number for *_, box in boxes for number in box]


def _outlined(content):
    return sum("segmentation" in each for each in content["annotations"])


def _own(annotation):
    return annotation["image_id"], annotation["annotator"], annotation["own_id"]


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
    as_text = f"are texts in CVAT: '{key}'"
    # What is left out is listed among the losses only.
    becomes_text = back is not None and isinstance(value, int | float)
    assert any(as_text in each for each in found.notes) == becomes_text
    bboxqa.convert(out, tmp_path / "back.json", to="coco")
    (annotation,) = json.loads((tmp_path / "back.json").read_bytes())["annotations"]
    assert annotation.get("attributes") == (None if back is None else {key: back})


SAID_TWICE = ("occluded", "group_id", "z_order", "rotation", "truncated")


def _said_of_boxes(path):
    """Return the values of each box in a CVAT file, and its attributes."""
    return [
        (
            each.get("ybr"),
            each.get("occluded"),
            each.get("group_id", "0"),
            each.get("z_order", "0"),
            each.get("rotation"),
            [(inner.get("name"), inner.text) for inner in each],
        )
        for each in ET.fromstring(path.read_bytes()).iter("box")  # noqa: S314
    ]


def test_cvat_keeps_outlines_angles_and_attributes(tmp_path):
    ring = [20, 0, 40, 20, 20, 40, 0, 20]
    shapes = [
        {"bbox": [0, 0, 40, 40], "segmentation": [ring], "attributes": {"rotation": 45.0}},
        {"bbox": [20, 0, 20, 40], "segmentation": [ring[:6]], "attributes": {"side": "left"}},
        {"bbox": [2, 5, 2, 3], "segmentation": {"size": [90, 90], "counts": [185, 3, 87, 2, 7823]}},
        {"bbox": [2, 5, 2, 3], "attributes": {"occluded": "1", "group_id": "4"}, "source": "auto"},
    ]
    content = document([("a.jpg", 90, 90, ["ann"])], [(0, "ann", 0, shape) for shape in shapes])
    source = written(tmp_path / "source.json", content)
    back = there_and_back(source, tmp_path, "cvat")
    turned, polygon, mask, box = back["annotations"]
    assert turned["segmentation"][0] == pytest.approx(ring, abs=2e-6)
    assert turned["attributes"] == {"rotation": 45.0}
    assert polygon["segmentation"] == [ring[:6]]
    assert polygon["attributes"] == {"side": "left"}
    assert mask["bbox"] == [2, 5, 2, 3]
    assert mask["area"] == 5
    assert (box["attributes"], box["source"]) == (shapes[3]["attributes"], "auto")
