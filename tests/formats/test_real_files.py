"""Real files of each tool: the numbers of images and boxes, and what is not compared."""

from pathlib import Path

import pytest

from bboxqa import read_coco, reading, validate

SHARED = Path(__file__).parents[3] / "shared/data/formats"

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="no files of tools here")


@pytest.mark.parametrize(
    ("name", "n_images", "n_boxes"),
    [
        ("cvat/cat_boxes_job", 14, 24),
        ("cvat/rebar_task", 48, 1030),
        ("cvat/project_export", 6, 6),
        ("cvat/points_job", 19, 0),
        ("cvat/polygon_job", 5, 1),
        ("cvat/video_job", 910, 498),
        ("darwin/all_shapes", 8, 32),
        ("datumaro/noisy_boxes", 10, 67),
        ("datumaro/points_video", 407, 0),
        ("dota/planes", 2, 4),
        ("dota/roboflow_obb", 3, 4),
        ("label_studio/three_annotators", 5, 121),
        ("labelme/shapes", 4, 23),
        ("labelme/terrain", 3, 22),
        ("voc/blood_cells", 15, 271),
        ("voc/cvat_export", 4, 18),
        ("voc/labelimg_shapes", 4, 25),
        ("voc/raccoon", 15, 15),
        ("yolo/classes_txt", 4, 25),
        ("yolo/cvat_export", 4, 18),
        ("yolo/detect_roboflow", 20, 20),
        ("yolo/rebar", 21, 1030),
    ],
)
def test_all_images_and_boxes_are_read(name, n_images, n_boxes):
    with reading(image_size=(640, 640)):
        data = read_coco(SHARED / name, min_annotators=1)
        found = {each.code for each in validate(SHARED / name, select=["T"]).findings}
    assert (len(data.image_names), len(data.annotations)) == (n_images, n_boxes)
    assert found <= {"T022", "T040"}


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("darwin/all_shapes", "8 key points, 8 polylines, 8 skeletons and 8 image tags are not"),
        ("datumaro/points_video", "396 key points are not compared"),
        ("labelme/shapes", "2 polylines are not compared"),
    ],
)
def test_shapes_without_boxes_are_counted(name, note):
    data = read_coco(SHARED / name, min_annotators=1)
    assert any(each.startswith(note) for each in data.notes)
