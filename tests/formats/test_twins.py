"""One annotation that CVAT exported in several formats: what two formats hold is the same in both.

Pascal VOC and YOLO of CVAT hold boxes only. COCO has ellipses as masks, which are marked as crowds.
"""

import itertools
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from support.tool_files import write

from bboxqa import agree, read_coco, reading

TWINS = ("cvat", "coco", "voc", "yolo")
PAIRS = [*itertools.combinations(TWINS, 2)]
SHAPES = {name: {"box", "polygon", "ellipse"} for name in ("cvat", "coco")}
"""What is compared in each format, besides boxes."""

# An excerpt of the same exports: real coordinates of a picture, with two boxes of another.
CVAT = """<annotations><version>1.1</version>
<image id="0" name="shapes.jpg" width="588" height="643">
<polygon label="triangle" points="426.87,30.53;322.25,201.59;548.29,198.54"></polygon>
<polyline label="line" points="82.46,532.25;114.50,554.40;161.10,578.10"></polyline>
<box label="rectangle" xtl="45.80" ytl="45.80" xbr="230.61" ybr="186.32"></box>
<ellipse label="ellipse" cx="447.89" cy="314.61" rx="82.09" ry="82.09"></ellipse></image>
<image id="1" name="strawberry.jpg" width="800" height="800">
<box label="strawberry" xtl="326.84" ytl="681.24" xbr="368.65" ybr="730.64"></box>
<box label="strawberry" xtl="193.82" ytl="678.38" xbr="239.43" ybr="731.59"></box>
</image></annotations>"""
VOC = """<annotation><filename>{}</filename><size><width>{}</width><height>{}</height></size>
{}</annotation>"""
OBJECT = """<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax>
<ymax>{}</ymax></bndbox></object>"""
BOXES = (
    (1, 1, "rectangle", (45.8, 45.8, 230.61, 186.32)),
    (2, 4, "strawberry", (326.84, 681.24, 368.65, 730.64)),
    (2, 4, "strawberry", (193.82, 678.38, 239.43, 731.59)),
)
IMAGES = ((1, "shapes", 588, 643), (2, "strawberry", 800, 800))
NAMES = ("rectangle", "triangle", "ellipse", "strawberry")


def excerpts(folder):
    """Write the excerpt in each format; return its sources."""
    annotations = [
        {"image_id": image, "category_id": label, "iscrowd": 0, "segmentation": [],
         "bbox": [x, y, round(right - x, 2), round(bottom - y, 2)]}
        for image, label, _, (x, y, right, bottom) in BOXES
    ]  # fmt: skip
    triangle = [426.87, 30.53, 322.25, 201.59, 548.29, 198.54]
    shape = {"image_id": 1, "category_id": 2, "iscrowd": 0, "bbox": [322.25, 30.53, 226.04, 171.06]}
    annotations.append({**shape, "segmentation": [triangle]})
    mask = {"size": [643, 588], "counts": [235645, 17, 142422]}
    shape = {"image_id": 1, "category_id": 3, "iscrowd": 1, "bbox": [366.0, 233.0, 165.0, 165.0]}
    annotations.append({**shape, "segmentation": mask})
    for number, record in enumerate(annotations, 1):
        record |= {"id": number, "area": record["bbox"][2] * record["bbox"][3]}
        record["attributes"] = {"occluded": False}
    images = [
        {"id": number, "file_name": f"{name}.jpg", "width": width, "height": height}
        for number, name, width, height in IMAGES
    ]
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES, 1)]
    coco = {"images": images, "annotations": annotations, "categories": categories}
    listed = "".join(f"data/obj_train_data/{name}.jpg\n" for _, name, *_ in IMAGES)
    names = "\n".join(NAMES)
    files = {"cvat.xml": CVAT, "coco.json": coco}
    files |= {"yolo/obj.names": names, "yolo/train.txt": listed}
    for number, name, width, height in IMAGES:
        drawn = [(label, kind, box) for image, label, kind, box in BOXES if image == number]
        objects = "".join(OBJECT.format(kind, *box) for _, kind, box in drawn)
        files[f"voc/{name}.xml"] = VOC.format(f"{name}.jpg", width, height, objects)
        lines = []
        for label, _, (x, y, right, bottom) in drawn:
            shares = [(x + right) / 2 / width, (y + bottom) / 2 / height]
            shares += [(right - x) / width, (bottom - y) / height]
            lines.append(f"{label - 1} {' '.join(f'{each:.6f}' for each in shares)}\n")
        files[f"yolo/obj_train_data/{name}.txt"] = "".join(lines)
    write(folder, **files)
    return {"cvat": "cvat.xml", "coco": "coco.json", "voc": "voc", "yolo": "yolo"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The excerpt in each format."""
    folder = tmp_path_factory.mktemp("made")
    return {name: folder / path for name, path in excerpts(folder).items()}


def within(shapes, name, source, folder):
    """Return a copy of a source with some kinds of shapes only."""
    if name == "cvat":
        tree = ET.parse(source)  # noqa: S314 - a file of the tests
        for image in tree.getroot().findall("image"):
            for each in [each for each in image if each.tag not in shapes]:
                image.remove(each)
        tree.write(folder / "cvat.xml")
        return folder / "cvat.xml"
    if name == "coco":
        whole = json.loads(source.read_text())
        kinds = {dict: "ellipse", list: "polygon"}
        whole["annotations"] = [
            each
            for each in whole["annotations"]
            if (kinds[type(each["segmentation"])] if each["segmentation"] else "box") in shapes
        ]
        (folder / "coco.json").write_text(json.dumps(whole))
        return folder / "coco.json"
    return source


def check(sources, pair, folder, sizes):
    """Check that two formats agree in the shapes that both hold, and in no others."""
    shared = set.intersection(*(SHAPES.get(name, {"box"}) for name in pair))
    with reading(image_size=sizes, voc_base=0):
        files = {name: within(shared, name, sources[name], folder) for name in pair}
        result = agree(read_coco(files), bootstrap=0)
    assert result.existence.f1 == 1
    # Where one category holds nearly all boxes, alpha has no meaning.
    assert np.isnan(result.alpha) or result.alpha == 1
    # The boxes around masks of ellipses are in whole pixels.
    allowed = 5e-3 if "ellipse" in shared else 1e-3
    assert result.place.mean_iou == pytest.approx(1, abs=allowed)
    units = result.thresholds[0].units
    categories = {}
    for unit, image, category in zip(
        units["unit"].tolist(), units["image"].tolist(), units["category"].tolist(), strict=True
    ):
        categories.setdefault((image, unit), set()).add(category)
    assert all(len(each) == 1 for each in categories.values())
    return result.alpha


@pytest.mark.parametrize("pair", PAIRS)
def test_an_excerpt_agrees_in_what_both_formats_hold(made, tmp_path, pair):
    sizes = write(
        tmp_path,
        **{"sizes.csv": "image,width,height\nshapes.jpg,588,643\nstrawberry.jpg,800,800\n"},
    )
    assert check(made, pair, tmp_path, sizes / "sizes.csv") == 1
