"""Pictures beside the folders of labels: which belong to a data set, and to a person."""

import pytest
from PIL import Image
from support.tool_files import write

from bboxqa import DatasetError, read_coco, reading

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
    if "bob" in folder.parts:
        # Equal annotations of two people in one folder are refused.
        for value, other in ((".5 .5 .2", ".52 .5 .2"), ("[40,", "[42,"), (">41<", ">43<")):
            text = text.replace(value, other)
        text = text.replace("40 30 60 30 60 50 40 50", "42 30 60 30 60 50 42 50")
    return write(folder, **{f"{name}.{suffix}": text.format(name) for name in names})


def pictures(folder, names, size=(100, 80), blue=0):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("RGB", size, (ord(name[0]), 0, blue)).save(folder / f"{name}.png")


@pytest.mark.parametrize(("label", "shown"), [("b", "b"), ("\u00e9", "e\u0301")])
@pytest.mark.parametrize("kind", FORMATS)
def test_pictures_in_the_folder_around_are_images_if_one_has_a_label(tmp_path, kind, label, shown):
    labels(tmp_path / "set", kind, ["a", label])
    pictures(tmp_path, ["c", shown])
    with reading(image_size=(100, 80), missing_txt="asked"):
        data = read_coco(tmp_path / "set", min_annotators=1)
    assert len(data.image_names) == 3
    assert "c.png" in data.image_names


def test_pictures_of_rarer_formats_give_their_size(tmp_path):
    labels(tmp_path, "yolo", "ab")
    Image.new("RGB", (100, 80)).save(tmp_path / "a.TGA")
    Image.new("RGB", (100, 80)).save(tmp_path / "b.jpe")
    data = read_coco(tmp_path, min_annotators=1)
    assert data.image_names == ("a.TGA", "b.jpe")
    assert data.annotations.bbox.tolist() == [[40, 30, 20, 20]] * 2
    # Pillow does not open it by itself.
    (tmp_path / "a.TGA").rename(tmp_path / "a.heic")
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic")
    with pytest.raises(DatasetError, match=r"though there is a\.heic"):
        read_coco(tmp_path, min_annotators=1)


@pytest.mark.parametrize("name", ["images", "image", "imgs", "Frames", "photos"])
@pytest.mark.parametrize("place", ["valid/{}", "{}/valid", "{}"])
def test_pictures_are_found_in_folders_of_usual_names(tmp_path, name, place):
    split = "valid/" if "valid" in place else ""
    labels(tmp_path / "set" / split / "labels", "yolo", "ab")
    pictures(tmp_path / "set" / place.format(name), "ab")
    data = read_coco(tmp_path / "set", min_annotators=1)
    assert data.image_names == (f"{split}a.png", f"{split}b.png")
    assert data.image_size.tolist() == [[100, 80]] * 2
