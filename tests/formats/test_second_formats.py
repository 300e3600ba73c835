"""Labels of a second format among those of one annotator."""

import re
from pathlib import Path

import pytest
from PIL import Image
from support.tool_files import write

import bboxqa
from bboxqa import DatasetError, read_coco, validate

TITLES = {
    "yolo": "labels of YOLO",
    "dota": "labels of DOTA",
    "voc": "XML of Pascal VOC",
    "labelme": "JSON of LabelMe",
}


def label(kind, name):
    """Return the name and content of a label of an image with one box."""
    sides = {"imageWidth": 100, "imageHeight": 80}
    shape = {"label": "cat", "shape_type": "rectangle", "points": [[40, 30], [60, 50]]}
    corners = "<xmin>41</xmin><ymin>31</ymin><xmax>60</xmax><ymax>50</ymax>"
    size = "<size><width>100</width><height>80</height></size>"
    found = f"<object><name>cat</name><bndbox>{corners}</bndbox></object>"
    content = {
        "yolo": ("txt", "0 .5 .5 .2 .25\n"),
        "dota": ("txt", "40 30 60 30 60 50 40 50 cat 0\n"),
        "voc": ("xml", f"<annotation><filename>{name}.jpg</filename>{size}{found}</annotation>"),
        "labelme": (
            "json",
            {"version": "5.2", "imagePath": f"{name}.jpg", "shapes": [shape], **sides},
        ),
    }
    ending, text = content[kind]
    return {f"labels/{name}.{ending}": text}


def of_two_formats(folder, first, second, *, has_pictures=False):
    for name in "abc":
        write(folder, **label(first, name))
    for name in "de":
        write(folder, **label(second, name))
    if has_pictures:
        for name in "abcde":
            picture(folder / "images" / f"{name}.jpg")
    return folder


def picture(path: Path, color="black"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (100, 80), color).save(path)


PAIRS = [
    ("yolo", "voc"),
    ("yolo", "labelme"),
    ("dota", "voc"),
    ("dota", "labelme"),
    ("voc", "labelme"),
]


@pytest.mark.parametrize("has_pictures", [False, True])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_labels_of_a_second_format_are_told(tmp_path, first, second, has_pictures):
    of_two_formats(tmp_path, first, second, has_pictures=has_pictures)
    with bboxqa.reading(image_size=(100, 80)):
        data, report = read_coco(tmp_path, min_annotators=1), validate(tmp_path)
    assert len(data.annotations) == 3
    (note,) = [each for each in data.notes if "left out" in each]
    suffix = "xml" if second == "voc" else "json"
    example = f"labels/d.{suffix}, {TITLES[second]}"
    assert note == f"2 files left out: not {TITLES[first]} (such as {example})"
    assert note in report.notes
    codes = [each.code for each in report.findings]
    assert codes.count("T012") == 2
    # These images have labels, though none that are read.
    assert "T023" not in codes
    assert not [each for each in data.notes if "without a label file" in each]


@pytest.mark.parametrize("asked", ["asked", "not-asked"])
def test_images_with_labels_of_a_second_format_are_not_empty(tmp_path, asked):
    of_two_formats(tmp_path, "voc", "labelme", has_pictures=True)
    with bboxqa.reading(missing_txt=asked):
        assert len(read_coco(tmp_path, min_annotators=1).image_names) == 3


def test_a_folder_of_labels_of_a_second_format_is_told(tmp_path):
    write(tmp_path, **{f"train/{name}": text for name, text in label("yolo", "a").items()})
    write(tmp_path, **{f"val/{name}": text for name, text in label("voc", "b").items()})
    with bboxqa.reading(image_size=(100, 80)):
        (note,) = [each for each in validate(tmp_path).notes if "left out" in each]
    assert note.endswith("(val/labels/b.xml, XML of Pascal VOC)")


def placed(folder, kind, names, place):
    """Write labels of images to a place with the name of each file."""
    for name in names:
        ((inside, text),) = label(kind, name).items()
        write(folder, **{place.format(Path(inside).name): text})


