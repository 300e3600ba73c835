"""Key points in drawings."""

import json

import numpy as np
import pytest
from support.poses import people_document

import bboxqa


def test_labelled_joints_are_dots_and_lines_join_them():
    def damage(who, number, points):
        points[0] = 0
        points[1, 2] = 1
        return points

    document = people_document(
        np.random.default_rng(1), n_images=1, annotators=("ann",), damage=damage
    )
    data = bboxqa.read_coco(document, keypoints=True, min_annotators=1)
    drawing = bboxqa.draw(data, "1.jpg")
    collections = drawing.axes[0].collections
    dots = [len(each.get_offsets()) for each in collections if each.get_offsets().any()]
    # One hidden joint, and the fifteen visible ones.
    assert sorted(dots) == [1, 15]
    lines = [each for each in collections if type(each).__name__ == "LineCollection"]
    # Of COCO's nineteen limbs, two end at the nose, which is not labelled.
    assert [len(each.get_segments()) for each in lines] == [17]


NAMES = ["head", "tail", "left_wing", "right_wing"]
POINTS = [[10, 10], [10, 50], [30, 30], [0, 0]]


def bird(names, skeleton, who="ann", number=1):
    """Return a document of one bird whose right wing is not labelled."""
    triples = {name: [*xy, 2 * (xy != [0, 0])] for name, xy in zip(NAMES, POINTS, strict=True)}
    record = {
        "id": number, "image_id": 1, "category_id": 1, "annotator": who, "bbox": [5, 5, 50, 50],
        "keypoints": [value for name in names for value in triples[name]],
    }  # fmt: skip
    return {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 90, "height": 90}],
        "categories": [{"id": 1, "name": "bird", "keypoints": names, "skeleton": skeleton}],
        "annotations": [record],
    }


def drawn_lines(data):
    """Return the lines of each annotation that is drawn, both ends."""
    axes = bboxqa.draw(data, "a.jpg").axes[0]
    lines = [each for each in axes.collections if type(each).__name__ == "LineCollection"]
    return [[segment.tolist() for segment in each.get_segments()] for each in lines]


@pytest.mark.parametrize(
    ("skeleton", "expected"),
    [
        # Of three, the one to the right wing has no end.
        ([[1, 2], [3, 1], [4, 1]], [[POINTS[0], POINTS[1]], [POINTS[2], POINTS[0]]]),
        # One from 0 would have all lines at wrong joints.
        ([[0, 1], [1, 2]], []),
        ([[1, 5]], []),
        ([[1, 2, 3]], []),
        ([], []),
        ("1-2", []),
    ],
)
def test_lines_are_those_of_the_skeleton_counted_from_1(skeleton, expected):
    data = bboxqa.read_coco(bird(NAMES, skeleton), keypoints=True, min_annotators=1)
    assert drawn_lines(data) == [expected]


def test_a_skeleton_follows_its_joints_into_another_order(tmp_path):
    turned = NAMES[::-1]
    for who, names, skeleton in (("ann", NAMES, []), ("bob", turned, [[4, 3]])):
        (tmp_path / f"{who}.json").write_text(json.dumps(bird(names, skeleton, who)))
    data = bboxqa.read_coco(tmp_path, keypoints=True)
    assert data.limbs == (((0, 1),),)
    assert drawn_lines(data) == [[[POINTS[0], POINTS[1]]]] * 2


def test_pages_have_the_lines_of_the_skeleton():
    document = bird(NAMES, [[2, 3]])
    (other,) = bird(NAMES, [], "bob", number=2)["annotations"]
    document["annotations"].append(other | {"keypoints": [70, 70, 2] * 4})
    data = bboxqa.read_coco(document, keypoints=True)
    result = bboxqa.agree(data, similarity="keypoints", sigmas=(0.05,), bootstrap=0)
    (image,) = result.diagnose().worst_images["images"]
    lines = [each["lines"] for each in image["shapes"]]
    assert lines == [[[10, 50, 30, 30]], [[70, 70, 70, 70]]]
