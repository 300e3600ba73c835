"""Boxes as globox reads them from the same files."""

from pathlib import Path

import globox
import pytest
from PIL import Image
from support.tool_files import write

from bboxqa import read_coco, reading

SHARED = Path(__file__).parents[3] / "shared/data/formats"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no files of tools here")


def ours(path, **choices):
    """Return (stem of image, category, left, top, right, bottom) of each box, sorted."""
    with reading(**choices):
        data = read_coco(path, min_annotators=1)
    each = data.annotations
    return sorted(
        (Path(data.image_names[image]).stem, data.category_names[label], x, y, x + w, y + h)
        for image, label, (x, y, w, h) in zip(
            each.image, each.category, each.bbox.tolist(), strict=True
        )
    )


def theirs(found):
    return sorted(
        (Path(image.image_id).stem, box.label, box.xmin, box.ymin, box.xmax, box.ymax)
        for image in found
        for box in image.boxes
    )


def assert_same(left, right):
    assert len(left) == len(right) > 0
    for one, other in zip(left, right, strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=1e-6)


XML = (
    "<annotation><filename>{0}.jpg</filename><size><width>100</width><height>80</height></size>"
    "{1}</annotation>"
)
THING = (
    "<object><name>cat</name><bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax>"
    "<ymax>{3}</ymax></bndbox></object>"
)


def test_made_files_of_voc(tmp_path):
    things = THING.format(0, 5, 40, 60) + THING.format(10.5, 5, 30.25, 60)
    write(tmp_path, **{"a.xml": XML.format("a", things), "b.xml": XML.format("b", "")})
    with reading(voc_base=0):
        found = ours(tmp_path)
    assert_same(found, theirs(globox.AnnotationSet.from_pascal_voc(tmp_path)))


@needs_shared
@pytest.mark.parametrize("name", ["raccoon", "blood_cells", "cvat_export"])
def test_files_of_voc(name):
    found = globox.AnnotationSet.from_pascal_voc(SHARED / "voc" / name, recursive=True)
    # It takes all corners as edges from 0 on.
    assert_same(ours(SHARED / "voc" / name, voc_base=0), theirs(found))


@needs_shared
@pytest.mark.parametrize("name", ["rebar_task", "cat_boxes_job"])
def test_files_of_cvat(name):
    path = SHARED / "cvat" / name / "annotations.xml"
    assert_same(ours(path), theirs(globox.AnnotationSet.from_cvat(path)))


@needs_shared
def test_files_of_labelme():
    folder = SHARED / "labelme/terrain"
    assert_same(ours(folder), theirs(globox.AnnotationSet.from_labelme(folder, include_poly=True)))


def test_made_files_of_yolo(tmp_path):
    for name in "ab":
        (tmp_path / "images").mkdir(exist_ok=True)
        Image.new("RGB", (64, 48)).save(tmp_path / f"images/{name}.png")
    write(
        tmp_path, **{"labels/a.txt": "0 0.5 0.5 0.25 0.5\n2 .1 .2 .05 .125\n", "labels/b.txt": ""}
    )
    found = globox.AnnotationSet.from_yolo_v5(
        tmp_path / "labels", image_folder=tmp_path / "images", image_extension=".png"
    )
    expected = [(stem, f"class {label}", *box) for stem, label, *box in theirs(found)]
    assert_same(ours(tmp_path), expected)