@pytest.mark.parametrize("asked", ["asked", None])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_images_of_one_name_in_two_clips_are_told_apart(tmp_path, first, second, asked):
    placed(tmp_path, first, "ab", "labels/clip1/{}")
    placed(tmp_path, second, "abc", "labels/clip2/{}")
    for clip in ("clip1", "clip2"):
        for name in "abcd":
            picture(tmp_path / f"images/{clip}/{name}.jpg")
    with bboxqa.reading(missing_txt=asked):
        data = read_coco(tmp_path, min_annotators=1)
    unlabelled = ["clip1/c.jpg", "clip1/d.jpg", "clip2/d.jpg"]
    labelled = ["clip1/a.jpg", "clip1/b.jpg"]
    assert [*data.image_names] == sorted(labelled + (unlabelled if asked else []))
    assert any("3 images without a label file" in each for each in data.notes)
    assert any(f"3 files left out: not {TITLES[first]}" in each for each in data.notes)


@pytest.mark.parametrize("split", ["", "train/"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_labels_of_a_second_format_may_be_anywhere(tmp_path, first, second, split):
    """The images of these labels are told by their names, if only one image has each."""
    placed(tmp_path, first, "ab", f"labels/{split}{{}}")
    placed(tmp_path, second, "abc", "tool/day/{}")
    for name in "abcd":
        picture(tmp_path / f"images/{split}{name}.jpg")
    with bboxqa.reading(missing_txt="asked"):
        data = read_coco(tmp_path, min_annotators=1)
    assert data.image_names == tuple(f"{split}{name}.jpg" for name in "abd")
    (note,) = [each for each in data.notes if "left out" in each]
    assert f"1 file left out: not {TITLES[first]} (tool/day/c." in note


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_copies_of_labels_of_clips_in_another_format_are_told_by_their_folder(
    tmp_path, first, second
):
    for clip, color in (("clip1", "red"), ("clip2", "blue")):
        placed(tmp_path, first, "ab", f"labels/{clip}/{{}}")
        placed(tmp_path, second, "ab", f"tool/{clip}/{{}}")
        picture(tmp_path / f"images/{clip}/a.png", color)
    (note,), codes = _left_out(tmp_path)
    assert "2 folders of annotations in another format left out (tool: " in note
    assert "T012" not in codes


def _left_out(folder):
    """Return the notes of validate on what is left out, and the codes of its findings."""
    with bboxqa.reading(image_size=(100, 80)):
        report = validate(folder)
    codes = {each.code for each in report.findings}
    return [each for each in report.notes if "left out" in each], codes


def test_a_folder_of_copies_in_another_format_is_told_and_is_no_finding(tmp_path):
    write(tmp_path, **label("yolo", "a"))
    write(tmp_path, **{"Annotations/a.xml": label("voc", "a")["labels/a.xml"]})
    (note,), codes = _left_out(tmp_path)
    shown = "Annotations: XML of Pascal VOC"
    assert note == (
        f"1 folder of annotations in another format left out ({shown}); to read such a folder, "
        "name it"
    )
    assert "T012" not in codes


def test_copies_around_a_folder_for_labels_are_told(tmp_path):
    write(tmp_path, **label("yolo", "a"))
    write(tmp_path, **{"a.json": label("labelme", "a")["labels/a.json"]})
    (note,), _ = _left_out(tmp_path)
    assert "left out (.: JSON of LabelMe); " in note


def test_people_in_another_format_are_told_where_nobody_is_named(tmp_path):
    write(tmp_path, **label("yolo", "a"))
    coco = {"images": [], "annotations": [{"id": 1}], "categories": []}
    write(tmp_path, **{f"annotations/{who}/a.json": coco for who in ("ann", "bob")})
    shown = "2 folders of annotations in another format left out (annotations: COCO JSON)"
    with (
        bboxqa.reading(image_size=(100, 80)),
        pytest.raises(DatasetError, match=re.escape(f"{shown}; to read such a folder, name it")),
    ):
        read_coco(tmp_path)


def test_other_json_in_a_folder_is_not_told(tmp_path):
    write(tmp_path, **label("yolo", "a"))
    write(tmp_path, **{"settings/a.json": {"epochs": 3}, "runs/a.xml": "<run><a/></run>"})
    assert _left_out(tmp_path)[0] == []


def test_files_that_are_findings_are_not_told_twice(tmp_path):
    write(tmp_path, **label("yolo", "a"))
    for name in "ab":
        write(tmp_path, **{f"xml/{name}.xml": label("voc", name)[f"labels/{name}.xml"]})
    (note,), codes = _left_out(tmp_path)
    assert note == "1 file left out: not labels of YOLO (xml/b.xml, XML of Pascal VOC)"
    assert "T012" in codes
