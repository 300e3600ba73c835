"""Points of LabelMe with the group of a box are its key points."""

import json

import pytest

import bboxqa

BOX = ("cat", "rectangle", [[10, 20], [50, 60]])
OTHER = ("dog", "polygon", [[60, 20], [90, 20], [90, 60]])
EYES = [("left_eye", "point", [[20, 30]]), ("right_eye", "point", [[40, 30]])]


def read(folder, *shapes, keypoints=True):
    """Return the data set of shapes (label, type, points) with groups, by one annotator."""
    listed = [
        {"label": label, "shape_type": kind, "points": points, "group_id": group, "flags": {}}
        for (label, kind, points), group in shapes
    ]
    document = {
        "version": "5.4.1", "flags": {}, "shapes": listed, "imagePath": "a.jpg",
        "imageData": None, "imageHeight": 80, "imageWidth": 100,
    }  # fmt: skip
    (folder / "a.json").write_text(json.dumps(document))
    return bboxqa.read_coco(folder, keypoints=keypoints, min_annotators=1)


def points_of(data):
    """Return the category of each annotation, and the labelled points in it."""
    found = []
    for row, category in enumerate(data.annotations.category.tolist()):
        part = slice(*(int(x[row]) for x in (data.annotations.keypoints.start,
                                             data.annotations.keypoints.stop)))  # fmt: skip
        names, xy = data.joint_names[category], data.annotations.keypoints.xy[part].tolist()
        seen = data.annotations.keypoints.visibility[part].tolist()
        joints = [(*each, mark) for *each, mark in zip(names or ["1"], xy, seen, strict=False)]
        found.append((data.category_names[category], [each for each in joints if each[-1]]))
    return sorted(found)


CAT = ("cat", [("left_eye", [20, 30], 2), ("right_eye", [40, 30], 2)])


def test_points_before_and_after_a_box_are_its_joints(tmp_path):
    data = read(tmp_path, (EYES[0], 7), (BOX, 7), (OTHER, None), (EYES[1], 7))
    assert points_of(data) == [CAT, ("dog", [])]
    assert data.annotations.bbox[0].tolist() == [10, 20, 40, 40]
    assert not [note for note in data.notes if "group" in note]


def test_of_several_shapes_the_only_rectangle_has_the_points(tmp_path):
    data = read(tmp_path, (OTHER, "a"), (BOX, "a"), (EYES[0], "a"), (EYES[1], "a"))
    assert points_of(data) == [CAT, ("dog", [])]


@pytest.mark.parametrize("others", [[], [(BOX, 1), (BOX, 1)], [(BOX, 2)], [(BOX, None)]])
def test_points_without_one_box_are_objects(tmp_path, others):
    data = read(tmp_path, (EYES[0], 1), (EYES[1], 1), *others)
    found = [(name, points) for name, points in points_of(data) if points]
    assert found == [("left_eye", [("1", [20, 30], 2)]), ("right_eye", [("1", [40, 30], 2)])]
    expected = "2 points in groups without one box: each is an object of its own"
    assert [note for note in data.notes if note.endswith(expected)]
