"""Pictures beside the folders of labels: which belong to a data set, and to a person."""

import pytest
from PIL import Image
from support.tool_files import write

from bboxqa import read_coco, reading

VOC = (
    "<annotation><filename>{}.png</filename><size><width>100</width><height>80</height></size>"
    "<object><name>cat</name><bndbox><xmin>41</xmin><ymin>31</ymin><xmax>60</xmax><ymax>50</ymax>"
    "</bndbox></object></annotation>"
)
LABELME = (
    '{{"version": "5.2", "imagePath": "{}.png", "shapes": [{{"label": "cat", "shape_type": '
    '"rectangle", "points": [[40, 30], [60, 50]]}}], "imageHeight": 80, "imageWidth": 100}}'
)
FORMATS = {
    "yolo": ("txt", "0 .5 .5 .2 .25\n"),
    "dota": ("txt", "40 30 60 30 60 50 40 50 cat 0\n"),
    "voc": ("xml", VOC),
    "labelme": ("json", LABELME),
}


def labels(folder, kind, names):
    suffix, text = FORMATS[kind]
    return write(folder, **{f"{name}.{suffix}": text.format(name) for name in names})


def pictures(folder, names, size=(100, 80)):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("RGB", size, (ord(name[0]), 0, 0)).save(folder / f"{name}.png")


@pytest.mark.parametrize("place", ["labels", "labels/day"])
@pytest.mark.parametrize("kind", FORMATS)
def test_other_pictures_in_the_folder_around_are_no_images(tmp_path, kind, place):
    """As where a data set was unpacked among photos."""
    labels(tmp_path / "set" / place, kind, "ab")
    pictures(tmp_path, ["holiday", "portrait"])
    with reading(image_size=(100, 80), missing_txt="asked"):
        data = read_coco(tmp_path / "set", min_annotators=1)
    assert len(data.image_names) == 2
    assert not any("without a label file" in each for each in data.notes)


@pytest.mark.parametrize(("label", "shown"), [("b", "b"), ("\u00e9", "e\u0301")])
@pytest.mark.parametrize("kind", FORMATS)
def test_pictures_in_the_folder_around_are_images_if_one_has_a_label(tmp_path, kind, label, shown):
    labels(tmp_path / "set", kind, ["a", label])
    pictures(tmp_path, ["c", shown])
    with reading(image_size=(100, 80), missing_txt="asked"):
        data = read_coco(tmp_path / "set", min_annotators=1)
    assert len(data.image_names) == 3
    assert "c.png" in data.image_names
