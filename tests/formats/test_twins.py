"""One annotation that CVAT exported in several formats: the boxes of any two are the same."""

import itertools

import numpy as np
import pytest
from support.tool_files import write

from bboxqa import agree, read_coco, reading

TWINS = ("cvat", "coco", "voc", "yolo")
# Real coordinates of two pictures.
BOXES = (
    (1, 1, "rectangle", (45.8, 45.8, 230.61, 186.32)),
    (2, 2, "strawberry", (326.84, 681.24, 368.65, 730.64)),
    (2, 2, "strawberry", (193.82, 678.38, 239.43, 731.59)),
)
IMAGES = ((1, "shapes", 588, 643), (2, "strawberry", 800, 800))
NAMES = ("rectangle", "strawberry")
VOC = """<annotation><filename>{}.jpg</filename><size><width>{}</width><height>{}</height></size>
{}</annotation>"""
OBJECT = """<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax>
<ymax>{}</ymax></bndbox></object>"""
CVAT = '<box label="{}" xtl="{}" ytl="{}" xbr="{}" ybr="{}"></box>'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The boxes in each format."""
    annotations = [
        {"id": number, "image_id": image, "category_id": label, "iscrowd": 0, "segmentation": [],
         "area": 1, "bbox": [x, y, round(right - x, 2), round(bottom - y, 2)]}
        for number, (image, label, _, (x, y, right, bottom)) in enumerate(BOXES, 1)
    ]  # fmt: skip
    for each in annotations:
        each["area"] = each["bbox"][2] * each["bbox"][3]
    images = [
        {"id": number, "file_name": f"{name}.jpg", "width": width, "height": height}
        for number, name, width, height in IMAGES
    ]
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES, 1)]
    coco = {"images": images, "annotations": annotations, "categories": categories}
    files = {"coco.json": coco}
    listed = "".join(f"data/obj_train_data/{name}.jpg\n" for _, name, *_ in IMAGES)
    files |= {"yolo/obj.names": "\n".join(NAMES), "yolo/train.txt": listed}
    files["sizes.csv"] = "image,width,height\nshapes.jpg,588,643\nstrawberry.jpg,800,800\n"
    drawn_in = []
    for number, name, width, height in IMAGES:
        drawn = [(label, kind, box) for image, label, kind, box in BOXES if image == number]
        objects = "".join(OBJECT.format(kind, *box) for _, kind, box in drawn)
        files[f"voc/{name}.xml"] = VOC.format(name, width, height, objects)
        inside = "".join(CVAT.format(kind, *box) for _, kind, box in drawn)
        size = f'width="{width}" height="{height}"'
        drawn_in.append(f'<image id="{number - 1}" name="{name}.jpg" {size}>{inside}</image>')
        files[f"yolo/obj_train_data/{name}.txt"] = "".join(
            f"{label - 1} {(x + right) / 2 / width:.6f} {(y + bottom) / 2 / height:.6f} "
            f"{(right - x) / width:.6f} {(bottom - y) / height:.6f}\n"
            for label, _, (x, y, right, bottom) in drawn
        )
    inside = "".join(drawn_in)
    files["cvat.xml"] = f"<annotations><version>1.1</version>{inside}</annotations>"
    folder = tmp_path_factory.mktemp("made")
    write(folder, **files)
    paths = ("cvat.xml", "coco.json", "voc", "yolo", "sizes.csv")
    return {name: folder / path for name, path in zip((*TWINS, "sizes"), paths, strict=True)}


@pytest.mark.parametrize("pair", [*itertools.combinations(TWINS, 2)])
def test_boxes_agree_in_any_two_formats(made, pair):
    with reading(image_size=made["sizes"], voc_base=0):
        result = agree(read_coco({name: made[name] for name in pair}), bootstrap=0)
    assert (result.existence.f1, result.alpha) == (1, 1)
    assert result.place.mean_iou == pytest.approx(1, abs=1e-3)
    assert np.bincount(result.thresholds[0].units["unit"]).tolist() == [2] * len(BOXES)
