"""Files as other programs write and read them, and numbers of images and boxes of real files."""

import json
from pathlib import Path

import globox
import numpy as np
import pytest
import supervision
from label_studio_sdk import converter
from label_studio_sdk.converter.brush import decode_rle
from labelformat import formats
from PIL import Image
from support.masks import drawn_spans
from support.studio import box, task, work, written
from support.tool_files import drawn

from bboxqa import read_coco, reading, validate
from bboxqa.formats.label_studio.tasks import brush_mask

SHARED = Path(__file__).parents[3] / "shared/data/formats"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no files of tools here")
SIZES = {"a.png": (640, 480), "b c.png": (333, 500), "d.png": (64, 64)}
LABELS = ["cat", "traffic light", "dog"]
# How each format rounds coordinates; nothing else may differ.
ROUNDED = {"labelme": 1e-6, "cvat": 1e-6, "coco": 1e-6, "pascal_voc": 1e-6, "via_json": 1e-6,
           "openimage": 1e-3, "yolo_v5": 1e-3}  # fmt: skip


@pytest.fixture(scope="module", params=[0, 1])
def made(request, tmp_path_factory):
    """Return a folder with pictures, and random boxes in them; the last picture has none."""
    folder = tmp_path_factory.mktemp("random")
    rng = np.random.default_rng(request.param)
    annotations = globox.AnnotationSet()
    for name, (width, height) in SIZES.items():
        Image.new("RGB", (width, height)).save(folder / name)
        annotation = globox.Annotation(image_id=name, image_size=(width, height))
        for _ in range(0 if name == "d.png" else 8):
            left, right = np.sort(rng.random(2)) * width
            top, bottom = np.sort(rng.random(2)) * height
            corners = {"xmin": left, "ymin": top, "xmax": right, "ymax": bottom}
            label = LABELS[rng.integers(len(LABELS))]
            annotation.add(globox.BoundingBox(label=label, **corners))
        annotations.add(annotation)
    return folder, annotations


def rows_of(annotations):
    """Return (stem of image, category, left, top, width, height) of each box, sorted."""
    return sorted(
        (Path(image.image_id).stem, str(box.label), box.xmin, box.ymin, box.width, box.height)
        for image in annotations
        for box in image.boxes
    )


def ours(path, **choices):
    with reading(**choices):
        data = read_coco(path, min_annotators=1)
    return sorted((Path(image).stem, label, *box) for image, _, label, *box in drawn(data))


def assert_same(found, expected, within=1e-6):
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one[:2] == other[:2]
        np.testing.assert_allclose(one[2:], other[2:], rtol=0, atol=within)


@pytest.mark.parametrize("form", ROUNDED)
def test_what_globox_writes_is_read(made, form, tmp_path):
    folder, annotations = made
    (tmp_path / "out").mkdir()
    into = {"coco": "a.json", "via_json": "a.json", "openimage": "a.csv", "cvat": "a.xml"}
    path = tmp_path / "out" / into[form] if form in into else tmp_path / "out"
    more = {
        "coco": {"auto_ids": True},
        "via_json": {"image_folder": folder},
        "yolo_v5": {"label_to_id": {name: number for number, name in enumerate(LABELS)}},
    }
    getattr(annotations, f"save_{form}")(path, **more.get(form, {}))
    said = {"pascal_voc": {"voc_base": 0}}
    if form in ("openimage", "yolo_v5"):
        lines = [f"{name},{width},{height}\n" for name, (width, height) in SIZES.items()]
        (tmp_path / "sizes.csv").write_text("image,width,height\n" + "".join(lines))
        said[form] = {"image_size": str(tmp_path / "sizes.csv")}
    found = ours(path, **said.get(form, {}))
    expected = rows_of(annotations)
    if form == "yolo_v5":
        # It writes no names of classes.
        expected = sorted((n, f"class {LABELS.index(label)}", *box) for n, label, *box in expected)
    assert_same(found, expected, ROUNDED[form])


