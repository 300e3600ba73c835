"""People beside one file of class names, of whom some label in another format than YOLO."""

import json

import pytest
from PIL import Image

import bboxqa
from bboxqa import DatasetError, read_coco, validate

BOX = "0 .5 .5 .2 .25\n"
VOC = (
    "<annotation><filename>{}.jpg</filename><size><width>100</width><height>80</height></size>"
    "<object><name>cat</name><bndbox><xmin>40</xmin><ymin>30</ymin><xmax>60</xmax><ymax>50</ymax>"
    "</bndbox></object></annotation>"
)
SHAPES = [{"label": "cat", "shape_type": "rectangle", "points": [[40, 30], [60, 50]]}]
SIDES = {"imageWidth": 100, "imageHeight": 80}


def labelme(name):
    whole = {"version": "5.2", "imagePath": f"{name}.jpg", "shapes": SHAPES, **SIDES}
    return json.dumps(whole)


OTHERS = {".xml": VOC.format, ".json": labelme}


def write(folder, text, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        suffix = name[name.rindex(".") :]
        (folder / name).write_text(BOX if suffix == ".txt" else text(name.removesuffix(suffix)))


def shared(folder):
    """Write the names of classes and the pictures that all people share; return the folder."""
    (folder / "images").mkdir()
    (folder / "classes.txt").write_text("cat\n")
    for name in "abcd":
        Image.new("L", (100, 80)).save(folder / "images" / f"{name}.jpg")
    return folder


@pytest.mark.parametrize("inner", ["", "labels"])
@pytest.mark.parametrize("suffix", OTHERS)
def test_a_person_with_two_formats_does_not_hide_the_others(tmp_path, suffix, inner):
    folder, text = shared(tmp_path), OTHERS[suffix]
    for person in ("ann", "bob"):
        write(folder / person / inner, text, *(f"{name}{suffix}" for name in "abcd"))
    write(folder / "cid" / inner, text, f"a{suffix}", f"b{suffix}", "c.txt", "d.txt")
    data = read_coco(folder)
    assert data.annotator_names == ("ann", "bob", "cid")
    assert data.assigned.sum(0).tolist() == [4, 4, 2]
    assert any("2 files left out: not labels of YOLO" in note for note in data.notes)
    findings = validate(folder).findings
    assert [each.code for each in findings if each.code == "T012"] == ["T012"] * 2


@pytest.mark.parametrize("suffix", OTHERS)
def test_two_people_with_a_format_each_are_two(tmp_path, suffix):
    folder, text = shared(tmp_path), OTHERS[suffix]
    write(folder / "ann", text, *(f"{name}{suffix}" for name in "abcd"))
    write(folder / "bob", text, *(f"{name}.txt" for name in "abcd"))
    data = read_coco(folder)
    assert data.annotator_names == ("ann", "bob")
    assert len(data.annotations) == 8


@pytest.mark.parametrize("names", [("a.xml", "b.xml"), ("info.json", "info.json")])
def test_parts_of_a_data_set_stay_one_source(tmp_path, names):
    """Clips of other images each, also with settings of the same name, are not people."""
    folder = shared(tmp_path)
    for clip, label, name in zip(("clip1", "clip2"), "cd", names, strict=True):
        write(folder / clip, VOC.format, f"{label}.txt")
        text = VOC.format(name[0]) if name.endswith("xml") else '{"camera": 1}'
        (folder / clip / name).write_text(text)
    with bboxqa.reading(image_size=(100, 80)):
        data = read_coco(folder, min_annotators=1)
        assert len(data.annotator_names) == 1
        assert len(data.annotations) == 2
        with pytest.raises(DatasetError, match="no annotator is named"):
            read_coco(folder)


def test_an_export_in_folders_of_splits_stays_one_source(tmp_path):
    """Labels of another format in folders of the data set are not those of a person."""
    folder = tmp_path
    (folder / "data.yaml").write_text("names: [cat]\n")
    write(folder / "train" / "labels", VOC.format, "a.txt", "b.txt")
    write(folder / "Annotations", VOC.format, "a.xml", "b.xml")
    with bboxqa.reading(image_size=(100, 80)):
        data = read_coco(folder, min_annotators=1)
    assert data.image_names == ("train/a", "train/b")
