"""Key points in drawings."""

import numpy as np
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
