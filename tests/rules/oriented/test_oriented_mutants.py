"""Defects of rotated boxes, each put into clean files of every format that can have it."""

import re

import numpy as np
import pytest
from support.datasets import annotation, document
from support.rotated_files import FORMATS, WITH_ANGLES, WITH_CORNERS, boxes, changed
from support.validation import codes, findings

from bboxqa.model.findings import Severity

FIRST = 3


def loud(content):
    """Return the findings but those that any small file has."""
    kept = [found for found in findings(content) if found.severity is not Severity.INFO]
    return [(found.code, found.message) for found in kept]


def of_rotated(content):
    return {code for code in codes(content) if code[0] == "O"} - {"O009"}


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_sound_rotated_boxes_are_clean(name):
    assert loud(FORMATS[name](boxes())) == []
    assert of_rotated(FORMATS[name](boxes())) == set()


def reordered(found, *order):
    return changed(found, FIRST, corners=tuple(map(tuple, found[FIRST].points()[list(order)])))


@pytest.mark.parametrize("name", WITH_CORNERS)
@pytest.mark.parametrize(("code", "change"), [("O004", lambda found: reordered(found, 0, 1, 3, 2))])
def test_a_defect_of_corners_is_named_and_nothing_else(name, code, change):
    content = FORMATS[name](change(boxes()))
    assert of_rotated(content) == {code}
    assert {each for each, _ in loud(content)} <= {code}


@pytest.mark.parametrize("name", WITH_CORNERS)
def test_corners_that_all_cross_are_one_finding(name):
    zigzag = [0, 1, 3, 2]
    found = boxes()
    for place, box in enumerate(found):
        found = changed(found, place, corners=tuple(map(tuple, box.points()[zigzag])))
    (defect,) = findings(FORMATS[name](found), code="O004")
    assert "of" in defect.message
    assert defect.count > 70
    assert {each for each, _ in loud(FORMATS[name](found))} == {"O004"}


@pytest.mark.parametrize("name", WITH_ANGLES)
def test_an_angle_beyond_a_turn_is_named_with_the_direction_it_means(name):
    found = boxes()
    turn = 2 * np.pi if name == "voc" else 360
    direction = np.radians(found[FIRST].degrees) if name == "voc" else found[FIRST].degrees
    (defect,) = findings(
        FORMATS[name](changed(found, FIRST, angle=direction + 2 * turn)), code="O001"
    )
    said = float(re.search(r"the direction ([0-9.]+);", defect.message)[1])
    assert said == pytest.approx(direction, rel=0.001)


@pytest.mark.parametrize("name", ["corners", "eight", "cvat", "label studio", "voc"])
def test_a_box_whose_centre_lies_beyond_the_image_is_a_warning(name):
    (defect,) = findings(FORMATS[name](changed(boxes(), FIRST, centre=(1020, 400))), code="O006")
    assert defect.severity is Severity.WARNING
    assert "centre" in defect.message


@pytest.mark.parametrize("name", ["five", "eight"])
def test_boxes_of_more_numbers_are_rotated_ones_and_not_broken(name):
    content = FORMATS[name](boxes())
    assert "S006" not in codes(content)
    (defect,) = findings(content, code="O009")
    assert defect.count == len(boxes())


@pytest.mark.parametrize(
    ("bbox", "degrees", "expected"),
    [
        # Turned by a quarter, the box is 5 to 15, 25 to 65; as it stands it begins at -10.
        ((-10, 40, 40, 10), 90, set()),
        # The box as it stands is inside; turned by a quarter it is -10 to 20, 40 to 50.
        ((0, 30, 10, 30), 90, {"O006"}),
        ((-10, 40, 40, 10), 0, {"B003"}),
        ((-0.5, 40, 40, 10), 180, set()),
    ],
)
def test_a_box_beside_an_angle_lies_where_it_is_turned(bbox, degrees, expected):
    turned = annotation(1, bbox=bbox, attributes={"rotation": degrees})
    others = [annotation(number, bbox=(10 * number, 40, 8, 8)) for number in range(2, 9)]
    edges = {"B002", "B003", "B004", "O006"}
    assert codes(document([turned, *others])) & edges == expected
