"""K: keypoints."""

import pytest
from support.datasets import annotation, document
from support.validation import codes, findings

from bboxqa import validate

POINTS = [12, 12, 2, 20, 20, 1, 0, 0, 0]


def pose(names=("a", "b", "c"), **annotation):
    return {"categories": [{"keypoints": list(names)}], "annotations": [annotation]}


def test_as_many_points_as_the_category_names():
    (found,) = findings(pose(keypoints=POINTS[:6], num_keypoints=2), code="K001")
    assert found.message == (
        "keypoints has 6 numbers; expected 9, three for each of the 3 points of its category"
    )
    assert not found.edits
    assert "K001" not in codes(pose(keypoints=POINTS, num_keypoints=2))


@pytest.mark.parametrize("wrong", [3, "2", None, 1.5, [2]])
def test_the_number_of_visible_points_is_set(wrong):
    (found,) = findings(pose(keypoints=POINTS, num_keypoints=wrong), code="K001")
    assert found.message.endswith("expected 2, the points with a visibility above 0")
    assert [(e.action, e.value) for e in found.edits] == [("replace", 2)]


@pytest.mark.parametrize("odd", ["text", {}, 7, ["a", 1, 2], [[1, 2, 2]]])
def test_what_is_no_list_of_numbers(odd):
    (found,) = findings(pose(keypoints=odd, num_keypoints=1), code="K001")
    assert found.message.startswith("keypoints is not a list of numbers; expected 9")


INSIDE = [20, 20, 2, 15, 30, 1, 0, 0, 0]


def placed(keypoints, **more):
    """Return the findings about an annotation whose box is x 10 to 30, y 10 to 40."""
    content = pose(keypoints=keypoints, num_keypoints=2)
    content["images"] = [{"width": 400, "height": 300}]
    return findings(content, select=("K",), **more)


def test_sound_points_are_left_alone():
    assert placed(INSIDE) == []
    assert placed([*INSIDE[:6], -5, -5, 0]) == []


@pytest.mark.parametrize("seen", [3, -1, 0.5])
def test_a_visibility_that_coco_does_not_have(seen):
    found = placed([*INSIDE[:5], seen, *INSIDE[6:]])[-1]
    assert found.code == "K002"
    assert found.message == (
        f'visibility of keypoint 2 ("b") is {seen}; expected 0 (not labelled), 1 (hidden) or 2 '
        "(visible)"
    )
    assert found.pointer == "/annotations/0/keypoints/5"


def test_a_labelled_point_in_the_corner():
    (found,) = placed([*INSIDE[:3], 0, 0, 2, 0, 0, 0])
    assert (found.code, found.pointer) == ("K003", "/annotations/0/keypoints/3")
    assert found.message == (
        'keypoint 2 ("b") is at (0, 0) with visibility 2; expected visibility 0, or the '
        "position of the point"
    )


def test_a_count_that_leaves_out_points_in_the_corner_is_right():
    points = [12, 12, 2, 0, 0, 2, 20, 20, 1]
    found = findings(pose(keypoints=points, num_keypoints=2), select=("K001", "K003"))
    assert [each.code for each in found] == ["K003"]
    assert codes(pose(keypoints=points, num_keypoints=1), select=("K001",)) == {"K001"}


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ((405, 20), "5 px beyond the right edge of its image"),
        ((20, -4), "4 px beyond the top edge of its image"),
        ((70, 20), "40 px beyond the right edge of its bbox, whose longer side is 30 px"),
    ],
)
def test_a_point_outside_of_its_image_or_far_from_its_box(point, message):
    (found,) = placed([*INSIDE[:3], *point, 2, 0, 0, 0])
    assert found.code == "K004"
    expected = "in the image" if "image" in message else "in or near the bbox"
    assert found.message == f"a labelled keypoint is {message}; expected it {expected}"


@pytest.mark.parametrize(
    ("skeleton", "message"),
    [
        ([[0, 1], [1, 2]], "skeleton counts keypoints from 0"),
        ([[1, 2], [3, 4]], "skeleton joins keypoint 4"),
        ([[1, -2]], "skeleton joins keypoint -2"),
    ],
)
def test_a_skeleton_joins_points_that_exist(skeleton, message):
    content = pose(keypoints=INSIDE, num_keypoints=2)
    content["categories"][0]["skeleton"] = skeleton
    (found,) = findings(content, select=("K",))
    assert found.code == "K006"
    assert found.message == f"{message}; expected numbers from 1 to 3, the number of keypoints"


@pytest.mark.parametrize("skeleton", [None, [], "1-2", [1, 2], [["a", "b"]], [[1, 3]], {}])
def test_skeletons_without_wrong_numbers(skeleton):
    content = pose(keypoints=INSIDE, num_keypoints=2)
    content["categories"][0]["skeleton"] = skeleton
    assert findings(content, select=("K",)) == []


@pytest.mark.parametrize("categories", [None, [], [{"id": 1, "name": "c", "keypoints": ["a"]}]])
def test_points_of_an_unknown_category_are_those_of_no_category(categories):
    points = {"keypoints": [16, 15, 9, 20, 20, 1], "num_keypoints": 2}
    content = document([annotation(1, category_id=7, **points)], categories=categories or [])
    if categories is None:
        del content["categories"]
    (found,) = (each for each in validate(content).findings if each.code == "K002")
    assert found.message.startswith("visibility of keypoint 1 is 9")
