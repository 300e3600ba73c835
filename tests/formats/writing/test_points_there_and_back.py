"""Key points and their visibility are the same after they were in another format."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.converted import by_folders, document, there_and_back, written

import bboxqa
from bboxqa import DatasetError

DATA = Path(__file__).parents[4] / "shared/data/formats"
NAMES = ["head", "left_hand", "right_hand", "tail"]
ROUNDED = 1e-5


def _document(records, names=NAMES):
    drawn = [(0, "ab"[n % 2], n % 2, record) for n, record in enumerate(records)]
    content = document([("a.png", 900, 700, ["a", "b"])], drawn, ["cat", "dog"])
    for each in content["categories"] if names else ():
        each["keypoints"] = names
    return content


def _people(random, levels, *, boxed):
    """Return eight animals, the first of which has all joints labelled."""
    for number in range(8):
        xy = random.uniform(100, 500, (4, 2))
        seen = random.choice(levels, 4) if number > 1 else np.full(4, 2)
        seen[number % 4] = max(seen[number % 4], *levels)
        seen[(number + 1) % 4] = max(seen[(number + 1) % 4], *levels)
        xy[seen == 0] = 0
        low, high = xy[seen > 0].min(0), xy[seen > 0].max(0)
        beside = 9 * boxed
        yield {
            "bbox": [*(low - beside).tolist(), *(high - low + 2 * beside).tolist()],
            "keypoints": np.column_stack([xy, seen]).ravel().tolist(),
            "num_keypoints": int((seen > 0).sum()),
        }


def _joints(content):
    """Return who drew which joints where, by their names, in one order."""
    names = {each["id"]: each.get("keypoints") for each in content["categories"]}
    found = []
    for each in content["annotations"]:
        triples = np.array(each["keypoints"]).reshape(-1, 3)
        labels = names[each["category_id"]] or [str(n) for n in range(1, len(triples) + 1)]
        joints = zip(labels, triples.tolist(), strict=True)
        seen = {name: triple for name, triple in joints if triple[2]}
        found.append((each["annotator"], each["category_id"], dict(sorted(seen.items()))))
    return sorted(found, key=lambda one: (one[:2], next(iter(one[2].items()))))


def _same(content, expected):
    found, wanted = _joints(content), _joints(expected)
    assert [(who, of, [*joints]) for who, of, joints in found] == [
        (who, of, [*joints]) for who, of, joints in wanted
    ]
    values = ([*joints.values()] for *_, joints in found)
    own = ([*joints.values()] for *_, joints in wanted)
    np.testing.assert_allclose(np.concatenate([*values]), np.concatenate([*own]), atol=ROUNDED)


@pytest.mark.parametrize(
    ("to", "then", "levels", "boxed"),
    [
        ("coco", "yolo-pose", [0, 1, 2], True),
        ("cvat", "coco", [0, 1, 2], False),
        ("yolo-pose", "coco", [0, 1, 2], True),
        ("label-studio", "yolo-pose", [0, 2], True),
        ("cvat", "label-studio", [0, 2], False),
        ("yolo-pose", "cvat", [0, 1, 2], False),
        ("labelme", "label-studio", [0, 2], True),
        ("label-studio", "labelme", [0, 2], True),
    ],
)
def test_joints_and_visibility_stay(to, then, levels, boxed, tmp_path):
    random = np.random.default_rng(len(to) + len(then))
    content = _document([*_people(random, levels, boxed=boxed)])
    back = there_and_back(written(tmp_path / "source.json", content), tmp_path, to, then)
    _same(back, content)
    if boxed:
        boxes = sorted(each["bbox"] for each in back["annotations"])
        own = sorted(each["bbox"] for each in content["annotations"])
        np.testing.assert_allclose(boxes, own, atol=ROUNDED)


def test_a_skeleton_of_cvat_has_its_labels_and_says_what_is_hidden(tmp_path):
    record = {"keypoints": [10, 20, 2, 30.5, 40, 1, 50, 60, 2, 0, 0, 0], "bbox": [10, 20, 40, 40]}
    content = _document([record])
    bboxqa.convert(written(tmp_path / "s.json", content), tmp_path / "out", to="cvat")
    lines = (tmp_path / "out/a.xml").read_text().split("\n")
    points = [line.strip() for line in lines if "<points" in line]
    assert points == [
        '<points label="head" source="manual" outside="0" occluded="0" points="10,20">',
        '<points label="left_hand" source="manual" outside="0" occluded="1" points="30.5,40">',
        '<points label="right_hand" source="manual" outside="0" occluded="0" points="50,60">',
        '<points label="tail" source="manual" outside="1" occluded="0" points="0,0">',
    ]
    assert [line.strip() for line in lines].count("<parent>cat</parent>") == 4


@pytest.mark.parametrize("to", ["coco", "cvat", "label-studio", "labelme", "yolo", "csv"])
@pytest.mark.parametrize(
    ("names", "skeleton"),
    [(None, None), (7, "ab"), ("ab", 5), (["head", None], [[1, "a"], [1]]), ([["x"], 2], [1, 2])],
)
def test_key_points_whose_names_are_of_another_type_are_written(names, skeleton, to, tmp_path):
    content = _document([{"keypoints": [10, 20, 2, 30, 40, 2], "bbox": [10, 20, 20, 20]}])
    content["categories"][0] |= {"keypoints": names, "skeleton": skeleton}
    out = tmp_path / {"csv": "o.csv", "coco": "o.json", "label-studio": "o.json"}.get(to, "o")
    bboxqa.convert(written(tmp_path / "source.json", content), out, to=to, lossy=True)
    if to == "cvat" and isinstance(names, list):
        labels = [name if isinstance(name, str) else str(n) for n, name in enumerate(names, 1)]
        assert re.findall(r'<points label="(\w+)"', (out / "a.xml").read_text()) == labels
    elif to == "coco":
        (drawn,) = json.loads(out.read_text())["annotations"]
        assert drawn["keypoints"] == [10, 20, 2, 30, 40, 2]


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        ("label-studio", r"1 annotation with hidden joints .*: .* written as visible"),
        ("labelme", r"1 annotation with hidden joints .* LabelMe has no visibility"),
        ("cvat", r"1 box around key points .*have no place for it"),
        ("csv", "1 annotation with 'keypoints'"),
        ("voc", "1 annotation with 'keypoints'"),
    ],
)
def test_what_cannot_be_held_is_refused(to, problem, tmp_path):
    record = {"keypoints": [10, 20, 2, 30, 40, 1], "bbox": [1, 1, 80, 80]}
    source = written(tmp_path / "source.json", _document([record], NAMES[:2]))
    out = tmp_path / {"label-studio": "o.json", "csv": "o.csv"}.get(to, "o")
    with pytest.raises(DatasetError, match=problem):
        bboxqa.convert(source, out, to=to)
    bboxqa.convert(source, out, to=to, lossy=True)


@pytest.mark.skipif(not DATA.is_dir(), reason="shared data is absent")
@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("cvat/points_job", "cvat"),
        ("cvat/points_job", "label-studio"),
        ("label_studio/mixed_shapes/data_keypoints.json", "cvat"),
        ("label_studio/mixed_shapes/data_keypoints.json", "label-studio"),
        ("label_studio/mixed_shapes/data_keypoints.json", "yolo-pose"),
        ("label_studio/mixed_shapes/data_keypoints.json", "labelme"),
    ],
)
def test_points_of_tools_stay(name, to, tmp_path):
    first = tmp_path / "first.json"
    bboxqa.convert(DATA / name, first, to="coco", lossy=True)
    content = json.loads(first.read_bytes())
    kept = [each for each in content["annotations"] if "keypoints" in each]
    keys = ("id", "image_id", "category_id", "annotator", "bbox", "keypoints", "area")
    content["annotations"] = [{key: each[key] for key in keys if key in each} for each in kept]
    assert kept
    written(first, content)
    out, back = tmp_path / ("o.json" if to == "label-studio" else "o"), tmp_path / "back.json"
    found = bboxqa.convert(first, out, to=to, lossy=True)
    with bboxqa.reading(image_size=(content["images"][0]["width"], content["images"][0]["height"])):
        bboxqa.convert(out, back, to="coco", lossy=True, **by_folders(to, found))
    points = [
        np.sort(np.concatenate([each["keypoints"] for each in one["annotations"]]))
        for one in (json.loads(back.read_bytes()), content)
    ]
    np.testing.assert_allclose(*points, atol=0.2)


@pytest.mark.parametrize("to", ["label-studio", "labelme"])
def test_single_points_of_cvat_get_no_box(tmp_path, to):
    (tmp_path / "a.xml").write_text(
        "<annotations><version>1.1</version><image id='0' name='a.jpg' width='64' height='48'>"
        "<points label='roof' points='5,6'/></image></annotations>"
    )
    out, back = tmp_path / ("out.json" if to == "label-studio" else "out"), tmp_path / "back.json"
    bboxqa.convert(tmp_path / "a.xml", out, to=to)
    bboxqa.convert(out, back, to="coco")
    (found,) = json.loads(back.read_bytes())["annotations"]
    assert found["keypoints"] == pytest.approx([5, 6, 2])
    assert "bbox" not in found
