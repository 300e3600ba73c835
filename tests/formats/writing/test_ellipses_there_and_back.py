"""Ellipses are ellipses again after a conversion, and other outlines are none."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.converted import document, there_and_back, written

import bboxqa
from bboxqa.formats.translation.shapes import bounds, ellipse
from bboxqa.formats.writing.outlines import ellipse_of

SIDES = st.floats(1, 200)
MARKS = {
    "cvat": '<ellipse label="cat"',
    "label-studio": '"ellipselabels"',
    "labelme": '"shape_type": "circle"',
}


def outlined(points, degrees=0):
    record = {"bbox": bounds(points), "segmentation": [points.ravel().tolist()]}
    return record | ({"attributes": {"rotation": degrees}} if degrees else {})


def content_of(path):
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return "".join(each.read_text() for each in files)


@settings(deadline=None)
@given(st.floats(0, 900), st.floats(0, 900), SIDES, SIDES, st.floats(0, 359.99), st.booleans())
def test_the_ellipse_of_points_is_the_one_that_they_replace(x, y, wide, high, angle, is_said):
    degrees = round(angle, 2)
    points = ellipse((x, y), (wide, high), degrees).round(6)
    found = ellipse_of(outlined(points, degrees if is_said else 0))
    again = ellipse((found.x, found.y), (found.radius_x, found.radius_y), found.degrees)
    assert again == pytest.approx(points, abs=2e-3)
    assert [found.radius_x, found.radius_y] == pytest.approx([wide, high], abs=2e-3)


@pytest.mark.parametrize("name", MARKS)
def test_ellipses_are_written_as_such(tmp_path, name):
    radii = (20, 20) if name == "labelme" else (30, 15)
    degrees = 0 if name == "labelme" else 25
    points = ellipse((90, 70), radii, degrees).round(6)
    source = written(
        tmp_path / "a.json",
        document([("a.jpg", 640, 480, ["ann"])], [(0, "ann", 0, outlined(points, degrees))]),
    )
    out = tmp_path / f"out{'.json' if name == 'label-studio' else ''}"
    assert bboxqa.convert(source, out, to=name).losses == ()
    assert MARKS[name] in content_of(out)
    (folder := tmp_path / "again").mkdir()
    (again,) = there_and_back(source, folder, name)["annotations"]
    ring = np.array(again["segmentation"][0]).reshape(-1, 2)
    assert ring == pytest.approx(points, abs=1e-5)
    assert again["bbox"] == pytest.approx(bounds(points), abs=1e-5)
    assert again.get("attributes", {}).get("rotation", 0) == degrees


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("change", ["moved", "fewer", "cut"])
def test_other_outlines_stay_polygons(tmp_path, name, change):
    points = ellipse((90, 70), (20, 20))
    if change == "moved":
        points[9] += 0.01
    elif change == "cut":
        points[:, 0] = np.maximum(points[:, 0], 75)
    else:
        points = points[1:]
    content = document([("a.jpg", 640, 480, ["ann"])], [(0, "ann", 0, outlined(points))])
    source = written(tmp_path / "a.json", content)
    (tmp_path / "again").mkdir()
    (again,) = there_and_back(source, tmp_path / "again", name)["annotations"]
    assert len(again["segmentation"][0]) == 2 * len(points)
    assert json.loads(source.read_text())["annotations"][0]["bbox"] == bounds(points)


def test_circles_only_are_circles_of_labelme(tmp_path):
    points = ellipse((90, 70), (20, 12))
    content = document([("a.jpg", 640, 480, ["ann"])], [(0, "ann", 0, outlined(points))])
    out = tmp_path / "out"
    assert bboxqa.convert(written(tmp_path / "a.json", content), out, to="labelme").losses == ()
    assert '"polygon"' in content_of(out)
