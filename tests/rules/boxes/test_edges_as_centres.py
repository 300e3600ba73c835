"""Boxes beyond edges that lie inside if they are read in another layout."""

import pytest
from support.datasets import annotation, document, image

import bboxqa


def messages(boxes):
    records = [annotation(number, bbox=box) for number, box in enumerate(boxes, 1)]
    found = bboxqa.validate(document(records, [image(1, width=100, height=80)]), select=["B003"])
    return [finding.message for finding in found.findings]


BEYOND = [[85, 20, 30, 20], [20, 62, 20, 30], [88, 40, 20, 20]]
INSIDE = [[30 + place, 30, 9, 9] for place in range(20)]


@pytest.mark.parametrize(
    ("more", "is_said"),
    [
        ([], True),
        # A box that is as far beyond the edge if x, y are its centre.
        ([[98, 20, 30, 20]], False),
    ],
)
def test_centres_that_explain_most_boxes_beyond_an_edge_are_said(more, is_said):
    found = messages([*BEYOND, *more, *INSIDE])
    assert len(found) == 3 + len(more)
    assert [", and lies inside if x, y are its centre" in each for each in found[:3]] == (
        [is_said] * 3
    )


def test_two_boxes_say_nothing_about_centres():
    found = messages([*BEYOND[:2], *INSIDE])
    assert len(found) == 2
    assert not [each for each in found if "centre" in each]


CORNERS = [[30, 20, 75, 60], [10, 30, 60, 70], [40, 10, 90, 50]]


@pytest.mark.parametrize(
    ("corners", "others", "n_lines"), [(CORNERS, INSIDE, 3), (CORNERS * 2, INSIDE[:8], 1)]
)
def test_corners_that_explain_boxes_beyond_an_edge_are_said(corners, others, n_lines):
    """So few boxes prove no layout; from a fifth of the boxes on, one line is about all."""
    found = messages([*corners, *others])
    assert len(found) == n_lines
    assert all(", and lies inside if it is two corners; expected" in each for each in found)
    found = messages([*corners, *BEYOND, *others])
    assert not [each for each in found if "corners" in each]
