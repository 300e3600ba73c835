"""Boxes and masks as Label Studio's own converter has them."""

import json
from pathlib import Path

import numpy as np
import pytest
from label_studio_sdk import converter
from support.masks import drawn_spans
from support.studio import box, task, work, written
from support.tool_files import drawn

from bboxqa import read_coco, reading
from bboxqa.formats.label_studio.regions import brush_mask

SHARED = Path(__file__).parents[3] / "shared/data/formats/label_studio"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no files of Label Studio here")


def theirs(labels):
    tags = "".join(f'<Label value="{each}"/>' for each in labels)
    boxes = f'<RectangleLabels name="label" toName="image">{tags}</RectangleLabels>'
    view = f'<View><Image name="image" value="$image"/>{boxes}</View>'
    return converter.Converter(view, "/", download_resources=False)


def ours(path, **said):
    with reading(**said):
        data = read_coco(path, min_annotators=1)
    return sorted((Path(image).stem, label, *numbers) for image, _, label, *numbers in drawn(data))


def assert_same(found, expected):
    assert len(found) == len(expected) > 0
    for one, other in zip(sorted(found), sorted(expected), strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=1e-4)


@needs_shared
def test_boxes_of_an_export_as_coco(tmp_path):
    (path,) = (SHARED / "boxes_export").glob("*.json")
    theirs(["Cat", "Cats"]).convert_to_coco(str(path), str(tmp_path), is_dir=False)
    made = json.loads((tmp_path / "result.json").read_bytes())
    images = {each["id"]: Path(each["file_name"]).stem[9:] for each in made["images"]}
    names = {each["id"]: each["name"] for each in made["categories"]}
    expected = [
        (images[each["image_id"]], names[each["category_id"]], *each["bbox"])
        for each in made["annotations"]
    ]
    assert_same(ours(path), expected)


@pytest.mark.parametrize("is_obb", [False, True])
def test_its_yolo_of_tasks_is_read_as_the_tasks(tmp_path, is_obb):
    turned = {"rotation": 30} if is_obb else {}
    shapes = [box(20, 30, 25, 10, value=turned), box(5, 5, 9, 9, "dog", value=turned)]
    path = written(tmp_path / "a.json", *(task(n, work(1, *shapes[:n])) for n in (1, 2)))
    out = tmp_path / "yolo"
    theirs(["cat", "dog"]).convert_to_yolo(str(path), str(out), is_dir=False, is_obb=is_obb)
    found = [(name[9:], *rest) for name, *rest in ours(out, image_size=(200, 100))]
    assert_same(found, ours(path))


@needs_shared
def test_masks_are_the_same(tmp_path):
    from label_studio_sdk.converter.brush import decode_rle

    (content,) = [json.loads(each.read_bytes()) for each in SHARED.glob("brush_prediction/*.json")]
    results = content[0]["result"]
    for each in results:
        high, wide = each["original_height"], each["original_width"]
        expected = decode_rle(each["value"]["rle"]).reshape(high, wide, 4)[:, :, 3] > 0
        found = brush_mask(each["value"]["rle"], wide, high)
        assert expected.any()
        np.testing.assert_array_equal(drawn_spans(found.spans, high, wide), expected)
