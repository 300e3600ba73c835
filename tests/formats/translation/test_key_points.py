"""Key points of tools: read with their names, in one order, also without a box."""

import json

import numpy as np
import pytest

import bboxqa
from bboxqa.formats.choices import reading
from bboxqa.pipelines.read import read_coco


def _found(path, **options):
    """Return the key points of each annotation, by name, and its box."""
    data = read_coco(path, keypoints=True, min_annotators=1, **options)
    of = data.annotations
    result = []
    for row in range(len(of)):
        names = data.joint_names[of.category[row]]
        part = slice(int(of.keypoints.start[row]), int(of.keypoints.stop[row]))
        points = np.column_stack([of.keypoints.xy[part], of.keypoints.visibility[part]])
        result.append((dict(zip(names, points.tolist(), strict=True)), of.bbox[row].tolist()))
    return result


def _skeleton(*points):
    lines = "".join(
        f'<points label="{name}" source="manual" outside="{outside}" occluded="{hidden}" '
        f'points="{x},{y}"></points>'
        for name, x, y, outside, hidden in points
    )
    return f'<skeleton label="dog" source="manual" z_order="0">{lines}</skeleton>'


def test_skeletons_of_cvat(tmp_path):
    first = _skeleton(("head", 10, 20, 0, 0), ("tail", 40, 60, 0, 1), ("paw", 1, 1, 1, 0))
    second = _skeleton(("tail", 41, 61, 0, 0), ("head", 11, 21, 0, 0), ("paw", 2, 2, 0, 0))
    path = tmp_path / "annotations.xml"
    path.write_text(
        '<?xml version="1.0" encoding="utf-8"?><annotations><version>1.1</version>'
        f'<image id="0" name="a.jpg" width="100" height="100">{first}{second}</image>'
        "</annotations>"
    )
    # Annotations are ordered by their boxes.
    second, first = _found(path)
    assert first == ({"head": [10, 20, 2], "tail": [40, 60, 1], "paw": [1, 1, 0]}, [10, 20, 30, 40])
    assert second == ({"head": [11, 21, 2], "tail": [41, 61, 2], "paw": [2, 2, 2]}, [2, 2, 39, 59])
    # They have no box to be compared with others.
    assert len(read_coco(path, min_annotators=1).annotations) == 0


def _region(number, kind, value, label, parent=None):
    found = {"id": number, "type": f"{kind}labels", "from_name": "label", "to_name": "image"}
    found |= {"original_width": 200, "original_height": 100, "image_rotation": 0}
    found["value"] = {**value, f"{kind}labels": [label]}
    return found if parent is None else {**found, "parentID": parent}


def test_key_points_of_label_studio_belong_to_their_parent_or_stand_alone(tmp_path):
    results = [
        _region("b", "rectangle", {"x": 10, "y": 10, "width": 50, "height": 50}, "dog"),
        _region("1", "keypoint", {"x": 50, "y": 50, "width": 1}, "tail", "b"),
        _region("2", "keypoint", {"x": 20, "y": 20, "width": 1}, "head", "b"),
        _region("3", "keypoint", {"x": 5, "y": 5, "width": 1}, "ball"),
    ]
    task = {
        "id": 1,
        "data": {"image": "a.jpg"},
        "annotations": [{"id": 1, "completed_by": 1, "result": results}],
    }
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    ball, dog = _found(path)
    assert ball == ({"1": [10, 5, 2]}, [10, 5, 0, 0])
    assert dog == ({"tail": [100, 50, 2], "head": [40, 20, 2]}, [20, 10, 100, 50])


def test_poses_of_yolo(tmp_path):
    folder = tmp_path / "pose"
    (folder / "labels").mkdir(parents=True)
    (folder / "labels" / "a.txt").write_text("0 0.5 0.5 0.2 0.4 0.45 0.4 2 0 0 0\n")
    (folder / "data.yaml").write_text(
        "names: [dog]\nkpt_shape: [2, 3]\nkpt_names:\n  0: [head, tail]\n"
    )
    with reading(image_size=(100, 200)):
        ((points, bbox),) = _found(folder)
    assert points == {"head": [45, 80, 2], "tail": [0, 0, 0]}
    assert bbox == pytest.approx([40, 60, 20, 80])


def test_annotators_of_one_skeleton_are_compared(tmp_path):
    for name, shift in (("ann", 0), ("bob", 1)):
        points = ((f"p{n}", 10 * n + shift, 5 * n, 0, 0) for n in range(4))
        (tmp_path / f"{name}.xml").write_text(
            '<?xml version="1.0" encoding="utf-8"?><annotations><version>1.1</version>'
            '<image id="0" name="a.jpg" width="100" height="100">'
            f"{_skeleton(*points)}</image></annotations>"
        )
    files = [tmp_path / "ann.xml", tmp_path / "bob.xml"]
    data = bboxqa.read_coco(files, keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", sigmas=0.1)
    # s² is 30 × 15 of both; every joint is 1 px apart, and k is 0.2.
    assert result.thresholds[0].place.mean_iou == pytest.approx(np.exp(-1 / (2 * 450 * 0.04)))
    assert any("the extent of their key points as scale" in note for note in result.notes)
