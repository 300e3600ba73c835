"""Defects of key points in files of annotation tools, each found at its place in that file."""

import pytest
from support import cvat_xml
from support.validation import codes, findings

from bboxqa.rules.base.rule import Files

JOINTS = ("nose", "paw", "tail")
WIDTH, HEIGHT = 400, 300


def people():
    """Return x, y and visibility of three points of each of some animals."""
    found = []
    for place in range(8):
        x, y = 20 + 45 * place, 30 + 25 * (place % 4)
        found.append([[x, y, 2], [x + 12 + place, y + 20, 1], [x + 24, y + 31 + place, 2]])
    return found


def box_of(points):
    x, y = [p[0] for p in points if p[2]], [p[1] for p in points if p[2]]
    return min(x) - 3, min(y) - 3, max(x) + 3, max(y) + 3


def yolo(animals, boxes=None):
    lines = []
    for points, box in zip(animals, boxes or map(box_of, animals), strict=True):
        left, top, right, bottom = box
        numbers = [(left + right) / 2 / WIDTH, (top + bottom) / 2 / HEIGHT,
                   (right - left) / WIDTH, (bottom - top) / HEIGHT]  # fmt: skip
        for x, y, seen in points:
            numbers += [x / WIDTH, y / HEIGHT, seen]
        lines.append("0 " + " ".join(f"{number:.6g}" for number in numbers) + "\n")
    names = "kpt_shape: [3, 3]\nnames: [cat]\nkpt_names:\n  0: [nose, paw, tail]\n"
    picture = f"P3 {WIDTH} {HEIGHT} 255"
    return Files({"data.yaml": names, "labels/a.txt": "".join(lines), "images/a.ppm": picture})


def cvat(animals):
    parents = "".join(
        f"<label><name>{joint}</name><type>points</type><parent>cat</parent></label>"
        for joint in JOINTS
    )
    labels = f"<label><name>cat</name><type>skeleton</type></label>{parents}"
    head = (
        "<version>1.1</version><meta><task><id>7</id><assignee><username>ann</username></assignee>"
        f"<labels>{labels}</labels></task></meta>\n"
    )
    shapes = []
    for points in animals:
        inside = "".join(
            f'\n<points label="{joint}" occluded="{int(seen == 1)}" outside="{int(seen == 0)}" '
            f'points="{x},{y}"></points>'
            for joint, (x, y, seen) in zip(JOINTS, points, strict=False)
        )
        shapes.append(f'<skeleton label="cat">{inside}\n</skeleton>\n')
    image = cvat_xml.image("a.jpg", *shapes, width=WIDTH, height=HEIGHT)
    return f"<annotations>\n{head}{image}</annotations>"


FORMATS = {"yolo": yolo, "cvat": cvat}


def changed(place, joint, *point):
    animals = people()
    animals[place][joint] = [*point]
    return animals


def of_points(content):
    return {code for code in codes(content) if code[0] in "KBDPT" and code[0] != "D"}


@pytest.mark.parametrize("name", FORMATS)
def test_sound_key_points_of_tools_are_clean(name):
    assert of_points(FORMATS[name](people())) == set()


@pytest.mark.parametrize("name", FORMATS)
def test_a_point_beyond_the_image_is_found_at_its_place(name):
    content = FORMATS[name](changed(5, 2, 640, 90, 2))
    (defect,) = findings(content, code="K004")
    assert "240 px beyond the right edge of its image" in defect.message
    text = content["labels/a.txt"] if name == "yolo" else content
    line = text.splitlines()[defect.spot.line - 1]
    assert {"yolo": "1.6", "cvat": "<skeleton"}[name] in line


@pytest.mark.parametrize("name", FORMATS)
def test_a_labelled_point_in_the_corner_is_found(name):
    assert of_points(FORMATS[name](changed(5, 1, 0, 0, 2))) >= {"K003"}


def test_another_visibility_is_found():
    assert of_points(yolo(changed(5, 0, 250, 60, 3))) == {"K002"}


def test_a_skeleton_without_one_of_its_points_is_found():
    animals = people()
    del animals[3][2]
    (defect,) = findings(cvat(animals), code="K001")
    assert "2 points; its label 'cat' has 3" in defect.message
