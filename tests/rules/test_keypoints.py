"""K: keypoints."""

import pytest
from support.validation import codes, findings

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


def test_three_numbers_for_each_point_where_nothing_names_them():
    assert "K001" in codes(pose((), keypoints=POINTS[:7], num_keypoints=2))
    assert "K001" not in codes(pose((), keypoints=POINTS[:6], num_keypoints=2))


@pytest.mark.parametrize("wrong", [3, "2", None, 1.5, [2]])
def test_the_number_of_visible_points_is_set(wrong):
    (found,) = findings(pose(keypoints=POINTS, num_keypoints=wrong), code="K001")
    assert found.message.endswith("expected 2, the points with a visibility above 0")
    assert [(e.action, e.value) for e in found.edits] == [("replace", 2)]


def test_a_missing_number_is_added():
    (found,) = findings(pose(keypoints=POINTS), code="K001")
    assert found.message.startswith("num_keypoints is missing; expected 2")
    assert [(e.pointer, e.action, e.value) for e in found.edits] == [
        ("/annotations/0/num_keypoints", "add", 2)
    ]


@pytest.mark.parametrize("odd", ["text", {}, 7, ["a", 1, 2], [[1, 2, 2]]])
def test_what_is_no_list_of_numbers(odd):
    (found,) = findings(pose(keypoints=odd, num_keypoints=1), code="K001")
    assert found.message.startswith("keypoints is not a list of numbers; expected 9")


def test_annotations_without_keypoints_have_none_to_count():
    assert "K001" not in codes(pose())
    assert "K001" not in codes(pose(keypoints=None, num_keypoints=0))


@pytest.mark.parametrize("names", [None, "nose", 5, {"a": 1}])
def test_odd_categories_do_not_stop_it(names):
    content = {"categories": [{"keypoints": names}], "annotations": [{"keypoints": POINTS}]}
    assert "K001" in codes(content)