def test_coco_as_labelformat_and_supervision_read_it(made, tmp_path):
    folder, annotations = made
    annotations.save_coco(tmp_path / "a.json", auto_ids=True)
    theirs = []
    for each in formats.COCOObjectDetectionInput(tmp_path / "a.json").get_labels():
        for one in each.objects:
            x, y, right, bottom = one.box.xmin, one.box.ymin, one.box.xmax, one.box.ymax
            row = (Path(each.image.filename).stem, one.category.name, x, y, right - x, bottom - y)
            theirs.append(row)
    assert_same(ours(tmp_path / "a.json"), sorted(theirs))
    of = supervision.DetectionDataset.from_coco(str(folder), str(tmp_path / "a.json"))
    rows = []
    for path, _, found in of:
        for corners, label in zip(found.xyxy.tolist(), found.class_id, strict=True):
            x, y, right, bottom = corners
            rows.append((Path(path).stem, of.classes[label], x, y, right - x, bottom - y))
    # Its corners are floats of 32 bits.
    assert_same(ours(tmp_path / "a.json"), sorted(rows), 1e-3)


# Label Studio's own converter.


def label_studio(labels):
    tags = "".join(f'<Label value="{each}"/>' for each in labels)
    boxes = f'<RectangleLabels name="label" toName="image">{tags}</RectangleLabels>'
    view = f'<View><Image name="image" value="$image"/>{boxes}</View>'
    return converter.Converter(view, "/", download_resources=False)


@pytest.mark.parametrize("is_obb", [False, True])
def test_its_yolo_of_tasks_is_read_as_the_tasks(tmp_path, is_obb):
    turned = {"rotation": 30} if is_obb else {}
    shapes = [box(20, 30, 25, 10, value=turned), box(5, 5, 9, 9, "dog", value=turned)]
    path = written(tmp_path / "a.json", *(task(n, work(1, *shapes[:n])) for n in (1, 2)))
    out = tmp_path / "yolo"
    label_studio(["cat", "dog"]).convert_to_yolo(str(path), str(out), is_dir=False, is_obb=is_obb)
    found = [(name[9:], *rest) for name, *rest in ours(out, image_size=(200, 100))]
    assert_same(sorted(found), ours(path), 1e-4)


@needs_shared
def test_masks_are_the_same():
    (content,) = [
        json.loads(each.read_bytes())
        for each in SHARED.glob("label_studio/brush_prediction/*.json")
    ]
    results = content[0]["result"]
    for each in results:
        high, wide = each["original_height"], each["original_width"]
        expected = decode_rle(each["value"]["rle"]).reshape(high, wide, 4)[:, :, 3] > 0
        found = brush_mask(each["value"]["rle"], wide, high)
        assert expected.any()
        np.testing.assert_array_equal(drawn_spans(found.spans, high, wide), expected)


# Real files of each tool.


@needs_shared
@pytest.mark.parametrize(
    ("name", "n_images", "n_boxes"),
    [
        ("cvat/cat_boxes_job", 14, 24), ("cvat/rebar_task", 48, 1030),
        ("cvat/project_export", 6, 6), ("cvat/points_job", 19, 0), ("cvat/polygon_job", 5, 1),
        ("cvat/video_job", 910, 498), ("darwin/all_shapes", 8, 32),
        ("datumaro/noisy_boxes", 10, 67), ("datumaro/points_video", 407, 0),
        ("dota/planes", 2, 4), ("dota/roboflow_obb", 3, 4),
        ("label_studio/three_annotators", 5, 121), ("labelme/shapes", 4, 23),
        ("labelme/terrain", 3, 22), ("voc/blood_cells", 15, 271), ("voc/cvat_export", 4, 18),
        ("voc/labelimg_shapes", 4, 25), ("voc/raccoon", 15, 15), ("yolo/classes_txt", 4, 25),
        ("yolo/cvat_export", 4, 18), ("yolo/detect_roboflow", 20, 20), ("yolo/rebar", 21, 1030),
    ],
)  # fmt: skip
def test_all_images_and_boxes_are_read(name, n_images, n_boxes):
    with reading(image_size=(640, 640)):
        data = read_coco(SHARED / name, min_annotators=1)
        found = {each.code for each in validate(SHARED / name, select=["T"]).findings}
    assert (len(data.image_names), len(data.annotations)) == (n_images, n_boxes)
    assert found <= {"T022", "T040"}
