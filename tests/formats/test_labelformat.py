"""Boxes and outlines as labelformat reads them."""

from pathlib import Path

import pytest
from labelformat import formats
from PIL import Image
from support.cvat_xml import box, head, image, written
from support.tool_files import write

from bboxqa import read_coco

SHARED = Path(__file__).parents[3] / "shared/data/formats"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no files of tools here")
YAML = "train: images\nnames: {0: cat, 1: dog}\n"


def ours(path):
    """Return (stem of image, category, box) of each annotation, sorted."""
    data = read_coco(path, min_annotators=1)
    of = data.annotations
    each = zip(of.image, of.category, of.bbox.tolist(), strict=True)
    return sorted((Path(data.image_names[i]).stem, data.category_names[c], *b) for i, c, b in each)


def theirs(found):
    boxes = (
        (each, one.category.name, one.box) for each in found.get_labels() for one in each.objects
    )
    return sorted(
        (Path(each.image.filename).stem, name, b.xmin, b.ymin, b.xmax - b.xmin, b.ymax - b.ymin)
        for each, name, b in boxes
    )


def assert_same(left, right):
    assert len(left) == len(right) > 0
    for one, other in zip(left, right, strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=1e-4)


def yolo(path, line, other):
    (path / "images").mkdir()
    for name, size in (("a", (64, 48)), ("b", (30, 40))):
        Image.new("RGB", size).save(path / f"images/{name}.png")
    write(path, **{"data.yaml": YAML, "labels/a.txt": line, "labels/b.txt": other})
    return path / "data.yaml"


def test_boxes_of_yolo(tmp_path):
    file = yolo(tmp_path, "0 .5 .5 .25 .5\n1 .2 .3 .05 .125\n", "1 .5 .5 1 1\n")
    found = formats.YOLOv8ObjectDetectionInput(file, "train")
    assert_same(ours(tmp_path), theirs(found))


def test_outlines_of_yolo(tmp_path):
    file = yolo(tmp_path, "0 .1 .1 .5 .2 .4 .9\n", "1 0 0 1 0 1 .5 .5 1 0 .5\n")
    found = formats.YOLOv8InstanceSegmentationInput(file, "train")
    expected = []
    for each in found.get_labels():
        for one in each.objects:
            x, y = zip(*one.segmentation.polygons[0], strict=True)
            bounds = (min(x), min(y), max(x) - min(x), max(y) - min(y))
            expected.append((Path(each.image.filename).stem, one.category.name, *bounds))
    assert_same(ours(tmp_path), sorted(expected))


def of_cvat(path, scratch):
    """Return what labelformat reads, which refuses the first line of XML where lxml is there."""
    text = path.read_text("utf-8")
    bare = scratch / "bare.xml"
    bare.write_text(text[text.index("?>") + 2 :] if text.startswith("<?xml") else text, "utf-8")
    return theirs(formats.CVATObjectDetectionInput(bare))


def test_boxes_of_cvat(tmp_path):
    shapes = box(10.25, 5, 40, 61.5), box(label="dog")
    path = written(tmp_path / "a.xml", head("ann"), image("a.jpg", *shapes))
    assert_same(ours(path), of_cvat(path, tmp_path))


@needs_shared
@pytest.mark.parametrize("name", ["cat_boxes_job", "rebar_task"])
def test_files_of_cvat(name, tmp_path):
    path = SHARED / "cvat" / name / "annotations.xml"
    assert_same(ours(path), of_cvat(path, tmp_path))
